// SPDX-License-Identifier: MIT
// Philosophers who give up at the same time never eat, although none of them is blocked. Those who
// take the forks in one order all eat. docs/hangs.md says so.
#include <tryst/channel.hpp>

#include "support/manual_clock.hpp"

#include <tryst/executor.hpp>
#include <tryst/sleep.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
struct utensil {};
using place = channel<utensil>; ///< Where a fork lies, unless a philosopher has it.

/// Five philosophers on one loop.
struct Philosophers : testing::Test {
    static constexpr std::size_t seats = 5;

    struct counts {
        int rounds = 0;
        int meals = 0;
    };

    Philosophers() {
        for (std::size_t i = 0; i != seats; ++i) {
            put_down({}, forks.emplace_back(1U));
        }
    }
    ~Philosophers() override { // all end, and put their forks down
        is_over = true;
        for (std::size_t i = 0; i != 2 * seats; ++i) {
            loop.advance(1ms);
        }
        for (const place& each : forks) {
            EXPECT_EQ(each.size(), 1U);
        }
    }

    static void put_down(utensil fork, place& at) {
        const auto sent = at.try_send(fork);
        EXPECT_TRUE(sent);
    }
    task<> dine(place& first, place& second, counts& mine, std::chrono::nanoseconds patience) {
        while (!is_over) {
            auto held = co_await first.receive();
            co_await current_executor().schedule();
            auto other = co_await second.receive(patience);
            ++mine.rounds;
            if (other) {
                ++mine.meals;
                co_await sleep_for(1ms);
                put_down(*other, second);
            }
            put_down(*held, first);
        }
    }

    std::deque<place> forks;
    std::array<counts, seats> all;
    bool is_over = false;
    timed_loop loop;
};

TEST_F(Philosophers, WithEqualPatienceNeverEat) {
    for (std::size_t i = 0; i != seats; ++i) {
        loop->spawn(dine(forks[i], forks[(i + 1) % seats], all[i], 1ms));
    }
    loop->run_until_idle();
    for (int round = 1; round <= 1000; ++round) {
        loop.advance(1ms);
        for (const counts& each : all) {
            ASSERT_EQ(each.rounds, round);
            ASSERT_EQ(each.meals, 0);
        }
    }
}

TEST_F(Philosophers, InOneOrderAllEat) {
    for (std::size_t i = 0; i != seats; ++i) {
        const auto [lower, higher] = std::minmax({i, (i + 1) % seats});
        loop->spawn(dine(forks[lower], forks[higher], all[i], 24h));
    }
    loop->run_until_idle();
    for (int i = 0; i != 1000; ++i) {
        loop.advance(1ms);
    }
    for (const counts& each : all) {
        EXPECT_GE(each.meals, 300);
        EXPECT_EQ(each.rounds, each.meals);
    }
}

} // namespace
} // namespace tryst::test
