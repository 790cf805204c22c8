// SPDX-License-Identifier: MIT
/// @file
/// The sides of an exchanger, a red-blue exchanger and a channel, for tests of all of them.
#pragma once

#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace tryst::test {

/// The items of blue parties.
class answer : public tracked {
public:
    using tracked::tracked;
};

inline constexpr long nobody = -2;
inline constexpr long nothing_got = -1; ///< There was a partner, which brought nothing.

/// One side of an exchanger or a channel. `start`, `start_for` and `start_until` begin an
/// operation, if need be with an I/O executor as the last argument. A party `brings` an `Item`,
/// unless that is void. Derived classes add `meet`, which comes as the partner and returns the id
/// of the item that it receives, `nothing_got` or `nobody`.
template <class Place, class Item, const auto& Start, const auto& StartFor, const auto& StartUntil>
struct side {
    using place = Place;
    static constexpr bool brings = !std::is_void_v<Item>;

    template <class Token, class... Io>
    static auto start(place& at, census& items, long id, Token&& token, const Io&... io) {
        if constexpr (brings) {
            return Start(io..., at, Item(items, id), std::forward<Token>(token));
        } else {
            return Start(io..., at, std::forward<Token>(token));
        }
    }
    template <class Token, class... Io>
    static auto start_for(place& at, census& items, long id, auto patience, Token&& token,
                          const Io&... io) {
        if constexpr (brings) {
            return StartFor(io..., at, Item(items, id), patience, std::forward<Token>(token));
        } else {
            return StartFor(io..., at, patience, std::forward<Token>(token));
        }
    }
    template <class Token, class... Io>
    static auto start_until(place& at, census& items, long id, auto deadline, Token&& token,
                            const Io&... io) {
        if constexpr (brings) {
            return StartUntil(io..., at, Item(items, id), deadline, std::forward<Token>(token));
        } else {
            return StartUntil(io..., at, deadline, std::forward<Token>(token));
        }
    }
};

struct exchange_side : side<exchanger<tracked>, tracked, asio::async_exchange,
                            asio::async_exchange_for, asio::async_exchange_until> {
    using opposite = exchange_side;
    static constexpr bool gets = true;
    static std::string name() { return "exchange"; }
    static long meet(place& at, census& items, long id) {
        const auto got = at.try_exchange(tracked(items, id));
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct blue_side;
template <order Order>
struct receiving_side;

template <order Order>
struct red_side : side<red_blue_exchanger<tracked, answer, Order>, tracked, asio::async_red,
                       asio::async_red_for, asio::async_red_until> {
    using opposite = blue_side<Order>;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "red_fifo" : "red_lifo"; }
    static long meet(typename red_side::place& at, census& items, long id) {
        const auto got = at.try_blue(answer(items, id));
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct blue_side : side<red_blue_exchanger<tracked, answer, Order>, answer, asio::async_blue,
                        asio::async_blue_for, asio::async_blue_until> {
    using opposite = red_side<Order>;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "blue_fifo" : "blue_lifo"; }
    static long meet(typename blue_side::place& at, census& items, long id) {
        const auto got = at.try_red(tracked(items, id));
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct sending_side : side<synchronous_channel<tracked, Order>, tracked, asio::async_send,
                           asio::async_send_for, asio::async_send_until> {
    using opposite = receiving_side<Order>;
    static constexpr bool gets = false;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "send_fifo" : "send_lifo"; }
    static long meet(typename sending_side::place& at, census& /*items*/, long /*none*/) {
        const auto got = at.try_receive();
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct receiving_side : side<synchronous_channel<tracked, Order>, void, asio::async_receive,
                             asio::async_receive_for, asio::async_receive_until> {
    using opposite = sending_side<Order>;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "receive_fifo" : "receive_lifo"; }
    static long meet(typename receiving_side::place& at, census& items, long id) {
        return at.try_send(tracked(items, id)) ? nothing_got : nobody;
    }
};

using two_coloured_sides =
    ::testing::Types<red_side<order::fifo>, blue_side<order::fifo>, sending_side<order::fifo>,
                     receiving_side<order::fifo>, red_side<order::lifo>, blue_side<order::lifo>,
                     sending_side<order::lifo>, receiving_side<order::lifo>>;
using all_sides = ::testing::Types<exchange_side, red_side<order::fifo>, blue_side<order::fifo>,
                                   sending_side<order::fifo>, receiving_side<order::fifo>,
                                   red_side<order::lifo>, blue_side<order::lifo>,
                                   sending_side<order::lifo>, receiving_side<order::lifo>>;
using fifo_sides = ::testing::Types<exchange_side, red_side<order::fifo>, blue_side<order::fifo>,
                                    sending_side<order::fifo>, receiving_side<order::fifo>>;
struct side_names {
    template <class Side>
    // NOLINTNEXTLINE(readability-identifier-naming): gtest's own
    static std::string GetName(int /*index*/) {
        return Side::name();
    }
};

/// The id of the item with which an operation has ended, if there is one.
inline std::optional<long> item_of(const tracked& item) {
    return item.id();
}
inline std::optional<long> item_of(const std::optional<tracked>& item) {
    return item ? std::optional<long>(item->id()) : std::nullopt;
}
template <class T, class Own>
std::optional<long> item_of(const exchange_result<T, Own>& item) {
    return item ? item->id() : item.returned().id();
}

/// How an operation has ended.
struct ended {
    error_code error;
    std::optional<long> item;
};

/// A handler that enters it.
inline auto keep_end(std::optional<ended>& end) {
    return [&end](error_code error, const auto& item) {
        EXPECT_FALSE(end) << "a handler was called twice";
        end = ended{error, item_of(item)};
    };
}

/// Expects a success, with the partner's item if the side gets one.
template <class Side>
void expect_met(const std::optional<ended>& end, long theirs) {
    ASSERT_TRUE(end);
    EXPECT_FALSE(end->error) << end->error.message();
    EXPECT_EQ(end->item, Side::gets ? std::optional<long>(theirs) : std::nullopt);
}

/// Expects a failure, with the own item if the side brings one.
template <class Side>
void expect_back(const std::optional<ended>& end, exchange_errc why, long own) {
    ASSERT_TRUE(end);
    EXPECT_EQ(end->error, make_error_code(why));
    EXPECT_EQ(end->item, Side::brings ? std::optional<long>(own) : std::nullopt);
}

/// A place of `Side`, and a context. Expects no item to be left at the end.
template <class Side>
class side_test : public ::testing::Test {
protected:
    using place = typename Side::place;
    using maybe_ended = std::optional<ended>;

    void TearDown() override {
        at.reset();
        step(io);
        EXPECT_EQ(items.alive.load(), 0);
    }

    /// The system executor may destroy an item after the test has seen the end of the operation.
    void until_the_items_are_gone() {
        while (items.alive.load() != 0) {
            std::this_thread::yield();
        }
    }

    auto keep(maybe_ended& end) { return net::bind_executor(io, keep_end(end)); }

    /// Comes as the partner of the party that brought `own`.
    void meet(long theirs, long own) {
        EXPECT_EQ(Side::meet(*at, items, theirs), Side::brings ? own : nothing_got);
    }
    void expect_nobody_waits() { EXPECT_EQ(Side::meet(*at, items, 99), nobody); }

    census items;
    net::io_context io;
    std::unique_ptr<place> at = std::make_unique<place>();
};

} // namespace tryst::test
