// SPDX-License-Identifier: MIT
#include <tryst/task_scope.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/when_all.hpp>
#include <tryst/when_any.hpp>

#include "support/bare_coroutine.hpp"
#include "support/loop_thread.hpp"
#include "support/manual_clock.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::exchanger;
using tryst::join_handle;
using tryst::run_loop;
using tryst::sleep_for;
using tryst::sync_wait;
using tryst::task;
using tryst::task_scope;
using tryst::test::bare_coroutine;
using tryst::test::census;
using tryst::test::loop_thread;
using tryst::test::timed_loop;
using tryst::test::tracked;
using namespace std::chrono_literals;

task<> append(std::vector<int>& log, int number) {
    log.push_back(number);
    co_return;
}

template <class T>
task<T> give(T value) {
    co_return value;
}

task<int> fail() {
    throw std::runtime_error("left the task");
    co_return 0;
}

/// Sleeps until it is stopped.
task<> serve(std::stop_token stop, int& stopped) {
    while (const bool passed = co_await sleep_for(10ns, stop)) {
        EXPECT_TRUE(passed);
    }
    ++stopped;
}

task<> park_in(exchanger<tracked>& ex, tracked mark, tracked item) {
    auto got = co_await ex.exchange(std::move(item));
    ADD_FAILURE() << "resumed after " << mark.id() << " was destroyed: " << got.error().message();
}

/// Lets the loop run so many turns.
task<> turns(run_loop& loop, int count) {
    for (int i = 0; i != count; ++i) {
        co_await loop.schedule();
    }
}

} // namespace

// ---- join

TEST(TaskScope, IsJoinedWhenItsWorkHasFinished) {
    run_loop loop;
    std::vector<int> log;
    loop.run([](run_loop& loop, std::vector<int>& log) -> task<> {
        task_scope scope;
        for (int i = 0; i != 3; ++i) {
            scope.spawn([](run_loop& loop, std::vector<int>& log, int number) -> task<> {
                co_await turns(loop, number);
                log.push_back(number);
            }(loop, log, i));
        }
        EXPECT_TRUE(log.empty()) << "spawn ran a task inline";
        EXPECT_FALSE(scope.empty());
        co_await scope.join();
        EXPECT_TRUE(scope.empty());
        log.push_back(99);
    }(loop, log));
    EXPECT_EQ(log, (std::vector{0, 1, 2, 99}));
}

