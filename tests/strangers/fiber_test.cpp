// SPDX-License-Identifier: MIT
// The adapter for fibers with types of a namespace whose functions have the names of the library's.
#include "items.hpp"
#include "stranger.hpp"

#include <tryst/fiber.hpp>

#include <boost/fiber/fiber.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <utility>

namespace {

using namespace std::chrono_literals;
using stranger::item;

TEST(StrangerInFibers, Waits) {
    tryst::exchanger<item> at;
    tryst::synchronous_channel<item> to;
    int sum = 0;
    const auto party = [&] {
        const auto got = tryst::fiber::wait(at.exchange(item{1}, 1h, stranger::stop_token{}));
        sum += got ? got->number : 0;
        auto selected = tryst::fiber::wait(tryst::select(to.receive(), at.exchange(item{2})));
        sum += selected.index() == 1 ? selected.get<1>()->number : 0;
    };
    boost::fibers::fiber first(party);
    boost::fibers::fiber second(party);
    first.join();
    second.join();
    EXPECT_EQ(sum, 6);
    EXPECT_FALSE(tryst::fiber::wait(at.exchange(item{3}, 1ms)));
}

template <class T>
class StrangeItemInFibers : public ::testing::Test {};
TYPED_TEST_SUITE(StrangeItemInFibers, stranger::few_items);

TYPED_TEST(StrangeItemInFibers, IsExchangedAndSelected) {
    using stranger::make;
    using stranger::number_of;
    tryst::exchanger<TypeParam> at;
    tryst::synchronous_channel<TypeParam> to;
    int sum = 0;
    const auto party = [&](int mine) {
        sum += number_of(*tryst::fiber::wait(at.exchange(make<TypeParam>(mine))));
        auto got =
            tryst::fiber::wait(tryst::select(to.receive(), at.exchange(make<TypeParam>(mine))));
        sum += number_of(*std::move(got).template get<1>());
    };
    boost::fibers::fiber first([&] { party(1); });
    boost::fibers::fiber second([&] { party(2); });
    first.join();
    second.join();
    EXPECT_EQ(sum, 2 * (1 + 2));
}

} // namespace
