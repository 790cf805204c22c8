// SPDX-License-Identifier: MIT
// Every kind of waiter and every way to end a wait, against each other, for as long as
// TRYST_STRESS_SECONDS says (default 5). What they did must have been possible, and every path taken.
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/history.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <tuple>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr std::array all_errors{exchange_errc::timed_out, exchange_errc::cancelled,
                                exchange_errc::closed, exchange_errc::no_partner};

/// A stop source that is renewed at each press.
class stop_button {
public:
    struct wire {
        std::stop_token token;
        history::stop_id source;
    };

    wire current() {
        const std::scoped_lock lock(mutex_);
        return {source_.get_token(), id_};
    }

    void press(history::log& log) {
        std::stop_source pressed;
        history::stop_id id = 0;
        {
            const std::scoped_lock lock(mutex_);
            std::swap(pressed, source_);
            id = id_++;
        }
        log.stop(id, [&] { pressed.request_stop(); });
    }

private:
    std::mutex mutex_;
    std::stop_source source_;
    history::stop_id id_ = 1;
};

/// One exchanger, and everybody who meets there until it closes.
struct scene {
    explicit scene(std::size_t participants)
        : record(participants + 1), left(static_cast<std::ptrdiff_t>(participants)) {}

    census items;
    exchanger<tracked> ex;
    stop_button button;
    history record; ///< The last log is that of whoever presses and closes.
    std::latch left;
};

/// What a participant does next.
class dice {
public:
    explicit dice(std::size_t seed) : engine_(static_cast<unsigned>(seed) + 1) {}

    unsigned roll() { return static_cast<unsigned>(engine_() % 20); }

    /// Mostly short, sometimes over before it began.
    std::chrono::microseconds patience() {
        return std::chrono::microseconds(engine_() % 200) - 20us;
    }

private:
    std::minstd_rand engine_;
};

/// One participant's next operation: what it will do, and its entry in the history.
class turn {
public:
    turn(scene& s, std::size_t number, long item, dice& random)
        : items_(s.items), roll_(random.roll()),
          what_{.given = (static_cast<long>(number) << 32U) + item} {
        if (tries()) {
            what_.way = history::way::tries;
        }
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

    tracked item() noexcept { return {items_, what_.given}; }

    /// Enters the outcome. @returns whether the exchanger is open.
    bool end(const exchange_result<tracked>& got) {
        entry_->returned(got);
        return got.error() != exchange_errc::closed;
    }

    std::stop_token stop;
    std::chrono::microseconds patience{};

private:
    census& items_;
    unsigned roll_;
    history::call what_;
    std::optional<history::operation> entry_;
};

/// A coroutine of any kind that exchanges in every way until the exchanger is closed.
template <class Coroutine>
Coroutine coroutine_party(scene& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        turn t(s, number, i, random);
        if (t.tries()) {
            open = t.end(s.ex.try_exchange(t.item()));
        } else if (t.has_both()) {
            open = t.end(co_await s.ex.exchange_for(t.item(), t.patience, std::move(t.stop)));
        } else if (t.has_deadline()) {
            open = t.end(co_await s.ex.exchange_for(t.item(), t.patience));
        } else if (t.has_stop()) {
            open = t.end(co_await s.ex.exchange(t.item(), std::move(t.stop)));
        } else {
            open = t.end(co_await s.ex.exchange(t.item()));
        }
    }
    s.left.count_down();
}

/// A thread that does the same.
void thread_party(scene& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        turn t(s, number, i, random);
        if (t.tries()) {
            open = t.end(s.ex.try_exchange(t.item()));
        } else if (t.has_both()) {
            open = t.end(sync_wait(s.ex.exchange_for(t.item(), t.patience, std::move(t.stop))));
        } else if (t.has_deadline()) {
            open = t.end(sync_wait(s.ex.exchange_for(t.item(), t.patience)));
        } else if (t.has_stop()) {
            open = t.end(sync_wait(s.ex.exchange(t.item(), std::move(t.stop))));
        } else {
            open = t.end(sync_wait(s.ex.exchange(t.item())));
        }
    }
    s.left.count_down();
}

/// Lets everybody exchange for a moment, then closes and checks what has happened.
void play(std::size_t loops, std::size_t coroutines, std::size_t bare, std::size_t threads,
          std::array<std::size_t, 5>& failures, std::size_t& exchanges) {
    const std::size_t participants = loops * coroutines + bare + threads;
    scene s(participants);
    std::size_t number = 0;
    {
        std::vector<std::unique_ptr<run_loop>> all_loops;
        std::vector<std::jthread> running;
        // First: bare coroutines may keep this thread busy with each other until the close.
        running.emplace_back([&s, &log = s.record[participants]] {
            for (const auto end = steady::now() + 40ms; steady::now() < end;) {
                s.button.press(log);
                std::this_thread::yield();
            }
            log.close(0, [&s] { s.ex.close(); });
        });
        for (std::size_t i = 0; i != loops; ++i) {
            run_loop& loop = *all_loops.emplace_back(std::make_unique<run_loop>());
            for (std::size_t j = 0; j != coroutines; ++j) {
                loop.spawn(coroutine_party<task<>>(s, number++));
            }
            running.emplace_back([&loop] { loop.run(); });
        }
        for (std::size_t i = 0; i != bare; ++i) {
            coroutine_party<detached_coroutine>(s, number++);
        }
        for (std::size_t i = 0; i != threads; ++i) {
            running.emplace_back([&s, mine = number++] { thread_party(s, mine); });
        }
        s.left.wait();
        for (auto& loop : all_loops) {
            loop->stop();
        }
        running.clear();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    exchanges += s.record.exchanged() / 2;
    for (const auto why : all_errors) {
        failures.at(static_cast<std::size_t>(why)) += s.record.failed(why);
    }
}

TEST(MixedWaitersStress, ConservesEveryItemHoweverTheWaitsEnd) {
    using detail::step;
    constexpr std::array steps{step::claim_at_home,    step::claim_above_home,
                               step::offer_above_home, step::completion_in_place,
                               step::expiry,           step::growth,
                               step::shrinkage,        step::stop,
                               step::own_stop};
    forget_steps();
    std::array<std::size_t, 5> failures{};
    std::size_t exchanges = 0;
    const stress_time time;
    while (time.goes_on([&] {
        return std::apply([](auto... s) { return missing(s...); }, steps);
    }) && !::testing::Test::HasFailure()) {
        play(2, 8, 0, 0, failures, exchanges);
        play(2, 3, 3, 2, failures, exchanges);
        play(1, 2, 1, 1, failures, exchanges);
        play(0, 0, 2, 3, failures, exchanges);
    }
    EXPECT_GT(exchanges, 1000U);
    for (const auto why : all_errors) {
        EXPECT_GT(failures.at(static_cast<std::size_t>(why)), 0U) << make_error_code(why).message();
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace
} // namespace tryst::test
