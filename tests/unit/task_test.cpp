// SPDX-License-Identifier: MIT
#include <tryst/task.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/when_all.hpp>

#include "support/bare_coroutine.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <coroutine>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::exchanger;
using tryst::run_loop;
using tryst::task;
using tryst::test::bare_coroutine;
using tryst::test::census;
using tryst::test::tracked;

task<int> answer(int value, bool& started) {
    started = true;
    co_return value;
}
task<> set(bool& started) {
    started = true;
    co_return;
}
task<std::string> fail(std::string why) {
    throw std::runtime_error(why);
    co_return "";
}
task<> fail_without_value(std::string why) {
    throw std::runtime_error(why);
    co_return;
}
task<tracked> make(tracked value) {
    co_return value;
}
task<> keep(tracked) {
    co_return;
}

/// Runs `work` to its end on this thread; it must not wait for anything but its own turn.
template <class T>
T run(task<T> work) {
    run_loop loop;
    bool ended = false;
    loop.spawn([](task<T>& work, bool& ended) -> task<> {
        co_await work.when_ready();
        ended = true;
    }(work, ended));
    loop.run_until_idle();
    if (!ended) {
        throw std::logic_error("the task still waits");
    }
    return work.take();
}

std::string message_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const std::runtime_error& thrown) {
        return thrown.what();
    }
    return "nothing was thrown";
}

} // namespace

TEST(Task, DoesNotStartBeforeItIsAwaited) {
    bool started = false;
    {
        const task<int> work = answer(1, started);
        EXPECT_TRUE(work);
    }
    EXPECT_FALSE(started);
    EXPECT_EQ(run(answer(1, started)), 1);
    EXPECT_TRUE(started);
}

TEST(Task, OfVoidRunsToo) {
    bool started = false;
    run(set(started));
    EXPECT_TRUE(started);
}

TEST(Task, GivesItsAwaiterWhatItReturns) {
    bool started = false;
    const int doubled = run(
        [](bool& started) -> task<int> { co_return 2 * co_await answer(21, started); }(started));
    EXPECT_EQ(doubled, 42);
}

TEST(Task, ConvertsWhatItReturns) {
    EXPECT_EQ(run([]() -> task<std::string> { co_return "text"; }()), "text");
    EXPECT_EQ(run([]() -> task<std::pair<int, int>> { co_return {1, 2}; }()), std::pair(1, 2));
}

TEST(Task, MovesAMoveOnlyValueOutWithoutLosingIt) {
    census kept;
    {
        const tracked got = run([](census& kept) -> task<tracked> {
            tracked inner = co_await make(tracked(kept, 7));
            EXPECT_EQ(inner.id(), 7);
            co_return inner;
        }(kept));
        EXPECT_EQ(got.id(), 7);
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.created, 1);
    EXPECT_EQ(kept.alive, 0);
}

TEST(Task, ReturnsAnExceptionPointerAsAValue) {
    const std::exception_ptr got = run([]() -> task<std::exception_ptr> {
        co_return std::make_exception_ptr(std::runtime_error("a value"));
    }());
    EXPECT_EQ(message_of([&] { std::rethrow_exception(got); }), "a value");
}

TEST(Task, ThrowsWhatItsBodyThrewAtItsAwaiter) {
    EXPECT_EQ(message_of([] { run(fail("with a value")); }), "with a value");
    EXPECT_EQ(message_of([] { run(fail_without_value("without")); }), "without");
}

TEST(Task, LetsItsAwaiterHandleTheException) {
    const std::string caught = run([]() -> task<std::string> {
        try {
            co_return co_await fail("inner");
        } catch (const std::runtime_error& thrown) {
            co_return std::string("caught ") + thrown.what();
        }
    }());
    EXPECT_EQ(caught, "caught inner");
}

TEST(Task, PassesAnExceptionThroughEveryAwaiter) {
    const auto outer = []() -> task<> {
        const auto middle = []() -> task<> { co_await fail_without_value("deep"); };
        co_await middle();
    };
    EXPECT_EQ(message_of([&] { run(outer()); }), "deep");
}

