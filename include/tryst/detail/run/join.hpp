// SPDX-License-Identifier: MIT
/// @file
/// A group of tasks that run at once, and the wait for all of them.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/continuation.hpp>
#include <tryst/detail/run/root.hpp>
#include <tryst/executor.hpp>

#include <coroutine>
#include <cstddef>

namespace tryst::detail {

/// Counts the coroutines of a group that have not finished. The awaiter is included while it starts
/// them.
struct join_counter {
    explicit join_counter(std::size_t children) noexcept : left(children + 1) {}

    /// @returns false if all have arrived. Otherwise the caller takes part, and must `arrive`, too.
    bool enter() noexcept {
        // Relaxed: the caller has seen the group already.
        return left.fetch_add(1, std::memory_order_relaxed) != 0;
    }

    /// @returns whether the caller was the last to arrive.
    bool arrive() noexcept {
        // [J1] acquire and release, pairs with itself: everything that the tasks did happens-before
        // the awaiter resumes.
        return left.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

    executor_ref executor() const noexcept { return awaiter.executor(); }

    std::coroutine_handle<> ended(task_promise_tag& child) noexcept {
        return arrive() ? awaiter.resume(root<join_counter, task_promise_tag>::coroutine(child))
                        : std::noop_coroutine();
    }

    atomic<std::size_t> left;
    continuation awaiter;
};

/// A coroutine that runs one task of a group. The last one to finish resumes the group's awaiter.
using join_child = root<join_counter, task_promise_tag>;

template <class Task>
join_child join(join_counter&, Task& work) {
    co_await work.when_ready();
}

/// For `join_all`.
template <class Children>
struct start_each {
    Children& children;

    void operator()() const noexcept {
        for (auto& child : children) {
            child.start();
        }
    }
};

/// Calls `start`, which starts the children one after the other. The awaiting coroutine resumes
/// when the last has finished.
template <class Start>
struct join_all {
    join_counter& group;
    Start& start;

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> awaiting,
                       location where = location::current()) noexcept {
        group.awaiter.set(awaiting, where);
        start();
        return !group.arrive();
    }
    void await_resume() const noexcept {}
};

} // namespace tryst::detail
