// SPDX-License-Identifier: MIT
// What is particular to libuv: when `uv_run` returns, and what is left to close.
#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"

#include <tryst/libuv.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>

namespace {

using namespace std::chrono_literals;

class LibuvLoop : public ::testing::Test {
protected:
    LibuvLoop() { uv_loop_init(&loop_); }
    ~LibuvLoop() override {
        EXPECT_EQ(uv_loop_close(&loop_), UV_EBUSY) << "two handles are still being closed";
        EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
        EXPECT_EQ(uv_loop_close(&loop_), 0);
    }

    uv_loop_t loop_;
};

tryst::task<> meet(tryst::exchanger<int>& ex, int& sum) {
    const auto got = co_await ex.exchange(1);
    sum += *got;
}

TEST_F(LibuvLoop, ReturnsAtOnceWithoutTasks) {
    const tryst::libuv::executor on(&loop_);
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
}

TEST_F(LibuvLoop, ReturnsWhenTheTasksHaveFinishedAndNotBefore) {
    tryst::libuv::executor on(&loop_);
    tryst::exchanger<int> ex;
    for (int run = 0; run != 3; ++run) {
        int sum = 0;
        on.spawn(meet(ex, sum));
        on.spawn(meet(ex, sum));
        on.spawn(meet(ex, sum));
        std::jthread partner([&] {
            tryst::test::until_someone_waits(ex);
            EXPECT_TRUE(tryst::sync_wait(ex.exchange(5)));
        });
        EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
        EXPECT_EQ(sum, 1 + 1 + 5);
    }
}

tryst::task<> wait(tryst::exchanger<int>& ex, bool& timed_out) {
    const auto got = co_await ex.exchange(1, 2ms);
    timed_out = got.error() == tryst::exchange_errc::timed_out;
}

TEST_F(LibuvLoop, ReturnsAfterTheLastDeadline) {
    tryst::libuv::executor on(&loop_);
    tryst::exchanger<int> ex;
    bool timed_out = false;
    on.spawn(wait(ex, timed_out));
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_TRUE(timed_out);
}

TEST_F(LibuvLoop, WaitsForWhatAnotherThreadSpawnedBeforeTheFirstRun) {
    tryst::libuv::executor on(&loop_);
    tryst::exchanger<int> ex;
    bool timed_out = false;
    std::jthread([&] { on.spawn(wait(ex, timed_out)); }).join();
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_TRUE(timed_out);
}

TEST_F(LibuvLoop, WaitsForItsThreadsTasksAfterAnotherThreadHasSpawned) {
    tryst::libuv::executor on(&loop_);
    uv_run(&loop_, UV_RUN_DEFAULT);
    tryst::exchanger<int> ex;
    int sum = 0;
    std::jthread([&] { on.spawn(meet(ex, sum)); }).join(); // does not keep the loop alive
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_EQ(sum, 0);
    on.spawn(meet(ex, sum));
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_EQ(sum, 2);
}

tryst::test::bare_coroutine bare_wait(tryst::exchanger<int>& ex, bool& timed_out) {
    const auto got = co_await ex.exchange(1, 2ms);
    timed_out = got.error() == tryst::exchange_errc::timed_out;
}

TEST_F(LibuvLoop, WaitsForTheDeadlinesOfBareCoroutinesToo) {
    tryst::libuv::executor on(&loop_);
    uv_run(&loop_, UV_RUN_DEFAULT);
    const tryst::executor_scope here(on.executor());
    tryst::exchanger<int> ex;
    bool timed_out = false;
    const auto bare = bare_wait(ex, timed_out);
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_TRUE(timed_out);
}

TEST_F(LibuvLoop, GoesOnWithoutAnExecutorWhoseTasksWaited) {
    tryst::exchanger<int> ex;
    int sum = 0;
    {
        tryst::libuv::executor on(&loop_);
        on.spawn(meet(ex, sum));
        uv_run(&loop_, UV_RUN_NOWAIT);
        EXPECT_NE(uv_loop_alive(&loop_), 0);
    }
    EXPECT_EQ(sum, 0);
}

TEST_F(LibuvLoop, RunsSeveralExecutors) {
    tryst::libuv::executor first(&loop_);
    tryst::libuv::executor second(&loop_);
    tryst::exchanger<int> ex;
    int sum = 0;
    first.spawn(meet(ex, sum));
    second.spawn(meet(ex, sum));
    EXPECT_EQ(uv_run(&loop_, UV_RUN_DEFAULT), 0);
    EXPECT_EQ(sum, 2);
}

} // namespace
