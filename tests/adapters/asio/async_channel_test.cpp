// SPDX-License-Identifier: MIT
// A stream of items between async_send and async_receive. See sides_test.cpp for single
// operations.
#include <tryst/asio/async_channel.hpp>

#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

namespace {

using tryst::asio::async_receive;
using tryst::asio::async_send;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::tracked;
namespace net = tryst::test::net;

TEST(AsyncChannel, PassesItemsBetweenAwaitables) {
    constexpr int count = 100;
    long sum = 0;
    census items;
    net::io_context io;
    tryst::synchronous_channel<tracked> channel; // move-only, not default constructible
    const auto send = [&]() -> net::awaitable<void> {
        for (int i = 1; i <= count; ++i) {
            co_await async_send(channel, tracked(items, i), net::use_awaitable);
        }
        channel.close();
    };
    const auto receive = [&]() -> net::awaitable<void> {
        while (true) {
            auto [error, got] = co_await async_receive(channel, as_tuple(net::use_awaitable));
            if (error) {
                EXPECT_FALSE(got);
                break;
            }
            sum += got->id();
        }
    };
    net::co_spawn(io, send(), net::detached);
    net::co_spawn(io, receive(), net::detached);
    io.run();
    EXPECT_EQ(sum, count * (count + 1) / 2);
    EXPECT_EQ(items.alive.load(), 0);
}

} // namespace
