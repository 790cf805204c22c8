// SPDX-License-Identifier: MIT
/// @file
/// Sending and receiving without a buffer as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiating_function.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/synchronous_channel.hpp>

#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

struct sending {
    template <class T, order Order>
    static venue<synchronous_channel<T, Order>, T> at(synchronous_channel<T, Order>&);
    static auto make(auto& at, auto&&... rest) { return at.send(std::move(rest)...); }
    static auto make_for(auto& at, auto&&... rest) { return at.send(std::move(rest)...); }
    static auto make_until(auto& at, auto&&... rest) { return at.send(std::move(rest)...); }
};
struct receiving {
    template <class T, order Order>
    static venue<synchronous_channel<T, Order>, void> at(synchronous_channel<T, Order>&);
    static auto make(auto& at, auto&&... rest) { return at.receive(std::move(rest)...); }
    static auto make_for(auto& at, auto&&... rest) { return at.receive(std::move(rest)...); }
    static auto make_until(auto& at, auto&&... rest) {
        return at.receive(std::move(rest)...);
    }
};

} // namespace detail

/// Hands an item to a receiver: `async_send(channel, item, token)`. Completes when a receiver has
/// taken the item, or when the channel is closed.
///
/// The token is any completion token for `void(error_code, std::optional<T>)`. Without an error,
/// the optional is empty, because the receiver has the item. With an error, one of `exchange_errc`,
/// it holds the item. A token that turns errors into exceptions, such as a plain `use_awaitable`,
/// then drops the item; `as_tuple` keeps it.
///
/// Everything else is as for `async_exchange`: an I/O executor as the first argument, exceptions,
/// where the handler runs, cancellation, synchronization, and the one block that is allocated. For
/// the channel's own memory, see `red_blue_exchanger`.
inline constexpr detail::initiating_function<
    detail::sending, detail::limit::none,
    "async_send([io_executor,] synchronous_channel<T>&, T item, token)">
    async_send{};

/// As `async_send`, for at most `patience` (see `async_exchange_for`):
/// `async_send_for(channel, item, patience, token)`.
inline constexpr detail::initiating_function<
    detail::sending, detail::limit::patience,
    "async_send_for([io_executor,] synchronous_channel<T>&, T item, duration, token)">
    async_send_for{};

/// As `async_send`, until a `deadline` (see `async_exchange_until`):
/// `async_send_until(channel, item, deadline, token)`.
inline constexpr detail::initiating_function<
    detail::sending, detail::limit::deadline,
    "async_send_until([io_executor,] synchronous_channel<T>&, T item, steady_clock time_point, "
    "token)">
    async_send_until{};

/// Takes a sender's item: `async_receive(channel, token)`. Completes when it has taken an item, or
/// when the channel is closed.
///
/// The token is any completion token for `void(error_code, std::optional<T>)`. Without an error
/// there is an item; with an error there is none. So a plain `use_awaitable`, which throws the
/// error, loses nothing here: `T item = *co_await async_receive(channel, use_awaitable)`.
///
/// Everything else is as for `async_send`.
inline constexpr detail::initiating_function<
    detail::receiving, detail::limit::none,
    "async_receive([io_executor,] synchronous_channel<T>&, token)">
    async_receive{};

/// As `async_receive`, for at most `patience` (see `async_exchange_for`):
/// `async_receive_for(channel, patience, token)`.
inline constexpr detail::initiating_function<
    detail::receiving, detail::limit::patience,
    "async_receive_for([io_executor,] synchronous_channel<T>&, duration, token)">
    async_receive_for{};

/// As `async_receive`, until a `deadline` (see `async_exchange_until`):
/// `async_receive_until(channel, deadline, token)`.
inline constexpr detail::initiating_function<
    detail::receiving, detail::limit::deadline,
    "async_receive_until([io_executor,] synchronous_channel<T>&, steady_clock time_point, token)">
    async_receive_until{};

TRYST_ASIO_END
