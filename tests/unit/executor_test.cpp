// SPDX-License-Identifier: MIT
// Which executor a coroutine resumes on.
#include <tryst/executor.hpp>

#include <tryst/tryst.hpp>

#include "support/bare_coroutine.hpp"
#include "support/parties.hpp"
#include "support/queue_executor.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

TEST(ExecutorRef, EqualsOnlyReferencesToTheSameExecutor) {
    const executor_ref none;
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.running_here());
    EXPECT_FALSE(none.has_timers());
    EXPECT_EQ(none, executor_ref());
    const run_loop a;
    const run_loop b;
    EXPECT_TRUE(a.executor());
    EXPECT_EQ(a.executor(), a.executor());
    EXPECT_NE(a.executor(), b.executor());
    EXPECT_NE(a.executor(), none);
}

TEST(ExecutorRef, HasTimersOnlyWhereTheyMayBeArmed) {
    queue_executor queue;
    EXPECT_TRUE(queue.ref());
    EXPECT_FALSE(queue.ref().running_here());
    EXPECT_FALSE(queue.ref().has_timers());
    run_loop loop;
    EXPECT_FALSE(loop.executor().has_timers()) << "from outside of the loop's thread";
    const auto ask = [&]() -> task<bool> { co_return loop.executor().has_timers(); };
    EXPECT_TRUE(loop.run(ask()));
}

TEST(CurrentExecutor, IsThatOfTheInnermostScope) {
    const run_loop outer;
    const run_loop inner;
    EXPECT_FALSE(current_executor());
    {
        const executor_scope here(outer.executor());
        EXPECT_EQ(current_executor(), outer.executor());
        {
            const executor_scope nested(inner.executor());
            EXPECT_EQ(current_executor(), inner.executor());
            const executor_scope none{executor_ref()};
            EXPECT_FALSE(current_executor());
        }
        EXPECT_EQ(current_executor(), outer.executor());
        std::thread([] { EXPECT_FALSE(current_executor()); }).join();
    }
    EXPECT_FALSE(current_executor());
}

/// Gives its coroutine the answer of `executor_of`, without suspending it.
struct ask_executor {
    executor_ref answer{};

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        answer = executor_of(coroutine);
        return false;
    }
    executor_ref await_resume() const noexcept { return answer; }
};

bound_coroutine ask_bound(executor_ref, executor_ref& answer) {
    answer = co_await ask_executor{};
}
bare_coroutine ask_bare(executor_ref& answer) {
    answer = co_await ask_executor{};
}

TEST(ExecutorOf, IsWhatThePromiseNamesOrElseTheLoopThatRunsHere) {
    queue_executor queue;
    run_loop loop;
    executor_ref bound = loop.executor();
    executor_ref bound_to_none = loop.executor();
    executor_ref bare = loop.executor();
    executor_ref own;
    const auto ask_all = [&] {
        ask_bound(queue.ref(), bound);
        ask_bound(executor_ref(), bound_to_none);
        ask_bare(bare);
    };
    const auto ask_on_loop = [&]() -> task<> {
        ask_all();
        own = co_await ask_executor{};
    };
    ask_all();
    EXPECT_EQ(bound, queue.ref());
    EXPECT_FALSE(bound_to_none);
    EXPECT_FALSE(bare);
    loop.run(ask_on_loop());
    EXPECT_EQ(bound, queue.ref());
    EXPECT_EQ(bound_to_none, loop.executor());
    EXPECT_EQ(bare, loop.executor());
    EXPECT_EQ(own, loop.executor());
}

// ---- schedule

bare_coroutine log_after_schedule(executor_ref there, std::string& log, char name) {
    log += name;
    co_await there.schedule();
    log += name;
}

TEST(Schedule, OfADestroyedCoroutineIsForgottenThoughItIsTheLastInTheQueue) {
    run_loop loop;
    std::string log;
    const bare_coroutine first = log_after_schedule(loop.executor(), log, 'a');
    for (const char name : {'b', 'c'}) { // after each, another takes its place in the queue
        const bare_coroutine destroyed = log_after_schedule(loop.executor(), log, name);
    }
    const bare_coroutine last = log_after_schedule(loop.executor(), log, 'd');
    EXPECT_EQ(loop.run_until_idle(), 2U);
    EXPECT_EQ(log, "abcdad");
    const auto on_loop = [&]() -> task<> {
        bare_coroutine destroyed = log_after_schedule(loop.executor(), log, 'e');
        destroyed.destroy();
        const bare_coroutine next = log_after_schedule(loop.executor(), log, 'f');
        co_await loop.schedule();
        EXPECT_TRUE(next.done());
    };
    loop.run(on_loop());
    EXPECT_EQ(log, "abcdadeff");
}

// ---- An exchange of a coroutine whose promise names its executor

struct report {
    received<int> got;
    std::thread::id where;
    executor_ref current;
};

template <class... Limit>
bound_coroutine exchange_on(executor_ref, exchanger<int>& ex, report& out, Limit... limit) {
    out.got.emplace(co_await ex.exchange(1, limit...));
    out.where = std::this_thread::get_id();
    out.current = current_executor();
}

