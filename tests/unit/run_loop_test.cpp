// SPDX-License-Identifier: MIT
// How its work runs, its timers, and frames that are destroyed with it: runs_test.cpp,
// end_of_wait_test.cpp, sleep_test.cpp, destroyed_while_waiting_test.cpp.
#include <tryst/run_loop.hpp>

#include <tryst/sleep.hpp>

#include "support/executor_end.hpp"
#include "support/manual_clock.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// A loop whose work writes into a log.
class RunLoop : public ::testing::Test {
protected:
    task<> take_turns(char name, int count) {
        for (int i = 0; i != count; ++i) {
            text += name;
            co_await loop.schedule();
        }
    }
    /// Stops the loop before the last turn.
    task<> stop_after(char name, int count) {
        co_await take_turns(name, count);
        loop.stop();
    }

    run_loop loop;
    std::string text;
    std::vector<int> log;
};

// ---- The queue

TEST_F(RunLoop, RunsTasksInTheOrderOfTheirSpawningAndInTurns) {
    loop.spawn(take_turns('a', 3));
    const auto spawn = [&]() -> task<> {
        loop.spawn(take_turns('d', 1)); // after what was queued before
        text += 'b';
        co_return;
    };
    loop.spawn(spawn());
    loop.spawn(take_turns('c', 2));
    EXPECT_TRUE(text.empty()) << "spawn ran a task inline";
    loop.run_until_idle();
    EXPECT_EQ(text, "abcadca");
}

TEST_F(RunLoop, CountsTheNodesItHasRun) {
    EXPECT_EQ(loop.run_until_idle(), 0U);
    loop.spawn(take_turns('a', 4)); // its start and four turns
    loop.spawn(take_turns('b', 0));
    EXPECT_EQ(loop.run_until_idle(), 6U);
    loop.stop();
    EXPECT_EQ(loop.run(), 1U);
    EXPECT_EQ(loop.run_until_idle(), 0U);
}

TEST_F(RunLoop, KeepsTheOrderOfMailFromAnotherThread) {
    std::vector<int> expected(1'000);
    std::iota(expected.begin(), expected.end(), 0);
    std::thread poster([&] {
        for (const int number : expected) {
            loop.spawn(append(log, number));
        }
        loop.stop();
    });
    loop.run();
    poster.join();
    EXPECT_EQ(log, expected);
}

TEST_F(RunLoop, TakesMailWhileItIsBusy) {
    const auto wait = [&]() -> task<> { // and never lets the loop go idle
        std::thread([&] { loop.spawn(append(log, 1)); }).join();
        while (log.empty()) {
            co_await loop.schedule();
        }
    };
    loop.run(wait());
}

TEST_F(RunLoop, SpawnsAnyAwaitableWithoutAResult) {
    struct counting {
        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<>) const noexcept { return false; }
        void await_resume() const noexcept { ++*count; }
        int* count;
    };
    int count = 0;
    loop.spawn(counting{&count});
    const counting named{&count};
    loop.spawn(named); // a copy
    EXPECT_EQ(count, 0);
    loop.run_until_idle();
    EXPECT_EQ(count, 2);
}

TEST_F(RunLoop, MayRunWithinAnotherAndPairsWaitersEachOnItsOwn) {
    run_loop inner;
    exchanger<int> ex;
    std::vector<executor_ref> resumed;
    const auto meet = [&](int item) -> task<> {
        const int got = co_await swap(ex, item);
        log.push_back(got);
        resumed.push_back(current_executor());
    };
    const auto nest = [&]() -> task<> {
        inner.spawn(meet(2));
        inner.run_until_idle();
        log.push_back(0); // the waiter of the outer loop has not resumed inside the inner one
        co_return;
    };
    loop.spawn(meet(1));
    loop.spawn(nest());
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 0, 2}));
    EXPECT_EQ(resumed, (std::vector{inner.executor(), loop.executor()}));
}

// ---- Stops

TEST_F(RunLoop, IsStoppedBehindWhatIsQueuedAndBeforeTheRest) {
    loop.spawn(append(log, 1));
    loop.stop();
    loop.spawn(append(log, 2));
    loop.run();
    EXPECT_EQ(log, std::vector{1});
    loop.spawn(stop_after('a', 0));
    loop.spawn(append(log, 3));
    loop.run();
    EXPECT_EQ(log, (std::vector{1, 2, 3})) << "the stop comes behind what was queued";
    EXPECT_EQ(loop.run_until_idle(), 0U);
}

TEST_F(RunLoop, MayBeRunAgainAfterAStop) {
    loop.stop();
    loop.stop(); // is the same stop
    loop.run();
    for (int i = 0; i != 3; ++i) {
        loop.spawn(stop_after('a', 3));
        loop.run();
    }
    EXPECT_EQ(text, "aaaaaaaaa") << "a stop ended two runs";
}

TEST_F(RunLoop, KeepsAStopThatRunUntilIdleMeets) {
    loop.spawn(stop_loop(loop));
    loop.spawn(take_turns('a', 100)); // more than the loop runs before it looks for mail
    loop.run_until_idle();
    EXPECT_EQ(text.size(), 100U) << "run_until_idle runs all that is ready";
    loop.spawn(append(log, 1));
    loop.run();
    EXPECT_TRUE(log.empty()) << "the stop was kept";
    loop.run_until_idle();
    EXPECT_EQ(log, std::vector{1});
}

