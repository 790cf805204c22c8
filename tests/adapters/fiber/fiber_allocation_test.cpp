// SPDX-License-Identifier: MIT
// The wait of a fiber does not allocate. A program of its own, because it counts all allocations.
#include "support/counted_memory.hpp"

#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::fiber::wait;
using tryst::test::allocations;

TEST(FiberAllocation, NoWaitAllocatesHoweverItEnds) {
    constexpr int rounds = 100;
    tryst::exchanger<int> ex;
    const std::stop_source stop;
    boost::fibers::fiber other([&] {
        for (int i = 0; i != rounds; ++i) {
            EXPECT_TRUE(wait(ex.exchange(i, stop.get_token())));
        }
    });
    EXPECT_TRUE(wait(ex.exchange(0)));
    const long before = allocations.load();
    for (int i = 1; i != rounds; ++i) {
        for (int turn = 0; turn != i % 8; ++turn) {
            boost::this_fiber::yield(); // so that the other suspends now and then
        }
        EXPECT_TRUE(wait(ex.exchange(i, 24h)));
    }
    EXPECT_EQ(wait(ex.exchange(0, 100us)).error(), exchange_errc::timed_out);
    EXPECT_EQ(allocations.load() - before, 0);
    other.join();
}

} // namespace
