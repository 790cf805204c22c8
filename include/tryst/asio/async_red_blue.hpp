// SPDX-License-Identifier: MIT
/// @file
/// Exchanges between two colours as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiate_exchange.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/io_executor.hpp>
#include <tryst/red_blue_exchanger.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

inline constexpr auto red = [](auto& at, auto&&... rest) noexcept {
    return at.red(std::move(rest)...);
};
inline constexpr auto red_for = [](auto& at, auto&&... rest) noexcept {
    return at.red_for(std::move(rest)...);
};
inline constexpr auto red_until = [](auto& at, auto&&... rest) noexcept {
    return at.red_until(std::move(rest)...);
};
inline constexpr auto blue = [](auto& at, auto&&... rest) noexcept {
    return at.blue(std::move(rest)...);
};
inline constexpr auto blue_for = [](auto& at, auto&&... rest) noexcept {
    return at.blue_for(std::move(rest)...);
};
inline constexpr auto blue_until = [](auto& at, auto&&... rest) noexcept {
    return at.blue_until(std::move(rest)...);
};

} // namespace detail

/// Offers `item` as a red party; completes when a blue one swaps, or when the exchanger is closed.
///
/// @tparam Token  any completion token for `void(error_code, Item)`: a callback, `use_awaitable`, `use_future`,
///   `deferred`, `as_tuple(...)`.
///   Where both colours bring the same type, `Item` is that type, as for `async_exchange`: without error the
///   partner's item; with an error, one of `exchange_errc`, the own one.
///   Else `Item` is `exchange_result<Blue, Red>`, as of `red`: `*item` is the partner's, `item.returned()` the own
///   one. (Either is moved out of an rvalue; a `std::move(item)` goes before `*` or `.returned()`.)
/// @returns     what the token makes of it. (A token that turns errors into exceptions, as a plain `use_awaitable`
///              does, drops the item then: `as_tuple` keeps it.)
///
/// All else is as for `async_exchange`: what is thrown, where the handler is resumed, cancellation by its slot, what
/// is ordered, and the one frame that is allocated; the exchanger's own memory is said there.
template <class Red, class Blue, order Order, class Token>
auto async_red(red_blue_exchanger<Red, Blue, Order>& ex, std::type_identity_t<Red> item,
               Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token), detail::red, ex,
                              std::move(item));
}

/// As above, for at most `patience`: then `timed_out`, never early (`async_exchange_for`).
template <class Red, class Blue, order Order, class Rep, class Period, class Token>
auto async_red_for(red_blue_exchanger<Red, Blue, Order>& ex, std::type_identity_t<Red> item,
                   std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token), detail::red_for,
                              ex, std::move(item), patience);
}

/// As above, until `deadline` (steady_clock).
template <class Red, class Blue, order Order, class Duration, class Token>
auto async_red_until(red_blue_exchanger<Red, Blue, Order>& ex, std::type_identity_t<Red> item,
                     std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                     Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::red_until, ex, std::move(item), deadline);
}

/// The same for the other colour; for unlike types `Item` is `exchange_result<Red, Blue>`.
template <class Red, class Blue, order Order, class Token>
auto async_blue(red_blue_exchanger<Red, Blue, Order>& ex, std::type_identity_t<Blue> item,
                Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token), detail::blue,
                              ex, std::move(item));
}
/// As `async_red_for`.
template <class Red, class Blue, order Order, class Rep, class Period, class Token>
auto async_blue_for(red_blue_exchanger<Red, Blue, Order>& ex, std::type_identity_t<Blue> item,
                    std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::blue_for, ex, std::move(item), patience);
}
/// As `async_red_until`.
template <class Red, class Blue, order Order, class Duration, class Token>
auto async_blue_until(red_blue_exchanger<Red, Blue, Order>& ex, std::type_identity_t<Blue> item,
                      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                      Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::blue_until, ex, std::move(item), deadline);
}

/// The same with an I/O executor, as if `ex` were an I/O object of it (`async_exchange`).
template <io_executor Io, class Red, class Blue, order Order, class Token>
auto async_red(const Io& io, red_blue_exchanger<Red, Blue, Order>& ex,
               std::type_identity_t<Red> item, Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::red, ex, std::move(item));
}
/// As above, for at most `patience`.
template <io_executor Io, class Red, class Blue, order Order, class Rep, class Period, class Token>
auto async_red_for(const Io& io, red_blue_exchanger<Red, Blue, Order>& ex,
                   std::type_identity_t<Red> item, std::chrono::duration<Rep, Period> patience,
                   Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::red_for, ex, std::move(item),
                              patience);
}
/// As above, until `deadline` (steady_clock).
template <io_executor Io, class Red, class Blue, order Order, class Duration, class Token>
auto async_red_until(const Io& io, red_blue_exchanger<Red, Blue, Order>& ex,
                     std::type_identity_t<Red> item,
                     std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                     Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::red_until, ex,
                              std::move(item), deadline);
}
/// As `async_red` with an I/O executor.
template <io_executor Io, class Red, class Blue, order Order, class Token>
auto async_blue(const Io& io, red_blue_exchanger<Red, Blue, Order>& ex,
                std::type_identity_t<Blue> item, Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::blue, ex, std::move(item));
}
/// As above, for at most `patience`.
template <io_executor Io, class Red, class Blue, order Order, class Rep, class Period, class Token>
auto async_blue_for(const Io& io, red_blue_exchanger<Red, Blue, Order>& ex,
                    std::type_identity_t<Blue> item, std::chrono::duration<Rep, Period> patience,
                    Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::blue_for, ex, std::move(item),
                              patience);
}
/// As above, until `deadline` (steady_clock).
template <io_executor Io, class Red, class Blue, order Order, class Duration, class Token>
auto async_blue_until(const Io& io, red_blue_exchanger<Red, Blue, Order>& ex,
                      std::type_identity_t<Blue> item,
                      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                      Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::blue_until, ex,
                              std::move(item), deadline);
}

TRYST_ASIO_END
