// SPDX-License-Identifier: MIT
/// @file
/// The sides of a red-blue exchanger and of a channel, for tests that hold for each.
#pragma once

#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace tryst::test {

/// What blue parties bring.
class answer : public tracked {
public:
    using tracked::tracked;
};

// Each has `start`, `start_for` and `start_until`, which begin it, if need be with an I/O executor as the last
// argument; `meet`, which comes as the partner, and tells with what it went away, or `nobody`; and whether a
// party of this side `brings` and `gets` an item.

inline constexpr long nobody = -2;
inline constexpr long nothing_got = -1; ///< There was a partner, who brought nothing.

template <order Order>
struct blue_side;
template <order Order>
struct receiving_side;

template <order Order>
struct red_side {
    using opposite = blue_side<Order>;
    using place = red_blue_exchanger<tracked, answer, Order>;
    static constexpr bool brings = true;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "red_fifo" : "red_lifo"; }

    template <class Token, class... Io>
    static auto start(place& at, census& items, long id, Token&& token, const Io&... io) {
        return asio::async_red(io..., at, tracked(items, id), std::forward<Token>(token));
    }
    template <class Duration, class Token, class... Io>
    static auto start_for(place& at, census& items, long id, Duration patience, Token&& token,
                          const Io&... io) {
        return asio::async_red_for(io..., at, tracked(items, id), patience,
                                   std::forward<Token>(token));
    }
    template <class TimePoint, class Token, class... Io>
    static auto start_until(place& at, census& items, long id, TimePoint deadline, Token&& token,
                            const Io&... io) {
        return asio::async_red_until(io..., at, tracked(items, id), deadline,
                                     std::forward<Token>(token));
    }
    static long meet(place& at, census& items, long id) {
        const auto got = at.try_blue(answer(items, id));
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct blue_side {
    using opposite = red_side<Order>;
    using place = red_blue_exchanger<tracked, answer, Order>;
    static constexpr bool brings = true;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "blue_fifo" : "blue_lifo"; }

    template <class Token, class... Io>
    static auto start(place& at, census& items, long id, Token&& token, const Io&... io) {
        return asio::async_blue(io..., at, answer(items, id), std::forward<Token>(token));
    }
    template <class Duration, class Token, class... Io>
    static auto start_for(place& at, census& items, long id, Duration patience, Token&& token,
                          const Io&... io) {
        return asio::async_blue_for(io..., at, answer(items, id), patience,
                                    std::forward<Token>(token));
    }
    template <class TimePoint, class Token, class... Io>
    static auto start_until(place& at, census& items, long id, TimePoint deadline, Token&& token,
                            const Io&... io) {
        return asio::async_blue_until(io..., at, answer(items, id), deadline,
                                      std::forward<Token>(token));
    }
    static long meet(place& at, census& items, long id) {
        const auto got = at.try_red(tracked(items, id));
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct sending_side {
    using opposite = receiving_side<Order>;
    using place = synchronous_channel<tracked, Order>;
    static constexpr bool brings = true;
    static constexpr bool gets = false;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "send_fifo" : "send_lifo"; }

    template <class Token, class... Io>
    static auto start(place& at, census& items, long id, Token&& token, const Io&... io) {
        return asio::async_send(io..., at, tracked(items, id), std::forward<Token>(token));
    }
    template <class Duration, class Token, class... Io>
    static auto start_for(place& at, census& items, long id, Duration patience, Token&& token,
                          const Io&... io) {
        return asio::async_send_for(io..., at, tracked(items, id), patience,
                                    std::forward<Token>(token));
    }
    template <class TimePoint, class Token, class... Io>
    static auto start_until(place& at, census& items, long id, TimePoint deadline, Token&& token,
                            const Io&... io) {
        return asio::async_send_until(io..., at, tracked(items, id), deadline,
                                      std::forward<Token>(token));
    }
    static long meet(place& at, census& /*items*/, long /*none*/) {
        const auto got = at.try_receive();
        return got ? got->id() : nobody;
    }
};

template <order Order>
struct receiving_side {
    using opposite = sending_side<Order>;
    using place = synchronous_channel<tracked, Order>;
    static constexpr bool brings = false;
    static constexpr bool gets = true;
    static constexpr order served = Order;
    static std::string name() { return Order == order::fifo ? "receive_fifo" : "receive_lifo"; }

    template <class Token, class... Io>
    static auto start(place& at, census& /*items*/, long /*none*/, Token&& token, const Io&... io) {
        return asio::async_receive(io..., at, std::forward<Token>(token));
    }
    template <class Duration, class Token, class... Io>
    static auto start_for(place& at, census& /*items*/, long /*none*/, Duration patience,
                          Token&& token, const Io&... io) {
        return asio::async_receive_for(io..., at, patience, std::forward<Token>(token));
    }
    template <class TimePoint, class Token, class... Io>
    static auto start_until(place& at, census& /*items*/, long /*none*/, TimePoint deadline,
                            Token&& token, const Io&... io) {
        return asio::async_receive_until(io..., at, deadline, std::forward<Token>(token));
    }
    static long meet(place& at, census& items, long id) {
        return at.try_send(tracked(items, id)) ? nothing_got : nobody;
    }
};

using all_sides =
    ::testing::Types<red_side<order::fifo>, blue_side<order::fifo>, sending_side<order::fifo>,
                     receiving_side<order::fifo>, red_side<order::lifo>, blue_side<order::lifo>,
                     sending_side<order::lifo>, receiving_side<order::lifo>>;
struct side_names {
    template <class Side>
    // NOLINTNEXTLINE(readability-identifier-naming): gtest's own
    static std::string GetName(int /*index*/) {
        return Side::name();
    }
};

/// The number of the item with which an operation has ended, if there is one.
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

} // namespace tryst::test
