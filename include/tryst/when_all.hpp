// SPDX-License-Identifier: MIT
/// @file
/// Running several tasks at once, and waiting for all of them.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/continuation.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tryst {
/// @addtogroup waiting
/// @{

namespace detail {

/// Counts the coroutines of a group that have not finished. The awaiter is included while it starts
/// them.
struct join_counter {
    explicit join_counter(std::size_t children) noexcept : left(children + 1) {}

    /// @returns whether the caller was the last to arrive.
    bool arrive() noexcept {
        // [J1] acquire and release, pairs with itself: everything that the tasks did happens-before
        // the awaiter resumes.
        return left.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

    atomic<std::size_t> left;
    continuation awaiter;
};

/// A coroutine that runs one task of a group. The last one to finish resumes the group's awaiter.
class join_child {
public:
    struct promise_type {
        template <class Task>
        promise_type(Task&, join_counter& shared) noexcept : group(shared) {}

        join_child get_return_object() noexcept {
            return join_child(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }

        struct finish {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<>
            await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
                join_counter& all = self.promise().group;
                return all.arrive() ? all.awaiter.resume() : std::noop_coroutine();
            }
            void await_resume() const noexcept {}
        };
        finish final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); } // when_ready does not throw

        executor_ref executor() const noexcept { return group.awaiter.executor(); }

        join_counter& group;
    };

    join_child(join_child&& other) noexcept
        : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    join_child& operator=(join_child&&) = delete;
    ~join_child() {
        if (coroutine_) {
            coroutine_.destroy();
        }
    }

    void start() noexcept { coroutine_.resume(); }

private:
    explicit join_child(std::coroutine_handle<promise_type> coroutine) noexcept
        : coroutine_(coroutine) {}

    std::coroutine_handle<promise_type> coroutine_;
};

template <class Task>
join_child join(Task& work, join_counter&) {
    co_await work.when_ready();
}

/// Starts the children one after the other. The awaiting coroutine resumes when the last has
/// finished.
template <class Children>
struct join_all {
    join_counter& group;
    Children& children;

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
        group.awaiter.set(awaiting);
        for (join_child& child : children) {
            child.start();
        }
        return !group.arrive();
    }
    void await_resume() const noexcept {}
};

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

} // namespace detail

/// Runs `work...` concurrently. Starts each in turn, up to its first suspension; after that, each
/// runs when it is resumed. Ends when all have ended, even if some failed.
/// @returns  a tuple of the tasks' values, with `std::monostate` for void.
/// @throws   the first exception, in the order of the arguments; and std::bad_alloc.
/// @resumes  on the executor that it was awaited on; without an executor, where the last task ends.
/// @cancellation  none of its own: give a stop token to the operations that the tasks await.
/// @sync     everything that the tasks did happens-before the awaiter continues.
/// @allocation  a coroutine frame for each task, one for `when_all` itself, and a vector.
template <class... T>
task<std::tuple<detail::joined_value<T>...>> when_all(task<T>... work) {
    detail::join_counter group(sizeof...(T));
    {
        std::vector<detail::join_child> children;
        children.reserve(sizeof...(T));
        (children.push_back(detail::join(work, group)), ...);
        co_await detail::join_all<std::vector<detail::join_child>>{group, children};
    }
    co_return std::tuple<detail::joined_value<T>...>{detail::take_joined(work)...};
}

/// As above, for any number of tasks of one type.
/// @returns  their values, in order; nothing if they are void.
/// @allocation  as above, and a second vector for the values.
template <class T>
task<std::conditional_t<std::is_void_v<T>, void, std::vector<detail::joined_value<T>>>>
when_all(std::vector<task<T>> work) {
    detail::join_counter group(work.size());
    {
        std::vector<detail::join_child> children;
        children.reserve(work.size());
        for (task<T>& each : work) {
            children.push_back(detail::join(each, group));
        }
        co_await detail::join_all<std::vector<detail::join_child>>{group, children};
    }
    std::vector<detail::joined_value<T>> results;
    results.reserve(std::is_void_v<T> ? 0 : work.size());
    for (task<T>& each : work) {
        if constexpr (std::is_void_v<T>) {
            each.take();
        } else {
            results.push_back(each.take());
        }
    }
    if constexpr (!std::is_void_v<T>) {
        co_return results;
    }
}

/// @}
} // namespace tryst
