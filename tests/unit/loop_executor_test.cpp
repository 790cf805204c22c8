// SPDX-License-Identifier: MIT
// An executor on the simplest of loops. The adapters' tests repeat what matters on real loops.
#include <tryst/loop_executor.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include "support/bare_coroutine.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::exchange_errc;
using tryst::exchanger;
using tryst::executor_node;
using tryst::loop_executor;
using tryst::loop_turns;
using tryst::task;
using tryst::test::detached_coroutine;
using namespace std::chrono_literals;

/// A loop such as many programs have: a queue of functions.
class function_loop {
public:
    void post(std::function<void()> function) {
        const std::scoped_lock lock(mutex_);
        functions_.push_back(std::move(function));
        posted_.notify_one();
    }

    /// Runs functions until there are none.
    void run_ready() {
        while (auto function = take(false)) {
            function();
        }
    }

    void run() {
        ended_ = false;
        while (!ended_) {
            take(true)();
        }
    }

    /// Ends `run`. Call on the loop.
    void end() { ended_ = true; }

    std::size_t pending() {
        const std::scoped_lock lock(mutex_);
        return functions_.size();
    }

private:
    std::function<void()> take(bool wait) {
        std::unique_lock lock(mutex_);
        if (wait) {
            posted_.wait(lock, [this] { return !functions_.empty(); });
        } else if (functions_.empty()) {
            return {};
        }
        auto function = std::move(functions_.front());
        functions_.pop_front();
        return function;
    }

    std::mutex mutex_;
    std::condition_variable posted_;
    std::deque<std::function<void()>> functions_;
    bool ended_ = false;
};

/// What the author of an adapter writes at least.
class wake_only {
public:
    wake_only(loop_turns& turns, function_loop& loop)
        : turns_(&turns, [](loop_turns*) {}), loop_(&loop) {}

    void wake() noexcept {
        loop_->post([turns = std::weak_ptr(turns_)] {
            if (const auto alive = turns.lock()) {
                alive->run_turn();
            }
        });
    }

protected:
    std::shared_ptr<loop_turns> turns_; // ends the calls when it is destroyed
    function_loop* loop_;
};
using plain_executor = loop_executor<wake_only>;

/// What a loop with timers was asked to do.
struct requests {
    std::vector<std::chrono::nanoseconds> timers;
    int cancelled = 0;
    std::vector<bool> alive;
    loop_turns* turns = nullptr;
};

/// A wake with everything that is optional.
class full_wake : public wake_only {
public:
    full_wake(loop_turns& turns, function_loop& loop, requests& asked)
        : wake_only(turns, loop), asked_(&asked) {
        asked.turns = &turns;
    }
    void set_timer(std::chrono::nanoseconds after) noexcept { asked_->timers.push_back(after); }
    void cancel_timer() noexcept { ++asked_->cancelled; }
    void keep_alive(bool alive) noexcept { asked_->alive.push_back(alive); }

private:
    requests* asked_;
};
using full_executor = loop_executor<full_wake>;

task<> meet(exchanger<int>& ex, int mine, int& theirs) {
    auto got = co_await ex.exchange(mine);
    theirs = got.value();
}

template <class Duration>
task<> meet_for(exchanger<int>& ex, Duration patience, std::error_code& ended) {
    auto got = co_await ex.exchange(1, patience);
    ended = got.error();
}

TEST(LoopExecutor, TwoTasksMeet) {
    function_loop loop;
    plain_executor executor(loop);
    exchanger<int> ex;
    int a = 0;
    int b = 0;
    executor.spawn(meet(ex, 1, a));
    executor.spawn(meet(ex, 2, b));
    EXPECT_EQ(a, 0) << "a task started outside the loop";
    loop.run_ready();
    EXPECT_EQ(a, 2);
    EXPECT_EQ(b, 1);
}

