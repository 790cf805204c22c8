// SPDX-License-Identifier: MIT
// What an executor asks of a loop that records it. How tasks run on one, and how it ends, is tested
// for each loop, also for a small one: tests/adapters/loops.
#include <tryst/loop_executor.hpp>

#include "support/bare_coroutine.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// A loop such as many programs have: a queue of functions.
class function_loop {
public:
    void post(std::function<void()> function) {
        const std::scoped_lock lock(mutex_);
        functions_.push_back(std::move(function));
    }

    /// Runs functions until there are none.
    void run_ready() {
        while (auto function = take()) {
            function();
        }
    }

    std::size_t pending() {
        const std::scoped_lock lock(mutex_);
        return functions_.size();
    }

private:
    std::function<void()> take() {
        const std::scoped_lock lock(mutex_);
        if (functions_.empty()) {
            return {};
        }
        auto function = std::move(functions_.front());
        functions_.pop_front();
        return function;
    }

    std::mutex mutex_;
    std::deque<std::function<void()>> functions_;
};

/// What a loop was asked to do.
struct requests {
    std::vector<std::chrono::nanoseconds> timers;
    int cancelled = 0;
    std::vector<bool> alive;
    loop_turns* turns = nullptr;
};

/// A wake with everything that is optional.
class recording_wake {
public:
    recording_wake(loop_turns& turns, function_loop& loop, requests& asked)
        : turns_(&turns, [](loop_turns*) {}), loop_(&loop), asked_(&asked) {
        asked.turns = &turns;
    }
    void wake() noexcept {
        loop_->post([turns = std::weak_ptr(turns_)] {
            if (const auto alive = turns.lock()) {
                alive->run_turn();
            }
        });
    }
    void set_timer(std::chrono::nanoseconds after) noexcept { asked_->timers.push_back(after); }
    void cancel_timer() noexcept { ++asked_->cancelled; }
    void keep_alive(bool alive) noexcept { asked_->alive.push_back(alive); }

private:
    std::shared_ptr<loop_turns> turns_; // ends the calls when it is destroyed
    function_loop* loop_;
    requests* asked_;
};

class LoopExecutor : public ::testing::Test {
protected:
    void run(task<> work) {
        executor->spawn(std::move(work));
        loop.run_ready();
    }
    template <class Duration>
    task<> meet_for(exchanger<int>& where, Duration patience) {
        auto got = co_await where.exchange(1, patience);
        ended = got.error();
        item = got ? *got : -1;
    }
    task<> nothing() { co_return; }

    function_loop loop;
    requests asked;
    exchanger<int> ex;
    std::error_code ended;
    int item = 0;
    std::unique_ptr<loop_executor<recording_wake>> executor =
        std::make_unique<loop_executor<recording_wake>>(loop, asked);
};

// ---- Turns

struct counted_node : executor_node {
    explicit counted_node(int& counter) : runs(&counter) {
        run = [](executor_node* node) noexcept { ++*static_cast<counted_node*>(node)->runs; };
    }
    int* runs;
};

