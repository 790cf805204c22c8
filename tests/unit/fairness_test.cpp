// SPDX-License-Identifier: MIT
// The next arrival takes the waiter in slot 0, however busy the arena is. With two colours on a
// stack, an arrival takes it before long.
#include <tryst/exchanger.hpp>

#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/joined_coroutine.hpp"
#include "support/opened_arena.hpp"
#include "support/short_exchanger.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::detail::colour;
using tryst::test::bare_coroutine;
using tryst::test::grow;
using tryst::test::joined_coroutine;
using exchanger = tryst::exchanger<int>;

tryst::task<> exchange_often(exchanger& ex, int times, long& swaps) {
    for (int i = 0; i != times; ++i) {
        auto got = co_await ex.exchange(1);
        if (!got) {
            co_return;
        }
        ++swaps;
    }
}

bare_coroutine wait_and_read(exchanger& ex, const long& swaps, long& swaps_when_taken) {
    const auto got = co_await ex.exchange(2);
    swaps_when_taken = got ? swaps : -1;
}

TEST(Fairness, TheFirstOfManyWhoArriveTakesTheOneWhoWaits) {
    constexpr int coroutines = 100;
    exchanger ex(4);
    tryst::run_loop loop;
    long swaps = 0;
    long swaps_when_taken = -1;
    const auto waiting = wait_and_read(ex, swaps, swaps_when_taken);
    grow(ex, 4);
    for (int i = 0; i != coroutines; ++i) {
        loop.spawn(exchange_often(ex, 100, swaps));
    }
    loop.run_until_idle();
    EXPECT_TRUE(waiting.done());
    EXPECT_EQ(swaps_when_taken, 0);
    EXPECT_GT(swaps, coroutines);
    ex.close();
    loop.run_until_idle();
}

/// Waits in the wait list at once: without an executor it has no turn to spend above.
bare_coroutine wait_at_home(exchanger& ex, const long& swaps, long& swaps_when_taken) {
    const tryst::executor_scope none{tryst::executor_ref()};
    return wait_and_read(ex, swaps, swaps_when_taken);
}

tryst::task<> wait_in_the_middle(exchanger& ex, const long& swaps, long& swaps_at_start,
                                 long& swaps_when_taken, std::vector<bare_coroutine>& kept) {
    kept.push_back(wait_at_home(ex, swaps, swaps_when_taken));
    swaps_at_start = swaps;
    co_return;
}

