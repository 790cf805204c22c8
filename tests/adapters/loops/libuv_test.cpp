// SPDX-License-Identifier: MIT
// What is particular to libuv: when `uv_run` returns, and what is left to close.
#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"

#include <tryst/libuv.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <thread>

namespace {

using namespace std::chrono_literals;

class LibuvLoop : public ::testing::Test {
protected:
    LibuvLoop() {
        uv_loop_init(&loop_);
        on_.emplace(&loop_);
    }
    ~LibuvLoop() override {
        on_.reset();
        EXPECT_EQ(uv_loop_close(&loop_), UV_EBUSY) << "two handles are still being closed";
        run();
        EXPECT_EQ(uv_loop_close(&loop_), 0);
    }

    /// Returns when nothing keeps the loop alive.
    void run() { EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0); }

    tryst::task<> meet() {
        const auto got = co_await ex_.exchange(1);
        sum_ += *got;
    }

    /// On any executor, or none.
    template <class Coroutine>
    Coroutine time_out() {
        const auto got = co_await ex_.exchange(1, 2ms);
        timed_out_ = got.error() == tryst::exchange_errc::timed_out;
    }

    uv_loop_t loop_;
    tryst::exchanger<int> ex_;
    int sum_ = 0;
    bool timed_out_ = false;
    std::optional<tryst::libuv::executor> on_;
};

TEST_F(LibuvLoop, ReturnsAtOnceWithoutTasks) {
    run();
    run();
}

TEST_F(LibuvLoop, ReturnsWhenTheTasksHaveFinishedAndNotBefore) {
    for (int round = 1; round != 4; ++round) {
        for (int i = 0; i != 3; ++i) {
            on_->spawn(meet());
        }
        std::jthread partner([&] {
            tryst::test::until_someone_waits(ex_);
            EXPECT_TRUE(tryst::sync_wait(ex_.exchange(5)));
        });
        run();
        EXPECT_EQ(sum_, round * (1 + 1 + 5));
    }
}

TEST_F(LibuvLoop, ReturnsAfterTheLastDeadline) {
    for (const bool by_another_thread : {true, false}) { // first: before the first run
        timed_out_ = false;
        const auto spawn = [&] { on_->spawn(time_out<tryst::task<>>()); };
        if (by_another_thread) {
            std::jthread(spawn).join();
        } else {
            spawn();
        }
        run();
        EXPECT_TRUE(timed_out_);
    }
}

TEST_F(LibuvLoop, WaitsForTheDeadlinesOfBareCoroutinesToo) {
    run();
    const tryst::executor_scope here(on_->executor());
    const auto bare = time_out<tryst::test::bare_coroutine>();
    run();
    EXPECT_TRUE(timed_out_);
}

TEST_F(LibuvLoop, WaitsForItsThreadsTasksAfterAnotherThreadHasSpawned) {
    run();
    std::jthread([&] { on_->spawn(meet()); }).join(); // does not keep the loop alive
    run();
    EXPECT_EQ(sum_, 0);
    on_->spawn(meet());
    run();
    EXPECT_EQ(sum_, 2);
}

TEST_F(LibuvLoop, GoesOnWithoutAnExecutorWhoseTasksWaited) {
    on_->spawn(meet());
    uv_run(&loop_, UV_RUN_NOWAIT);
    EXPECT_NE(uv_loop_alive(&loop_), 0);
    on_.reset();
    EXPECT_EQ(sum_, 0);
}

TEST_F(LibuvLoop, RunsSeveralExecutors) {
    tryst::libuv::executor second(&loop_);
    on_->spawn(meet());
    second.spawn(meet());
    run();
    EXPECT_EQ(sum_, 2);
}

} // namespace
