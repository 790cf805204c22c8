// SPDX-License-Identifier: MIT
// How its work runs, and frames that are destroyed with it: runs_test.cpp,
// destroyed_while_waiting_test.cpp.
#include <tryst/run_loop.hpp>

#include "support/executor_end.hpp"
#include "support/loop_thread.hpp"
#include "support/manual_clock.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <deque>
#include <latch>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// A node that writes its number into a log.
struct logging_node : executor_node {
    logging_node(std::vector<int>& to, int own) : log(&to), number(own) {
        run = [](executor_node* node) noexcept {
            auto& self = static_cast<logging_node&>(*node);
            self.log->push_back(self.number);
        };
    }
    std::vector<int>* log;
    int number;
};

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
    std::deque<logging_node> nodes;
    std::vector<int> expected;
    for (int i = 0; i != 1'000; ++i) {
        nodes.emplace_back(log, i);
        expected.push_back(i);
    }
    std::thread poster([&] {
        for (logging_node& node : nodes) {
            loop.post(&node);
        }
        loop.stop();
    });
    loop.run();
    poster.join();
    EXPECT_EQ(log, expected);
}

TEST_F(RunLoop, TakesMailWhileItIsBusy) {
    // Nothing but mail from another thread ends this task, which never lets the loop go idle.
    bool done = false;
    std::latch busy(1);
    const auto wait = [&]() -> task<> {
        busy.count_down();
        while (!done) {
            co_await loop.schedule();
        }
    };
    const auto end = [&]() -> task<> {
        done = true;
        co_return;
    };
    loop.spawn(wait());
    std::thread other([&] {
        busy.wait();
        loop.spawn(end());
    });
    loop.run_until_idle();
    other.join();
    EXPECT_TRUE(done);
}

TEST_F(RunLoop, KnowsOnWhichThreadItRuns) {
    loop_thread thread;
    EXPECT_FALSE(thread->running_here());
    executor_ref current;
    bool inside = false;
    const auto look = [&]() -> task<> {
        current = current_executor();
        inside = thread->running_here();
        co_return;
    };
    thread->spawn(look());
    thread.join();
    EXPECT_TRUE(inside);
    EXPECT_EQ(current, thread->executor());
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

class RunLoopTimers : public ::testing::Test {
protected:
    template <class Duration>
    task<> wait(exchanger<int>& where, int number, Duration patience) {
        auto got = co_await where.exchange(number, patience);
        log.push_back(got ? *got : got.returned());
    }

    timed_loop loop;
    exchanger<int> ex;
    std::vector<int> log;
};

TEST_F(RunLoopTimers, FireAtTheirDeadlinesInOrderThoughManyAreDueAtOnce) {
    constexpr int count = 300;
    std::deque<exchanger<int>> places(count); // one for each, so that none finds a partner
    std::vector<int> patience;
    for (int i = 0; i != count; ++i) {
        patience.push_back(i);
    }
    std::ranges::shuffle(patience, std::mt19937(1));
    for (const int each : patience) {
        auto& where = places[static_cast<std::size_t>(each)];
        loop->spawn(wait(where, each, std::chrono::nanoseconds(each)));
    }
    std::ranges::sort(patience);
    loop.advance(0ns);
    EXPECT_EQ(log, std::vector{0}) << "the others have time";
    loop.advance(1ns);
    EXPECT_EQ(log, (std::vector{0, 1}));
    loop.advance(1h);
    EXPECT_EQ(log, patience);
}

TEST_F(RunLoopTimers, AreDisarmedByAPartnerThatCame) {
    for (const bool loop_sees_it_first : {true, false}) {
        SCOPED_TRACE(loop_sees_it_first);
        loop->spawn(wait(ex, 1, 10ns));
        loop->run_until_idle();
        EXPECT_TRUE(ex.try_exchange(2));
        if (loop_sees_it_first) {
            loop->run_until_idle();
        }
        loop.advance(1h); // the frame in which the timer was is gone, or both are due now
        EXPECT_EQ(log, std::vector{2});
        log.clear();
    }
}

TEST_F(RunLoopTimers, FireWithinABoundedNumberOfNodesWhileTheLoopIsBusy) {
    manual_clock::dial dial;
    manual_loop busy({}, manual_clock(dial));
    int turns_after_deadline = 0;
    const auto keep_busy = [&]() -> task<> {
        co_await turns(busy, 1'000);
        EXPECT_TRUE(log.empty());
        dial.time += 10ns;
        while (log.empty()) {
            ++turns_after_deadline;
            co_await busy.schedule();
        }
    };
    busy.spawn(keep_busy());
    busy.run(wait(ex, 1, 10ns)); // `run(work)` serves them, too
    busy.run_until_idle();
    EXPECT_LE(turns_after_deadline, 70);
}

TEST_F(RunLoopTimers, OfALoopThatDoesNotRunAreNotFired) {
    loop->spawn(wait(ex, 1, 10ns));
    loop->run_until_idle();
    run_loop other;
    other.run(append(log, 2));
    EXPECT_EQ(log, std::vector{2});
    loop.advance(10ns);
    EXPECT_EQ(log, (std::vector{2, 1}));
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
    std::vector<int> log;
    logging_node foreign(log, 1);
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
    EXPECT_TRUE(log.empty());
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