TEST_F(RunLoop, RunsATaskToItsEndThoughItIsStoppedAndKeepsTheStop) {
    const auto work = [&]() -> task<> {
        loop.stop();
        co_await take_turns('a', 3);
    };
    loop.run(work());
    EXPECT_EQ(text, "aaa");
    loop.spawn(take_turns('b', 3));
    loop.run(); // ends, because of the stop
    EXPECT_EQ(text, "aaa");
}

TEST_F(RunLoop, RunsATaskAndMeanwhileTheSpawnedOnesWhichStay) {
    exchanger<int> ex;
    const auto meet = [&]() -> task<> { static_cast<void>(co_await swap(ex, 1)); };
    loop.spawn(meet());
    loop.spawn(take_turns('a', 5));
    EXPECT_EQ(loop.run(swap(ex, 2)), 1);
    EXPECT_LT(text.size(), 5U) << "run waited for the other tasks, too";
    loop.run(take_turns('b', 8));
    EXPECT_EQ(std::ranges::count(text, 'a'), 5);
}

// ---- Timers

TEST(RunLoopTimers, FireWithinABoundedNumberOfNodesWhileTheLoopIsBusy) {
    manual_clock::dial dial;
    manual_loop busy({}, manual_clock(dial));
    bool fired = false;
    int turns_after_deadline = 0;
    const auto keep_busy = [&]() -> task<> {
        co_await turns(busy, 1'000);
        EXPECT_FALSE(fired);
        dial.time += 10ns;
        while (!fired) {
            ++turns_after_deadline;
            co_await busy.schedule();
        }
    };
    const auto nap = [&]() -> task<> {
        const bool passed = co_await sleep_for(10ns);
        fired = passed;
    };
    busy.spawn(keep_busy());
    busy.run(nap()); // `run(work)` serves them, too
    busy.run_until_idle();
    EXPECT_LE(turns_after_deadline, 70);
}

// ---- Its end

struct ending_loop {
    run_loop& on() { return *loop; }
    void settle() { loop->run_until_idle(); }
    void end() { loop.reset(); }
    std::optional<run_loop> loop{std::in_place};
};

TEST(RunLoopEnd, LeavesNothingToADyingLoop) {
    executor_end<ending_loop>::check();
}

#ifndef NDEBUG
TEST(RunLoopDeathTest, CatchesALoopThatIsDestroyedByItsOwnTask) {
    executor_end<ending_loop>::fails_if_its_own_task_does_it();
}
#endif

/// Destroys what other work waits in.
task<> own_a_meeting(exchanger<tracked>*& published, run_loop& loop, tracked) {
    exchanger<tracked> ex;
    published = &ex;
    co_await turns(loop, 1'000'000);
}
task<> wait_in_a_meeting(exchanger<tracked>*& published, run_loop& loop, tracked item) {
    while (published == nullptr) {
        co_await loop.schedule();
    }
    static_cast<void>(co_await published->exchange(std::move(item)));
    ADD_FAILURE() << "resumed";
}

TEST(RunLoopEnd, FreesAFrameThatOwnsTheExchangerAndThoseThatWaitInIt) {
    for (const bool owner_first : {true, false}) {
        SCOPED_TRACE(owner_first);
        census kept;
        exchanger<tracked>* published = nullptr;
        {
            run_loop loop;
            for (const bool owner : {owner_first, !owner_first}) {
                loop.spawn(
                    (owner ? own_a_meeting : wait_in_a_meeting)(published, loop, tracked(kept, 1)));
            }
            const auto stop = [&]() -> task<> {
                co_await turns(loop, 5);
                loop.stop();
            };
            loop.spawn(stop());
            loop.run();
            EXPECT_EQ(kept.alive, 2);
        }
        EXPECT_EQ(kept.alive, 0);
    }
}

TEST(RunLoopEnd, FreesTheFramesInItsQueueAndMailButNotTheNodesOfOthers) {
    census kept;
    executor_node foreign{}; // without a function
    {
        run_loop loop;
        std::thread([&] { loop.spawn(keep(tracked(kept, 1))); }).join();
        loop.run_until_idle();
        EXPECT_EQ(kept.alive, 0) << "freed when it ends";
        std::thread([&] { loop.spawn(keep(tracked(kept, 2))); }).join();
        loop.post(&foreign);
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

task<> end_elsewhere(run_loop& there, tracked) {
    co_await there.schedule();
}

TEST(RunLoopEnd, FreesTasksThatEndedOnAnotherLoopWhetherItRunsAgainOrNot) {
    for (const bool runs_again : {true, false}) {
        SCOPED_TRACE(runs_again);
        census kept;
        run_loop elsewhere;
        std::optional<run_loop> home(std::in_place);
        home->spawn(end_elsewhere(elsewhere, tracked(kept, 1)));
        home->run_until_idle();
        elsewhere.run_until_idle();
        if (runs_again) {
            home->run_until_idle();
            EXPECT_EQ(kept.alive, 0) << "kept until its loop's destruction";
        }
        home.reset();
        EXPECT_EQ(kept.alive, 0);
    }
}

} // namespace
} // namespace tryst::test
