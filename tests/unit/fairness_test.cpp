// SPDX-License-Identifier: MIT
// The next arrival takes the waiter in slot 0, however busy the arena is. With two colours on a
// stack, an arrival takes it before long.
#include <tryst/exchanger.hpp>

#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/opened_arena.hpp"
#include "support/short_exchanger.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

namespace tryst::test {
namespace {

/// Coroutines of one loop that exchange in the arena, while one waits in slot 0.
struct Fairness : testing::Test {
    ~Fairness() override {
        ex.close();
        loop.run_until_idle();
    }

    task<> exchange_often(int times) {
        for (int i = 0; i != times; ++i) {
            auto got = co_await ex.exchange(1);
            if (!got) {
                co_return;
            }
            ++swaps;
        }
    }
    /// On no executor, so that it has no turn to spend above slot 0.
    bare_coroutine wait_at_home() {
        swaps_at_start = swaps;
        const auto got = co_await ex.exchange(2);
        swaps_when_taken = got ? swaps : -1;
    }
    task<> wait_in_the_middle() {
        const executor_scope none{executor_ref()};
        waiting.emplace(wait_at_home());
        co_return;
    }

    exchanger<int> ex{4};
    long swaps = 0;
    long swaps_at_start = -1;
    long swaps_when_taken = -1;
    std::optional<bare_coroutine> waiting;
    run_loop loop;
};

TEST_F(Fairness, TheFirstOfManyWhoArriveTakesTheOneWhoWaits) {
    constexpr int coroutines = 100;
    waiting.emplace(wait_at_home());
    grow(ex, 4);
    for (int i = 0; i != coroutines; ++i) {
        loop.spawn(exchange_often(100));
    }
    loop.run_until_idle();
    EXPECT_EQ(swaps_when_taken, 0);
    EXPECT_GT(swaps, coroutines);
}

TEST_F(Fairness, ABusyArenaTakesTheOneWhoStartsToWaitWithinOneTurnOfEach) {
    // Half of the coroutines wait in the arena when it begins; each may still swap there once.
    constexpr int coroutines = 10;
    grow(ex);
    for (int i = 0; i != coroutines; ++i) {
        loop.spawn(exchange_often(1'000));
    }
    loop.spawn(wait_in_the_middle());
    loop.run_until_idle();
    EXPECT_GE(swaps_when_taken, swaps_at_start);
    EXPECT_LE(swaps_when_taken - swaps_at_start, coroutines);
    EXPECT_GT(swaps, 10 * coroutines);
}

// ---- Two colours on a stack.

using stack_exchanger = short_exchanger<detail::dual_stack, int>;

struct FairnessOfArena : testing::Test {
    FairnessOfArena() {
        detail::per_thread<detail::thread_state>().random = 1; // a seed
    }

    /// Makes exchanges at the first exchanger, and after each `period` of them one at the second.
    template <bool Red>
    task<> exchange_in_turn(int period, int times) {
        for (int i = 1; i <= times; ++i) {
            stack_exchanger& here = ex[i % (period + 1) == 0 ? 1 : 0];
            if constexpr (Red) {
                auto got = co_await here.red(1);
                if (!got) {
                    co_return;
                }
                ++swaps;
            } else {
                auto got = co_await here.blue(1);
                if (!got) {
                    co_return;
                }
            }
        }
    }
    bare_coroutine wait_below() {
        const auto got = co_await ex[0].red(2);
        swaps_when_taken = got ? swaps : -1;
    }

    std::array<stack_exchanger, 2> ex{stack_exchanger(1), stack_exchanger(1)};
    long swaps = 0;
    long swaps_when_taken = -1;
    run_loop loop;
};

TEST_F(FairnessOfArena, TakesTheOneWhoWaitsOnTheStackWhateverThePattern) {
    for (const int period : {1, 16, 255}) {
        swaps = 0;
        swaps_when_taken = -1;
        const auto waiting = wait_below();
        arena_of(ex[0].inside()).grow();
        arena_of(ex[1].inside()).grow();
        loop.spawn(exchange_in_turn<true>(period, 20'000));
        loop.spawn(exchange_in_turn<false>(period, 20'000));
        loop.run_until_idle();
        EXPECT_GT(swaps_when_taken, 0) << period;
        EXPECT_LT(swaps_when_taken, 2'000) << period;
        ex = {stack_exchanger(1), stack_exchanger(1)};
        loop.run_until_idle();
    }
}

TEST_F(FairnessOfArena, OneArrivalIn256LooksAtAStackFirst) {
    constexpr int looks_expected = 100;
    for (const std::size_t stacks : {1U, 2U, 256U}) {
        std::vector<std::unique_ptr<stack_protocol>> visited;
        for (std::size_t i = 0; i != stacks; ++i) {
            visited.push_back(std::make_unique<stack_protocol>(1));
            EXPECT_FALSE(arena_of(*visited.back()).skips_list()) << "not in use";
            arena_of(*visited.back()).grow();
        }
        int looks = 0;
        for (int i = 0; i != 256 * looks_expected; ++i) {
            looks += arena_of(*visited[0]).skips_list() ? 0 : 1;
            for (std::size_t other = 1; other != stacks; ++other) {
                static_cast<void>(arena_of(*visited[other]).skips_list());
            }
        }
        EXPECT_NEAR(looks, looks_expected, 30) << stacks; // three standard deviations
    }
}

} // namespace
} // namespace tryst::test
