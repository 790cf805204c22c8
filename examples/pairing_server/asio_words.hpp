// SPDX-License-Identifier: MIT
/// @file
/// Asio, and the two words that a coroutine says to it most: `use_tuple` and `before`.
#pragma once

#include <asio.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include <optional>
#include <utility>

namespace pairing {

using asio::awaitable;
using asio::ip::tcp;

/// `auto [error, ...] = co_await async_something(..., use_tuple)`: that a client leaves is an outcome like
/// any other, not an exception.
inline constexpr auto use_tuple = asio::experimental::as_tuple(asio::use_awaitable);

/// Does `work` until `timer` expires or is cancelled.
/// @returns what `work` did; or nothing if the timer was first, and `work` has been cancelled. Not for an
///   exchange, therefore: it has a deadline of its own, which never loses an item.
template <class T>
awaitable<std::optional<T>> before(asio::steady_timer& timer, awaitable<T> work) {
    using namespace asio::experimental::awaitable_operators;
    auto first = co_await (std::move(work) || timer.async_wait(use_tuple));
    if (first.index() == 0) {
        co_return std::get<0>(std::move(first));
    }
    co_return std::nullopt;
}

} // namespace pairing