TEST_F(LoopExecutor, HasOneCallPendingHoweverManyThreadsPostAndLetsTheLoopDoItsOtherWork) {
    loop.run_ready(); // so that what the constructor asked for is done
    int runs = 0;
    std::vector<counted_node> nodes(1'000, counted_node(runs));
    std::vector<std::thread> threads;
    for (std::size_t first = 0; first != 4; ++first) {
        threads.emplace_back([&, first] {
            for (std::size_t i = first; i < nodes.size(); i += 4) {
                executor->post(&nodes[i]);
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(loop.pending(), 1U);
    int runs_before_other_work = 0;
    loop.post([&] { runs_before_other_work = runs; });
    loop.run_ready();
    EXPECT_EQ(runs_before_other_work, 64);
    EXPECT_EQ(runs, 1'000);
}

TEST_F(LoopExecutor, CanBeWokenAfterAFrameWasDestroyedBetweenTurns) {
    const auto meet_alone = [&]() -> bare_coroutine {
        static_cast<void>(co_await ex.exchange(1, 1h));
        ADD_FAILURE() << "resumed";
    };
    {
        const executor_scope here(executor->executor());
        const auto waiting = meet_alone();
        loop.run_ready();
        EXPECT_EQ(asked.timers.size(), 1U);
    }
    EXPECT_EQ(asked.cancelled, 1);
    EXPECT_EQ(ex.try_exchange(2).error(), exchange_errc::no_partner);
    run(meet_for(ex, 0s));
    EXPECT_EQ(ended, exchange_errc::timed_out);
}

// ---- Deadlines

TEST_F(LoopExecutor, ServesDeadlinesByATimerOfTheLoop) {
    std::chrono::nanoseconds patience = 1ms;
    do { // on a busy machine the deadline may pass within the turn
        patience *= 2;
        ended.clear();
        run(meet_for(ex, patience));
    } while (asked.timers.empty());
    EXPECT_FALSE(ended);
    EXPECT_LE(asked.timers[0], patience);
    std::this_thread::sleep_for(patience);
    asked.turns->timer_expired();
    EXPECT_EQ(ended, exchange_errc::timed_out);
    EXPECT_EQ(asked.timers.size(), 1U);
    EXPECT_EQ(asked.cancelled, 0) << "the timer has expired";
}

TEST_F(LoopExecutor, SetsItsTimerOnlyForEarlierDeadlinesAndIfItExpiresEarly) {
    std::deque<exchanger<int>> places(3);
    run(meet_for(places[0], 2h));
    run(meet_for(places[1], 3h));
    EXPECT_EQ(asked.timers.size(), 1U);
    run(meet_for(places[2], 1h));
    ASSERT_EQ(asked.timers.size(), 2U);
    EXPECT_LE(asked.timers[1], 1h);
    asked.turns->timer_expired();
    EXPECT_EQ(asked.timers.size(), 3U);
    EXPECT_FALSE(ended);
    for (auto& place : places) {
        EXPECT_EQ(asked.cancelled, 0) << "somebody waits";
        EXPECT_TRUE(place.try_exchange(2));
        loop.run_ready();
        EXPECT_EQ(std::exchange(item, 0), 2);
    }
    EXPECT_EQ(asked.cancelled, 1);
}

// ---- Whether the loop has anything to wait for

TEST_F(LoopExecutor, KeepsTheLoopAliveWhileThereAreTasks) {
    executor->spawn(meet_for(ex, 1h));
    EXPECT_EQ(ex.try_exchange(2).error(), exchange_errc::no_partner) << "started outside the loop";
    EXPECT_EQ(asked.alive, std::vector{true}) << "the loop would return before the first turn";
    EXPECT_EQ(loop.pending(), 1U);
    loop.run_ready();
    EXPECT_EQ(asked.alive, std::vector{true});
    run(meet_for(ex, 1h));
    EXPECT_EQ(asked.alive, (std::vector{true, false}));
    EXPECT_EQ(item, 1);
}

TEST_F(LoopExecutor, DoesNotTouchTheLoopOnAnotherThread) {
    loop.run_ready();
    EXPECT_EQ(asked.alive, (std::vector{true, false}));
    std::thread([&] { executor->spawn(nothing()); }).join();
    EXPECT_EQ(asked.alive.size(), 2U);
    EXPECT_EQ(loop.pending(), 1U);
    executor->spawn(nothing()); // does not wake: the other thread has
    EXPECT_EQ(loop.pending(), 1U);
    EXPECT_EQ(asked.alive, (std::vector{true, false, true}));
    loop.run_ready();
    EXPECT_EQ(asked.alive, (std::vector{true, false, true, false}));
}

// ---- The end

TEST_F(LoopExecutor, EndsItsCallThatIsPending) {
    executor->spawn(meet_for(ex, 1h));
    executor.reset();
    loop.run_ready();
    EXPECT_EQ(ex.try_exchange(3).error(), exchange_errc::no_partner);
}

TEST(LoopExecutorOfABrokenLoop, LeavesNothing) {
    struct broken_wake {
        explicit broken_wake(loop_turns& /*turns*/) { throw std::runtime_error("no loop"); }
        void wake() noexcept {}
    };
    EXPECT_THROW(loop_executor<broken_wake>(), std::runtime_error);
}

} // namespace
} // namespace tryst::test
