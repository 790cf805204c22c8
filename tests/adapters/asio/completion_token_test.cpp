// SPDX-License-Identifier: MIT
// One operation, every way to be told of its end.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/append.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/steady_timer.hpp>
#else
#include <asio/experimental/append.hpp>
#include <asio/experimental/co_spawn.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/experimental/prepend.hpp>
#include <asio/experimental/promise.hpp>
#include <asio/experimental/use_coro.hpp>
#include <asio/steady_timer.hpp>
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
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
#ifdef TRYST_BOOST_ASIO
using net::append;
using net::prepend;
#else
using net::experimental::append;
using net::experimental::prepend;
#endif
using exchanger = tryst::exchanger<tracked>; // move-only, and not default constructible

/// One that offers item 1 on `io`, for the test to meet with item 2, or to close on.
class CompletionToken : public ::testing::Test {
protected:
    tracked item(long id) { return {items, id}; }

    /// Comes as the partner.
    void meet() {
        step(io);
        ASSERT_TRUE(waits_in_list(ex));
        const auto theirs = ex.try_exchange(item(2));
        ASSERT_TRUE(theirs);
        EXPECT_EQ(theirs->id(), 1);
        step(io);
    }
    void close() {
        step(io);
        ASSERT_TRUE(waits_in_list(ex));
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

TEST_F(CompletionToken, UseFutureIsBrokenIfItsContextEnds) {
    std::future<tracked> later;
    {
        net::io_context context;
        later = async_exchange(ex, item(1), net::bind_executor(context, net::use_future));
        context.poll();
    }
    EXPECT_FALSE(waits_in_list(ex));
    EXPECT_THROW(later.get(), std::future_error);
}

TEST_F(CompletionToken, DeferredOffersNothingBeforeItIsCalled) {
    {
        auto operation = async_exchange(ex, item(1), deferred);
        EXPECT_FALSE(waits_in_list(ex));
        EXPECT_EQ(items.alive.load(), 1);
        std::move(operation)(keep_on(io, got));
    }
    meet();
    expect_got(got, 2);
    static_cast<void>(async_exchange(ex, item(3), deferred)); // never called
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(CompletionToken, DeferredOffersACopyEachTimeItIsCalled) {
    tryst::exchanger<int> room;
    completed<int> first;
    completed<int> second;
    const auto operation = async_exchange(room, 7, deferred);
    operation(keep_on(io, first));
    operation(keep_on(io, second));
    step(io);
    expect_got(first, 7);
    expect_got(second, 7);
}

TEST_F(CompletionToken, DetachedGivesTheItemAwayAndDropsTheOther) {
    async_exchange(io.get_executor(), ex, item(1), net::detached);
    meet();
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(CompletionToken, AppendAndPrependAddToTheItem) {
    long sum = 0;
    const auto add = [&sum](error_code, const tracked& theirs, long more) {
        sum = theirs.id() + more;
    };
    async_exchange(ex, item(1), append(net::bind_executor(io, add), 10));
    meet();
    EXPECT_EQ(sum, 12);
    const auto add_first = [&sum](long more, error_code, const tracked& theirs) {
        sum = theirs.id() + more;
    };
    async_exchange(ex, item(1), prepend(net::bind_executor(io, add_first), 20));
    meet();
    EXPECT_EQ(sum, 22);
}

TEST_F(CompletionToken, UsePromiseKeepsTheItemOfAFailedExchange) {
    tryst::exchanger<int> room; // Boost's promise wants items that are default constructible
    completed<int> kept;
    auto promise = async_exchange(io.get_executor(), room, 1, net::experimental::use_promise);
    step(io);
    room.close();
    step(io);
#ifdef TRYST_BOOST_ASIO
    promise(keep_on(io, kept));
#else
    promise.async_wait(keep_on(io, kept));
#endif
    step(io);
    expect_failed(kept, exchange_errc::closed, 1);
}

/// The group's own handlers have no executor.
TEST_F(CompletionToken, DeferredInAParallelGroupKeepsTheItemWhoeverIsFirst) {
    for (const bool meets : {true, false}) {
        got.reset();
        net::steady_timer limit(io, meets ? std::chrono::hours(1) : std::chrono::hours(-1));
        const auto keep = [this](auto /*order*/, error_code error, tracked mine, error_code) {
            got.emplace(error, std::move(mine));
        };
        net::experimental::make_parallel_group(
            async_exchange(io.get_executor(), ex, item(1), deferred), limit.async_wait(deferred))
            .async_wait(net::experimental::wait_for_one(), net::bind_executor(io, keep));
        if (meets) {
            meet();
            expect_got(got, 2);
        } else {
            step(io);
            expect_failed(got, exchange_errc::cancelled, 1);
        }
    }
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
