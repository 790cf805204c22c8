// SPDX-License-Identifier: MIT
// That none ends early: runs_test.cpp, for each way to run it.
#include <tryst/sleep.hpp>

#include <tryst/sync_wait.hpp>

#include "support/bare_coroutine.hpp"
#include "support/joined_coroutine.hpp"
#include "support/long_past.hpp"
#include "support/manual_clock.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;

class Sleep : public ::testing::Test {
protected:
    template <class Operation>
    task<> log_after(Operation sleep, int number) {
        const bool passed = co_await sleep;
        log.push_back(passed ? number : -number);
    }

    timed_loop loop;
    std::stop_source stop;
    std::vector<int> log;
};

TEST_F(Sleep, UsesTheClockOfItsLoop) {
    loop->spawn(log_after(sleep_for(20ns), 2));
    loop->spawn(log_after(sleep_for(10ns), 1));
    loop->spawn(log_after(sleep_until(loop.now() + 1h), 3));
    loop->run_until_idle();
    loop.advance(9ns);
    EXPECT_TRUE(log.empty());
    loop.advance(1ns);
    EXPECT_EQ(log, (std::vector{1}));
    loop.advance(10ns);
    EXPECT_EQ(log, (std::vector{1, 2}));
    loop.advance(1h);
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST_F(Sleep, DoesNotSuspendIfTheTimeHasPassed) {
    const auto sleep_long_ago = [&]() -> task<> {
        for (const auto time : long_past) {
            const bool passed = co_await sleep_until(time);
            EXPECT_TRUE(passed);
        }
        log.push_back(3);
    };
    loop->spawn(log_after(sleep_for(0ns), 1));
    loop->spawn(log_after(sleep_for(-1h), 2));
    loop->spawn(sleep_long_ago());
    EXPECT_EQ(loop->run_until_idle(), 3U);
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST_F(Sleep, EndsWithAStop) {
    loop->spawn(log_after(sleep_for(10ns, stop.get_token()), 1));
    loop->run_until_idle();
    stop.request_stop();
    EXPECT_TRUE(log.empty()) << "it was resumed inside request_stop";
    loop->run_until_idle();
    EXPECT_EQ(log, std::vector{-1});
}

TEST_F(Sleep, ThatWasStoppedBeforeDoesNotBegin) {
    stop.request_stop();
    EXPECT_FALSE(sync_wait(sleep_for(1h, stop.get_token())));
    EXPECT_FALSE(sync_wait(sleep_for(0h, stop.get_token()))) << "a stop wins";
}

TEST_F(Sleep, LosesAStopThatComesAfterTheTimeHasPassed) {
    const auto request_stop = [&]() -> task<> {
        co_await sleep_for(10ns);
        stop.request_stop();
    };
    loop->spawn(log_after(sleep_for(9ns, stop.get_token()), 1));
    loop->spawn(request_stop());
    loop->spawn(log_after(sleep_for(11ns, stop.get_token()), 2));
    loop->run_until_idle();
    loop.advance(11ns);
    EXPECT_EQ(log, (std::vector{1, 2})) << "the second was stopped while it was queued";
}

TEST_F(Sleep, CanBeStoredAndAwaitedAgain) {
    const auto nap = sleep_for(10ns, stop.get_token());
    const auto body = [&]() -> task<> {
        co_await log_after(nap, 1);
        co_await log_after(nap, 2);
        stop.request_stop();
        co_await log_after(nap, 3);
    };
    loop->spawn(body());
    loop->run_until_idle();
    loop.advance(10ns);
    EXPECT_EQ(log, (std::vector{1}));
    loop.advance(10ns);
    EXPECT_EQ(log, (std::vector{1, 2, -3}));
}

TEST_F(Sleep, MayNeverBeAwaited) {
    const auto nap = sleep_for(1h, std::stop_source().get_token());
    EXPECT_TRUE((std::is_move_constructible_v<std::remove_const_t<decltype(nap)>>));
}

// ---- Without an executor, and on real time

TEST_F(Sleep, WithoutAnExecutorResumesInsideTheStop) {
    std::atomic<int> result{-1};
    const auto body = [&]() -> bare_coroutine {
        const bool passed = co_await sleep_for(24h, stop.get_token());
        result = passed ? 1 : 0;
    };
    auto sleeper = body();
    EXPECT_EQ(result, -1);
    stop.request_stop();
    EXPECT_EQ(result, 0);
}

TEST_F(Sleep, EndsWithAStopOfAnotherThreadOrWhenTheTimeHasPassed) {
    int passed_count = 0;
    for (int round = 0; round != 1'000; ++round) {
        std::stop_source race;
        const auto patience = std::chrono::microseconds(1 + round % 64);
        const auto start = steady_clock::now();
        bool passed = false;
        const auto nap = [&]() -> joined_coroutine { // which the timer thread serves
            passed = co_await sleep_for(patience, race.get_token());
        };
        std::thread stopper([&] {
            if (round % 8 >= 2) {
                race.request_stop();
            }
        });
        if (round % 2 == 0) {
            passed = sync_wait(sleep_for(patience, race.get_token()));
        } else {
            nap().join();
        }
        ASSERT_TRUE(passed ? steady_clock::now() - start >= patience : race.stop_requested());
        passed_count += passed ? 1 : 0;
        stopper.join();
    }
    EXPECT_GE(passed_count, 250) << "those that nobody stopped";
}

} // namespace
} // namespace tryst::test
