// SPDX-License-Identifier: MIT
// What a task does alone. How it is run: runs_test.cpp.
#include <tryst/task.hpp>

#include "support/bare_coroutine.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

/// Runs `work` to its end on this thread.
template <class T>
T run(task<T> work) {
    run_loop loop;
    return loop.run(std::move(work));
}

TEST(Task, DoesNotStartBeforeItIsAwaited) {
    std::vector<int> log;
    {
        const task<> dropped = append(log, 1);
        EXPECT_TRUE(dropped);
    }
    task<> work = append(log, 2);
    EXPECT_TRUE(log.empty());
    run(std::move(work));
    EXPECT_EQ(log, std::vector{2});
}

TEST(Task, ConvertsWhatItReturns) {
    EXPECT_EQ(run([]() -> task<std::string> { co_return "text"; }()), "text");
    EXPECT_EQ(run([]() -> task<std::pair<int, int>> { co_return {1, 2}; }()), std::pair(1, 2));
}

TEST(Task, ReturnsAnExceptionPointerAsAValue) {
    const std::exception_ptr got = run([]() -> task<std::exception_ptr> {
        co_return std::make_exception_ptr(std::runtime_error("a value"));
    }());
    EXPECT_EQ(message_of([&] { std::rethrow_exception(got); }), "a value");
}

TEST(Task, PassesAnExceptionThroughEachAwaiterUntilOneCatchesIt) {
    const auto middle = []() -> task<> { co_await fail("deep"); };
    const auto outer = [&]() -> task<std::string> {
        try {
            co_await middle();
        } catch (const std::runtime_error& thrown) {
            co_return std::string("caught ") + thrown.what();
        }
        co_return "nothing was thrown";
    };
    EXPECT_EQ(run(outer()), "caught deep");
}

TEST(Task, TurnsAnExceptionOfTheReturnedConversionIntoItsOwn) {
    struct fickle {
        fickle(int) { throw std::runtime_error("no conversion"); } // NOLINT(*-explicit-*)
    };
    EXPECT_EQ(message_of([] { run([]() -> task<fickle> { co_return 1; }()); }), "no conversion");
}

TEST(Task, KeepsItsResultForTakeAfterWhenReady) {
    task<int> value = give(5);
    task<int> failure = fail<int>("later");
    const auto wait_for_both = [&]() -> task<> {
        co_await value.when_ready();
        co_await failure.when_ready(); // does not throw
    };
    run(wait_for_both());
    EXPECT_EQ(value.take(), 5);
    EXPECT_EQ(message_of([&] { static_cast<void>(failure.take()); }), "later");
}

TEST(Task, IsEmptyByDefaultAndAfterAMove) {
    task<int> work;
    EXPECT_FALSE(work);
    work = give(3);
    EXPECT_TRUE(work);
    task<int> to = std::move(work);
    EXPECT_FALSE(work); // NOLINT(bugprone-use-after-move): is what we test
    EXPECT_TRUE(to);
    EXPECT_EQ(run(std::move(to)), 3);
}

TEST(Task, DestroysItsFrameWithItselfOrWhenSomethingElseIsAssigned) {
    census kept;
    {
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
        work = keep(tracked(kept, 3));
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(Task, FreesEachAwaitedTaskAtTheEndOfItsExpression) {
    census kept;
    const auto body = [&]() -> task<> {
        co_await keep(tracked(kept, 1));
        EXPECT_EQ(kept.alive, 0);
        co_await keep(tracked(kept, 2));
        EXPECT_EQ(kept.alive, 0);
    };
    run(body());
    EXPECT_EQ(kept.created, 2);
}

TEST(Task, KeepsToTheExecutorItIsScheduledOn) {
    run_loop a;
    run_loop b;
    exchanger<int> ex;
    bool at_b = false;
    const auto body = [&]() -> task<> {
        co_await b.schedule();
        static_cast<void>(co_await ex.exchange(1));
        at_b = b.running_here();
    };
    a.spawn(body());
    a.run_until_idle();
    b.run_until_idle();
    EXPECT_TRUE(ex.try_exchange(2));
    a.run_until_idle();
    EXPECT_FALSE(at_b);
    b.run_until_idle();
    EXPECT_TRUE(at_b);
}

TEST(Task, CanBeAwaitedByAnyCoroutineWithoutALoop) {
    int got = 0;
    const auto body = [&]() -> bare_coroutine { got = co_await give(9); };
    const bare_coroutine awaiting = body();
    EXPECT_TRUE(awaiting.done());
    EXPECT_EQ(got, 9);
}

} // namespace
} // namespace tryst::test
