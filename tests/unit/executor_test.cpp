// SPDX-License-Identifier: MIT
#include <tryst/executor.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>

#include "support/bare_coroutine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <coroutine>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::current_executor;
using tryst::executor_node;
using tryst::executor_of;
using tryst::executor_ref;
using tryst::executor_vtable;
using tryst::run_loop;
using tryst::task;
using tryst::test::bare_coroutine;
using namespace std::chrono_literals;

/// What a user might write at least: `post`, and nothing else. It runs its nodes when told to.
class queue_executor {
public:
    executor_ref ref() noexcept {
        static constexpr executor_vtable vtable{
            .post = [](void* self, executor_node* node) noexcept {
                static_cast<queue_executor*>(self)->push(node);
            }};
        return {this, &vtable};
    }

    /// Runs one node; waits for it if there is none.
    void run_one() {
        executor_node* node = nullptr;
        {
            std::unique_lock lock(mutex_);
            pushed_.wait(lock, [this] { return !nodes_.empty(); });
            node = nodes_.front();
            nodes_.erase(nodes_.begin());
        }
        node->run(node);
    }

    std::size_t size() {
        const std::scoped_lock lock(mutex_);
        return nodes_.size();
    }

private:
    void push(executor_node* node) {
        {
            const std::scoped_lock lock(mutex_);
            nodes_.push_back(node);
        }
        pushed_.notify_one();
    }

    std::mutex mutex_;
    std::condition_variable pushed_;
    std::vector<executor_node*> nodes_;
};

/// A coroutine whose promise names its executor, which is the coroutine's first argument.
class bound_coroutine {
public:
    struct promise_type {
        template <class... Arguments>
        explicit promise_type(executor_ref mine, Arguments&&...) noexcept : home(mine) {}

        executor_ref executor() const noexcept { return home; }
        bound_coroutine get_return_object() noexcept {
            return bound_coroutine(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }

        executor_ref home;
    };

    bound_coroutine(bound_coroutine&& other) noexcept
        : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    bound_coroutine& operator=(bound_coroutine&&) = delete;
    ~bound_coroutine() {
        if (coroutine_) {
            coroutine_.destroy();
        }
    }

    bool done() const noexcept { return coroutine_.done(); }

private:
    explicit bound_coroutine(std::coroutine_handle<promise_type> coroutine) noexcept
        : coroutine_(coroutine) {}

    std::coroutine_handle<promise_type> coroutine_;
};

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
task<> ask_task(executor_ref& answer) {
    answer = co_await ask_executor{};
}

struct report {
    bool done = false;
    int item = 0;
    std::error_code error;
    std::thread::id where;
    executor_ref current;

    void fill(tryst::exchange_result<int> got) {
        done = true;
        error = got.error();
        item = got ? *got : got.returned();
        where = std::this_thread::get_id();
        current = current_executor();
    }
};

bound_coroutine exchange_on(executor_ref, tryst::exchanger<int>& ex, int item, report& out) {
    out.fill(co_await ex.exchange(item));
}
bound_coroutine limited_exchange_on(executor_ref, tryst::exchanger<int>& ex, int item,
                                    std::chrono::microseconds patience, report& out) {
    out.fill(co_await ex.exchange(item, patience));
}
task<> exchange_task(tryst::exchanger<int>& ex, int item, report& out) {
    out.fill(co_await ex.exchange(item));
}

bare_coroutine log_after_schedule(executor_ref there, std::string& log, char name) {
    log += name;
    co_await there.schedule();
    log += name;
}

} // namespace

TEST(ExecutorScope, SaysWhoseWorkTheThreadRunsUntilItEnds) {
    tryst::run_loop outer;
    tryst::run_loop inner;
    EXPECT_FALSE(tryst::current_executor());
    {
        const tryst::executor_scope here(outer.executor());
        EXPECT_EQ(tryst::current_executor(), outer.executor());
        {
            const tryst::executor_scope nested(inner.executor());
            EXPECT_EQ(tryst::current_executor(), inner.executor());
            const tryst::executor_scope none{tryst::executor_ref()};
            EXPECT_FALSE(tryst::current_executor());
        }
        EXPECT_EQ(tryst::current_executor(), outer.executor());
    }
    EXPECT_FALSE(tryst::current_executor());
}

TEST(ExecutorRef, ByDefaultRefersToNone) {
    const executor_ref none;
    EXPECT_FALSE(none);
    EXPECT_FALSE(none.running_here());
    EXPECT_FALSE(none.has_timers());
    EXPECT_EQ(none, executor_ref());
}

TEST(ExecutorRef, EqualsOnlyReferencesToTheSameExecutor) {
    const run_loop a;
    const run_loop b;
    EXPECT_TRUE(a.executor());
    EXPECT_EQ(a.executor(), a.executor());
    EXPECT_NE(a.executor(), b.executor());
    EXPECT_NE(a.executor(), executor_ref());
}

