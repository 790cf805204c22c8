// SPDX-License-Identifier: MIT
// Tasks as Asio operations.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::task;
using tryst::asio::async_wait;
using tryst::test::census;
using tryst::test::loop_thread;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

/// The arguments of the handler of a task.
struct ending {
    std::exception_ptr exception;
    int value = 0;
};
using ended = std::optional<ending>;

auto tell(ended& of) {
    return [&of](std::exception_ptr exception, int value) {
        EXPECT_FALSE(of) << "a handler was called twice";
        of.emplace(std::move(exception), value);
    };
}

/// The message of the exception; empty if there is none.
std::string message_of(const std::exception_ptr& exception) {
    try {
        if (exception) {
            std::rethrow_exception(exception);
        }
    } catch (const std::exception& error) {
        return error.what();
    }
    return {};
}

task<int> give(int value) {
    co_return value;
}
task<int> fail(std::string why) {
    throw std::runtime_error(why);
    co_return 0;
}
task<> succeed(bool& ran) {
    ran = true;
    co_return;
}
task<int> receive(exchanger& ex) {
    const auto got = co_await ex.exchange(1);
    co_return *got;
}

TEST(AsyncWait, PassesTheTasksResultToTheHandler) {
    net::io_context io;
    ended end;
    async_wait(give(3), net::bind_executor(io, tell(end)));
    EXPECT_FALSE(io.stopped());
    io.run();
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->exception);
    EXPECT_EQ(end->value, 3);
}

TEST(AsyncWait, PassesTheTasksExceptionToTheHandler) {
    net::io_context io;
    ended end;
    std::exception_ptr of_void;
    async_wait(fail("task"), net::bind_executor(io, tell(end)));
    async_wait(
        []() -> task<> {
            throw std::runtime_error("void");
            co_return;
        }(),
        net::bind_executor(io, [&](std::exception_ptr error) { of_void = std::move(error); }));
    io.run();
    ASSERT_TRUE(end);
    EXPECT_EQ(message_of(end->exception), "task");
    EXPECT_EQ(end->value, 0);
    EXPECT_EQ(message_of(of_void), "void");
}

TEST(AsyncWait, NeverRunsTheTaskWithinTheInitiation) {
    net::io_context io;
    bool ran = false;
    bool told = false;
    bool initiating = true;
    net::post(io, [&] {
        async_wait(succeed(ran), net::bind_executor(io, [&](std::exception_ptr error) {
                       EXPECT_FALSE(error);
                       told = true;
                   }));
        EXPECT_FALSE(ran);
        initiating = false;
    });
    io.run();
    EXPECT_FALSE(initiating);
    EXPECT_TRUE(ran);
    EXPECT_TRUE(told);
}

TEST(AsyncWait, RunsTheTaskAndTheHandlerOnItsExecutor) {
    net::thread_pool pool(2);
    const auto strand = net::make_strand(pool);
    exchanger ex;
    bool home = false;
    bool told_at_home = false;
    async_wait(
        [](exchanger& room, const auto& its, bool& in_wait_list) -> task<> {
            in_wait_list = its.running_in_this_thread();
            const auto got = co_await room.exchange(1);
            EXPECT_EQ(*got, 2);
            in_wait_list = in_wait_list && its.running_in_this_thread();
        }(ex, strand, home),
        net::bind_executor(
            strand, [&](std::exception_ptr) { told_at_home = strand.running_in_this_thread(); }));
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    pool.join();
    EXPECT_TRUE(home);
    EXPECT_TRUE(told_at_home);
}

TEST(AsyncWait, CanBeAwaited) {
    net::io_context io;
    exchanger ex;
    std::vector<int> got;
    std::string thrown;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            got.push_back(co_await async_wait(receive(ex), net::use_awaitable));
            try {
                co_await async_wait(fail("awaited"), net::use_awaitable);
            } catch (const std::runtime_error& error) {
                thrown = error.what();
            }
        },
        net::detached);
    step(io);
    EXPECT_EQ(*ex.try_exchange(2), 1);
    io.run();
    EXPECT_EQ(got, std::vector{2});
    EXPECT_EQ(thrown, "awaited");
}

TEST(AsyncWait, CallsTheHandlerOnItsExecutorIfTheTaskEndedElsewhere) {
    net::io_context io;
    loop_thread loop;
    bool away = false;
    std::thread::id told;
    async_wait(
        [](tryst::run_loop& other, bool& there) -> task<int> {
            co_await other.schedule();
            there = other.running_here();
            co_return 5;
        }(*loop, away),
        net::bind_executor(io, [&](std::exception_ptr, int value) {
            EXPECT_EQ(value, 5);
            told = std::this_thread::get_id();
        }));
    io.run(); // has outstanding work while the task is on another executor
    EXPECT_TRUE(away);
    EXPECT_EQ(told, std::this_thread::get_id());
}

// ---- Stops

task<int> until_stopped(exchanger& ex, std::stop_token stop) {
    const auto got = co_await ex.exchange(1, stop);
    EXPECT_EQ(got.error(), exchange_errc::cancelled);
    co_return stop.stop_requested() ? 7 : 8;
}

