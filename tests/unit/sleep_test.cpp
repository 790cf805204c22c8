// SPDX-License-Identifier: MIT
#include <tryst/sleep.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include "support/bare_coroutine.hpp"
#include "support/joined_coroutine.hpp"
#include "support/long_past.hpp"
#include "support/loop_thread.hpp"
#include "support/manual_clock.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using tryst::run_loop;
using tryst::sleep_for;
using tryst::sleep_until;
using tryst::sync_wait;
using tryst::task;
using tryst::test::bare_coroutine;
using tryst::test::census;
using tryst::test::joined_coroutine;
using tryst::test::loop_thread;
using tryst::test::timed_loop;
using tryst::test::tracked;
using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

template <class Duration>
task<> log_after(Duration patience, int number, std::vector<int>& log) {
    const bool passed = co_await sleep_for(patience);
    EXPECT_TRUE(passed);
    log.push_back(number);
}

/// A tick every 10 ns, until a stop is requested.
task<> tick(std::stop_token stop, int& ticks) {
    while (true) {
        const bool passed = co_await sleep_for(10ns, stop);
        if (!passed) {
            break;
        }
        ++ticks;
    }
    ticks = -ticks;
}

} // namespace

TEST(Sleep, IsNeverShorterThanAsked) {
    for (const auto patience : {0us, 50us, 3000us}) {
        const auto start = clock::now();
        EXPECT_TRUE(sync_wait(sleep_for(patience)));
        EXPECT_GE(clock::now() - start, patience);
        run_loop loop;
        const auto until = clock::now() + patience;
        EXPECT_TRUE(loop.run(sleep_until(until)));
        EXPECT_GE(clock::now(), until);
    }
}

