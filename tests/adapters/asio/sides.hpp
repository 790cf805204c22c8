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
#include <ostream>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::test {

/// The items of blue parties.
class answer : public tracked {
public:
    using tracked::tracked;
};

inline constexpr long nobody = -2;
inline constexpr long nothing_got = -1; ///< There was a partner, which brought nothing.

/// One side of an exchanger or a channel. A party `brings` an `Item`, unless that is void.
/// `operation` makes its operation, with any limits, and `start` begins it. Derived classes add
/// `make`, and `meet`, which comes as the partner and returns the id of the item that it receives,
/// `nothing_got` or `nobody`.
template <class Side, class Place, class Item>
struct side {
    using place = Place;
    static constexpr bool brings = !std::is_void_v<Item>;

    template <class... Limit>
    static auto operation(place& at, census& items, long id, Limit... limit) {
        if constexpr (brings) {
            return Side::make(at, Item(items, id), limit...);
        } else {
            return Side::make(at, limit...);
        }
    }
    template <class Token, class... Limit>
    static auto start(place& at, census& items, long id, Token&& token, Limit... limit) {
        return asio::async_wait(operation(at, items, id, limit...), std::forward<Token>(token));
    }
};

struct exchange_side : side<exchange_side, exchanger<tracked>, tracked> {
    using opposite = exchange_side;
    static constexpr bool gets = true;
    static std::string name() { return "exchange"; }
    static auto make(place& at, tracked mine, auto... limit) {
        return at.exchange(std::move(mine), limit...);
    }
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
struct red_side : side<red_side<Order>, red_blue_exchanger<tracked, answer, Order>, tracked> {
    using opposite = blue_side<Order>;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "red_fifo" : "red_lifo"; }
    static auto make(typename red_side::place& at, tracked mine, auto... limit) {
        return at.red(std::move(mine), limit...);
    }
    static long meet(typename red_side::place& at, census& items, long id) {
        const auto got = at.try_blue(answer(items, id));
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct blue_side : side<blue_side<Order>, red_blue_exchanger<tracked, answer, Order>, answer> {
    using opposite = red_side<Order>;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "blue_fifo" : "blue_lifo"; }
    static auto make(typename blue_side::place& at, answer mine, auto... limit) {
        return at.blue(std::move(mine), limit...);
    }
    static long meet(typename blue_side::place& at, census& items, long id) {
        const auto got = at.try_red(tracked(items, id));
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct sending_side : side<sending_side<Order>, synchronous_channel<tracked, Order>, tracked> {
    using opposite = receiving_side<Order>;
    static constexpr bool gets = false;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "send_fifo" : "send_lifo"; }
    static auto make(typename sending_side::place& at, tracked mine, auto... limit) {
        return at.send(std::move(mine), limit...);
    }
    static long meet(typename sending_side::place& at, census& /*items*/, long /*none*/) {
        const auto got = at.try_receive();
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct receiving_side : side<receiving_side<Order>, synchronous_channel<tracked, Order>, void> {
    using opposite = sending_side<Order>;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "receive_fifo" : "receive_lifo"; }
    static auto make(typename receiving_side::place& at, auto... limit) {
        return at.receive(limit...);
    }
    static long meet(typename receiving_side::place& at, census& items, long id) {
        return at.try_send(tracked(items, id)) ? nothing_got : nobody;
    }
};

/// A channel with a buffer. It has no space, so that each send waits.
struct buffer_place : channel<tracked> {
    buffer_place() : channel(0) {}
    std::vector<tracked> lent; ///< By the sender of an array.
};
/// One whose receiver takes several items.
struct batch_place : buffer_place {
    std::vector<tracked> received;
};

struct buffer_receiving_side;

struct buffer_sending_side : side<buffer_sending_side, buffer_place, tracked> {
    using opposite = buffer_receiving_side;
    static constexpr bool gets = false;
    static std::string name() { return "send_buffer"; }
    static auto make(place& at, tracked mine, auto... limit) {
        return at.send(std::move(mine), limit...);
    }
    static long meet(place& at, census& /*items*/, long /*none*/) {
        const auto got = at.try_receive();
        return got ? got->id() : nobody;
    }
};

struct buffer_receiving_side : side<buffer_receiving_side, buffer_place, void> {
    using opposite = buffer_sending_side;
    static constexpr bool gets = true;
    static std::string name() { return "receive_buffer"; }
    static auto make(place& at, auto... limit) { return at.receive(limit...); }
    static long meet(place& at, census& items, long id) {
        return at.try_send(tracked(items, id)) ? nothing_got : nobody;
    }
};

/// Its item comes back in the array.
struct batch_sending_side : buffer_sending_side {
    static std::string name() { return "send_all"; }
    static auto make(place& at, tracked mine, auto... limit) {
        at.lent.clear();
        at.lent.push_back(std::move(mine));
        return at.send_all(at.lent, limit...);
    }
};

struct batch_receiving_side : side<batch_receiving_side, batch_place, void> {
    static constexpr bool gets = true;
    static std::string name() { return "receive_all"; }
    static auto make(place& at, auto... limit) { return at.receive_all(at.received, 7, limit...); }
    static long meet(place& at, census& items, long id) {
        return buffer_receiving_side::meet(at, items, id);
    }
};

using fifo_sides =
    ::testing::Types<exchange_side, red_side<order::fifo>, blue_side<order::fifo>,
                     sending_side<order::fifo>, receiving_side<order::fifo>, buffer_sending_side,
                     buffer_receiving_side, batch_sending_side, batch_receiving_side>;
struct side_names {
    template <class Side>
    // NOLINTNEXTLINE(readability-identifier-naming): gtest's own
    static std::string GetName(int /*index*/) {
        return Side::name();
    }
};

/// The id of the item in a result, if there is one.
template <class T, class Own>
std::optional<long> item_of(const exchange_result<T, Own>& result) {
    if (result) {
        if constexpr (!std::is_void_v<T>) {
            return result->id();
        }
    } else if constexpr (!std::is_void_v<Own>) {
        if constexpr (requires { result.returned().front(); }) {
            return result.returned().size() == 1 ? result.returned().front().id() : nobody;
        } else {
            return result.returned().id();
        }
    }
    return std::nullopt;
}

/// How an operation has ended.
struct ended {
    std::error_code error;
    std::optional<long> item;
    bool operator==(const ended&) const = default;
};
inline void PrintTo(const ended& end, std::ostream* to) {
    *to << end.error.message() << ", item " << end.item.value_or(nothing_got);
}
template <class T, class Own>
ended ended_of(const exchange_result<T, Own>& result) {
    return {result.error(), item_of(result)};
}

/// A handler that enters it.
inline auto keep_end(std::optional<ended>& end) {
    return [&end](const auto& result) {
        EXPECT_FALSE(end) << "a handler was called twice";
        end = ended_of(result);
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
