// SPDX-License-Identifier: MIT
/// @file
/// Awaitables of any type, as tasks.
/// Standard library only.
#pragma once

#include <tryst/task.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// The awaiter that `co_await operand` uses in a task. Name it and `co_await` the name: if the
/// operand is not a name, g++ 12 copies or moves the awaiter.
template <class A>
decltype(auto) awaiter_of(A&& operand) {
    if constexpr (requires { std::forward<A>(operand).operator co_await(); }) {
        return std::forward<A>(operand).operator co_await();
    } else if constexpr (requires { operator co_await(std::forward<A>(operand)); }) {
        return operator co_await(std::forward<A>(operand));
    } else {
        return std::forward<A>(operand);
    }
}

template <class A>
using awaiter_type = std::remove_reference_t<decltype(detail::awaiter_of(std::declval<A>()))>;

/// Whether a task can `co_await` an `A`. An lvalue reference means an lvalue.
template <class A>
concept awaitable =
    requires(awaiter_type<A>& awaiter, std::coroutine_handle<task_promise<void>> coroutine) {
        { awaiter.await_ready() } -> std::convertible_to<bool>;
        awaiter.await_suspend(coroutine);
        awaiter.await_resume();
    };

/// The result of `co_await` as a value: a reference is copied.
template <class A>
using awaited = std::decay_t<decltype(std::declval<awaiter_type<A>&>().await_resume())>;

template <class>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// Awaits `work`. @tparam A  a value, which the task owns, or a reference.
template <class A>
task<awaited<A>> await_in_task(A work) {
    decltype(auto) awaiter = detail::awaiter_of(static_cast<A&&>(work));
    if constexpr (std::is_void_v<awaited<A>>) {
        co_await awaiter;
    } else {
        auto result = co_await awaiter;
        co_return std::move(result);
    }
}

/// A task that awaits `work`. Owns an rvalue, and refers to an lvalue. @throws std::bad_alloc.
template <awaitable A>
task<awaited<A>> as_task(A&& work) {
    if constexpr (is_task<A>) {
        return std::forward<A>(work);
    } else {
        constexpr bool movable = std::is_lvalue_reference_v<A> || std::move_constructible<A>;
        static_assert(movable, "tryst: this awaitable cannot be moved: store it in a variable and "
                               "pass the variable, or await it in a task");
        if constexpr (movable) {
            return detail::await_in_task<A>(std::forward<A>(work));
        }
    }
}

/// As `as_task`, for work that is spawned.
template <awaitable A>
task<> as_spawned(A&& work) {
    static_assert(std::is_void_v<awaited<A>>,
                  "tryst: spawn would lose the result; use spawn_future, or spawn a task<> "
                  "that uses the result");
    if constexpr (std::is_void_v<awaited<A>>) { // else more errors follow
        return detail::as_task(std::forward<A>(work));
    }
}

/// As `as_task`, but refers to an rvalue, too. Only for a caller that waits until the end.
template <awaitable A>
task<awaited<A>> as_local_task(A&& work) {
    if constexpr (is_task<A>) {
        return std::forward<A>(work);
    } else {
        return detail::await_in_task<A&&>(std::forward<A>(work));
    }
}

} // namespace tryst::detail