TEST(ExchangeOnAnExecutor, ResumesByPostingToWhatThePromiseNamesThoughItBeginsOnALoop) {
    queue_executor queue;
    run_loop loop;
    exchanger<int> ex;
    report waiter;
    std::optional<bound_coroutine> waiting;
    const auto begin = [&]() -> task<> {
        waiting.emplace(exchange_on(queue.ref(), ex, waiter));
        co_return;
    };
    loop.run(begin());
    EXPECT_EQ(loop.run(swap(ex, 2)), 1);
    EXPECT_FALSE(waiter.got) << "resumed inline instead of being posted";
    ASSERT_EQ(queue.size(), 1U);
    queue.run_one();
    EXPECT_EQ(waiter.got, 2);
    EXPECT_FALSE(waiter.current) << "resumed on the loop";
}

TEST(ExchangeOnAnExecutor, WithoutTimersKeepsDeadlinesByTheTimerThread) {
    queue_executor queue;
    exchanger<int> ex;
    report late;
    const auto start = std::chrono::steady_clock::now();
    const bound_coroutine waiting = exchange_on(queue.ref(), ex, late, 2ms);
    while (!waiting.done()) {
        queue.run_one(); // waits for the timer thread to post
    }
    EXPECT_EQ(late.got->error(), exchange_errc::timed_out);
    EXPECT_EQ(late.where, std::this_thread::get_id()) << "resumed by the timer thread itself";
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
    report in_time;
    const bound_coroutine met = exchange_on(queue.ref(), ex, in_time, 24h);
    EXPECT_TRUE(ex.try_exchange(2));
    EXPECT_FALSE(met.done()) << "resumed inline instead of being posted";
    while (!met.done()) {
        queue.run_one();
    }
    EXPECT_EQ(in_time.got, 2);
}

TEST(ExchangeOnAnExecutor, ThatIsALoopButNotThisThreadsKeepsDeadlinesToo) {
    // The coroutine's own loop has timers, but from this thread they must not be armed.
    run_loop loop;
    exchanger<int> ex;
    report waiter;
    const auto start = std::chrono::steady_clock::now();
    const bound_coroutine waiting = exchange_on(loop.executor(), ex, waiter, 2ms);
    while (!waiter.got) {
        loop.run_until_idle();
        std::this_thread::yield();
    }
    EXPECT_EQ(waiter.got->error(), exchange_errc::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
    EXPECT_EQ(waiter.current, loop.executor());
}

// ---- A coroutine without an executor, which is resumed inline: where it waits next

/// A bare coroutine waits in one exchanger and then in another. The first wait is ended on a loop,
/// which the coroutine must not adopt, because the loop does not know of it.
class BareCoroutine : public ::testing::Test {
public:
    detached_coroutine wait_twice() {
        static_cast<void>(co_await first.exchange(10, stop.get_token()));
        executor_inside = static_cast<bool>(current_executor());
        auto got = co_await second.exchange(11);
        item = got ? *got : -1;
    }
    /// Shows that the coroutine is resumed without another turn of a loop.
    void expect_second_wait_inline() {
        EXPECT_FALSE(executor_inside);
        EXPECT_TRUE(second.try_exchange(3));
        EXPECT_EQ(item, 3);
    }

    exchanger<int> first;
    exchanger<int> second;
    std::stop_source stop;
    bool executor_inside = true;
    int item = 0;
};

TEST_F(BareCoroutine, DoesNotStayOnTheLoopThatEndsItsWait) {
    struct way {
        const char* name;
        void (*end_wait)(BareCoroutine&);
    };
    const way ways[]{
        {"a partner", [](BareCoroutine& it) { EXPECT_EQ(it.first.try_exchange(1), 10); }},
        {"a stop", [](BareCoroutine& it) { it.stop.request_stop(); }},
        {"a close", [](BareCoroutine& it) { it.first.close(); }}};
    for (const way& each : ways) {
        SCOPED_TRACE(each.name);
        run_loop loop;
        wait_twice();
        const auto end_and_look = [&]() -> task<> {
            each.end_wait(*this);
            EXPECT_EQ(current_executor(), loop.executor()) << "it was not restored";
            co_return;
        };
        loop.run(end_and_look());
        expect_second_wait_inline();
    }
}

TEST_F(BareCoroutine, DoesNotStayOnThePrivateLoopOfSyncWait) {
    wait_twice();
    EXPECT_EQ(sync_wait(swap(first, 1)), 10);
    expect_second_wait_inline();
    const auto begin = [&]() -> task<> { // nor if it begins there
        wait_twice();
        co_return;
    };
    sync_wait(begin());
    EXPECT_TRUE(first.try_exchange(1));
    expect_second_wait_inline();
}

TEST_F(BareCoroutine, DoesNotAdoptTheLoopToWhichATaskItAwaitsHasMoved) {
    run_loop loop;
    const auto body = [&]() -> detached_coroutine {
        static_cast<void>(co_await hop(loop, 1));
        executor_inside = false;
        auto got = co_await second.exchange(11);
        item = *got;
    };
    body();
    loop.run_until_idle();
    expect_second_wait_inline();
}

TEST_F(BareCoroutine, ThatBeginsOnARunLoopIsResumedThere) {
    run_loop loop;
    const auto begin = [&]() -> task<> {
        wait_twice();
        co_return;
    };
    loop.run(begin());
    EXPECT_TRUE(first.try_exchange(2));
    executor_inside = false;
    loop.run_until_idle();
    EXPECT_TRUE(executor_inside);
    EXPECT_TRUE(second.try_exchange(3));
    loop.run_until_idle();
    EXPECT_EQ(item, 3);
}

} // namespace
} // namespace tryst::test
