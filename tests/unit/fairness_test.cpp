// SPDX-License-Identifier: MIT
// The next arrival takes the waiter in slot 0, however busy the arena is. With two colours an
// arrival takes it before long.
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

template <class WaitList>
using coloured_exchanger = tryst::test::short_exchanger<WaitList, int>;

template <bool Red, class WaitList>
tryst::task<> exchange_often(coloured_exchanger<WaitList>& ex, int times, long& swaps) {
    for (int i = 0; i != times; ++i) {
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

template <class WaitList>
bare_coroutine wait_below(coloured_exchanger<WaitList>& ex, const long& swaps,
                          long& swaps_when_taken) {
    const auto got = co_await ex.red(2);
    swaps_when_taken = got ? swaps : -1;
}

template <class WaitList>
class FairnessOfArena : public testing::Test {};
using wait_lists_with_arena =
    testing::Types<tryst::detail::dual_stack, tryst::detail::unordered_dual_queue>;
TYPED_TEST_SUITE(FairnessOfArena, wait_lists_with_arena, );

TYPED_TEST(FairnessOfArena, TakesTheOneWhoWaitsInTheList) {
    constexpr int coroutines = 16;
    coloured_exchanger<TypeParam> ex(1);
    tryst::run_loop loop;
    long swaps = 0;
    long swaps_when_taken = -1;
    const auto waiting = wait_below<TypeParam>(ex, swaps, swaps_when_taken);
    tryst::test::arena_of(ex.inside()).grow();
    for (int i = 0; i != coroutines; i += 2) {
        loop.spawn(exchange_often<true, TypeParam>(ex, 1'000, swaps));
        loop.spawn(exchange_often<false, TypeParam>(ex, 1'000, swaps));
    }
    loop.run_until_idle();
    // Of 251 blue arrivals, one looks at the list.
    EXPECT_GE(swaps_when_taken, 0);
    EXPECT_LE(swaps_when_taken, 251);
    EXPECT_GT(swaps, 7'000);
    ex.close();
    loop.run_until_idle();
}

TEST(Fairness, ThreadsThatVisitManyStacksInTurnLookAtEach) {
    std::thread fresh([] { // other tests have counted arrivals on this one
        for (int stacks = 1; stacks != 17; ++stacks) {
            std::vector<std::unique_ptr<tryst::test::stack_protocol>> visited;
            std::vector<int> looks(static_cast<std::size_t>(stacks));
            for (int i = 0; i != stacks; ++i) {
                visited.push_back(std::make_unique<tryst::test::stack_protocol>(1));
                EXPECT_FALSE(tryst::test::arena_of(*visited.back()).skips_list(colour::blue));
                tryst::test::arena_of(*visited.back()).grow();
            }
            for (int i = 0; i != 251 * stacks; ++i) {
                const auto at = static_cast<std::size_t>(i % stacks);
                const auto& arena = tryst::test::arena_of(*visited[at]);
                EXPECT_EQ(arena.skips_list(colour::red), i % 251 != 250);
                looks[at] += arena.skips_list(colour::blue) ? 0 : 1;
            }
            EXPECT_EQ(looks, std::vector<int>(looks.size(), 1)) << stacks;
        }
    });
    fresh.join();
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
                mine += tryst::sync_wait(ex.exchange_for(1, 1ms)) ? 1 : 0;
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
