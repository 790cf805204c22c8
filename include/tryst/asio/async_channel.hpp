// SPDX-License-Identifier: MIT
/// @file
/// Sending and receiving without a buffer as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiate_exchange.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/io_executor.hpp>
#include <tryst/synchronous_channel.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

inline constexpr auto send = [](auto& at, auto&&... rest) noexcept {
    return at.send(std::move(rest)...);
};
inline constexpr auto send_for = [](auto& at, auto&&... rest) noexcept {
    return at.send_for(std::move(rest)...);
};
inline constexpr auto send_until = [](auto& at, auto&&... rest) noexcept {
    return at.send_until(std::move(rest)...);
};
inline constexpr auto receive = [](auto& at, auto&&... rest) noexcept {
    return at.receive(std::move(rest)...);
};
inline constexpr auto receive_for = [](auto& at, auto&&... rest) noexcept {
    return at.receive_for(std::move(rest)...);
};
inline constexpr auto receive_until = [](auto& at, auto&&... rest) noexcept {
    return at.receive_until(std::move(rest)...);
};

} // namespace detail

/// Hands `item` to a receiver; completes when one has it, or when the channel is closed.
///
/// @tparam Token  any completion token for `void(error_code, std::optional<T>)`: a callback, `use_awaitable`,
///   `use_future`, `deferred`, `as_tuple(...)`. The optional is what comes back: empty without error, since the
///   item is the receiver's; with an error, one of `exchange_errc`, the item.
/// @returns     what the token makes of it. (A token that turns errors into exceptions, as a plain `use_awaitable`
///              does, drops the item then: `as_tuple` keeps it.)
///
/// All else is as for `async_exchange`: what is thrown, where the handler is resumed, cancellation by its slot, what
/// is ordered, and the one frame that is allocated; the memory of those who wait is that of `red_blue_exchanger`.
template <class T, order Order, class Token>
auto async_send(synchronous_channel<T, Order>& channel, std::type_identity_t<T> item,
                Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token), detail::send,
                              channel, std::move(item));
}

/// As above, for at most `patience`: then `timed_out`, never early (`async_exchange_for`).
template <class T, order Order, class Rep, class Period, class Token>
auto async_send_for(synchronous_channel<T, Order>& channel, std::type_identity_t<T> item,
                    std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::send_for, channel, std::move(item), patience);
}

/// As above, until `deadline` (steady_clock).
template <class T, order Order, class Duration, class Token>
auto async_send_until(synchronous_channel<T, Order>& channel, std::type_identity_t<T> item,
                      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                      Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::send_until, channel, std::move(item), deadline);
}

/// Takes a sender's item; completes when there is one, or when the channel is closed.
///
/// @tparam Token  any completion token for `void(error_code, std::optional<T>)`: without error there is an item,
///   with an error there is none. So a plain `use_awaitable`, which throws the error, loses nothing here:
///   `T item = *co_await async_receive(channel, use_awaitable)`.
///
/// All else is as for `async_send`.
template <class T, order Order, class Token>
auto async_receive(synchronous_channel<T, Order>& channel, Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token), detail::receive,
                              channel);
}
/// As above, for at most `patience`: then `timed_out`, never early.
template <class T, order Order, class Rep, class Period, class Token>
auto async_receive_for(synchronous_channel<T, Order>& channel,
                       std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::receive_for, channel, patience);
}
/// As above, until `deadline` (steady_clock).
template <class T, order Order, class Duration, class Token>
auto async_receive_until(synchronous_channel<T, Order>& channel,
                         std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                         Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::receive_until, channel, deadline);
}

/// The same with an I/O executor, as if `channel` were an I/O object of it (`async_exchange`).
template <io_executor Io, class T, order Order, class Token>
auto async_send(const Io& io, synchronous_channel<T, Order>& channel, std::type_identity_t<T> item,
                Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::send, channel,
                              std::move(item));
}
/// As above, for at most `patience`.
template <io_executor Io, class T, order Order, class Rep, class Period, class Token>
auto async_send_for(const Io& io, synchronous_channel<T, Order>& channel,
                    std::type_identity_t<T> item, std::chrono::duration<Rep, Period> patience,
                    Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::send_for, channel,
                              std::move(item), patience);
}
/// As above, until `deadline` (steady_clock).
template <io_executor Io, class T, order Order, class Duration, class Token>
auto async_send_until(const Io& io, synchronous_channel<T, Order>& channel,
                      std::type_identity_t<T> item,
                      std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                      Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::send_until, channel,
                              std::move(item), deadline);
}
/// As `async_receive`, with an I/O executor.
template <io_executor Io, class T, order Order, class Token>
auto async_receive(const Io& io, synchronous_channel<T, Order>& channel, Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::receive, channel);
}
/// As above, for at most `patience`.
template <io_executor Io, class T, order Order, class Rep, class Period, class Token>
auto async_receive_for(const Io& io, synchronous_channel<T, Order>& channel,
                       std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::receive_for, channel,
                              patience);
}
/// As above, until `deadline` (steady_clock).
template <io_executor Io, class T, order Order, class Duration, class Token>
auto async_receive_until(const Io& io, synchronous_channel<T, Order>& channel,
                         std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                         Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::receive_until, channel,
                              deadline);
}

TRYST_ASIO_END
