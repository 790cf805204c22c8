// SPDX-License-Identifier: MIT The results of async_red and async_blue. See sides_test.cpp for the
// behaviour of all initiating functions.
#include <tryst/asio/async_red_blue.hpp>

#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "adapters/asio/sides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace {

using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::order;
using tryst::asio::async_blue;
using tryst::asio::async_red;
using tryst::test::answer;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep_in;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::system_error;
using tryst::test::tracked;
namespace net = tryst::test::net;
using exchanger =
    tryst::red_blue_exchanger<tracked, answer>; // move-only, not default constructible

TEST(AsyncRedBlue, OfUnlikeTypesGivesTheResult) {
    census items;
    net::io_context io;
    exchanger ex;
    completed<exchange_result<answer, tracked>> red;
    completed<exchange_result<tracked, answer>> blue;
    async_red(ex, tracked(items, 1), keep_on(io, red));
    async_blue(ex, answer(items, 2), keep_on(io, blue));
    step(io);
    ASSERT_TRUE(red && red->item && blue && blue->item);
    EXPECT_EQ(red->item->id(), 2);
    EXPECT_EQ(blue->item->id(), 1);
    EXPECT_EQ(items.alive.load(), 2);
}

TEST(AsyncRedBlue, OfUnlikeTypesHandsTheItemBackInTheResult) {
    census items;
    net::io_context io;
    exchanger ex;
    completed<exchange_result<answer, tracked>> red;
    async_red(ex, tracked(items, 1), keep_on(io, red));
    step(io);
    ex.close();
    step(io);
    ASSERT_TRUE(red);
    EXPECT_EQ(red->error, make_error_code(exchange_errc::closed));
    ASSERT_FALSE(red->item);
    EXPECT_EQ(red->item.error(), exchange_errc::closed);
    EXPECT_EQ(red->item.returned().id(), 1);
    EXPECT_EQ(items.alive.load(), 1);
}

TEST(AsyncRedBlue, OfOneTypeGivesTheItem) {
    census items;
    net::io_context io;
    tryst::red_blue_exchanger<tracked, tracked, order::lifo> room;
    completed<tracked> red;
    completed<tracked> blue;
    async_red(room, tracked(items, 1), keep_on(io, red));
    async_blue(io.get_executor(), room, tracked(items, 2), keep_in(blue));
    step(io);
    expect_got(red, 2);
    expect_got(blue, 1);
}

TEST(AsyncRedBlue, OfOneTypeHandsTheItemBack) {
    census items;
    net::io_context io;
    tryst::red_blue_exchanger<tracked> room;
    completed<tracked> red;
    async_red(room, tracked(items, 1), keep_on(io, red));
    room.close();
    step(io);
    expect_failed(red, exchange_errc::closed, 1);
    std::future<tracked> late =
        async_blue(io.get_executor(), room, tracked(items, 2), net::use_future);
    step(io);
    EXPECT_THROW(late.get(), system_error);
    while (items.alive.load() != 1) { // a thread of the system executor destroys the item
        std::this_thread::yield();
    }
}

} // namespace