TEST(Fairness, ABusyArenaTakesTheOneWhoStartsToWaitWithinOneTurnOfEach) {
    // Half of the coroutines wait in the arena when it begins; each may still swap there once.
    constexpr int coroutines = 10;
    exchanger ex(1);
    tryst::run_loop loop;
    grow(ex);
    long swaps = 0;
    long swaps_at_start = 0;
    long swaps_when_taken = -1;
    std::vector<bare_coroutine> waiting;
    for (int i = 0; i != coroutines; ++i) {
        loop.spawn(exchange_often(ex, 1'000, swaps));
    }
    loop.spawn(wait_in_the_middle(ex, swaps, swaps_at_start, swaps_when_taken, waiting));
    loop.run_until_idle();
    EXPECT_GE(swaps_when_taken, swaps_at_start);
    EXPECT_LE(swaps_when_taken - swaps_at_start, coroutines);
    EXPECT_GT(swaps, 10 * coroutines);
    ex.close();
    loop.run_until_idle();
}

using stack_exchanger = tryst::test::short_exchanger<tryst::detail::dual_stack, int>;

/// Makes exchanges at the first exchanger, and after each `period` of them one at the second.
template <bool Red>
tryst::task<> exchange_in_turn(stack_exchanger& first, stack_exchanger& second, int period,
                               int times, long& swaps) {
    for (int i = 1; i <= times; ++i) {
        stack_exchanger& ex = i % (period + 1) == 0 ? second : first;
        if constexpr (Red) {
            auto got = co_await ex.red(1);
            if (!got) {
                co_return;
            }
            ++swaps;
        } else {
            auto got = co_await ex.blue(1);
            if (!got) {
                co_return;
            }
        }
    }
}

bare_coroutine wait_below(stack_exchanger& ex, const long& swaps, long& swaps_when_taken) {
    const auto got = co_await ex.red(2);
    swaps_when_taken = got ? swaps : -1;
}

TEST(FairnessOfArena, TakesTheOneWhoWaitsOnTheStackWhateverThePattern) {
    for (const int period : {1, 2, 16, 250, 255, 256}) {
        stack_exchanger first(1);
        stack_exchanger second(1);
        tryst::run_loop loop;
        long swaps = 0;
        long swaps_when_taken = -1;
        const auto waiting = wait_below(first, swaps, swaps_when_taken);
        tryst::test::arena_of(first.inside()).grow();
        tryst::test::arena_of(second.inside()).grow();
        tryst::detail::per_thread<tryst::detail::thread_state>().random = 1; // a seed
        loop.spawn(exchange_in_turn<true>(first, second, period, 20'000, swaps));
        loop.spawn(exchange_in_turn<false>(first, second, period, 20'000, swaps));
        loop.run_until_idle();
        EXPECT_GT(swaps_when_taken, 0) << period;
        EXPECT_LT(swaps_when_taken, 2'000) << period;
        first.close();
        second.close();
        loop.run_until_idle();
    }
}

TEST(FairnessOfArena, OneArrivalIn256LooksAtAStackFirst) {
    constexpr int looks_expected = 100;
    for (const int stacks : {1, 2, 16, 251, 256}) {
        std::vector<std::unique_ptr<tryst::test::stack_protocol>> visited;
        for (int i = 0; i != stacks; ++i) {
            visited.push_back(std::make_unique<tryst::test::stack_protocol>(1));
            EXPECT_FALSE(tryst::test::arena_of(*visited.back()).skips_list()) << "not in use";
            tryst::test::arena_of(*visited.back()).grow();
        }
        tryst::detail::per_thread<tryst::detail::thread_state>().random = 1; // a seed
        const auto& arena = tryst::test::arena_of(*visited.front());
        int looks = 0;
        for (int i = 0; i != 256 * looks_expected; ++i) {
            looks += arena.skips_list() ? 0 : 1;
            for (std::size_t other = 1; other != visited.size(); ++other) {
                static_cast<void>(tryst::test::arena_of(*visited[other]).skips_list());
            }
        }
        EXPECT_NEAR(looks, looks_expected, 30) << stacks; // three standard deviations
    }
}

joined_coroutine wait_and_sum(exchanger& ex, std::vector<std::atomic<long>>& swaps, long& sum) {
    const auto got = co_await ex.exchange(2);
    sum = 0;
    for (const std::atomic<long>& each : swaps) {
        sum += each;
    }
    EXPECT_TRUE(got);
}

TEST(Fairness, BusyThreadsTakeTheOneWhoWaitsWithinABoundedNumberOfExchanges) {
    constexpr int rounds = 200;
    constexpr int threads = 4;
    exchanger ex(2);
    std::vector<std::atomic<long>> swaps(threads);
    std::atomic<bool> over{false};
    std::vector<std::thread> running;
    running.reserve(threads);
    for (std::atomic<long>& mine : swaps) {
        running.emplace_back([&] {
            while (!over) {
                // Patient enough to wait for another, and not to hang at the end.
                mine += tryst::sync_wait(ex.exchange(1, 1ms)) ? 1 : 0;
            }
        });
    }
    for (int i = 0; i != rounds; ++i) {
        grow(ex, 2);
        long at_the_end = 0;
        const auto waiting = wait_and_sum(ex, swaps, at_the_end);
        long at_the_start = 0;
        for (const std::atomic<long>& each : swaps) {
            at_the_start += each;
        }
        waiting.join();
        // Each thread may be in one exchange that has passed by slot 0, and then in one that has
        // not seen the offer yet.
        EXPECT_LE(at_the_end - at_the_start, 4 * threads);
    }
    over = true;
    for (std::thread& each : running) {
        each.join();
    }
}

} // namespace
