// SPDX-License-Identifier: MIT
// Both colours in both orders: every kind of waiter and every way to end a wait, against each other, for
// as long as TRYST_STRESS_SECONDS says (default 5). What they did must have been possible, fifo included.
#include "stress/scene.hpp"
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/short_exchanger.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <coroutine>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

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

/// One exchanger, and everybody who meets there until it closes.
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
    history record; ///< The last log is that of whoever presses and closes.
    std::latch left;
    std::atomic<unsigned> tide{10}; ///< How many in 20 are red now.
};

/// One participant's next operation.
template <class Meeting>
class coloured_turn {
public:
    coloured_turn(coloured_scene<Meeting>& s, std::size_t number, long item, dice& random)
        : scene_(&s), roll_(random.roll()),
          red(random.roll() < s.tide.load(std::memory_order_relaxed)),
          what_{.given = (static_cast<long>(number) << 32U) + item,
                .way = tries() ? history::way::tries : history::way::waits,
                .colour = red ? history::colour::red : history::colour::blue} {
        if (has_stop()) {
            stop_button::wire wire = s.button.current();
            stop = std::move(wire.token);
            what_.stop = wire.source;
        }
        if (has_deadline()) {
            patience = random.patience();
            what_.way = patience > 0us ? history::way::waits : history::way::overdue;
            what_.deadline = steady::now() + patience;
            what_.relative = true;
        }
        entry_.emplace(s.record[number].begin(what_));
    }

    bool tries() const noexcept { return roll_ >= 19; }
    bool has_stop() const noexcept { return (roll_ >= 12 && roll_ < 15) || has_both(); }
    bool has_deadline() const noexcept { return roll_ >= 15 && roll_ < 19; }
    bool has_both() const noexcept { return roll_ >= 17 && roll_ < 19; }

    tracked item() noexcept { return {scene_->items, what_.given}; }

    /// Enters the outcome. @returns whether the exchanger is open.
    bool end(const exchange_result<tracked>& got) {
        entry_->returned(got);
        return got.error() != exchange_errc::closed;
    }

    /// On an executor where nobody else could have resumed it.
    void has_suspended() {
        if (Meeting::fifo) {
            entry_->queued(scene_->record.tick());
        }
    }

private:
    coloured_scene<Meeting>* scene_;
    unsigned roll_;

public:
    bool red;
    std::stop_token stop;
    std::chrono::microseconds patience{};

private:
    history::call what_;
    std::optional<history::operation> entry_;
};

/// What a wait is limited by.
enum class limit : std::uint8_t { nothing, stop, deadline, both };

template <bool Red, limit Limit, class Meeting>
auto operation_of(coloured_scene<Meeting>& s, coloured_turn<Meeting>& t) noexcept {
    if constexpr (Limit == limit::nothing) {
        if constexpr (Red) {
            return s.ex.red(t.item());
        } else {
            return s.ex.blue(t.item());
        }
    } else if constexpr (Limit == limit::stop) {
        if constexpr (Red) {
            return s.ex.red(t.item(), t.stop);
        } else {
            return s.ex.blue(t.item(), t.stop);
        }
    } else if constexpr (Limit == limit::deadline) {
        if constexpr (Red) {
            return s.ex.red_for(t.item(), t.patience);
        } else {
            return s.ex.blue_for(t.item(), t.patience);
        }
    } else {
        if constexpr (Red) {
            return s.ex.red_for(t.item(), t.patience, t.stop);
        } else {
            return s.ex.blue_for(t.item(), t.patience, t.stop);
        }
    }
}

/// An operation of which it is noted when its coroutine has suspended.
template <bool Red, limit Limit, class Meeting>
class watched {
public:
    watched(coloured_scene<Meeting>& s, coloured_turn<Meeting>& t) noexcept
        : operation_(operation_of<Red, Limit>(s, t)), turn_(&t) {}

    bool await_ready() noexcept { return operation_.await_ready(); }

    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        const bool stays_here = executor_of(coroutine).alone_here();
        coloured_turn<Meeting>& mine = *turn_;
        if (!operation_.await_suspend(coroutine)) {
            return false;
        }
        if (stays_here) {
            mine.has_suspended();
        }
        return true;
    }

    exchange_result<tracked> await_resume() noexcept { return operation_.await_resume(); }
    exchange_result<tracked> wait() noexcept { return operation_.wait(); }

private:
    decltype(operation_of<Red, Limit>(std::declval<coloured_scene<Meeting>&>(),
                                      std::declval<coloured_turn<Meeting>&>())) operation_;
    coloured_turn<Meeting>* turn_;
};

template <class Coroutine, class Meeting>
Coroutine coloured_party(coloured_scene<Meeting>& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        coloured_turn<Meeting> t(s, number, i, random);
        if (t.tries()) {
            open = t.end(t.red ? s.ex.try_red(t.item()) : s.ex.try_blue(t.item()));
        } else if (t.has_both()) {
            if (t.red) {
                open = t.end(co_await watched<true, limit::both, Meeting>(s, t));
            } else {
                open = t.end(co_await watched<false, limit::both, Meeting>(s, t));
            }
        } else if (t.has_deadline()) {
            if (t.red) {
                open = t.end(co_await watched<true, limit::deadline, Meeting>(s, t));
            } else {
                open = t.end(co_await watched<false, limit::deadline, Meeting>(s, t));
            }
        } else if (t.has_stop()) {
            if (t.red) {
                open = t.end(co_await watched<true, limit::stop, Meeting>(s, t));
            } else {
                open = t.end(co_await watched<false, limit::stop, Meeting>(s, t));
            }
        } else {
            if (t.red) {
                open = t.end(co_await watched<true, limit::nothing, Meeting>(s, t));
            } else {
                open = t.end(co_await watched<false, limit::nothing, Meeting>(s, t));
            }
        }
    }
    s.left.count_down();
}

