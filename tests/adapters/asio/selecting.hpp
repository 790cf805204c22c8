// SPDX-License-Identifier: MIT
/// @file
/// A selection among an exchange, a receive and a send, and what must be true of its result.
#pragma once

#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <optional>

namespace tryst::test {

/// The places of a selection. The exchange is case 0, the receive case 1, the send case 2.
struct places {
    exchanger<tracked> swaps{1};
    synchronous_channel<tracked> source;
    synchronous_channel<tracked> sink;
};

using selected = select_result<exchange_result<tracked>, exchange_result<tracked, void>,
                               exchange_result<void, tracked>>;

/// The ids of the items that a party offers. The partner's item has the id `theirs`.
inline constexpr long swapped = 1;
inline constexpr long sent = 2;
inline constexpr long theirs = 7;

inline auto select_all(places& at, census& items, auto... limit) {
    return select(at.swaps.exchange(tracked(items, swapped)), at.source.receive(),
                  at.sink.send(tracked(items, sent)), limit...);
}

/// Comes as the partner of case `number`. @returns whether the case was there.
inline bool meet(places& at, std::size_t number, census& items) {
    switch (number) {
    case 0: {
        const auto got = at.swaps.try_exchange(tracked(items, theirs));
        EXPECT_TRUE(!got || got->id() == swapped);
        return static_cast<bool>(got);
    }
    case 1:
        return static_cast<bool>(at.source.try_send(tracked(items, theirs)));
    default: {
        const auto got = at.sink.try_receive();
        EXPECT_TRUE(!got || got->id() == sent);
        return static_cast<bool>(got);
    }
    }
}

inline void expect_nobody_waits(places& at, census& items) {
    for (const std::size_t number : {0U, 1U, 2U}) {
        EXPECT_FALSE(meet(at, number, items)) << "case " << number;
    }
    EXPECT_FALSE(waits_in_list(at.swaps));
}

/// Expects the case `number` to have taken place, and all other items to be back.
inline void expect_selected(std::optional<selected>& got, std::size_t number) {
    ASSERT_TRUE(got);
    ASSERT_EQ(got->index(), number);
    const auto lost = exchange_errc::not_selected;
    if (number == 0) {
        EXPECT_EQ((*got->get<0>()).id(), theirs);
    } else {
        EXPECT_EQ(got->get<0>().error(), lost);
        EXPECT_EQ(got->get<0>().returned().id(), swapped);
    }
    if (number == 1) {
        EXPECT_EQ((*got->get<1>()).id(), theirs);
    } else {
        EXPECT_EQ(got->get<1>().error(), lost);
    }
    if (number == 2) {
        EXPECT_TRUE(got->get<2>());
    } else {
        EXPECT_EQ(got->get<2>().error(), lost);
        EXPECT_EQ(got->get<2>().returned().id(), sent);
    }
}

/// Expects no case to have taken place, and all items to be back.
inline void expect_none(std::optional<selected>& got, exchange_errc why) {
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), select_npos);
    EXPECT_EQ(got->get<0>().error(), why);
    EXPECT_EQ(got->get<0>().returned().id(), swapped);
    EXPECT_EQ(got->get<1>().error(), why);
    EXPECT_EQ(got->get<2>().error(), why);
    EXPECT_EQ(got->get<2>().returned().id(), sent);
}

/// Three places and a context. Expects no item to be left at the end.
class selecting_test : public ::testing::Test {
protected:
    void TearDown() override {
        got.reset();
        EXPECT_EQ(items.alive.load(), 0);
    }

    tracked item(long id) { return {items, id}; }
    auto all(auto... limit) { return select_all(at, items, limit...); }
    void expect_nobody_waits() { test::expect_nobody_waits(at, items); }

    census items;
    places at;
    net::io_context io;
    net::cancellation_signal signal;
    std::optional<selected> got;
};

} // namespace tryst::test
