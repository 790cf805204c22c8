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

task<> sum_of_tasks(int& sum) {
    for (int i = 0; i != turns; ++i) {
        sum += co_await one();
    }
}

TEST(StackDepth, DoesNotGrowWithTasksThatCompleteAtOnce) {
    int sum = 0;
    sync_wait(sum_of_tasks(sum));
    EXPECT_EQ(sum, turns);
}

task<> sum_of_groups(int& sum) {
    for (int i = 0; i != turns / 2; ++i) {
        const auto [a, b] = co_await when_all(one(), one());
        sum += a + b;
    }
}

TEST(StackDepth, DoesNotGrowWithGroupsThatCompleteAtOnce) {
    int sum = 0;
    sync_wait(sum_of_groups(sum));
    EXPECT_EQ(sum, turns);
}

task<int> swap(exchanger<int>& ex) {
    auto got = co_await ex.exchange(1);
    co_return *got;
}
task<> sum_of_swaps(exchanger<int>& ex, int& sum) {
    for (int i = 0; i != turns; ++i) {
        sum += co_await swap(ex);
    }
}

TEST(StackDepth, DoesNotGrowWithTasksThatWait) {
    run_loop loop;
    exchanger<int> ex;
    std::array<int, 2> sums{};
    for (int& sum : sums) {
        loop.spawn(sum_of_swaps(ex, sum));
    }
    loop.run_until_idle();
    EXPECT_EQ(sums, (std::array{turns, turns}));
}

detached_coroutine sum_of_exchanges(exchanger<int>& ex, int& sum) {
    for (int i = 0; i != turns; ++i) {
        auto got = co_await ex.exchange(1);
        sum += got ? *got : 0;
    }
}

TEST(StackDepth, DoesNotGrowWithExchangesOfBareCoroutinesThatResumeEachOther) {
    exchanger<int> ex;
    int sum = 0;
    sum_of_exchanges(ex, sum);
    sum_of_exchanges(ex, sum);
    ex.close();
    EXPECT_EQ(sum, 2 * turns);
}

} // namespace
} // namespace tryst::test
