// SPDX-License-Identifier: MIT
// What async_send and async_receive complete with, and every way to be told of it. See also two_sides_test.cpp.
#include <tryst/asio/async_channel.hpp>

#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace {

using tryst::exchange_errc;
using tryst::asio::async_receive;
using tryst::asio::async_send;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::deferred;
using tryst::test::error_code;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::system_error;
using tryst::test::tracked;
namespace net = tryst::test::net;
using channel_type = tryst::synchronous_channel<tracked>; // move-only, not default constructible
using maybe = std::optional<tracked>;

class AsyncChannel : public ::testing::Test {
protected:
    tracked item() { return {items, 1}; }

    template <class Coroutine>
    void start(Coroutine coroutine) {
        net::co_spawn(io, std::move(coroutine), net::detached);
    }
    void expect_sent() {
        ASSERT_TRUE(sent);
        EXPECT_FALSE(sent->error);
        EXPECT_FALSE(sent->item);
    }
    void expect_item_back() {
        ASSERT_TRUE(sent);
        EXPECT_EQ(sent->error, make_error_code(exchange_errc::closed));
        ASSERT_TRUE(sent->item);
        EXPECT_EQ(sent->item->id(), 1);
    }
    void expect_received() {
        ASSERT_TRUE(received);
        EXPECT_FALSE(received->error);
        ASSERT_TRUE(received->item);
        EXPECT_EQ(received->item->id(), 1);
    }
    void expect_nothing_received() {
        ASSERT_TRUE(received);
        EXPECT_EQ(received->error, make_error_code(exchange_errc::closed));
        EXPECT_FALSE(received->item);
    }

    census items;
    net::io_context io;
    channel_type channel;
    completed<maybe> sent;
    completed<maybe> received;
};

TEST_F(AsyncChannel, PassesAnItemBetweenCallbacks) {
    for (const bool receiver_first : {false, true}) {
        sent.reset();
        received.reset();
        if (receiver_first) {
            async_receive(channel, keep_on(io, received));
        }
        async_send(channel, item(), keep_on(io, sent));
        if (!receiver_first) {
            async_receive(channel, keep_on(io, received));
        }
        step(io);
        expect_sent();
        expect_received();
    }
    EXPECT_EQ(items.created.load(), 2);
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsyncChannel, GivesTheItemBackToACallback) {
    async_send(channel, item(), keep_on(io, sent));
    channel.close();
    async_receive(channel, keep_on(io, received));
    step(io);
    expect_item_back();
    expect_nothing_received();
}

TEST_F(AsyncChannel, PassesItemsBetweenAwaitables) {
    constexpr int count = 100;
    long sum = 0;
    start([this]() -> net::awaitable<void> {
        for (int i = 1; i <= count; ++i) {
            co_await async_send(channel, tracked(items, i), net::use_awaitable);
        }
        channel.close();
    });
    start([this, &sum]() -> net::awaitable<void> {
        while (true) {
            auto [error, got] = co_await async_receive(channel, as_tuple(net::use_awaitable));
            if (error) {
                EXPECT_FALSE(got);
                break;
            }
            sum += got->id();
        }
    });
    io.run();
    EXPECT_EQ(sum, count * (count + 1) / 2);
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsyncChannel, UseAwaitableGivesTheItem) {
    start([this]() -> net::awaitable<void> {
        tracked got = *co_await async_receive(channel, net::use_awaitable);
        received.emplace(error_code(), std::move(got));
    });
    step(io);
    EXPECT_TRUE(channel.try_send(item()));
    step(io);
    expect_received();
}

TEST_F(AsyncChannel, UseAwaitableThrowsTheError) {
    int thrown = 0;
    const auto count_errors = [this, &thrown](bool sends) -> net::awaitable<void> {
        try {
            if (sends) {
                co_await async_send(channel, item(), net::use_awaitable);
            } else {
                co_await async_receive(channel, net::use_awaitable);
            }
        } catch (const system_error& error) {
            EXPECT_EQ(error.code(), make_error_code(exchange_errc::closed));
            ++thrown;
        }
    };
    for (const bool sends : {false, true}) {
        net::co_spawn(io, count_errors(sends), net::detached);
        channel.close();
        step(io);
    }
    EXPECT_EQ(thrown, 2);
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsyncChannel, AsTupleKeepsTheItemOfAFailedSend) {
    start([this]() -> net::awaitable<void> {
        auto [error, back] = co_await async_send(channel, item(), as_tuple(net::use_awaitable));
        sent.emplace(error, std::move(back));
    });
    step(io);
    channel.close();
    step(io);
    expect_item_back();
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsyncChannel, RedirectErrorKeepsTheItemOfAFailedSend) {
    start([this]() -> net::awaitable<void> {
        error_code error;
        maybe back =
            co_await async_send(channel, item(), net::redirect_error(net::use_awaitable, error));
        sent.emplace(error, std::move(back));
    });
    step(io);
    channel.close();
    step(io);
    expect_item_back();
}

TEST_F(AsyncChannel, UseFutureGivesTheItem) {
    std::future<maybe> later = async_receive(io.get_executor(), channel, net::use_future);
    std::future<maybe> done = async_send(io.get_executor(), channel, item(), net::use_future);
    step(io);
    EXPECT_EQ(later.get()->id(), 1);
    EXPECT_FALSE(done.get());
}

TEST_F(AsyncChannel, UseFutureThrowsTheError) {
    tryst::synchronous_channel<int> ints; // of items that may outlive the test
    auto got = async_receive(io.get_executor(), ints, net::use_future);
    ints.close();
    auto done = async_send(io.get_executor(), ints, 1, net::use_future);
    step(io);
    EXPECT_THROW(got.get(), system_error);
    EXPECT_THROW(done.get(), system_error);
}

TEST_F(AsyncChannel, DeferredOffersNothingBeforeItIsCalled) {
    {
        auto send = async_send(channel, item(), deferred);
        EXPECT_EQ(channel.try_receive().error(), exchange_errc::no_partner);
        auto receive = async_receive(channel, deferred);
        EXPECT_EQ(items.alive.load(), 1);
        std::move(send)(keep_on(io, sent));
        std::move(receive)(keep_on(io, received));
    }
    step(io);
    expect_sent();
    expect_received();
    static_cast<void>(async_send(channel, item(), deferred)); // never called
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsyncChannel, DetachedGivesTheItemAway) {
    async_send(io.get_executor(), channel, item(), net::detached);
    async_receive(io.get_executor(), channel, net::detached);
    step(io);
    EXPECT_EQ(items.alive.load(), 0);
    EXPECT_TRUE(io.stopped());
}

TEST_F(AsyncChannel, RunsAHandlerWithoutExecutorOnTheSystemExecutor) {
    tryst::synchronous_channel<int> ints;
    std::promise<std::thread::id> ran;
    async_receive(ints, [&](error_code, std::optional<int> got) {
        EXPECT_EQ(got, 1);
        ran.set_value(std::this_thread::get_id());
    });
    EXPECT_TRUE(ints.try_send(1));
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

} // namespace