TEST(ExecutorRef, WithoutOptionalOperationsIsNeverHereAndHasNoTimers) {
    queue_executor queue;
    EXPECT_TRUE(queue.ref());
    EXPECT_FALSE(queue.ref().running_here());
    EXPECT_FALSE(queue.ref().has_timers());
}

TEST(ExecutorRef, HasTimersOnlyWhereTheyMayBeArmed) {
    run_loop loop;
    EXPECT_FALSE(loop.executor().has_timers()) << "from outside of the loop's thread";
    bool inside = false;
    loop.spawn([](executor_ref executor, bool& answer) -> task<> {
        answer = executor.has_timers();
        co_return;
    }(loop.executor(), inside));
    loop.run_until_idle();
    EXPECT_TRUE(inside);
}

TEST(CurrentExecutor, IsTheInnermostLoopThatRunsAndNoneOutside) {
    EXPECT_FALSE(current_executor());
    run_loop outer;
    run_loop inner;
    std::vector<executor_ref> seen;
    outer.spawn([](run_loop& nested, std::vector<executor_ref>& log) -> task<> {
        log.push_back(current_executor());
        nested.spawn([](std::vector<executor_ref>& log) -> task<> {
            log.push_back(current_executor());
            co_return;
        }(log));
        nested.run_until_idle();
        log.push_back(current_executor());
        co_return;
    }(inner, seen));
    outer.run_until_idle();
    EXPECT_EQ(seen, (std::vector{outer.executor(), inner.executor(), outer.executor()}));
    EXPECT_FALSE(current_executor());
}

TEST(CurrentExecutor, IsNoneOnAThreadBesideTheLoop) {
    run_loop loop;
    bool any = true;
    loop.spawn([](bool& answer) -> task<> {
        std::thread([&answer] { answer = static_cast<bool>(current_executor()); }).join();
        co_return;
    }(any));
    loop.run_until_idle();
    EXPECT_FALSE(any);
}

TEST(ExecutorOf, IsWhatThePromiseNames) {
    queue_executor queue;
    executor_ref answer;
    const bound_coroutine asked = ask_bound(queue.ref(), answer);
    EXPECT_EQ(answer, queue.ref());
}

TEST(ExecutorOf, PrefersThePromiseToTheLoopThatRunsHere) {
    queue_executor queue;
    run_loop loop;
    executor_ref answer;
    loop.spawn([](executor_ref named, executor_ref& answer) -> task<> {
        const bound_coroutine asked = ask_bound(named, answer);
        co_return;
    }(queue.ref(), answer));
    loop.run_until_idle();
    EXPECT_EQ(answer, queue.ref());
}

TEST(ExecutorOf, IsTheLoopThatRunsHereIfThePromiseNamesNone) {
    run_loop loop;
    executor_ref of_bound;
    executor_ref of_bare;
    executor_ref of_task;
    loop.spawn([](executor_ref& bound, executor_ref& bare, executor_ref& own) -> task<> {
        const bound_coroutine first = ask_bound(executor_ref(), bound);
        const bare_coroutine second = ask_bare(bare);
        co_await ask_task(own);
    }(of_bound, of_bare, of_task));
    loop.run_until_idle();
    EXPECT_EQ(of_bound, loop.executor());
    EXPECT_EQ(of_bare, loop.executor());
    EXPECT_EQ(of_task, loop.executor());
}

TEST(ExecutorOf, IsNoneOnAPlainThread) {
    const run_loop loop;
    executor_ref answer = loop.executor();
    const bare_coroutine asked = ask_bare(answer);
    EXPECT_FALSE(answer);
}

TEST(Schedule, GoesOnByWayOfTheQueueAndInItsOrder) {
    queue_executor queue;
    std::string log;
    const bare_coroutine a = log_after_schedule(queue.ref(), log, 'a');
    const bare_coroutine b = log_after_schedule(queue.ref(), log, 'b');
    EXPECT_EQ(log, "ab");
    queue.run_one();
    EXPECT_EQ(log, "aba");
    queue.run_one();
    EXPECT_EQ(log, "abab");
    EXPECT_TRUE(a.done() && b.done());
}

TEST(Schedule, OntoTheLoopThatRunsHereYieldsToWhatIsQueued) {
    run_loop loop;
    std::string log;
    for (const char name : {'a', 'b'}) {
        loop.spawn([](run_loop& loop, std::string& log, char name) -> task<> {
            log += name;
            co_await loop.schedule();
            log += name;
        }(loop, log, name));
    }
    loop.run_until_idle();
    EXPECT_EQ(log, "abab");
}

TEST(Schedule, OfADestroyedCoroutineIsForgotten) {
    run_loop loop;
    std::string log;
    const bare_coroutine first = log_after_schedule(loop.executor(), log, 'a');
    {
        const bare_coroutine destroyed = log_after_schedule(loop.executor(), log, 'b');
    }
    const bare_coroutine last = log_after_schedule(loop.executor(), log, 'c');
    EXPECT_EQ(loop.run_until_idle(), 2U);
    EXPECT_EQ(log, "abcac");
}

