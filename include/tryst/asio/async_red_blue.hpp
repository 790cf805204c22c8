// SPDX-License-Identifier: MIT
/// @file
/// Exchanges between two colours as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiating_function.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/red_blue_exchanger.hpp>

#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

struct exchanging_red {
    template <class Red, class Blue, order Order>
    static venue<red_blue_exchanger<Red, Blue, Order>, Red>
    at(red_blue_exchanger<Red, Blue, Order>&);
    static auto make(auto& at, auto&&... rest) { return at.red(std::move(rest)...); }
    static auto make_for(auto& at, auto&&... rest) { return at.red(std::move(rest)...); }
    static auto make_until(auto& at, auto&&... rest) { return at.red(std::move(rest)...); }
};
struct exchanging_blue {
    template <class Red, class Blue, order Order>
    static venue<red_blue_exchanger<Red, Blue, Order>, Blue>
    at(red_blue_exchanger<Red, Blue, Order>&);
    static auto make(auto& at, auto&&... rest) { return at.blue(std::move(rest)...); }
    static auto make_for(auto& at, auto&&... rest) { return at.blue(std::move(rest)...); }
    static auto make_until(auto& at, auto&&... rest) { return at.blue(std::move(rest)...); }
};

} // namespace detail

/// Offers an item as a red party: `async_red(ex, item, token)`. Completes when a blue party swaps,
/// or when the exchanger is closed.
///
/// The token is any completion token for `void(error_code, Item)`. If both colours bring the same
/// type, `Item` is that type: without an error the partner's item, otherwise the caller's own. If
/// not, `Item` is `exchange_result<Blue, Red>`, as `red` returns it: `*item` is the partner's item,
/// `item.returned()` the caller's own. On an rvalue, both move the item out.
///
/// Everything else is as for `async_exchange`: an I/O executor as the first argument, exceptions,
/// where the handler runs, cancellation, synchronization, and the one block that is allocated. For
/// the exchanger's own memory, see `red_blue_exchanger`.
inline constexpr detail::initiating_function<
    detail::exchanging_red, detail::limit::none,
    "async_red([io_executor,] red_blue_exchanger<Red, Blue>&, Red item, token)">
    async_red{};

/// As `async_red`, for at most `patience` (see `async_exchange_for`):
/// `async_red_for(ex, item, patience, token)`.
inline constexpr detail::initiating_function<
    detail::exchanging_red, detail::limit::patience,
    "async_red_for([io_executor,] red_blue_exchanger<Red, Blue>&, Red item, duration, token)">
    async_red_for{};

/// As `async_red`, until a `deadline` (see `async_exchange_until`):
/// `async_red_until(ex, item, deadline, token)`.
inline constexpr detail::initiating_function<
    detail::exchanging_red, detail::limit::deadline,
    "async_red_until([io_executor,] red_blue_exchanger<Red, Blue>&, Red item, steady_clock "
    "time_point, token)">
    async_red_until{};

/// As `async_red`, for the other colour. If the types differ, `Item` is `exchange_result<Red,
/// Blue>`.
inline constexpr detail::initiating_function<
    detail::exchanging_blue, detail::limit::none,
    "async_blue([io_executor,] red_blue_exchanger<Red, Blue>&, Blue item, token)">
    async_blue{};

/// As `async_red_for`, for the other colour.
inline constexpr detail::initiating_function<
    detail::exchanging_blue, detail::limit::patience,
    "async_blue_for([io_executor,] red_blue_exchanger<Red, Blue>&, Blue item, duration, token)">
    async_blue_for{};

/// As `async_red_until`, for the other colour.
inline constexpr detail::initiating_function<
    detail::exchanging_blue, detail::limit::deadline,
    "async_blue_until([io_executor,] red_blue_exchanger<Red, Blue>&, Blue item, steady_clock "
    "time_point, token)">
    async_blue_until{};

TRYST_ASIO_END
