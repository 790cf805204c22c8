// SPDX-License-Identifier: MIT
/// @file
/// A group of tasks that run at once, and the wait for all of them.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/continuation.hpp>
#include <tryst/executor.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <utility>

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

    atomic<std::size_t> left;
    continuation awaiter;
};

/// A coroutine that runs one task of a group. The last one to finish resumes the group's awaiter.
class join_child {
public:
    struct promise_type : task_promise_tag {
        template <class Task, class... Rest>
        promise_type(Task&, join_counter& shared, Rest&...) noexcept : group(shared) {}

        join_child get_return_object() noexcept {
            return join_child(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() noexcept { return {}; }

        struct finish {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<>
            await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
                join_counter& all = self.promise().group;
                return all.arrive() ? all.awaiter.resume(self) : std::noop_coroutine();
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
            running_task::end(coroutine_);
            coroutine_.destroy();
        }
    }

    void start() noexcept { running_task::resume(coroutine_, true); }

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

} // namespace tryst::detail
