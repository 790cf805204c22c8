// SPDX-License-Identifier: MIT
/// @file
/// Readable errors for awaitables of tryst that are awaited directly in an `asio::awaitable`.
/// Standard library only.
#pragma once

#include <concepts>
#include <cstddef>

namespace tryst::detail {

/// A string literal as a template argument, so that compilers quote it in diagnostics.
template <std::size_t Size>
struct text {
    char characters[Size] = {};

    // Implicit, because a string literal is the template argument.
    consteval text(const char (&literal)[Size]) {
        for (std::size_t i = 0; i != Size; ++i) {
            characters[i] = literal[i];
        }
    }
};

/* How the error arises
 *  1. The promise of an `asio::awaitable` has an `await_transform` for each type that it can await.
 *     If no overload accepts an operand, compilers list all of them.
 *  2. One of them takes an `asio::this_coro::throw_if_cancelled_1_t`, which has a member `bool
 *     value`. The classes below convert to types with such a member only, so overload resolution
 *     chooses this overload.
 *  3. The conversion is deleted. The `co_await` then has no type, so no further error follows.
 *
 * g++ quotes the template arguments. clang quotes the line of the declaration with its comment.
 *
 * Rejected: an `operator()` with a failing static assertion, for the overload that takes a
 * function. More errors follow, because it moves its argument and its `co_await` returns nothing.
 *
 * Rejected: an `await_transform` in the promise of a task, for an `asio::awaitable` that is awaited
 * in a task. g++ 12 then copies awaitables that cannot be copied. */
template <class Tag>
concept asio_tag = requires { requires std::same_as<decltype(Tag::value), bool>; };

/// A base class of exchanges.
struct exchange_not_in_asio {
    template <asio_tag Tag, text Instead = "co_await tryst::asio::wait(operation)">
    operator Tag() const = delete; // write: co_await tryst::asio::wait(operation)
};

/// A base class of tasks.
struct task_not_in_asio {
    template <asio_tag Tag,
              text Instead = "co_await tryst::asio::async_wait(task, asio::use_awaitable)">
    operator Tag() const = delete; // co_await tryst::asio::async_wait(task, asio::use_awaitable)
};

/// A base class of other awaitables.
struct not_in_asio {
    template <asio_tag Tag, text Instead = "await it in a tryst::task on its own executor">
    operator Tag() const = delete; // write: await it in a tryst::task on its own executor
};

} // namespace tryst::detail
