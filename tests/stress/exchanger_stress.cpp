// SPDX-License-Identifier: MIT
#include <tryst/exchanger.hpp>

#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <thread>

TEST(ExchangerStress, TwoThreadsGetEachItemOnceAndInOrder) {
    constexpr int rounds = 20'000;
    tryst::exchanger<int> ex;
    const auto swap_all = [&ex](int sign) {
        for (int i = 1; i <= rounds; ++i) {
            ASSERT_EQ(*tryst::sync_wait(ex.exchange(sign * i)), -sign * i);
        }
    };
    std::thread partner(swap_all, -1);
    swap_all(1);
    partner.join();
}
