// SPDX-License-Identifier: MIT
#include "pairing_server/loop_monitor.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace pairing;
using namespace std::chrono_literals;

/// Starts a check. The result has a value when the check has ended.
void start_check(asio::io_context& own, loop_monitor& monitor, std::optional<std::string>& result) {
    asio::co_spawn(own, monitor.find_stuck_loops(),
                   [&result](const std::exception_ptr& escaped, std::string stuck) {
                       ASSERT_FALSE(escaped);
                       result = std::move(stuck);
                   });
}

TEST(PairingLoopMonitor, NamesTheLoopThatDoesNotRun) {
    asio::io_context own;
    asio::io_context stuck;
    asio::io_context running;
    const auto work = asio::make_work_guard(running);
    const std::jthread thread([&] { running.run(); });
    loop_monitor monitor(own, {&running, &stuck}, 50ms);
    std::optional<std::string> result;
    start_check(own, monitor, result);
    own.run();
    running.stop();
    ASSERT_TRUE(result);
    EXPECT_TRUE(result->starts_with("loop 1 has not answered for ")) << *result;
    EXPECT_EQ(result->find("loop 0"), std::string::npos) << *result;
}

TEST(PairingLoopMonitor, NamesALoopWhoseHandlerBlocksUntilItContinues) {
    asio::io_context own;
    asio::io_context watched;
    const auto work = asio::make_work_guard(watched);
    std::promise<void> begun;
    std::promise<void> release;
    asio::post(watched, [&] {
        begun.set_value();
        release.get_future().wait();
    });
    const std::jthread thread([&] { watched.run(); });
    begun.get_future().wait();
    loop_monitor monitor(own, {&watched}, 50ms);
    std::optional<std::string> result;
    start_check(own, monitor, result);
    own.run();
    EXPECT_NE(result.value_or(""), "");

    release.set_value();
    // The loop answers after any time, so check again until it has.
    while (result != "") {
        start_check(own, monitor, result);
        own.restart();
        own.run();
    }
    watched.stop();
}

TEST(PairingLoopMonitor, HasOnlyOnePingInTheQueueOfAStuckLoop) {
    asio::io_context own;
    asio::io_context stuck;
    loop_monitor monitor(own, {&stuck}, 1ms);
    std::vector<std::optional<std::string>> results(1'000);
    for (auto& each : results) {
        start_check(own, monitor, each);
    }
    own.run();
    for (const auto& each : results) {
        EXPECT_NE(each.value_or(""), "");
    }
    EXPECT_EQ(stuck.poll(), 1);
}

TEST(PairingLoopMonitor, AnswersAllChecksThatWaitForTheSameLoops) {
    asio::io_context own;
    asio::io_context slow;
    asio::io_context fast;
    loop_monitor monitor(own, {&slow, &fast}, 1h);
    const auto work = asio::make_work_guard(own);
    std::vector<std::optional<std::string>> results(10);
    for (auto& each : results) {
        start_check(own, monitor, each);
        own.poll();
        EXPECT_FALSE(each);
        fast.restart();
        fast.poll();
        fast.restart(); // has not ended
        own.poll();
        EXPECT_FALSE(each);
    }
    slow.poll();
    slow.restart();
    fast.poll();
    own.poll();
    for (const auto& each : results) {
        EXPECT_EQ(each.value_or("no answer"), "");
    }
}

TEST(PairingLoopMonitor, NeedsNoAnswerOfALoopThatHasEnded) {
    asio::io_context own;
    asio::io_context ended;
    ended.run(); // without work
    loop_monitor monitor(own, {&ended}, 1h);
    std::optional<std::string> result;
    start_check(own, monitor, result);
    own.run();
    EXPECT_EQ(result.value_or("no answer"), "");
}

} // namespace
