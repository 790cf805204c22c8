// SPDX-License-Identifier: MIT
// The adapter for fibers with types of a namespace whose functions have the names of the library's.
#include "stranger.hpp"

#include <tryst/fiber.hpp>

#include <boost/fiber/fiber.hpp>

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace std::chrono_literals;
using stranger::item;

TEST(StrangerInFibers, Waits) {
    tryst::exchanger<item> at;
    tryst::synchronous_channel<item> to;
    int sum = 0;
    const auto party = [&] {
        const auto got = tryst::fiber::wait(at.exchange_for(item{1}, 1h, stranger::stop_token{}));
        sum += got ? got->number : 0;
        auto selected = tryst::fiber::wait(tryst::select(to.receive(), at.exchange(item{2})));
        sum += selected.index() == 1 ? selected.get<1>()->number : 0;
    };
    boost::fibers::fiber first(party);
    boost::fibers::fiber second(party);
    first.join();
    second.join();
    EXPECT_EQ(sum, 6);
    EXPECT_FALSE(tryst::fiber::wait(at.exchange_for(item{3}, 1ms)));
}

} // namespace
