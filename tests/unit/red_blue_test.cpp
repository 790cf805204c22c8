// SPDX-License-Identifier: MIT
// Two colours, and channels, whose receivers are a colour that brings nothing: whom they serve, and
// what they exchange. What ends a wait is the same for all exchangers (end_of_wait_test.cpp,
// wait_limit_test.cpp, and the scenes fifo* and lifo* of tests/model).
#include <tryst/red_blue_exchanger.hpp>

#include <tryst/synchronous_channel.hpp>

#include "support/started.hpp"
#include "support/tracked.hpp"

#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

template <order Order>
struct in_order {
    static constexpr order value = Order;
};

/// All orders: what is said of one is true of the others, but for the order.
template <class Order>
class RedBlue : public testing::Test {
protected:
    static constexpr long waiting = 300; // several segments

    tracked item(long id) { return {items_, id}; }

    /// The number of the one that is served as the n-th of all that wait.
    static long served(long n) { return Order::value == order::lifo ? waiting - 1 - n : n; }
    static std::size_t place_served(long n) { return static_cast<std::size_t>(served(n)); }

    /// `make(item)` makes the operation of one of them.
    template <class Make>
    auto start_all(Make make) {
        std::vector<started<detail::awaited<std::invoke_result_t<Make&, tracked>>>> all;
        for (long id = 0; id != waiting; ++id) {
            all.push_back(start([=, this] { return make(item(id)); }));
        }
        return all;
    }

    census items_;
    parties start;
};

using orders = testing::Types<in_order<order::fifo>, in_order<order::lifo>>;

struct order_names {
    template <class Order>
    static std::string GetName(int /*index*/) { // NOLINT(readability-identifier-naming)
        return Order::value == order::fifo ? "fifo" : "lifo";
    }
};
TYPED_TEST_SUITE(RedBlue, orders, order_names);

TYPED_TEST(RedBlue, ServesEitherColourInItsOrder) {
    red_blue_exchanger<tracked, tracked, TypeParam::value> at;
    const auto expect_order = [&](auto wait, auto meet) {
        const auto all = this->start_all(wait);
        for (long n = 0; n != this->waiting; ++n) {
            const auto got = meet(this->item(n));
            this->start.run();
            ASSERT_TRUE(got);
            ASSERT_EQ(got->id(), this->served(n));
            ASSERT_EQ((*all[this->place_served(n)])->id(), n);
        }
        EXPECT_EQ(at.try_red(this->item(0)).error(), exchange_errc::no_partner);
        EXPECT_EQ(at.try_blue(this->item(0)).error(), exchange_errc::no_partner);
    };
    expect_order([&](tracked mine) { return at.red(std::move(mine)); },
                 [&](tracked mine) { return at.try_blue(std::move(mine)); });
    expect_order([&](tracked mine) { return at.blue(std::move(mine)); },
                 [&](tracked mine) { return at.try_red(std::move(mine)); });
    EXPECT_EQ(this->items_.alive, 0);
}

TYPED_TEST(RedBlue, AChannelServesEitherSideInItsOrder) {
    synchronous_channel<tracked, TypeParam::value> c;
    this->start_all([&](tracked mine) { return c.send(std::move(mine)); });
    for (long n = 0; n != this->waiting; ++n) {
        const auto got = c.try_receive();
        ASSERT_TRUE(got);
        ASSERT_EQ(got->id(), this->served(n));
    }
    EXPECT_EQ(c.try_receive().error(), exchange_errc::no_partner);

    const auto received = this->start_all([&](const tracked&) { return c.receive(); });
    for (long n = 0; n != this->waiting; ++n) {
        ASSERT_TRUE(c.try_send(this->item(n)));
        this->start.run();
        ASSERT_EQ((*received[this->place_served(n)])->id(), n);
    }
    const auto refused = c.try_send(this->item(7));
    EXPECT_EQ(refused.error(), exchange_errc::no_partner);
    EXPECT_EQ(refused.returned().id(), 7);
}

TYPED_TEST(RedBlue, EndsEveryWaitWithItsCloseOrItsLife) {
    for (const bool closes : {true, false}) {
        SCOPED_TRACE(closes ? "close" : "destructor");
        auto at = std::make_unique<red_blue_exchanger<tracked, tracked, TypeParam::value>>();
        const auto all = this->start_all([&](tracked mine) { return at->blue(std::move(mine)); });
        EXPECT_FALSE(at->is_closed());
        if (closes) {
            at->close();
            at->close();
            EXPECT_TRUE(at->is_closed());
            EXPECT_EQ(at->try_red(this->item(0)).error(), exchange_errc::closed);
            EXPECT_EQ(sync_wait(at->red(this->item(0))).error(), exchange_errc::closed);
        } else {
            at.reset();
        }
        this->start.run();
        for (long id = 0; const auto& each : all) {
            ASSERT_EQ(each.error(), exchange_errc::closed);
            ASSERT_EQ(each->returned().id(), id++);
        }
    }
}

TYPED_TEST(RedBlue, ExchangesUnlikeTypesAndGivesThemBack) {
    red_blue_exchanger<int, std::string, TypeParam::value> at;
    const auto red = this->start([&] { return at.red(7); });
    EXPECT_EQ(*sync_wait(at.blue("seven")), 7);
    this->start.run();
    EXPECT_EQ(*red, "seven");

    const auto no_blue = at.try_red(7);
    EXPECT_EQ(no_blue.error(), exchange_errc::no_partner);
    EXPECT_EQ(no_blue.returned(), 7);
    EXPECT_THROW(static_cast<void>(no_blue.value()), std::system_error);
    const std::string mine = "a string that is too long to be kept in itself";
    EXPECT_EQ(at.try_blue(mine).returned(), mine);
}

} // namespace
} // namespace tryst::test