TEST(Schedule, OfTheLastInTheQueueIsForgottenToo) {
    run_loop loop;
    std::string log;
    loop.spawn([](run_loop& loop, std::string& log) -> task<> {
        bare_coroutine destroyed = log_after_schedule(loop.executor(), log, 'a');
        destroyed.destroy();
        const bare_coroutine next = log_after_schedule(loop.executor(), log, 'b');
        co_await loop.schedule();
        log += next.done() ? '.' : '!';
    }(loop, log));
    loop.run_until_idle();
    EXPECT_EQ(log, "abb.");
}

TEST(ExchangeOnAnExecutor, ResumesByPostingToWhatThePromiseNames) {
    queue_executor queue;
    tryst::exchanger<int> ex;
    report waiter;
    const bound_coroutine waiting = exchange_on(queue.ref(), ex, 1, waiter);
    auto got = ex.try_exchange(2);
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, 1);
    EXPECT_FALSE(waiter.done) << "resumed inline instead of being posted";
    ASSERT_EQ(queue.size(), 1U);
    queue.run_one();
    EXPECT_TRUE(waiting.done());
    EXPECT_EQ(waiter.item, 2);
}

TEST(ExchangeOnAnExecutor, ResumesThereThoughItWaitedOnAnotherLoopsThread) {
    queue_executor queue;
    run_loop loop;
    tryst::exchanger<int> ex;
    report bound;
    report partner;
    std::vector<bound_coroutine> waiting;
    // It starts, and suspends, while the loop runs.
    loop.spawn([](executor_ref named, tryst::exchanger<int>& ex, report& out,
                  std::vector<bound_coroutine>& waiting) -> task<> {
        waiting.push_back(exchange_on(named, ex, 1, out));
        co_return;
    }(queue.ref(), ex, bound, waiting));
    loop.spawn(exchange_task(ex, 2, partner));
    loop.run_until_idle();
    EXPECT_TRUE(partner.done);
    EXPECT_FALSE(bound.done);
    queue.run_one();
    EXPECT_TRUE(bound.done);
    EXPECT_EQ(partner.item, 1);
    EXPECT_EQ(partner.current, loop.executor());
    EXPECT_EQ(bound.item, 2);
    EXPECT_FALSE(bound.current) << "resumed on the loop";
}

TEST(ExchangeOnAnExecutor, WithoutTimersKeepsDeadlinesByTheTimerThread) {
    queue_executor queue;
    tryst::exchanger<int> ex;
    report waiter;
    const auto start = std::chrono::steady_clock::now();
    const bound_coroutine waiting = limited_exchange_on(queue.ref(), ex, 1, 2ms, waiter);
    while (!waiting.done()) {
        queue.run_one(); // waits for the timer thread to post
    }
    EXPECT_EQ(waiter.error, tryst::exchange_errc::timed_out);
    EXPECT_EQ(waiter.item, 1);
    EXPECT_EQ(waiter.where, std::this_thread::get_id()) << "resumed by the timer thread itself";
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
}

TEST(ExchangeOnAnExecutor, WithoutTimersTakesAPartnerBeforeTheDeadline) {
    queue_executor queue;
    tryst::exchanger<int> ex;
    report waiter;
    const bound_coroutine waiting = limited_exchange_on(queue.ref(), ex, 1, 24h, waiter);
    EXPECT_TRUE(ex.try_exchange(2));
    EXPECT_FALSE(waiting.done()) << "resumed inline instead of being posted";
    while (!waiting.done()) {
        queue.run_one();
    }
    EXPECT_FALSE(waiter.error);
    EXPECT_EQ(waiter.item, 2);
}

TEST(ExchangeOnAnExecutor, ThatIsALoopButNotThisThreadsKeepsDeadlinesToo) {
    // The coroutine's own loop has timers, but from this thread they must not be armed.
    run_loop loop;
    tryst::exchanger<int> ex;
    report waiter;
    const auto start = std::chrono::steady_clock::now();
    const bound_coroutine waiting = limited_exchange_on(loop.executor(), ex, 1, 2ms, waiter);
    while (!waiter.done) {
        loop.run_until_idle();
        std::this_thread::yield();
    }
    EXPECT_EQ(waiter.error, tryst::exchange_errc::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 2ms);
    EXPECT_EQ(waiter.current, loop.executor());
}

#ifndef NDEBUG
TEST(ExecutorDeathTest, CatchesAScheduleOnNoExecutor) {
    EXPECT_DEATH(static_cast<void>(executor_ref().schedule()), "needs an executor");
}

TEST(ExecutorDeathTest, CatchesAFrameDestroyedWhileItWaitsWhereNothingCanBeRetracted) {
    const auto destroy_queued = [] {
        queue_executor queue;
        std::string log;
        bare_coroutine queued = log_after_schedule(queue.ref(), log, 'a');
        queued.destroy();
    };
    EXPECT_DEATH(destroy_queued(), "cannot retract");
}
#endif