TEST(Task, TurnsAnExceptionOfTheReturnedConversionIntoItsOwn) {
    struct fickle {
        fickle(int) { throw std::runtime_error("no conversion"); } // NOLINT(*-explicit-*)
    };
    EXPECT_EQ(message_of([] { run([]() -> task<fickle> { co_return 1; }()); }), "no conversion");
}

TEST(Task, KeepsItsResultForTakeAfterWhenReady) {
    run_loop loop;
    bool started = false;
    task<int> value = answer(5, started);
    task<std::string> failure = fail("later");
    bool reached = false;
    loop.spawn([](task<int>& value, task<std::string>& failure, bool& reached) -> task<> {
        co_await value.when_ready();
        co_await failure.when_ready(); // does not throw
        reached = true;
    }(value, failure, reached));
    loop.run_until_idle();
    ASSERT_TRUE(reached);
    EXPECT_EQ(value.take(), 5);
    EXPECT_EQ(message_of([&] { static_cast<void>(failure.take()); }), "later");
}

TEST(Task, ByDefaultIsEmptyUntilItIsAssignedTo) {
    task<int> work;
    EXPECT_FALSE(work);
    bool started = false;
    work = answer(3, started);
    EXPECT_TRUE(work);
    EXPECT_EQ(run(std::move(work)), 3);
}

TEST(Task, IsEmptyAfterItWasMovedFrom) {
    bool started = false;
    task<int> from = answer(3, started);
    task<int> to = std::move(from);
    EXPECT_FALSE(from); // NOLINT(bugprone-use-after-move): is what we test
    EXPECT_TRUE(to);
    EXPECT_EQ(run(std::move(to)), 3);
}

TEST(Task, DestroysItsFrameWhenSomethingElseIsAssigned) {
    census kept;
    task<> work = keep(tracked(kept, 1));
    EXPECT_EQ(kept.alive, 1);
    work = keep(tracked(kept, 2));
    EXPECT_EQ(kept.alive, 1);
    task<>& same = work;
    work = std::move(same);
    EXPECT_TRUE(work) << "lost by a self-assignment";
    EXPECT_EQ(kept.alive, 1);
    work = task<>();
    EXPECT_EQ(kept.alive, 0);
}

