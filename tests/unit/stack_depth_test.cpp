// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include "support/bare_coroutine.hpp"

#include <gtest/gtest.h>

#include <array>

// Each of these needs more stack than there is, if a turn of its loop costs any.
namespace tryst::test {
namespace {

constexpr int turns = 200'000;

task<int> one() {
    co_return 1;
}

TEST(StackDepth, DoesNotGrowWithTasksThatCompleteAtOnce) {
    const int sum = sync_wait([]() -> task<int> {
        int sum = 0;
        for (int i = 0; i != turns; ++i) {
            sum += co_await one();
        }
        co_return sum;
    }());
    EXPECT_EQ(sum, turns);
}

TEST(StackDepth, DoesNotGrowWithGroupsThatCompleteAtOnce) {
    const int sum = sync_wait([]() -> task<int> {
        int sum = 0;
        for (int i = 0; i != turns / 2; ++i) {
            const auto [a, b] = co_await when_all(one(), one());
            sum += a + b;
        }
        co_return sum;
    }());
    EXPECT_EQ(sum, turns);
}

TEST(StackDepth, DoesNotGrowWithTasksThatWait) {
    run_loop loop;
    exchanger<int> ex;
    std::array<int, 2> sums{};
    for (int& sum : sums) {
        loop.spawn([](exchanger<int>& ex, int& sum) -> task<> {
            const auto swap = [](exchanger<int>& ex) -> task<int> {
                auto got = co_await ex.exchange(1);
                co_return *got;
            };
            for (int i = 0; i != turns; ++i) {
                sum += co_await swap(ex);
            }
        }(ex, sum));
    }
    loop.run_until_idle();
    EXPECT_EQ(sums, (std::array{turns, turns}));
}

TEST(StackDepth, DoesNotGrowWithExchangesOfBareCoroutinesThatResumeEachOther) {
    exchanger<int> ex;
    int sum = 0;
    const auto swap = [](exchanger<int>& ex, int& sum) -> detached_coroutine {
        for (int i = 0; i != turns; ++i) {
            auto got = co_await ex.exchange(1);
            sum += got ? *got : 0;
        }
    };
    swap(ex, sum);
    swap(ex, sum);
    ex.close();
    EXPECT_EQ(sum, 2 * turns);
}

} // namespace
} // namespace tryst::test
