// SPDX-License-Identifier: MIT
// Two colours, and channels, whose receivers are a colour that brings nothing: whom they serve, and
// what they exchange. What ends a wait is the same for all exchangers (end_of_wait_test.cpp,
// wait_limit_test.cpp, and the scenes fifo* and lifo* of tests/model).
#include <tryst/red_blue_exchanger.hpp>

#include <tryst/synchronous_channel.hpp>

#include "support/parties.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

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

    /// Starts a party on the loop. `make` makes its operation.
    template <class Result, class Make>
    void start(std::optional<Result>& got, Make make) {
        loop_.spawn(await(got, make));
        loop_.run_until_idle();
    }
    /// `make(item)` makes the operation of one of them.
    template <class Result, class Make>
    void start_all(std::map<long, std::optional<Result>>& got, Make make) {
        got.clear();
        for (long id = 0; id != waiting; ++id) {
            start(got[id], [=, this] { return make(item(id)); });
        }
    }

    template <class Result, class Make>
    static task<> await(std::optional<Result>& got, Make make) {
        got.emplace(co_await make());
    }

    census items_;
    std::map<long, received<tracked>> got_;
    run_loop loop_;
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
        this->start_all(this->got_, wait);
        for (long n = 0; n != this->waiting; ++n) {
            const auto got = meet(this->item(n));
            this->loop_.run_until_idle();
            ASSERT_TRUE(got);
            ASSERT_EQ(got->id(), this->served(n));
            ASSERT_EQ((*this->got_[this->served(n)])->id(), n);
        }
        EXPECT_EQ(at.try_red(this->item(0)).error(), exchange_errc::no_partner);
        EXPECT_EQ(at.try_blue(this->item(0)).error(), exchange_errc::no_partner);
        this->got_.clear();
    };
    expect_order([&](tracked mine) { return at.red(std::move(mine)); },
                 [&](tracked mine) { return at.try_blue(std::move(mine)); });
    expect_order([&](tracked mine) { return at.blue(std::move(mine)); },
                 [&](tracked mine) { return at.try_red(std::move(mine)); });
    EXPECT_EQ(this->items_.alive, 0);
}

TYPED_TEST(RedBlue, AChannelServesEitherSideInItsOrder) {
    synchronous_channel<tracked, TypeParam::value> c;
    std::map<long, std::optional<exchange_result<void, tracked>>> sent;
    this->start_all(sent, [&](tracked mine) { return c.send(std::move(mine)); });
    for (long n = 0; n != this->waiting; ++n) {
        const auto got = c.try_receive();
        ASSERT_TRUE(got);
        ASSERT_EQ(got->id(), this->served(n));
    }
    EXPECT_EQ(c.try_receive().error(), exchange_errc::no_partner);

    std::map<long, std::optional<exchange_result<tracked, void>>> received;
    this->start_all(received, [&](const tracked&) { return c.receive(); });
    for (long n = 0; n != this->waiting; ++n) {
        ASSERT_TRUE(c.try_send(this->item(n)));
        this->loop_.run_until_idle();
        ASSERT_EQ((*received[this->served(n)])->id(), n);
    }
    const auto refused = c.try_send(this->item(7));
    EXPECT_EQ(refused.error(), exchange_errc::no_partner);
    EXPECT_EQ(refused.returned().id(), 7);
}

TYPED_TEST(RedBlue, EndsEveryWaitWithItsCloseOrItsLife) {
    for (const bool closes : {true, false}) {
        SCOPED_TRACE(closes ? "close" : "destructor");
        auto at = std::make_unique<red_blue_exchanger<tracked, tracked, TypeParam::value>>();
        this->start_all(this->got_, [&](tracked mine) { return at->blue(std::move(mine)); });
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
        this->loop_.run_until_idle();
        for (long id = 0; id != this->waiting; ++id) {
            ASSERT_EQ(this->got_[id]->error(), exchange_errc::closed);
            ASSERT_EQ(this->got_[id]->returned().id(), id);
        }
        this->got_.clear();
    }
}

TYPED_TEST(RedBlue, ExchangesUnlikeTypesAndGivesThemBack) {
    red_blue_exchanger<int, std::string, TypeParam::value> at;
    std::optional<exchange_result<std::string, int>> red;
    this->start(red, [&] { return at.red(7); });
    EXPECT_EQ(*sync_wait(at.blue("seven")), 7);
    this->loop_.run_until_idle();
    ASSERT_TRUE(red && *red);
    EXPECT_EQ(**red, "seven");

    const auto no_blue = at.try_red(7);
    EXPECT_EQ(no_blue.error(), exchange_errc::no_partner);
    EXPECT_EQ(no_blue.returned(), 7);
    EXPECT_THROW(static_cast<void>(no_blue.value()), std::system_error);
    const std::string mine = "a string that is too long to be kept in itself";
    EXPECT_EQ(at.try_blue(mine).returned(), mine);
}

} // namespace
} // namespace tryst::test
