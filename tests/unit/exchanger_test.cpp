// SPDX-License-Identifier: MIT
#include <tryst/exchanger.hpp>

#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <thread>

TEST(Exchanger, TwoThreadsSwapTheirItems) {
    tryst::exchanger<int> ex;
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(ex.exchange(1)), 2); });
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    partner.join();
}