TEST(AsyncWait, RequestsAStopWhenTheSlotsSignalIsEmitted) {
    for (const auto type : {net::cancellation_type::terminal, net::cancellation_type::partial,
                            net::cancellation_type::total}) {
        net::io_context io;
        net::cancellation_signal signal;
        exchanger ex;
        ended end;
        async_wait([&ex](std::stop_token stop) { return until_stopped(ex, std::move(stop)); },
                   net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, tell(end))));
        step(io);
        ASSERT_TRUE(waits_in_list(ex));
        signal.emit(net::cancellation_type::none);
        step(io);
        ASSERT_FALSE(end);
        signal.emit(type);
        step(io);
        ASSERT_TRUE(end);
        EXPECT_EQ(end->value, 7);
        EXPECT_FALSE(signal.slot().has_handler());
    }
}

TEST(AsyncWait, RequestsAStopThatCameBeforeTheTaskBegan) {
    net::io_context io;
    net::cancellation_signal signal;
    exchanger ex;
    ended end;
    async_wait([&ex](std::stop_token stop) { return until_stopped(ex, std::move(stop)); },
               net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, tell(end))));
    signal.emit(net::cancellation_type::terminal);
    step(io);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->value, 7);
}

TEST(AsyncWait, PassesATokenThatCannotStopIfTheSlotCannot) {
    net::io_context io;
    std::optional<bool> possible;
    async_wait(
        [&possible](std::stop_token stop) -> task<> {
            possible = stop.stop_possible();
            co_return;
        },
        net::bind_executor(io, [](std::exception_ptr error) { EXPECT_FALSE(error); }));
    io.run();
    EXPECT_EQ(possible, false);
}

TEST(AsyncWait, PassesAnExceptionOfTheCallableToTheHandler) {
    net::io_context io;
    ended end;
    async_wait([](std::stop_token) -> task<int> { throw std::runtime_error("maker"); },
               net::bind_executor(io, tell(end)));
    io.run();
    ASSERT_TRUE(end);
    EXPECT_EQ(message_of(end->exception), "maker");
}

TEST(AsyncWait, KeepsAStopRequestedWhileTheTaskRunsElsewhere) {
    net::io_context io;
    net::cancellation_signal signal;
    tryst::run_loop other;
    std::optional<bool> stopped;
    async_wait(
        [&other](std::stop_token stop) -> task<int> {
            return [](tryst::run_loop& loop, std::stop_token asked) -> task<int> {
                co_await loop.schedule();
                co_return asked.stop_requested() ? 1 : 0;
            }(other, std::move(stop));
        },
        net::bind_cancellation_slot(
            signal.slot(),
            net::bind_executor(io, [&](std::exception_ptr, int value) { stopped = value == 1; })));
    step(io);
    signal.emit(net::cancellation_type::terminal);
    other.run_until_idle();
    EXPECT_FALSE(stopped);
    step(io);
    EXPECT_EQ(stopped, true);
}

/// Goes to `other`, ends there, and leaves its token with the test.
task<int> end_on(tryst::run_loop& other, std::stop_token stop, std::stop_token& kept) {
    kept = std::move(stop);
    co_await other.schedule();
    co_return 1;
}

TEST(AsyncWait, RequestsAStopUntilTheTasksEndHasReachedItsExecutor) {
    net::io_context io;
    net::cancellation_signal signal;
    tryst::run_loop other;
    std::stop_token stop;
    ended end;
    async_wait([&](std::stop_token asked) { return end_on(other, std::move(asked), stop); },
               net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, tell(end))));
    step(io);
    other.run_until_idle(); // the task has ended, elsewhere
    EXPECT_TRUE(stop.stop_possible());
    signal.emit(net::cancellation_type::terminal);
    EXPECT_TRUE(stop.stop_requested());
    step(io);
    ASSERT_TRUE(end);
    EXPECT_EQ(end->value, 1);
}

TEST(AsyncWait, MayBeCancelledWhileItsTaskEndsOnAnotherThread) {
    loop_thread loop;
    for (int round = 0; round != 200; ++round) {
        net::io_context io;
        net::cancellation_signal signal;
        std::stop_token stop;
        ended end;
        async_wait([&](std::stop_token asked) { return end_on(*loop, std::move(asked), stop); },
                   net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, tell(end))));
        io.poll_one();
        for (int spin = 0; spin != 1'000 * round; ++spin) {
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        signal.emit(net::cancellation_type::terminal);
        io.run();
        ASSERT_TRUE(end);
        EXPECT_EQ(end->value, 1);
    }
}

TEST(AsyncWait, DestroysTheTasksLocalsBeforeTheHandlerRuns) {
    census items;
    net::io_context io;
    bool told = false;
    async_wait([](tracked) -> task<> { co_return; }(tracked(items, 1)),
               net::bind_executor(io, [&](std::exception_ptr) {
                   told = true;
                   EXPECT_EQ(items.alive.load(), 0);
               }));
    EXPECT_EQ(items.alive.load(), 1);
    io.run();
    EXPECT_TRUE(told);
}

#ifndef NDEBUG
TEST(AsioWait, AssertsThatItsResultIsNotStored) {
    exchanger ex;
    const auto store = [&ex] {
        auto swap = ex.exchange(1);
        const net::awaitable<tryst::exchange_result<int>> later =
            tryst::asio::wait(std::move(swap));
    };
    EXPECT_DEATH(store(), "in the same expression");
}
#endif

} // namespace
