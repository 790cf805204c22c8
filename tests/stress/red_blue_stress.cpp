// SPDX-License-Identifier: MIT
// Both colours in every order: every kind of waiter and every way to end a wait, against each
// other, for as long as TRYST_STRESS_SECONDS says (default 5). What they did must have been
// possible, fifo included.
#include "stress/any_operation.hpp"
#include "stress/play.hpp"
#include "stress/step_counts.hpp"
#include "support/short_exchanger.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <coroutine>
#include <memory>
#include <thread>

namespace tryst::test {
namespace {

using detail::step;

struct fifo_meeting {
    using exchanger = red_blue_exchanger<tracked>;
    static constexpr bool fifo = true;
    static constexpr std::array steps{step::claim_in_wait_list,
                                      step::completion_in_place,
                                      step::stop,
                                      step::own_stop,
                                      step::vacancy,
                                      step::recycling};
};

/// Segments end after every other cell.
struct short_fifo_meeting {
    using exchanger = short_queue_exchanger<tracked>;
    static constexpr bool fifo = true;
    static constexpr std::array steps{step::claim_in_wait_list,
                                      step::completion_in_place,
                                      step::stop,
                                      step::own_stop,
                                      step::vacancy,
                                      step::recycling,
                                      step::sweeping};
};

struct lifo_meeting {
    using exchanger = red_blue_exchanger<tracked, tracked, order::lifo>;
    static constexpr bool fifo = false;
    static constexpr std::array steps{step::claim_in_wait_list,
                                      step::claim_in_arena,
                                      step::offer_in_arena,
                                      step::expiry,
                                      step::growth,
                                      step::shrinkage,
                                      step::stop,
                                      step::own_stop,
                                      step::completion_in_place,
                                      step::vacancy,
                                      step::refill};
};

/// One exchanger with two colours, and the parties that exchange there until it is closed.
template <class Meeting>
struct coloured_scene {
    explicit coloured_scene(std::size_t participants)
        : record(participants + 1), left(static_cast<std::ptrdiff_t>(participants)) {
        if (Meeting::fifo) {
            record.set_fifo(0);
        }
    }

    census items;
    typename Meeting::exchanger ex;
    stop_button button;
    history record; ///< The last log is for the thread that presses and closes.
    std::latch left;
    std::atomic<unsigned> tide{10}; ///< How many in 20 are red now.
};

/// One participant's next operation, in the colour that the tide gives it.
template <class Meeting>
class coloured_turn : public turn {
public:
    coloured_turn(coloured_scene<Meeting>& s, std::size_t number, long item, dice& random)
        : turn(s, number, item, random,
               random.roll() < s.tide.load(std::memory_order_relaxed) ? history::colour::red
                                                                      : history::colour::blue),
          record_(&s.record) {}

    /// On an executor where nobody else could have resumed it.
    void has_suspended() {
        if (Meeting::fifo) {
            queued(record_->tick());
        }
    }

private:
    history* record_;
};

/// The next operation of a participant that waits.
/// @param open  whether the exchanger is, afterwards.
template <class Meeting>
std::unique_ptr<any_operation> operation_of(coloured_scene<Meeting>& s, coloured_turn<Meeting>& t,
                                            bool& open) {
    wait_limits limits;
    if (t.has_deadline()) {
        limits.patience = t.patience;
    }
    if (t.has_stop()) {
        limits.stop = t.stop;
    }
    const auto end = [&](const auto& got) { open = t.end(got); };
    const auto red = [&](auto... each) { return s.ex.red(t.item(), each...); };
    const auto blue = [&](auto... each) { return s.ex.blue(t.item(), each...); };
    return t.is_red() ? make_operation(limits, red, end) : make_operation(limits, blue, end);
}

template <class Meeting>
bool try_operation(coloured_scene<Meeting>& s, coloured_turn<Meeting>& t) {
    return t.end(t.is_red() ? s.ex.try_red(t.item()) : s.ex.try_blue(t.item()));
}

/// Awaits an operation, and notes when its coroutine has suspended.
template <class Meeting>
class watched {
public:
    watched(any_operation& operation, coloured_turn<Meeting>& t) noexcept
        : operation_(&operation), turn_(&t) {}

    bool await_ready() noexcept { return operation_->await_ready(); }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        const bool stays_here = executor_of(coroutine).alone_here();
        coloured_turn<Meeting>& mine = *turn_;
        if (!operation_->await_suspend(coroutine)) {
            return false;
        }
        if (stays_here) {
            mine.has_suspended();
        }
        return true;
    }

    void await_resume() { operation_->await_resume(); }

private:
    any_operation* operation_;
    coloured_turn<Meeting>* turn_;
};

template <class Coroutine, class Meeting>
Coroutine coroutine_party(coloured_scene<Meeting>& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        coloured_turn<Meeting> t(s, number, i, random);
        if (t.tries()) {
            open = try_operation(s, t);
        } else {
            const auto next = operation_of(s, t, open);
            co_await watched<Meeting>(*next, t);
        }
    }
    s.left.count_down();
}

template <class Meeting>
void thread_party(coloured_scene<Meeting>& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        coloured_turn<Meeting> t(s, number, i, random);
        if (t.tries()) {
            open = try_operation(s, t);
        } else {
            operation_of(s, t, open)->wait();
        }
    }
    s.left.count_down();
}

/// Presses the stop button for a moment, while the tide turns, then closes.
template <class Meeting>
void press_and_close(coloured_scene<Meeting>& s, history::log& log) {
    constexpr std::array tides{10U, 2U, 18U, 10U, 0U, 20U, 10U};
    unsigned i = 0;
    for (const auto end = steady::now() + 40ms; steady::now() < end; ++i) {
        s.tide.store(tides.at(i / 16 % tides.size()), std::memory_order_relaxed);
        s.button.press(log);
        std::this_thread::yield();
    }
    log.close(0, [&s] { s.ex.close(); });
}

template <class Meeting>
class RedBlueStress : public ::testing::Test {};
using meetings = ::testing::Types<fifo_meeting, short_fifo_meeting, lifo_meeting>;
TYPED_TEST_SUITE(RedBlueStress, meetings);

TYPED_TEST(RedBlueStress, ConservesEveryItemHoweverTheWaitsEnd) {
    forget_steps();
    tally all;
    const stress_time time;
    const auto some_are_missing = [&] {
        return !all.is_complete() ||
               std::ranges::any_of(TypeParam::steps, [](step s) { return count_of(s) == 0; });
    };
    while (time.goes_on(some_are_missing) && !::testing::Test::HasFailure()) {
        play<coloured_scene<TypeParam>>({.loops = 2, .coroutines = 8}, all);
        play<coloured_scene<TypeParam>>({.loops = 2, .coroutines = 3, .bare = 3, .threads = 2},
                                        all);
        play<coloured_scene<TypeParam>>({.loops = 1, .coroutines = 2, .bare = 1, .threads = 1},
                                        all);
        play<coloured_scene<TypeParam>>({.loops = 0, .bare = 2, .threads = 3}, all);
        play<coloured_scene<TypeParam>>({.loops = 2, .coroutines = 150, .threads = 1}, all);
    }
    expect_exchanges_and_all_failures(all);
    for (const auto taken : TypeParam::steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace
} // namespace tryst::test
