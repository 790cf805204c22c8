// SPDX-License-Identifier: MIT
/// @file
/// Running several tasks, or other awaitables, at once, and waiting for all of them.
/// Standard library only.
#pragma once

#include <tryst/detail/run/awaitable.hpp>
#include <tryst/detail/run/join.hpp>
#include <tryst/task.hpp>

#include <array>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tryst {
/// @addtogroup waiting
/// @{

namespace detail {

/// The result of a `task<T>` as an element of a tuple or a vector.
template <class T>
using joined_value = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

template <class T>
joined_value<T> take_joined(task<T>& work) {
    if constexpr (std::is_void_v<T>) {
        work.take();
        return {};
    } else {
        return work.take();
    }
}

template <class... T>
task<std::tuple<joined_value<T>...>> join_tasks(task<T>... work) {
    join_counter group(sizeof...(T));
    {
        std::array<join_child, sizeof...(T)> children{detail::join(group, work)...};
        const start_each start{children};
        co_await join_all<const start_each<decltype(children)>>{group, start};
    }
    co_return std::tuple<joined_value<T>...>{detail::take_joined(work)...};
}

} // namespace detail

/// Runs `work...`, tasks or other awaitables, concurrently. Starts each in turn, up to its first
/// suspension; after that, each runs when it is resumed. Ends when all have ended, even if some
/// failed. It owns rvalues, which must be movable. It refers to lvalues, which must outlive it.
/// @returns  a tuple of the results, with `std::monostate` for void.
/// @throws   the first exception, in the order of the arguments; and std::bad_alloc.
/// @resumes  on the executor that it was awaited on; without an executor, where the last one ends.
/// @cancellation  none of its own: give a stop token to the operations that it awaits.
/// @sync     everything that the work did happens-before the awaiter continues.
/// @allocation  a coroutine frame for each task, two for each other awaitable, and one for
///   `when_all` itself.
template <detail::awaitable... Work>
task<std::tuple<detail::joined_value<detail::awaited<Work>>...>> when_all(Work&&... work) {
    return detail::join_tasks(detail::as_task(std::forward<Work>(work))...);
}

/// As above, for any number of tasks of one type.
/// @returns  their values, in order; nothing if they are void.
/// @allocation  as above, and two vectors.
template <class T>
task<std::conditional_t<std::is_void_v<T>, void, std::vector<detail::joined_value<T>>>>
when_all(std::vector<task<T>> work) {
    detail::join_counter group(work.size());
    {
        std::vector<detail::join_child> children;
        children.reserve(work.size());
        for (task<T>& each : work) {
            children.push_back(detail::join(group, each));
        }
        const detail::start_each start{children};
        co_await detail::join_all<const detail::start_each<decltype(children)>>{group, start};
    }
    if constexpr (std::is_void_v<T>) {
        for (task<T>& each : work) {
            each.take();
        }
    } else {
        std::vector<T> results;
        results.reserve(work.size());
        for (task<T>& each : work) {
            results.push_back(each.take());
        }
        co_return results;
    }
}

/// @}
} // namespace tryst