TEST(TaskScope, WorksInASyncWait) {
    std::vector<int> log;
    sync_wait([](std::vector<int>& log) -> task<> {
        task_scope scope;
        scope.spawn(append(log, 1));
        scope.spawn(append(log, 2));
        co_await scope.join();
    }(log));
    EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST(TaskScope, IsUsedByAPlainThreadBeforeItsLoopRuns) {
    run_loop loop;
    task_scope scope(loop);
    std::vector<int> log;
    scope.spawn(append(log, 1));
    EXPECT_TRUE(log.empty());
    loop.run(scope.join());
    EXPECT_EQ(log, (std::vector{1}));
}

TEST(TaskScope, IsJoinedAtOnceIfItIsEmptyAndMayBeUsedAgain) {
    std::vector<int> log;
    sync_wait([](std::vector<int>& log) -> task<> {
        task_scope scope;
        co_await scope.join();
        scope.spawn(append(log, 1));
        co_await scope.join();
        scope.spawn(append(log, 2));
        co_await scope.join();
        co_await scope.join();
    }(log));
    EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST(TaskScope, IsJoinedAfterTheWorkThatItsWorkSpawns) {
    std::vector<int> log;
    sync_wait([](std::vector<int>& log) -> task<> {
        task_scope scope;
        scope.spawn([](task_scope& scope, std::vector<int>& log) -> task<> {
            scope.spawn(append(log, 2));
            log.push_back(1);
            co_return;
        }(scope, log));
        co_await scope.join();
        log.push_back(3);
    }(log));
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(TaskScope, IsNotJoinedIfOthersSpawnBeforeTheJoinerRuns) {
    run_loop loop;
    std::vector<int> log;
    task_scope scope(loop);
    scope.spawn(append(log, 1)); // its end wakes the joiner,
    loop.spawn([](run_loop& loop, task_scope& scope, std::vector<int>& log) -> task<> {
        scope.spawn([](run_loop& loop, std::vector<int>& log) -> task<> { // but now there is this
            co_await turns(loop, 5);
            log.push_back(2);
        }(loop, log));
        co_return;
    }(loop, scope, log));
    const auto join = [](task_scope& scope) -> task<> { co_await scope.join(); };
    loop.spawn([](auto join, task_scope& scope, std::vector<int>& log) -> task<> {
        co_await join(scope);
        log.push_back(3);
    }(join, scope, log));
    loop.run_until_idle();
    EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST(TaskScope, IsJoinedOnItsExecutorThoughItsWorkEndsElsewhere) {
    loop_thread other;
    run_loop home;
    for (int round = 0; round != 200; ++round) {
        home.run([](run_loop& home, run_loop& other) -> task<> {
            task_scope scope;
            for (int i = 0; i != 3; ++i) {
                scope.spawn([](run_loop& other) -> task<> { co_await other.schedule(); }(other));
            }
            co_await scope.join();
            EXPECT_TRUE(home.running_here());
        }(home, *other));
    }
}

// ---- Stops

TEST(TaskScope, AsksItsWorkToStop) {
    timed_loop loop;
    int stopped = 0;
    loop->spawn([](int& stopped) -> task<> {
        task_scope scope;
        scope.spawn(serve(scope.get_stop_token(), stopped));
        scope.spawn(serve(scope.get_stop_token(), stopped));
        co_await sleep_for(35ns);
        EXPECT_EQ(stopped, 0);
        EXPECT_TRUE(scope.request_stop());
        EXPECT_FALSE(scope.request_stop());
        co_await scope.join();
        stopped = -stopped;
    }(stopped));
    for (int i = 0; i != 5; ++i) {
        loop.advance(10ns);
    }
    EXPECT_EQ(stopped, -2);
}

TEST(TaskScope, IsAskedToStopByAnotherThread) {
    for (int round = 0; round != 300; ++round) {
        run_loop loop;
        task_scope scope(loop);
        int stopped = 0;
        scope.spawn([](std::stop_token stop, int& stopped) -> task<> {
            EXPECT_FALSE(co_await sleep_for(24h, stop));
            ++stopped;
        }(scope.get_stop_token(), stopped));
        std::thread stopper([&scope] { scope.request_stop(); });
        loop.run(scope.join());
        EXPECT_EQ(stopped, 1);
        stopper.join();
    }
}

TEST(TaskScope, EndsWhileAnotherThreadAsksItToStop) {
    for (int round = 0; round != 300; ++round) {
        run_loop loop;
        std::promise<task_scope*> made;
        std::thread stopper([&made] { made.get_future().get()->request_stop(); });
        loop.run([](std::promise<task_scope*>& made) -> task<> {
            const auto scope = std::make_unique<task_scope>();
            scope->spawn([](std::stop_token stop) -> task<> {
                EXPECT_FALSE(co_await sleep_for(24h, stop));
            }(scope->get_stop_token()));
            made.set_value(scope.get());
            co_await scope->join();
        }(made));
        stopper.join();
    }
}

TEST(TaskScope, SpawnsNothingAfterItsClose) {
    census kept;
    sync_wait([](census& kept) -> task<> {
        task_scope scope;
        int count = 0;
        EXPECT_TRUE(scope.spawn([](int& count) -> task<> {
            ++count;
            co_return;
        }(count)));
        scope.close();
        EXPECT_FALSE(scope.spawn([](tracked) -> task<> { co_return; }(tracked(kept, 1))));
        EXPECT_EQ(kept.alive, 0);
        auto handle = scope.spawn_future(give(1));
        EXPECT_THROW(co_await handle, std::system_error);
        co_await scope.join();
        EXPECT_EQ(count, 1);
    }(kept));
}

// ---- Destruction

TEST(TaskScopeDestruction, DestroysWorkThatHasNotFinished) {
    census kept;
    exchanger<tracked> ex;
    run_loop loop;
    loop.run([](run_loop& loop, exchanger<tracked>& ex, census& kept) -> task<> {
        {
            task_scope scope;
            scope.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
            scope.spawn(park_in(ex, tracked(kept, 3), tracked(kept, 4)));
            scope.spawn([](run_loop& loop, tracked) -> task<> {
                while (true) {
                    co_await loop.schedule();
                }
            }(loop, tracked(kept, 5)));
            EXPECT_EQ(ex.try_exchange(tracked(kept, 6)).error(), tryst::exchange_errc::no_partner);
        }
        EXPECT_EQ(kept.alive, 0) << "none of it had started";
        {
            task_scope scope;
            scope.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
            scope.spawn([](run_loop& loop, tracked) -> task<> {
                while (true) {
                    co_await loop.schedule();
                }
            }(loop, tracked(kept, 5)));
            co_await turns(loop, 3);
            EXPECT_EQ(kept.alive, 3);
        }
        EXPECT_EQ(kept.alive, 0);
        EXPECT_EQ(ex.try_exchange(tracked(kept, 6)).error(), tryst::exchange_errc::no_partner);
    }(loop, ex, kept));
    EXPECT_EQ(loop.run_until_idle(), 0U);
}

TEST(TaskScopeDestruction, ByAnExceptionBetweenSpawnAndJoin) {
    census kept;
    exchanger<tracked> ex;
    const auto body = [](exchanger<tracked>& ex, census& kept) -> task<> {
        task_scope scope;
        scope.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
        auto failing = scope.spawn_future(fail());
        static_cast<void>(co_await failing);
        co_await scope.join();
    };
    EXPECT_THROW(sync_wait(body(ex, kept)), std::runtime_error);
    EXPECT_EQ(kept.alive, 0);
}

TEST(TaskScopeDestruction, ByOtherWorkOfItsExecutor) {
    for (const bool started : {false, true}) {
        census kept;
        exchanger<tracked> ex;
        run_loop loop;
        auto scope = std::make_unique<task_scope>(loop);
        const auto end = [](run_loop& loop, bool started,
                            std::unique_ptr<task_scope>& scope) -> task<> {
            if (started) {
                co_await turns(loop, 3);
            }
            scope.reset();
            co_await turns(loop, 3);
        };
        if (!started) {
            loop.spawn(end(loop, started, scope));
        }
        scope->spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
        scope->spawn(turns(loop, 1'000));
        if (started) {
            loop.spawn(end(loop, started, scope));
        }
        loop.run_until_idle();
        EXPECT_EQ(scope, nullptr);
        EXPECT_EQ(kept.alive, 0);
    }
}

TEST(TaskScopeDestruction, AtTheRequestOfItsOwnWork) {
    census kept;
    run_loop loop;
    auto scope = std::make_unique<task_scope>(loop);
    scope->spawn([](run_loop& loop, std::unique_ptr<task_scope>& scope, tracked) -> task<> {
        co_await loop.schedule();
        loop.spawn([](std::unique_ptr<task_scope>& scope) -> task<> {
            scope.reset();
            co_return;
        }(scope));
        static_cast<void>(co_await sleep_for(24h));
        ADD_FAILURE() << "resumed";
    }(loop, scope, tracked(kept, 1)));
    loop.run_until_idle();
    EXPECT_EQ(scope, nullptr);
    EXPECT_EQ(kept.alive, 0);
}

TEST(TaskScopeDestruction, WithItsLoop) {
    census kept;
    exchanger<tracked> ex;
    {
        run_loop loop;
        loop.spawn([](exchanger<tracked>& ex, census& kept) -> task<> {
            task_scope scope;
            scope.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2)));
            co_await scope.join();
            ADD_FAILURE() << "joined";
        }(ex, kept));
        loop.run_until_idle();
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 0);
    {
        run_loop loop;
        loop.spawn([](run_loop& loop, exchanger<tracked>& ex, census& kept) -> task<> {
            task_scope scope;
            scope.spawn(park_in(ex, tracked(kept, 1), tracked(kept, 2))); // never starts
            loop.stop();
            co_await scope.join();
        }(loop, ex, kept));
        loop.stop();
        loop.run();
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(TaskScopeDestruction, OfAJoinerThatWasWokenAndHasNotRun) {
    census kept;
    {
        run_loop loop;
        loop.spawn([](run_loop& loop, tracked) -> task<> {
            task_scope scope;
            scope.spawn([](run_loop& loop) -> task<> {
                loop.stop(); // runs before the joiner
                co_return;
            }(loop));
            co_await scope.join();
            ADD_FAILURE() << "joined";
        }(loop, tracked(kept, 1)));
        loop.run();
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

#ifndef NDEBUG
TEST(TaskScopeDeathTest, CatchesAScopeWithoutAnExecutor) {
    EXPECT_DEATH(task_scope(), "needs an executor");
}

TEST(TaskScopeDeathTest, CatchesAScopeThatIsUsedOnAnotherExecutor) {
    run_loop loop;
    task_scope scope(loop);
    EXPECT_DEATH(sync_wait([](task_scope& scope) -> task<> {
                     std::vector<int> log;
                     scope.spawn(append(log, 1));
                     co_return;
                 }(scope)),
                 "on its own executor");
    scope.spawn([](run_loop& loop) -> task<> { co_await loop.schedule(); }(loop));
    EXPECT_DEATH(sync_wait(scope.join()), "on its own executor");
}

/// A scope that its work destroys, as a connection does that removes itself from a map.
struct owner {
    explicit owner(run_loop& on) : loop(&on), scope(std::make_unique<task_scope>(on)) {}

    run_loop* loop;
    exchanger<int> ex;
    std::unique_ptr<task_scope> scope;
};

task<> nothing() {
    co_return;
}

task<> end_it(owner& own) {
    own.scope.reset();
    co_return;
}

bare_coroutine end_inline(owner& own) {
    static_cast<void>(co_await own.ex.exchange(1));
    own.scope.reset();
}

/// Each way in which work may come to run, before it destroys its scope.
const std::vector<std::function<task<>(owner&)>>& ways_to_the_end() {
    static const std::vector<std::function<task<>(owner&)>> all{
        end_it, // at its start
        [](owner& own) -> task<> {
            co_await own.loop->schedule();
            own.scope.reset();
        },
        [](owner& own) -> task<> {
            static_cast<void>(co_await own.ex.exchange(1));
            own.scope.reset();
        },
        [](owner& own) -> task<> {
            static_cast<void>(co_await tryst::select(own.ex.exchange(1)));
            own.scope.reset();
        },
        [](owner& own) -> task<> {
            static_cast<void>(co_await sleep_for(1ns));
            own.scope.reset();
        },
        [](owner& own) -> task<> {
            co_await end_it(own); // in a task that it awaits
        },
        [](owner& own) -> task<> {
            co_await turns(*own.loop, 2); // after a task that was suspended
            own.scope.reset();
        },
        [](owner& own) -> task<> {
            co_await nothing(); // after a task that was not
            own.scope.reset();
        },
        [](owner& own) -> task<> {
            co_await tryst::when_all(turns(*own.loop, 1), turns(*own.loop, 2));
            own.scope.reset();
        },
        [](owner& own) -> task<> { co_await tryst::when_all(turns(*own.loop, 1), end_it(own)); },
        [](owner& own) -> task<> {
            auto wait = [&own](auto stop) { return own.ex.exchange(1, stop); };
            static_cast<void>(co_await tryst::when_any(std::move(wait)));
            own.scope.reset();
        },
        [](owner& own) -> task<> {
            auto handle = own.loop->spawn_future(turns(*own.loop, 2));
            co_await handle;
            own.scope.reset();
        },
        [](owner& own) -> task<> { // in a coroutine that it resumes inline
            std::optional<bare_coroutine> inner;
            std::thread([&] { inner.emplace(end_inline(own)); }).join();
            static_cast<void>(own.ex.try_exchange(1));
            co_return;
        },
    };
    return all;
}

void end_by_own_work(std::size_t way, bool has_handle) {
    run_loop loop;
    owner own(loop);
    auto work = ways_to_the_end()[way](own);
    join_handle<> handle;
    if (has_handle) {
        handle = own.scope->spawn_future(std::move(work));
    } else {
        own.scope->spawn(std::move(work));
    }
    loop.run_until_idle();
    static_cast<void>(own.ex.try_exchange(2)); // for those that wait for it
    while (own.scope != nullptr) {
        loop.run_until_idle();
    }
}

TEST(TaskScopeDeathTest, CatchesWorkThatDestroysItsScope) {
    for (std::size_t way = 0; way != ways_to_the_end().size(); ++way) {
        const char* const message = "a task destroyed itself|a task_scope on its own executor";
        EXPECT_DEATH(end_by_own_work(way, false), message) << way;
        EXPECT_DEATH(end_by_own_work(way, true), message) << way;
    }
}

TEST(TaskScopeDeathTest, CatchesAnExceptionThatLeavesSpawnedWork) {
    const auto body = []() -> task<> {
        task_scope scope;
        scope.spawn([]() -> task<> {
            throw std::runtime_error("left the task");
            co_return;
        }());
        co_await scope.join();
    };
    EXPECT_DEATH(sync_wait(body()), "left the task");
}
#endif

// ---- Handles

TEST(JoinHandle, PassesAResultOrAnExceptionOn) {
    run_loop loop;
    loop.run([](run_loop& loop) -> task<> {
        join_handle<int> number = loop.spawn_future(give(7));
        join_handle<std::string> text = loop.spawn_future(give<std::string>("text"));
        join_handle<> nothing = loop.spawn_future(turns(loop, 3));
        auto failing = loop.spawn_future(fail());
        const int seven = co_await number;
        EXPECT_EQ(seven, 7);
        EXPECT_FALSE(number) << "it was awaited";
        const std::string got = co_await std::move(text);
        EXPECT_EQ(got, "text");
        co_await nothing;
        EXPECT_THROW(co_await failing, std::runtime_error);
    }(loop));
}

TEST(JoinHandle, IsOfWorkThatHasEndedOrNot) {
    run_loop loop;
    loop.run([](run_loop& loop) -> task<> {
        auto fast = loop.spawn_future(give(1));
        co_await turns(loop, 5);
        const int one = co_await fast; // has ended
        EXPECT_EQ(one, 1);
        auto slow = loop.spawn_future([](run_loop& loop) -> task<int> {
            co_await turns(loop, 5);
            co_return 2;
        }(loop));
        const int two = co_await slow;
        EXPECT_EQ(two, 2);
    }(loop));
}

TEST(JoinHandle, IsAwaitedByAPlainThread) {
    loop_thread thread;
    auto handle = thread->spawn_future(give(7));
    EXPECT_EQ(sync_wait(handle), 7);
    EXPECT_EQ(sync_wait(thread->spawn_future(give(8))), 8);
}

TEST(JoinHandle, IsAwaitedWhileTheWorkEndsOnAnotherThread) {
    constexpr int rounds = 1'000;
    loop_thread thread(tryst::run_loop_options{.max_spins = 0});
    run_loop loop;
    for (int i = 0; i != rounds; ++i) {
        auto handle = thread->spawn_future(give(i));
        if (i % 2 == 0) {
            EXPECT_EQ(sync_wait(handle), i);
        } else {
            EXPECT_EQ(loop.run(handle), i);
        }
    }
}

TEST(JoinHandle, MayBeDropped) {
    census kept;
    run_loop loop;
    int ran = 0;
    const auto work = [](run_loop& loop, int& ran, census& kept) -> task<tracked> {
        co_await turns(loop, 2);
        ++ran;
        co_return tracked(kept, 1);
    };
    loop.run([](auto work, run_loop& loop, int& ran, census& kept) -> task<> {
        static_cast<void>(loop.spawn_future(work(loop, ran, kept))); // before it starts
        {
            const auto handle = loop.spawn_future(work(loop, ran, kept));
            co_await turns(loop, 1);
        }
        co_await turns(loop, 5);
        EXPECT_EQ(ran, 2) << "dropping a handle does not end the work";
        EXPECT_EQ(kept.alive, 0);
        {
            const auto handle = loop.spawn_future(work(loop, ran, kept));
            co_await turns(loop, 6);
            EXPECT_EQ(kept.alive, 1);
        }
        EXPECT_EQ(kept.alive, 0);
    }(work, loop, ran, kept));
    EXPECT_EQ(ran, 3);
}

TEST(JoinHandle, IsDroppedWhileTheWorkEndsOnAnotherThread) {
    loop_thread thread(tryst::run_loop_options{.max_spins = 0});
    for (int i = 0; i != 1'000; ++i) {
        std::latch begun(1);
        auto handle = thread->spawn_future([](std::latch& begun) -> task<std::string> {
            begun.count_down();
            co_return std::string(100, 'x');
        }(begun));
        begun.wait();
    }
}

TEST(JoinHandle, OutlivesItsLoop) {
    census kept;
    join_handle<tracked> finished;
    join_handle<int> unfinished;
    join_handle<int> unstarted;
    {
        run_loop loop;
        finished = loop.spawn_future(give(tracked(kept, 1)));
        unfinished = loop.spawn_future([](tracked) -> task<int> {
            co_await sleep_for(24h);
            co_return 1;
        }(tracked(kept, 2)));
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

TEST(JoinHandle, ThrowsInAnAwaiterOnAnotherLoopWhenItsLoopIsDestroyed) {
    run_loop waiting;
    bool thrown = false;
    {
        run_loop loop;
        auto handle = loop.spawn_future([]() -> task<int> {
            co_await sleep_for(24h);
            co_return 1;
        }());
        loop.run_until_idle();
        waiting.spawn([](join_handle<int> handle, bool& thrown) -> task<> {
            try {
                static_cast<void>(co_await handle);
            } catch (const std::system_error& error) {
                thrown = error.code() == std::errc::operation_canceled;
            }
        }(std::move(handle), thrown));
        waiting.run_until_idle();
        EXPECT_FALSE(thrown);
    }
    waiting.run_until_idle();
    EXPECT_TRUE(thrown);
}

TEST(JoinHandle, MayLoseItsAwaiterWhileTheWorkEndsOnAnotherThread) {
    for (int i = 0; i != 500; ++i) {
        loop_thread thread(tryst::run_loop_options{.max_spins = 0});
        exchanger<int> ex;
        auto handle = thread->spawn_future(
            [](exchanger<int>& ex) -> task<int> { co_return *co_await ex.exchange(1); }(ex));
        {
            run_loop loop;
            loop.spawn([](join_handle<int> handle) -> task<> {
                static_cast<void>(co_await handle);
            }(std::move(handle)));
            loop.run_until_idle();
            EXPECT_EQ(*sync_wait(ex.exchange(2)), 1); // now the work ends
        }
    }
}

TEST(JoinHandle, MayBeDestroyedOrAssignedToWhileItsWorkIsAwaited) {
    const auto await_it = [](join_handle<int>& handle, std::vector<int>& log) -> task<> {
        try {
            const int result = co_await handle;
            log.push_back(result);
        } catch (const std::system_error&) {
            log.push_back(-1);
        }
    };
    for (const bool work_ends : {true, false}) {
        std::vector<int> log;
        exchanger<int> ex;
        run_loop loop;
        auto worker = std::make_unique<run_loop>();
        auto handle = std::make_unique<join_handle<int>>(worker->spawn_future(
            [](exchanger<int>& ex) -> task<int> { co_return *co_await ex.exchange(1); }(ex)));
        loop.spawn(await_it(*handle, log));
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
        loop.run_until_idle();
        EXPECT_EQ(log, std::vector{work_ends ? 7 : -1});
    }
}

TEST(JoinHandle, OfAScopeIsDroppedOrAwaitedBeforeTheJoin) {
    std::vector<int> log;
    sync_wait([](std::vector<int>& log) -> task<> {
        task_scope scope;
        auto one = scope.spawn_future(give(1));
        auto two = scope.spawn_future(give(2));
        static_cast<void>(scope.spawn_future(fail())); // its exception is dropped, too
        log.push_back(co_await two);
        log.push_back(co_await one);
        co_await scope.join();
    }(log));
    EXPECT_EQ(log, (std::vector{2, 1}));
}

#ifndef NDEBUG
TEST(JoinHandleDeathTest, CatchesASecondAwait) {
    run_loop loop;
    auto handle = loop.spawn_future(give(1));
    EXPECT_EQ(loop.run(handle), 1);
    EXPECT_DEATH(loop.run(handle), "await it only once");
}
#endif