template <class Meeting>
void coloured_thread(coloured_scene<Meeting>& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        coloured_turn<Meeting> t(s, number, i, random);
        if (t.tries()) {
            open = t.end(t.red ? s.ex.try_red(t.item()) : s.ex.try_blue(t.item()));
        } else if (t.has_both()) {
            if (t.red) {
                open = t.end(watched<true, limit::both, Meeting>(s, t).wait());
            } else {
                open = t.end(watched<false, limit::both, Meeting>(s, t).wait());
            }
        } else if (t.has_deadline()) {
            if (t.red) {
                open = t.end(watched<true, limit::deadline, Meeting>(s, t).wait());
            } else {
                open = t.end(watched<false, limit::deadline, Meeting>(s, t).wait());
            }
        } else if (t.has_stop()) {
            if (t.red) {
                open = t.end(watched<true, limit::stop, Meeting>(s, t).wait());
            } else {
                open = t.end(watched<false, limit::stop, Meeting>(s, t).wait());
            }
        } else {
            if (t.red) {
                open = t.end(watched<true, limit::nothing, Meeting>(s, t).wait());
            } else {
                open = t.end(watched<false, limit::nothing, Meeting>(s, t).wait());
            }
        }
    }
    s.left.count_down();
}

/// Presses the stop button for a moment, while the tide turns, then closes.
template <class Meeting>
void turn_tides_and_close(coloured_scene<Meeting>& s, history::log& log) {
    constexpr std::array tides{10U, 2U, 18U, 10U, 0U, 20U, 10U};
    unsigned i = 0;
    for (const auto end = steady::now() + 40ms; steady::now() < end; ++i) {
        s.tide.store(tides.at(i / 16 % tides.size()), std::memory_order_relaxed);
        s.button.press(log);
        std::this_thread::yield();
    }
    log.close(0, [&s] { s.ex.close(); });
}

struct sums {
    std::array<std::size_t, 5> failures{};
    std::size_t exchanges = 0;
};

/// Lets everybody exchange for a moment, then closes and checks what has happened.
template <class Meeting>
void play(std::size_t loops, std::size_t coroutines, std::size_t bare, std::size_t threads,
          sums& all) {
    const std::size_t participants = loops * coroutines + bare + threads;
    coloured_scene<Meeting> s(participants);
    std::size_t number = 0;
    {
        std::vector<std::unique_ptr<run_loop>> all_loops;
        std::vector<std::jthread> running;
        // First: bare coroutines may keep this thread busy with each other until the close.
        running.emplace_back([&s, &log = s.record[participants]] { turn_tides_and_close(s, log); });
        for (std::size_t i = 0; i != loops; ++i) {
            run_loop& loop = *all_loops.emplace_back(std::make_unique<run_loop>());
            for (std::size_t j = 0; j != coroutines; ++j) {
                loop.spawn(coloured_party<task<>>(s, number++));
            }
            running.emplace_back([&loop] { loop.run(); });
        }
        for (std::size_t i = 0; i != bare; ++i) {
            coloured_party<detached_coroutine>(s, number++);
        }
        for (std::size_t i = 0; i != threads; ++i) {
            running.emplace_back([&s, mine = number++] { coloured_thread(s, mine); });
        }
        s.left.wait();
        for (auto& loop : all_loops) {
            loop->stop();
        }
        running.clear();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    all.exchanges += s.record.exchanged() / 2;
    for (const auto why : all_errors) {
        all.failures.at(static_cast<std::size_t>(why)) += s.record.failed(why);
    }
}

template <class Meeting>
class RedBlueStress : public ::testing::Test {};
using meetings = ::testing::Types<fifo_meeting, short_fifo_meeting, lifo_meeting>;
TYPED_TEST_SUITE(RedBlueStress, meetings);

TYPED_TEST(RedBlueStress, ConservesEveryItemHoweverTheWaitsEnd) {
    forget_steps();
    sums all;
    const stress_time time;
    const auto some_are_missing = [] {
        return std::ranges::any_of(TypeParam::steps, [](step s) { return count_of(s) == 0; });
    };
    while (time.goes_on(some_are_missing) && !::testing::Test::HasFailure()) {
        play<TypeParam>(2, 8, 0, 0, all);
        play<TypeParam>(2, 3, 3, 2, all);
        play<TypeParam>(1, 2, 1, 1, all);
        play<TypeParam>(0, 0, 2, 3, all);
        play<TypeParam>(2, 150, 0, 1, all);
    }
    EXPECT_GT(all.exchanges, 1000U);
    for (const auto why : all_errors) {
        EXPECT_GT(all.failures.at(static_cast<std::size_t>(why)), 0U)
            << make_error_code(why).message();
    }
    for (const auto taken : TypeParam::steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace
} // namespace tryst::test