TEST(LoopExecutor, TasksCanBeSpawnedAgainAfterTheLoopHasReturned) {
    function_loop loop;
    plain_executor executor(loop);
    exchanger<int> ex;
    int a = 0;
    int b = 0;
    executor.spawn(meet(ex, 1, a));
    loop.run_ready();
    loop.run_ready();
    executor.spawn(meet(ex, 2, b));
    loop.run_ready();
    EXPECT_EQ(a, 2);
    EXPECT_EQ(b, 1);
}

TEST(LoopExecutor, ResumesATaskOnTheLoopsThread) {
    function_loop loop;
    plain_executor executor(loop);
    exchanger<int> ex;
    std::thread::id resumed;
    executor.spawn([](exchanger<int>& ex, std::thread::id& resumed, function_loop& loop) -> task<> {
        auto got = co_await ex.exchange(1);
        resumed = std::this_thread::get_id();
        EXPECT_EQ(*got, 2);
        loop.end();
    }(ex, resumed, loop));
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1); });
    loop.run();
    partner.join();
    EXPECT_EQ(resumed, std::this_thread::get_id());
}

TEST(LoopExecutor, HowManyEverThreadsPostOneCallIsPending) {
    struct counted : executor_node {
        int* runs;
    };
    constexpr int posts = 1'000;
    function_loop loop;
    plain_executor executor(loop);
    int runs = 0;
    std::vector<counted> nodes(std::size_t{4} * posts, counted{{}, &runs});
    std::vector<std::thread> threads;
    for (std::size_t each = 0; each != 4; ++each) {
        threads.emplace_back([&, each] {
            for (std::size_t i = 0; i != posts; ++i) {
                counted& node = nodes[each * posts + i];
                node.run = [](executor_node* self) noexcept {
                    ++*static_cast<counted*>(self)->runs;
                };
                executor.post(&node);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(loop.pending(), 1U);
    loop.run_ready();
    EXPECT_EQ(runs, 4 * posts);
}

TEST(LoopExecutor, TheLoopDoesItsOtherWorkBetweenTurns) {
    struct endless : executor_node {
        plain_executor* executor;
        int runs = 0;
    };
    function_loop loop;
    plain_executor executor(loop);
    endless node{{}, &executor};
    node.run = [](executor_node* self) noexcept {
        auto& mine = *static_cast<endless*>(self);
        if (++mine.runs != 1'000) {
            mine.executor->post(self);
        }
    };
    executor.post(&node);
    int runs_before_other_work = 0;
    loop.post([&] { runs_before_other_work = node.runs; });
    loop.run_ready();
    EXPECT_EQ(runs_before_other_work, 64);
    EXPECT_EQ(node.runs, 1'000);
}

TEST(LoopExecutor, MovesATaskByScheduling) {
    function_loop loop;
    plain_executor executor(loop);
    tryst::run_loop home;
    std::thread::id there;
    home.spawn([](plain_executor& executor, std::thread::id& there, tryst::run_loop& home,
                  function_loop& loop) -> task<> {
        co_await executor.schedule();
        there = std::this_thread::get_id();
        loop.end();
        co_await home.schedule();
        home.stop();
    }(executor, there, home, loop));
    std::thread other([&] { home.run(); });
    loop.run();
    other.join();
    EXPECT_EQ(there, std::this_thread::get_id());
}

TEST(LoopExecutor, ALoopThatRunsWithinATaskDoesNotRunOtherTasks) {
    function_loop loop;
    plain_executor executor(loop);
    std::string order;
    executor.spawn([](plain_executor& executor, function_loop& loop, std::string& order) -> task<> {
        order += "a(";
        executor.spawn([](std::string& order) -> task<> {
            order += "b";
            co_return;
        }(order));
        loop.post([&order] { order += "f"; });
        loop.run_ready();
        order += ")";
        co_return;
    }(executor, loop, order));
    loop.run_ready();
    EXPECT_EQ(order, "a(f)b");
}

// ---- Coroutines of other libraries

TEST(LoopExecutor, AForeignCoroutineResumesInlineInItsPartner) {
    function_loop loop;
    const plain_executor executor(loop);
    exchanger<int> ex;
    std::thread::id resumed;
    [](exchanger<int>& ex, std::thread::id& resumed) -> detached_coroutine {
        auto got = co_await ex.exchange(1);
        EXPECT_EQ(*got, 2);
        resumed = std::this_thread::get_id();
    }(ex, resumed);
    std::thread([&] { EXPECT_TRUE(ex.try_exchange(2)); }).join();
    EXPECT_NE(resumed, std::thread::id());
    EXPECT_NE(resumed, std::this_thread::get_id());
}

TEST(LoopExecutor, AForeignCoroutineResumesOnTheLoopWithinAnExecutorScope) {
    function_loop loop;
    const plain_executor executor(loop);
    const tryst::executor_scope here(executor.executor());
    exchanger<int> ex;
    std::thread::id resumed;
    loop.post([&] {
        [](exchanger<int>& ex, std::thread::id& resumed,
           function_loop& loop) -> detached_coroutine {
            auto got = co_await ex.exchange(1);
            EXPECT_EQ(*got, 2);
            resumed = std::this_thread::get_id();
            loop.end();
        }(ex, resumed, loop);
    });
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1); });
    loop.run();
    partner.join();
    EXPECT_EQ(resumed, std::this_thread::get_id());
}

TEST(LoopExecutor, TwoForeignCoroutinesMeetWithinAnExecutorScope) {
    function_loop loop;
    const plain_executor executor(loop);
    const tryst::executor_scope here(executor.executor());
    exchanger<int> ex;
    int sum = 0;
    const auto party = [](exchanger<int>& ex, int mine, int& sum) -> detached_coroutine {
        auto got = co_await ex.exchange(mine);
        sum += *got;
    };
    loop.post([&] { party(ex, 1, sum); });
    loop.post([&] { party(ex, 2, sum); });
    loop.run_ready();
    EXPECT_EQ(sum, 3);
}

// ---- Deadlines

TEST(LoopExecutor, WithoutTimersTheTimerThreadServesDeadlines) {
    function_loop loop;
    plain_executor executor(loop);
    exchanger<int> ex;
    std::error_code ended;
    executor.spawn([](exchanger<int>& ex, std::error_code& ended, function_loop& loop) -> task<> {
        auto got = co_await ex.exchange(1, 1ms);
        ended = got.error();
        loop.end();
    }(ex, ended, loop));
    loop.run();
    EXPECT_EQ(ended, exchange_errc::timed_out);
}

TEST(LoopExecutor, TheLoopServesDeadlines) {
    function_loop loop;
    requests asked;
    full_executor executor(loop, asked);
    exchanger<int> ex;
    std::error_code ended;
    std::chrono::nanoseconds patience = 1ms;
    do { // on a busy machine the deadline may pass within the turn
        patience *= 2;
        ended.clear();
        executor.spawn(meet_for(ex, patience, ended));
        loop.run_ready();
    } while (asked.timers.empty());
    EXPECT_FALSE(ended);
    EXPECT_LE(asked.timers[0], patience);
    std::this_thread::sleep_for(patience);
    asked.turns->timer_expired();
    EXPECT_EQ(ended, exchange_errc::timed_out);
    EXPECT_EQ(asked.timers.size(), 1U);
    EXPECT_EQ(asked.cancelled, 0) << "the timer has expired";
}

TEST(LoopExecutor, ATimerThatExpiresEarlyIsSetAgain) {
    function_loop loop;
    requests asked;
    full_executor executor(loop, asked);
    exchanger<int> ex;
    std::error_code ended;
    executor.spawn(meet_for(ex, 1h, ended));
    loop.run_ready();
    asked.turns->timer_expired();
    EXPECT_EQ(asked.timers.size(), 2U);
    EXPECT_FALSE(ended);
}

TEST(LoopExecutor, AnEarlierDeadlineSetsTheTimerAgainAndALaterOneDoesNot) {
    function_loop loop;
    requests asked;
    full_executor executor(loop, asked);
    exchanger<int> first;
    exchanger<int> second;
    exchanger<int> third;
    std::error_code ended;
    executor.spawn(meet_for(first, 2h, ended));
    loop.run_ready();
    executor.spawn(meet_for(second, 3h, ended));
    loop.run_ready();
    EXPECT_EQ(asked.timers.size(), 1U);
    executor.spawn(meet_for(third, 1h, ended));
    loop.run_ready();
    ASSERT_EQ(asked.timers.size(), 2U);
    EXPECT_LE(asked.timers[1], 1h);
}

TEST(LoopExecutor, TheTimerIsCancelledAfterTheLastWait) {
    function_loop loop;
    requests asked;
    full_executor executor(loop, asked);
    exchanger<int> ex;
    int theirs = 0;
    executor.spawn([](exchanger<int>& ex, int& theirs) -> task<> {
        auto got = co_await ex.exchange(1, 1h);
        theirs = *got;
    }(ex, theirs));
    loop.run_ready();
    EXPECT_EQ(asked.timers.size(), 1U);
    EXPECT_TRUE(ex.try_exchange(2));
    loop.run_ready();
    EXPECT_EQ(theirs, 2);
    EXPECT_EQ(asked.cancelled, 1);
}

TEST(LoopExecutor, TheTimerIsCancelledWhenAFrameIsDestroyedBetweenTurns) {
    function_loop loop;
    requests asked;
    const full_executor executor(loop, asked);
    exchanger<int> ex;
    {
        const tryst::executor_scope here(executor.executor());
        auto waiting = [](exchanger<int>& ex) -> tryst::test::bare_coroutine {
            auto got = co_await ex.exchange(1, 1h);
            ADD_FAILURE() << "resumed with " << *got;
        }(ex);
        loop.run_ready();
        EXPECT_EQ(asked.timers.size(), 1U);
    }
    EXPECT_EQ(asked.cancelled, 1);
    EXPECT_EQ(ex.try_exchange(2).error(), exchange_errc::no_partner);
}

TEST(LoopExecutor, CanBeWokenAfterAFrameWasDestroyedBetweenTurns) {
    function_loop loop;
    plain_executor executor(loop);
    exchanger<int> ex;
    {
        const tryst::executor_scope here(executor.executor());
        auto waiting = [](exchanger<int>& ex) -> tryst::test::bare_coroutine {
            auto got = co_await ex.exchange(1);
            ADD_FAILURE() << "resumed with " << *got;
        }(ex);
        loop.run_ready();
    }
    bool ran = false;
    executor.spawn([](bool& ran) -> task<> {
        ran = true;
        co_return;
    }(ran));
    loop.run_ready();
    EXPECT_TRUE(ran);
}

TEST(LoopExecutor, AStopFromAnotherThreadEndsAWait) {
    function_loop loop;
    plain_executor executor(loop);
    exchanger<int> ex;
    std::stop_source stop;
    std::error_code ended;
    executor.spawn([](exchanger<int>& ex, std::stop_token token, std::error_code& ended,
                      function_loop& loop) -> task<> {
        auto got = co_await ex.exchange(1, token);
        ended = got.error();
        loop.end();
    }(ex, stop.get_token(), ended, loop));
    std::thread canceller([&] { stop.request_stop(); });
    loop.run();
    canceller.join();
    EXPECT_EQ(ended, exchange_errc::cancelled);
}

// ---- Whether the loop has anything to wait for

TEST(LoopExecutor, KeepsTheLoopAliveWhileThereAreTasks) {
    function_loop loop;
    requests asked;
    full_executor executor(loop, asked);
    exchanger<int> ex;
    int a = 0;
    int b = 0;
    executor.spawn(meet(ex, 1, a));
    EXPECT_EQ(asked.alive, std::vector{true}) << "the loop would return before the first turn";
    EXPECT_EQ(loop.pending(), 1U);
    loop.run_ready();
    EXPECT_EQ(asked.alive, std::vector{true});
    executor.spawn(meet(ex, 2, b));
    loop.run_ready();
    EXPECT_EQ(asked.alive, (std::vector{true, false}));
    EXPECT_EQ(a + b, 3);
}

TEST(LoopExecutor, KeepsALoopAliveThatRunsAgain) {
    function_loop loop;
    requests asked;
    full_executor executor(loop, asked);
    loop.run_ready();
    std::thread([&] { executor.spawn([]() -> task<> { co_return; }()); }).join();
    executor.spawn([]() -> task<> { co_return; }()); // does not wake: the other thread has
    EXPECT_EQ(asked.alive, (std::vector{true, false, true}));
    loop.run_ready();
    EXPECT_EQ(asked.alive, (std::vector{true, false, true, false}));
}

TEST(LoopExecutor, ASpawnOnAnotherThreadDoesNotTouchTheLoop) {
    function_loop loop;
    requests asked;
    full_executor executor(loop, asked);
    loop.run_ready();
    EXPECT_EQ(asked.alive, (std::vector{true, false}));
    std::thread([&] { executor.spawn([]() -> task<> { co_return; }()); }).join();
    EXPECT_EQ(asked.alive.size(), 2U);
    EXPECT_EQ(loop.pending(), 1U);
}

// ---- The end

struct counted_item {
    explicit counted_item(int& alive) : alive_(&alive) { ++*alive_; }
    counted_item(counted_item&& other) noexcept : alive_(other.alive_) { ++*alive_; }
    counted_item& operator=(counted_item&& other) noexcept = default;
    ~counted_item() { --*alive_; }
    int* alive_;
};

TEST(LoopExecutor, DestroysTheFramesOfUnfinishedTasks) {
    function_loop loop;
    exchanger<counted_item> ex;
    int alive = 0;
    {
        plain_executor executor(loop);
        executor.spawn([](exchanger<counted_item>& ex, int& alive) -> task<> {
            counted_item mine(alive);
            auto got = co_await ex.exchange(std::move(mine));
            ADD_FAILURE() << "resumed";
        }(ex, alive));
        loop.run_ready();
        EXPECT_GT(alive, 0);
        executor.spawn([](counted_item) -> task<> {
            ADD_FAILURE() << "started";
            co_return;
        }(counted_item(alive)));
    }
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(ex.try_exchange(counted_item(alive)).error(), exchange_errc::no_partner);
    loop.run_ready(); // the call that was pending
}

TEST(LoopExecutor, ATaskThatHasExchangedCanBeDestroyedBeforeItResumes) {
    function_loop loop;
    exchanger<counted_item> ex;
    int alive = 0;
    {
        plain_executor executor(loop);
        executor.spawn([](exchanger<counted_item>& ex, int& alive) -> task<> {
            counted_item mine(alive);
            auto got = co_await ex.exchange(std::move(mine));
            ADD_FAILURE() << "resumed";
        }(ex, alive));
        loop.run_ready();
        auto got = ex.try_exchange(counted_item(alive));
        EXPECT_TRUE(got);
    }
    EXPECT_EQ(alive, 0);
}

TEST(LoopExecutor, CanBeDestroyedWhileAPartnerWakesIt) {
    constexpr int rounds = 2'000;
    exchanger<int> ex;
    std::stop_source stop;
    std::thread partner([&] {
        while (!stop.stop_requested()) {
            (void)ex.try_exchange(2);
        }
    });
    for (int round = 0; round != rounds; ++round) {
        function_loop loop;
        auto executor = std::make_unique<plain_executor>(loop);
        int theirs = 0;
        executor->spawn(meet(ex, 1, theirs));
        loop.run_ready();
        if (round % 2 != 0) {
            loop.run_ready();
        }
        executor.reset();
    }
    stop.request_stop();
    partner.join();
}

TEST(LoopExecutor, AWakeWhoseConstructorThrowsLeavesNothing) {
    struct broken_wake {
        explicit broken_wake(loop_turns& /*turns*/) { throw std::runtime_error("no loop"); }
        void wake() noexcept {}
    };
    EXPECT_THROW(loop_executor<broken_wake>(), std::runtime_error);
}

} // namespace
