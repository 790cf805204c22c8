// SPDX-License-Identifier: MIT
#include <tryst/exchanger.hpp>

#include <tryst/red_blue_exchanger.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>

#include <gtest/gtest.h>

#include <array>
#include <thread>

TEST(Exchanger, TwoThreadsSwapTheirItems) {
    tryst::exchanger<int> ex;
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(ex.exchange(1)), 2); });
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    partner.join();
}

// Each compiles with and without braces, as a member and as an element.
TEST(Exchanger, MayBeAMemberOrAnElement) {
    struct server {
        int port = 80;
        tryst::exchanger<int> swaps = {};
        tryst::exchanger<int> crowd{3};
        tryst::red_blue_exchanger<int> sides = {};
        tryst::synchronous_channel<int, tryst::order::lifo> latest{0};
        tryst::synchronous_channel<int> requests = {};
    };
    const server one{};
    server other{.port = 8'080};
    std::array<tryst::synchronous_channel<int>, 2> rooms{};
    std::array<tryst::exchanger<int>, 2> tables{};
    EXPECT_FALSE(one.requests.is_closed());
    EXPECT_EQ(one.crowd.capacity(), 3U);
    EXPECT_FALSE(other.swaps.try_exchange(1));
    EXPECT_FALSE(rooms[1].try_receive());
    EXPECT_EQ(tables[0].capacity(), one.swaps.capacity());
}
