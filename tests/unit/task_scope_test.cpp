// SPDX-License-Identifier: MIT
#include <tryst/task_scope.hpp>

#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>

#include "support/manual_clock.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// Sleeps until it is stopped.
task<> serve(std::stop_token stop, int& stopped) {
    while (const bool passed = co_await sleep_for(10ns, stop)) {
        EXPECT_TRUE(passed);
    }
    ++stopped;
}

// ---- join

TEST(TaskScope, IsJoinedWhenItsWorkHasFinishedAndMayBeUsedAgain) {
    std::vector<int> log;
    const auto body = [&]() -> task<> {
        task_scope scope;
        const auto spawn_more = [&]() -> task<> {
            scope.spawn(append(log, 2));
            log.push_back(1);
            co_return;
        };
        co_await scope.join(); // at once
        scope.spawn(spawn_more());
        EXPECT_TRUE(log.empty()) << "spawn ran a task inline";
        EXPECT_FALSE(scope.empty());
        co_await scope.join();
        EXPECT_TRUE(scope.empty());
        log.push_back(3);
        scope.spawn(append(log, 4));
        co_await scope.join();
        co_await scope.join();
    };
    sync_wait(body());
    EXPECT_EQ(log, (std::vector{1, 2, 3, 4}));
}

TEST(TaskScope, IsNotJoinedIfOthersSpawnBeforeTheJoinerRuns) {
    run_loop loop;
    std::vector<int> log;
    task_scope scope(loop);
    const auto append_late = [&]() -> task<> {
        co_await turns(loop, 5);
        log.push_back(2);
    };
    const auto spawn = [&]() -> task<> {
        scope.spawn(append_late());
        co_return;
    };
    const auto join = [&]() -> task<> {
        co_await scope.join();
        log.push_back(3);
    };
    loop.spawn(join());
    scope.spawn(append(log, 1)); // its end wakes the joiner,
    loop.spawn(spawn()); // but before that runs, there is this
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

// ---- Stops

TEST(TaskScope, AsksItsWorkToStop) {
    timed_loop loop;
    int stopped = 0;
    const auto body = [&]() -> task<> {
        task_scope scope;
        scope.spawn(serve(scope.get_stop_token(), stopped));
        scope.spawn(serve(scope.get_stop_token(), stopped));
        co_await sleep_for(35ns);
        EXPECT_EQ(stopped, 0);
        EXPECT_TRUE(scope.request_stop());
        EXPECT_FALSE(scope.request_stop());
        co_await scope.join();
        stopped = -stopped;
    };
    loop->spawn(body());
    for (int i = 0; i != 5; ++i) {
        loop.advance(10ns);
    }
    EXPECT_EQ(stopped, -2);
}

TEST(TaskScope, MayEndWhileAnotherThreadAsksItToStop) {
    for (int round = 0; round != 300; ++round) {
        run_loop loop;
        int stopped = 0;
        std::promise<task_scope*> made;
        std::thread stopper([&made] { made.get_future().get()->request_stop(); });
        const auto body = [&]() -> task<> {
            const auto scope = std::make_unique<task_scope>();
            scope->spawn(serve(scope->get_stop_token(), stopped));
            made.set_value(scope.get());
            co_await scope->join();
        };
        loop.run(body());
        EXPECT_EQ(stopped, 1);
        stopper.join();
    }
}

TEST(TaskScope, SpawnsNothingAfterItsClose) {
    census kept;
    std::vector<int> log;
    const auto body = [&]() -> task<> {
        task_scope scope;
        EXPECT_TRUE(scope.spawn(append(log, 1)));
        scope.close();
        EXPECT_FALSE(scope.spawn(keep(tracked(kept, 1))));
        EXPECT_EQ(kept.alive, 0);
        auto handle = scope.spawn_future(give(1));
        EXPECT_THROW(co_await handle, std::system_error);
        co_await scope.join();
    };
    sync_wait(body());
    EXPECT_EQ(log, std::vector{1});
}

// ---- Destruction, beside that in destroyed_while_waiting_test.cpp and support/executor_end.hpp

task<> join_work_that_stops_the_loop(run_loop& loop, tracked) {
    task_scope scope;
    scope.spawn(stop_loop(loop)); // which takes effect before the joiner runs
    co_await scope.join();
    ADD_FAILURE() << "joined";
}

TEST(TaskScopeDestruction, OfAJoinerThatWasWokenAndHasNotRun) {
    for (const bool in_a_scope : {false, true}) { // which ends before the loop
        SCOPED_TRACE(in_a_scope);
        census kept;
        {
            run_loop loop;
            std::optional<task_scope> outer(std::in_place, loop);
            auto work = join_work_that_stops_the_loop(loop, tracked(kept, 1));
            if (in_a_scope) {
                outer->spawn(std::move(work));
            } else {
                loop.spawn(std::move(work));
            }
            loop.run();
            EXPECT_EQ(kept.alive, 1);
            outer.reset();
            if (in_a_scope) {
                EXPECT_EQ(loop.run_until_idle(), 0U) << "the joiner is still queued";
            }
        }
        EXPECT_EQ(kept.alive, 0);
    }
}

// ---- Handles

TEST(JoinHandle, IsAwaitedBeforeOrAfterTheWorkHasEnded) {
    run_loop loop;
    const auto body = [&]() -> task<> {
        auto fast = loop.spawn_future(give(1));
        auto slow = loop.spawn_future(give<std::string>("text"));
        auto failing = loop.spawn_future(fail("late"));
        auto nothing = loop.spawn_future(turns(loop, 3));
        static_cast<void>(loop.spawn_future(fail("unseen")));
        const std::string text = co_await std::move(slow);
        EXPECT_EQ(text, "text");
        co_await nothing;
        const int one = co_await fast;
        EXPECT_EQ(one, 1);
        EXPECT_FALSE(fast) << "it was awaited";
        EXPECT_THROW(co_await failing, std::runtime_error);
    };
    loop.run(body());
}

TEST(JoinHandle, MayBeDroppedWhichDoesNotEndTheWork) {
    census kept;
    run_loop loop;
    int ran = 0;
    const auto work = [&]() -> task<tracked> {
        co_await turns(loop, 2);
        ++ran;
        co_return tracked(kept, 1);
    };
    for (const int turns_before : {-1, 0, 9}) { // before it starts, while it waits, after its end
        SCOPED_TRACE(turns_before);
        {
            const auto handle = loop.spawn_future(work());
            if (turns_before >= 0) {
                loop.run(turns(loop, turns_before));
            }
            EXPECT_EQ(kept.alive, turns_before == 9 ? 1 : 0);
        }
        loop.run_until_idle();
        EXPECT_EQ(std::exchange(ran, 0), 1);
        EXPECT_EQ(kept.alive, 0);
    }
}

task<int> sleep_with(tracked) {
    co_await sleep_for(24h);
    co_return 1;
}

TEST(JoinHandle, OutlivesItsLoop) {
    census kept;
    join_handle<tracked> finished;
    join_handle<int> unfinished;
    join_handle<int> unstarted;
    {
        run_loop loop;
        finished = loop.spawn_future(give(tracked(kept, 1)));
        unfinished = loop.spawn_future(sleep_with(tracked(kept, 2)));
        loop.run_until_idle();
        unstarted = loop.spawn_future(give(1));
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 1);
    EXPECT_THROW(sync_wait(unfinished), std::system_error);
    EXPECT_THROW(sync_wait(unstarted), std::system_error);
    EXPECT_EQ(sync_wait(finished).id(), 1);
    EXPECT_EQ(kept.alive, 0);
}

/// Also of a loop that is destroyed: then its awaiter gets an error.
TEST(JoinHandle, MayBeDestroyedOrAssignedToWhileItsWorkIsAwaited) {
    for (const bool work_ends : {true, false}) {
        SCOPED_TRACE(work_ends);
        std::vector<int> log;
        exchanger<int> ex;
        run_loop loop;
        std::optional<run_loop> worker(std::in_place);
        auto handle = std::make_unique<join_handle<int>>(worker->spawn_future(swap(ex, 1)));
        const auto await = [&]() -> task<> {
            try {
                const int result = co_await *handle;
                log.push_back(result);
            } catch (const std::system_error& error) {
                EXPECT_EQ(error.code(), std::errc::operation_canceled);
                log.push_back(-1);
            }
        };
        loop.spawn(await());
        loop.run_until_idle();
        EXPECT_FALSE(*handle);
        *handle = join_handle<int>();
        handle.reset();
        worker->run_until_idle();
        if (work_ends) {
            EXPECT_TRUE(ex.try_exchange(7));
            worker->run_until_idle();
        } else {
            worker.reset();
        }
        EXPECT_TRUE(log.empty()) << "it was resumed elsewhere";
        loop.run_until_idle();
        EXPECT_EQ(log, std::vector{work_ends ? 7 : -1});
    }
}

} // namespace
} // namespace tryst::test
