// SPDX-License-Identifier: MIT
/// @file
/// Asio, with two helpers for coroutines: `use_tuple` and `with_timeout`.
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

/// Smaller than Asio's usual ones, which can have any type of executor.
using loop_executor = asio::io_context::executor_type;
using client_socket = tcp::socket::rebind_executor<loop_executor>::other;
using loop_timer = asio::steady_timer::rebind_executor<loop_executor>::other;

/// With `auto [error, ...] = co_await async_something(..., use_tuple)`, errors are returned and not
/// thrown, because disconnections are expected.
inline constexpr auto use_tuple = asio::experimental::as_tuple(asio::use_awaitable);

template <class T>
struct captured {
    std::optional<T> value;
    std::exception_ptr exception;
};

/// Returns the value or the exception of `work`.
template <class T>
awaitable<captured<T>> capture(awaitable<T> work) {
    try {
        co_return captured<T>{co_await std::move(work), nullptr};
    } catch (...) {
        co_return captured<T>{std::nullopt, std::current_exception()};
    }
}

/// Runs `work` until `timer` expires or is cancelled.
/// Do not use it for exchanges: the item could be lost. Exchanges have deadlines of their own.
/// @returns the value of `work`; or nullopt if the timer came first, in which case `work` has been
///   cancelled.
/// @throws the exception of `work`, at once. (By itself, `||` would go on waiting for the timer,
///   which may still succeed.)
template <class T>
awaitable<std::optional<T>> with_timeout(loop_timer& timer, awaitable<T> work) {
    using namespace asio::experimental::awaitable_operators;
    auto first = co_await (capture(std::move(work)) || timer.async_wait(use_tuple));
    if (first.index() != 0) {
        co_return std::nullopt;
    }
    auto& done = std::get<0>(first);
    if (done.exception) {
        std::rethrow_exception(done.exception);
    }
    co_return std::move(done.value);
}

} // namespace pairing