TEST(Task, DestroysItsFrameWhetherItStartedOrNot) {
    census kept;
    {
        const task<> unstarted = keep(tracked(kept, 1));
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
    {
        run_loop loop;
        loop.spawn([](run_loop& loop, census& kept) -> task<> {
            const tracked local(kept, 2);
            loop.stop();
            co_await loop.schedule(); // destroyed here
        }(loop, kept));
        loop.run();
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(Task, FreesEachAwaitedTaskAtTheEndOfItsExpression) {
    census kept;
    run([](census& kept) -> task<> {
        co_await keep(tracked(kept, 1));
        EXPECT_EQ(kept.alive, 0);
        co_await keep(tracked(kept, 2));
        EXPECT_EQ(kept.alive, 0);
    }(kept));
    EXPECT_EQ(kept.created, 2);
}

namespace {

task<> move_to(run_loop& loop) {
    co_await loop.schedule();
}

} // namespace

TEST(Task, ResumesItsAwaiterOnTheAwaitersExecutorWhereverItCompletes) {
    run_loop a;
    run_loop b;
    std::vector<bool> at_a;
    a.spawn([](run_loop& a, run_loop& b, std::vector<bool>& at_a) -> task<> {
        co_await move_to(b);
        at_a.push_back(a.running_here());
        co_await when_all(move_to(b), move_to(a));
        at_a.push_back(a.running_here());
    }(a, b, at_a));
    for (int i = 0; i != 3; ++i) {
        a.run_until_idle();
        b.run_until_idle();
    }
    EXPECT_EQ(at_a, (std::vector{true, true}));
}

TEST(Task, KeepsToTheExecutorItIsScheduledOn) {
    run_loop a;
    run_loop b;
    exchanger<int> ex;
    bool at_b = false;
    a.spawn([](run_loop& b, exchanger<int>& ex, bool& at_b) -> task<> {
        co_await b.schedule();
        static_cast<void>(co_await ex.exchange(1));
        at_b = b.running_here();
    }(b, ex, at_b));
    a.run_until_idle();
    b.run_until_idle();
    EXPECT_TRUE(ex.try_exchange(2));
    a.run_until_idle();
    EXPECT_FALSE(at_b);
    b.run_until_idle();
    EXPECT_TRUE(at_b);
}

TEST(Task, ReturnsToItsExecutorAfterAwaitingWhatResumesItElsewhere) {
    // An awaitable of somebody else's, which knows nothing of executors.
    struct elsewhere {
        std::coroutine_handle<>& waiting;
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> self) const noexcept { waiting = self; }
        void await_resume() const noexcept {}
    };
    run_loop loop;
    exchanger<int> ex;
    std::coroutine_handle<> waiting;
    bool back = false;
    loop.spawn([](run_loop& loop, exchanger<int>& ex, std::coroutine_handle<>& waiting,
                  bool& back) -> task<> {
        co_await elsewhere{waiting};
        static_cast<void>(co_await ex.exchange(1));
        back = loop.running_here();
    }(loop, ex, waiting, back));
    loop.run_until_idle();
    std::thread([&] { waiting.resume(); }).join();
    EXPECT_TRUE(ex.try_exchange(2));
    EXPECT_FALSE(back);
    loop.run_until_idle();
    EXPECT_TRUE(back);
}

TEST(Task, MayBeDestroyedWithItsLoopWhileItsResumptionIsQueued) {
    census kept;
    run_loop b;
    {
        run_loop a;
        a.spawn([](run_loop& b, census& kept) -> task<> {
            const tracked local(kept, 1);
            co_await move_to(b);
            ADD_FAILURE() << "resumed on a loop that nobody runs";
        }(b, kept));
        a.run_until_idle();
        b.run_until_idle();
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(Task, CanBeAwaitedByAnyCoroutineWithoutALoop) {
    int got = 0;
    bool started = false;
    const bare_coroutine awaiting = [](int& got, bool& started) -> bare_coroutine {
        got = co_await answer(9, started);
    }(got, started);
    EXPECT_TRUE(awaiting.done());
    EXPECT_EQ(got, 9);
}

TEST(Task, AwaitsALongRowOfTasksOneAfterTheOther) {
    bool started = false;
    const int sum = run([](bool& started) -> task<int> {
        int sum = 0;
        for (int i = 0; i != 500; ++i) {
            sum += co_await answer(i, started);
        }
        co_return sum;
    }(started));
    EXPECT_EQ(sum, 500 * 499 / 2);
}

TEST(Task, AwaitsADeepNestOfTasks) {
    struct nest {
        static task<int> depth_of(int n) {
            if (n == 0) {
                co_return 0;
            }
            co_return 1 + co_await depth_of(n - 1);
        }
    };
    EXPECT_EQ(run(nest::depth_of(300)), 300);
}

#ifndef NDEBUG
TEST(TaskDeathTest, CatchesASecondAwait) {
    EXPECT_DEATH(run([]() -> task<> {
                     bool started = false;
                     task<> work = set(started);
                     co_await work.when_ready();
                     co_await work.when_ready();
                 }()),
                 "awaited only once");
}

TEST(TaskDeathTest, CatchesATaskThatDestroysItself) {
    const auto misuse = [](bool at_the_start) {
        run_loop loop;
        std::optional<task<>> own;
        own.emplace([](run_loop& loop, bool at_the_start, std::optional<task<>>& self) -> task<> {
            if (!at_the_start) {
                co_await loop.schedule();
            }
            self.reset();
        }(loop, at_the_start, own));
        loop.run([](task<>& work) -> task<> { co_await std::move(work); }(*own));
    };
    EXPECT_DEATH(misuse(true), "a task destroyed itself");
    EXPECT_DEATH(misuse(false), "a task destroyed itself");
}

TEST(TaskDeathTest, CatchesAnAwaitOfAnEmptyTask) {
    EXPECT_DEATH(run([]() -> task<> { co_await task<>(); }()), "awaited only once");
}
#endif