TEST(Sleep, UsesTheClockOfItsLoop) {
    timed_loop loop;
    std::vector<int> log;
    loop->spawn(log_after(20ns, 2, log));
    loop->spawn(log_after(10ns, 1, log));
    loop->spawn([](clock::time_point until, std::vector<int>& log) -> task<> {
        co_await sleep_until(until);
        log.push_back(3);
    }(loop.now() + 1h, log));
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

TEST(Sleep, DoesNotSuspendIfTheTimeHasPassed) {
    timed_loop loop;
    std::vector<int> log;
    loop->spawn(log_after(0ns, 1, log));
    loop->spawn(log_after(-1h, 2, log));
    loop->spawn([](std::vector<int>& log) -> task<> {
        for (const auto time : tryst::test::long_past) {
            EXPECT_TRUE(co_await sleep_until(time));
        }
        log.push_back(3);
    }(log));
    EXPECT_EQ(loop->run_until_idle(), 3U);
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(Sleep, EndsWithAStop) {
    timed_loop loop;
    std::stop_source stop;
    int ticks = 0;
    loop->spawn(tick(stop.get_token(), ticks));
    loop->run_until_idle();
    for (int i = 0; i != 5; ++i) {
        loop.advance(10ns);
    }
    EXPECT_EQ(ticks, 5);
    stop.request_stop();
    EXPECT_EQ(ticks, 5) << "it was resumed inside request_stop";
    loop->run_until_idle();
    EXPECT_EQ(ticks, -5);
}

TEST(Sleep, ThatWasStoppedBeforeDoesNotBegin) {
    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(sync_wait(sleep_for(1h, stop.get_token())));
    EXPECT_FALSE(sync_wait(sleep_for(0h, stop.get_token()))) << "a stop wins";
}

TEST(Sleep, LosesAStopThatComesAfterTheTimeHasPassed) {
    timed_loop loop;
    std::stop_source stop;
    bool passed = false;
    loop->spawn([](std::stop_token stop, bool& passed) -> task<> {
        passed = co_await sleep_for(10ns, stop);
    }(stop.get_token(), passed));
    loop->spawn([](std::stop_source& stop) -> task<> {
        co_await sleep_for(10ns);
        stop.request_stop();
    }(stop));
    loop->run_until_idle();
    loop.advance(10ns);
    EXPECT_TRUE(passed);
}

TEST(Sleep, EndsWithAStopFromAnotherThreadOrWhenTheTimeHasPassed) {
    for (int round = 0; round != 1'000; ++round) {
        std::stop_source stop;
        std::thread stopper([&stop] { stop.request_stop(); });
        const auto patience = std::chrono::microseconds(round % 64);
        const auto start = clock::now();
        if (sync_wait(sleep_for(patience, stop.get_token()))) {
            EXPECT_GE(clock::now() - start, patience);
        } else {
            EXPECT_TRUE(stop.stop_requested());
        }
        stopper.join();
    }
}

TEST(Sleep, CanBeStoredAndAwaitedAgain) {
    timed_loop loop;
    std::vector<int> log;
    loop->spawn([](std::vector<int>& log) -> task<> {
        std::stop_source stop;
        const auto nap = sleep_for(10ns, stop.get_token());
        EXPECT_TRUE(co_await nap);
        log.push_back(1);
        EXPECT_TRUE(co_await nap);
        log.push_back(2);
        stop.request_stop();
        EXPECT_FALSE(co_await nap);
        log.push_back(3);
    }(log));
    loop->run_until_idle();
    loop.advance(10ns);
    EXPECT_EQ(log, (std::vector{1}));
    loop.advance(10ns);
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

// ---- Without an executor

TEST(SleepWithoutAnExecutor, IsServedByATimerThread) {
    bool passed = false;
    [](bool& passed) -> joined_coroutine {
        const auto start = clock::now();
        passed = co_await sleep_for(2ms);
        EXPECT_GE(clock::now() - start, 2ms);
    }(passed)
                            .join();
    EXPECT_TRUE(passed);
}

TEST(SleepWithoutAnExecutor, ResumesInsideTheStop) {
    std::stop_source stop;
    std::atomic<int> result{-1};
    auto sleeper = [](std::stop_token stop, std::atomic<int>& result) -> bare_coroutine {
        result = co_await sleep_for(24h, std::move(stop)) ? 1 : 0;
    }(stop.get_token(), result);
    EXPECT_EQ(result, -1);
    stop.request_stop();
    EXPECT_EQ(result, 0);
}

TEST(SleepWithoutAnExecutor, RacesWithAStop) {
    for (int round = 0; round != 1'000; ++round) {
        std::stop_source stop;
        std::thread stopper([&stop] { stop.request_stop(); });
        const auto patience = std::chrono::microseconds(1 + round % 64);
        [](std::stop_token stop, std::chrono::microseconds patience) -> joined_coroutine {
            const auto start = clock::now();
            if (co_await sleep_for(patience, stop)) {
                EXPECT_GE(clock::now() - start, patience);
            } else {
                EXPECT_TRUE(stop.stop_requested());
            }
        }(stop.get_token(), patience)
                                                                            .join();
        stopper.join();
    }
}

// ---- Destruction

namespace {

task<> doze(tracked mark, std::stop_token stop) {
    co_await sleep_for(10ns, std::move(stop));
    ADD_FAILURE() << "resumed after " << mark.id() << " was destroyed";
}

} // namespace

TEST(SleepDestruction, FreesSleepersTheirTimersAndCallbacks) {
    census kept;
    std::stop_source stop;
    {
        timed_loop loop;
        loop->spawn(doze(tracked(kept, 1), {}));
        loop->spawn(doze(tracked(kept, 2), stop.get_token()));
        loop->run_until_idle();
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 0);
    stop.request_stop();
}

TEST(SleepDestruction, FreesSleepersThatHaveBeenWokenAndHaveNotRun) {
    census kept;
    std::stop_source stop;
    {
        timed_loop loop;
        loop->spawn(doze(tracked(kept, 1), stop.get_token()));
        loop->run_until_idle();
        stop.request_stop();
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(SleepDestruction, RacesWithAStop) {
    for (int round = 0; round != 1'000; ++round) {
        census kept;
        std::stop_source stop;
        std::thread stopper;
        {
            run_loop loop;
            loop.spawn([](tracked mark, std::stop_token stop) -> task<> {
                co_await sleep_for(24h, std::move(stop));
                static_cast<void>(mark);
            }(tracked(kept, 1), stop.get_token()));
            loop.run_until_idle();
            stopper = std::thread([&stop] { stop.request_stop(); });
        }
        EXPECT_EQ(kept.alive, 0);
        stopper.join();
    }
}

TEST(SleepDestruction, OfASleepThatWasNeverAwaited) {
    const auto nap = sleep_for(1h, std::stop_source().get_token());
    EXPECT_TRUE((std::is_move_constructible_v<std::remove_const_t<decltype(nap)>>));
}
