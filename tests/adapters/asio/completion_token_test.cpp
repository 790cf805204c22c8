// SPDX-License-Identifier: MIT
// One operation, every way to be told of its end.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifndef TRYST_BOOST_ASIO
#include <asio/experimental/co_spawn.hpp>
#include <asio/experimental/use_coro.hpp>
#endif

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <utility>

namespace {

using tryst::exchange_errc;
using tryst::asio::async_exchange;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::completion;
using tryst::test::deferred;
using tryst::test::error_code;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::system_error;
using tryst::test::tracked;
using tryst::test::waits_at_home;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<tracked>; // move-only, and not default constructible

/// One that offers item 1 on `io`, for the test to meet with item 2, or to close on.
class CompletionToken : public ::testing::Test {
protected:
    tracked item(long id) { return {items, id}; }

    /// Comes as the partner.
    void meet() {
        step(io);
        ASSERT_TRUE(waits_at_home(ex));
        const auto theirs = ex.try_exchange(item(2));
        ASSERT_TRUE(theirs);
        EXPECT_EQ(theirs->id(), 1);
        step(io);
    }
    void close() {
        step(io);
        ASSERT_TRUE(waits_at_home(ex));
        ex.close();
        step(io);
    }

    template <class Coroutine>
    void start(Coroutine coroutine) {
        net::co_spawn(io, std::move(coroutine), net::detached);
    }

    census items;
    net::io_context io;
    exchanger ex;
    completed<tracked> got;
};

TEST_F(CompletionToken, MayBeACallback) {
    async_exchange(ex, item(1), keep_on(io, got));
    meet();
    expect_got(got, 2);
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(CompletionToken, UseAwaitableGivesThePartnersItem) {
    start([this]() -> net::awaitable<void> {
        got.emplace(error_code(), co_await async_exchange(ex, item(1), net::use_awaitable));
    });
    meet();
    expect_got(got, 2);
}

TEST_F(CompletionToken, UseAwaitableThrowsTheError) {
    std::optional<error_code> thrown;
    start([this, &thrown]() -> net::awaitable<void> {
        try {
            static_cast<void>(co_await async_exchange(ex, item(1), net::use_awaitable));
        } catch (const system_error& error) {
            thrown = error.code();
        }
    });
    close();
    ASSERT_TRUE(thrown);
    EXPECT_EQ(*thrown, make_error_code(exchange_errc::closed));
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(CompletionToken, AsTupleKeepsTheItemOfAFailedExchange) {
    start([this]() -> net::awaitable<void> {
        auto [error, back] = co_await async_exchange(ex, item(1), as_tuple(net::use_awaitable));
        got.emplace(error, std::move(back));
    });
    close();
    expect_failed(got, exchange_errc::closed, 1);
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(CompletionToken, RedirectErrorKeepsTheItemOfAFailedExchange) {
    start([this]() -> net::awaitable<void> {
        error_code error;
        tracked back =
            co_await async_exchange(ex, item(1), net::redirect_error(net::use_awaitable, error));
        got.emplace(error, std::move(back));
    });
    close();
    expect_failed(got, exchange_errc::closed, 1);
}

TEST_F(CompletionToken, UseFutureGivesThePartnersItem) {
    std::future<tracked> later = async_exchange(io.get_executor(), ex, item(1), net::use_future);
    meet();
    EXPECT_EQ(later.get().id(), 2);
}

TEST_F(CompletionToken, UseFutureThrowsTheError) {
    tryst::exchanger<int> room; // of items that may outlive the test, on the system executor
    auto later = async_exchange(io.get_executor(), room, 1, net::use_future);
    room.close();
    EXPECT_THROW(later.get(), system_error);
}

TEST_F(CompletionToken, UseFutureWithAFunctionKeepsTheItemOfAFailedExchange) {
    auto later = async_exchange(io.get_executor(), ex, item(1),
                                net::use_future([](error_code error, tracked back) {
                                    return completion<tracked>{error, std::move(back)};
                                }));
    close();
    got = later.get();
    expect_failed(got, exchange_errc::closed, 1);
}

TEST_F(CompletionToken, DeferredOffersNothingBeforeItIsCalled) {
    {
        auto operation = async_exchange(ex, item(1), deferred);
        EXPECT_FALSE(waits_at_home(ex));
        EXPECT_EQ(items.alive.load(), 1);
        std::move(operation)(keep_on(io, got));
    }
    meet();
    expect_got(got, 2);
    static_cast<void>(async_exchange(ex, item(3), deferred)); // never called
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(CompletionToken, DetachedGivesTheItemAwayAndDropsTheOther) {
    async_exchange(io.get_executor(), ex, item(1), net::detached);
    meet();
    EXPECT_EQ(items.alive.load(), 0);
}

#ifndef TRYST_BOOST_ASIO // whose use_coro, in 1.81, forgets that there is an item
net::experimental::coro<void, void> coro_party(net::io_context& io, exchanger& ex, tracked mine,
                                               completed<tracked>& got) {
    tracked theirs = co_await async_exchange(io.get_executor(), ex, std::move(mine),
                                             net::experimental::use_coro);
    got.emplace(error_code(), std::move(theirs));
}

TEST_F(CompletionToken, UseCoroGivesThePartnersItem) {
    net::experimental::co_spawn(coro_party(io, ex, item(1), got),
                                [](std::exception_ptr error) { EXPECT_FALSE(error); });
    meet();
    expect_got(got, 2);
}
#endif

TEST_F(CompletionToken, MayBeUsedWithALimit) {
    using namespace std::chrono_literals;
    completed<tracked> until;
    tryst::asio::async_exchange_for(ex, item(1), -1ns, keep_on(io, got));
    tryst::asio::async_exchange_until(ex, item(2), exchanger::time_point(), keep_on(io, until));
    step(io);
    expect_failed(got, exchange_errc::timed_out, 1);
    expect_failed(until, exchange_errc::timed_out, 2);
}

} // namespace
