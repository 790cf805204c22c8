// SPDX-License-Identifier: MIT
// Completion tokens that Asio 1.22 and Boost.Asio 1.81 do not have yet.
#include "adapters/asio/composition.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#if __has_include(<boost/asio/bind_immediate_executor.hpp>)
#include <boost/asio/bind_immediate_executor.hpp>
#include <boost/asio/system_executor.hpp>
#define TRYST_TEST_IMMEDIATE_EXECUTOR
#endif
#if __has_include(<boost/asio/cancel_after.hpp>)
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/cancel_at.hpp>
#define TRYST_TEST_CANCEL_AFTER
#endif
#else
#if __has_include(<asio/bind_immediate_executor.hpp>)
#include <asio/bind_immediate_executor.hpp>
#include <asio/system_executor.hpp>
#define TRYST_TEST_IMMEDIATE_EXECUTOR
#endif
#if __has_include(<asio/cancel_after.hpp>)
#include <asio/cancel_after.hpp>
#include <asio/cancel_at.hpp>
#define TRYST_TEST_CANCEL_AFTER
#endif
#endif

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <utility>

namespace {

#ifdef TRYST_TEST_IMMEDIATE_EXECUTOR

class AsioImmediateExecutor : public tryst::test::composition_test {};

TEST_F(AsioImmediateExecutor, RunsTheHandlerIfAPartnerIsWaiting) {
    using tryst::asio::async_wait;
    tryst::test::completed<tryst::test::tracked> partner;
    tryst::test::completed<tryst::test::tracked> got;
    async_wait(ex.exchange(item(1)), keep_on(io, partner));
    async_wait(ex.exchange(item(2)), tryst::test::net::bind_immediate_executor(
                                         tryst::test::net::system_executor(), keep_on(io, got)));
    expect_got(got, 1);
    tryst::test::step(io);
    expect_got(partner, 2);
}

#endif

#ifdef TRYST_TEST_CANCEL_AFTER

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::test::as_tuple;
using tryst::test::completed;
using tryst::test::composition_test;
using tryst::test::keep;
using tryst::test::keep_on;
using tryst::test::tracked;
namespace net = tryst::test::net;

/// `cancel_after` and `cancel_at` need a timer, because an operation of tryst has no I/O executor.
class AsioCancelAfter : public composition_test {
protected:
    /// Runs until the timer has expired, too.
    void run() {
        io.restart();
        io.run();
    }
    completed<tracked> got;
};

TEST_F(AsioCancelAfter, HandsTheItemOfAnExchangeBack) {
    async_wait(ex.exchange(item(1)), net::cancel_after(never, 1ms, keep_on(io, got)));
    run();
    expect_failed(got, exchange_errc::cancelled, 1);
    EXPECT_FALSE(meet(ex, 2, 1));
    got.reset();
    const auto long_ago = std::chrono::steady_clock::time_point::min();
    async_wait(ex.exchange(item(3)), net::cancel_at(never, long_ago, keep_on(io, got)));
    run();
    expect_failed(got, exchange_errc::cancelled, 3);
}

TEST_F(AsioCancelAfter, ForgetsItsTimerAfterAMatch) {
    async_wait(ex.exchange(item(1)), net::cancel_after(never, 1h, keep_on(io, got)));
    tryst::test::step(io);
    EXPECT_TRUE(meet(ex, 2, 1));
    run();
    expect_got(got, 2);
}

TEST_F(AsioCancelAfter, EndsTheUseOfAnAwaitable) {
    auto work = [&]() -> net::awaitable<void> {
        auto token = net::cancel_after(never, 1ms, net::use_awaitable);
        got.emplace(co_await async_wait(ex.exchange(item(1)), std::move(token)));
    };
    start(work);
    run();
    expect_success();
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST_F(AsioCancelAfter, EndsAReceiveWithItsOwnTimer) {
    channel pipe;
    std::error_code ended;
    auto work = [&]() -> net::awaitable<void> {
        auto token = net::cancel_after(never, 1ms, as_tuple(net::use_awaitable));
        auto [none] = co_await async_wait(pipe.receive(), std::move(token));
        ended = none.error();
    };
    start(work);
    run();
    expect_success();
    EXPECT_EQ(ended, make_error_code(exchange_errc::cancelled));
}

TEST_F(AsioCancelAfter, EndsAWait) {
    net::co_spawn(io, keep(ex, item(1), first), net::cancel_after(1ms, net::detached));
    run();
    expect_failed(first, exchange_errc::cancelled, 1);
}

#endif

} // namespace
