// SPDX-License-Identifier: MIT
// Every kind of waiter and every way to end a wait, against each other, for as long as
// TRYST_STRESS_SECONDS says (default 5). The books must balance, and every path must have been taken.
#include "stress/ledger.hpp"
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <latch>
#include <mutex>
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
    std::stop_token token() {
        const std::scoped_lock lock(mutex_);
        return source_.get_token();
    }

    void press() {
        std::stop_source pressed;
        {
            const std::scoped_lock lock(mutex_);
            std::swap(pressed, source_);
        }
        pressed.request_stop();
    }

private:
    std::mutex mutex_;
    std::stop_source source_;
};

/// One exchanger, and everybody who meets there until it closes.
struct scene {
    explicit scene(std::size_t participants)
        : books(participants), left(static_cast<std::ptrdiff_t>(participants)) {}

    exchanger<tracked> ex;
    stop_button button;
    ledger books;
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

/// A coroutine of any kind that exchanges in every way until the exchanger is closed.
template <class Coroutine>
Coroutine coroutine_party(scene& s, std::size_t number) {
    page& book = s.books[number];
    dice random(number);
    bool open = true;
    while (open) {
        tracked mine = book.item();
        const long id = mine.id();
        const unsigned roll = random.roll();
        if (roll < 12) {
            open = book.enter(id, co_await s.ex.exchange(std::move(mine)));
        } else if (roll < 15) {
            open = book.enter(id, co_await s.ex.exchange(std::move(mine), s.button.token()));
        } else if (roll < 17) {
            open = book.enter(id, co_await s.ex.exchange_for(std::move(mine), random.patience()));
        } else if (roll < 19) {
            open = book.enter(id, co_await s.ex.exchange_for(std::move(mine), random.patience(),
                                                             s.button.token()));
        } else {
            open = book.enter(id, s.ex.try_exchange(std::move(mine)));
        }
    }
    s.left.count_down();
}

/// A thread that does the same.
void thread_party(scene& s, std::size_t number) {
    page& book = s.books[number];
    dice random(number);
    bool open = true;
    while (open) {
        tracked mine = book.item();
        const long id = mine.id();
        const unsigned roll = random.roll();
        if (roll < 12) {
            open = book.enter(id, sync_wait(s.ex.exchange(std::move(mine))));
        } else if (roll < 15) {
            open = book.enter(id, sync_wait(s.ex.exchange(std::move(mine), s.button.token())));
        } else if (roll < 17) {
            open = book.enter(id, sync_wait(s.ex.exchange_for(std::move(mine), random.patience())));
        } else if (roll < 19) {
            open = book.enter(id, sync_wait(s.ex.exchange_for(std::move(mine), random.patience(),
                                                              s.button.token())));
        } else {
            open = book.enter(id, s.ex.try_exchange(std::move(mine)));
        }
    }
    s.left.count_down();
}

/// Lets everybody exchange for a moment, then closes and checks the books.
void play(std::size_t loops, std::size_t coroutines, std::size_t bare, std::size_t threads,
          std::array<long, 5>& failures, long& exchanges) {
    scene s(loops * coroutines + bare + threads);
    std::size_t number = 0;
    {
        std::vector<std::unique_ptr<run_loop>> all_loops;
        std::vector<std::jthread> running;
        // First: bare coroutines may keep this thread busy with each other until the close.
        running.emplace_back([&s] {
            for (const auto end = steady::now() + 40ms; steady::now() < end;) {
                s.button.press();
                std::this_thread::yield();
            }
            s.ex.close();
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
    s.books.check();
    exchanges += s.books.exchanges();
    for (const auto why : all_errors) {
        failures.at(static_cast<std::size_t>(why)) += s.books.failures(why);
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
    std::array<long, 5> failures{};
    long exchanges = 0;
    const stress_time time;
    while (time.goes_on([&] {
        return std::apply([](auto... s) { return missing(s...); }, steps);
    }) && !::testing::Test::HasFailure()) {
        play(2, 8, 0, 0, failures, exchanges);
        play(2, 3, 3, 2, failures, exchanges);
        play(1, 2, 1, 1, failures, exchanges);
        play(0, 0, 2, 3, failures, exchanges);
    }
    EXPECT_GT(exchanges, 1000);
    for (const auto why : all_errors) {
        EXPECT_GT(failures.at(static_cast<std::size_t>(why)), 0) << make_error_code(why).message();
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace
} // namespace tryst::test
