// SPDX-License-Identifier: MIT
/// @file
/// Asio, and the two words that a coroutine says to it most: `use_tuple` and `before`.
#pragma once

#include <asio.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/awaitable_operators.hpp>

#include <exception>
#include <optional>
#include <utility>

namespace pairing {

using asio::awaitable;
using asio::ip::tcp;

/// `auto [error, ...] = co_await async_something(..., use_tuple)`: that a client leaves is an outcome like
/// any other, not an exception.
inline constexpr auto use_tuple = asio::experimental::as_tuple(asio::use_awaitable);

template <class T>
struct attempted {
    std::optional<T> returned;
    std::exception_ptr thrown;
};

/// What `work` returned, or what it threw.
template <class T>
awaitable<attempted<T>> attempt(awaitable<T> work) {
    try {
        co_return attempted<T>{co_await std::move(work), nullptr};
    } catch (...) {
        co_return attempted<T>{std::nullopt, std::current_exception()};
    }
}

/// Does `work` until `timer` expires or is cancelled.
/// @returns what `work` did; or nothing if the timer was first, and `work` has been cancelled. Not for an
///   exchange, therefore: it has a deadline of its own, which never loses an item.
/// @throws what `work` throws. At once: `||` by itself waits for the timer then, which may still succeed.
template <class T>
awaitable<std::optional<T>> before(asio::steady_timer& timer, awaitable<T> work) {
    using namespace asio::experimental::awaitable_operators;
    auto first = co_await (attempt(std::move(work)) || timer.async_wait(use_tuple));
    if (first.index() != 0) {
        co_return std::nullopt;
    }
    auto& done = std::get<0>(first);
    if (done.thrown) {
        std::rethrow_exception(done.thrown);
    }
    co_return std::move(done.returned);
}

} // namespace pairing
