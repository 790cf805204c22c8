// SPDX-License-Identifier: MIT
/// @file
/// The coroutine with which an owner of work runs one piece of it.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/location.hpp>
#include <tryst/detail/run/linked_list.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <exception>
#include <utility>

namespace tryst::detail {

/// A spawned task: a node that starts it, its place in the list of its owner, and the call that
/// spawned it.
struct spawned_task : executor_node, list_links<spawned_task> {
    location_slot spawned_at;
};

/// A coroutine that awaits work for its `Owner`, the first argument of the coroutine. `Owner` has
/// - `executor_ref executor()`, where the work runs;
/// - `ended(Base&)`, called there when the work has ended, which may destroy the coroutine. It
///   returns nothing, or the coroutine to resume next.
/// @tparam Base  what the owner keeps in the frame.
template <class Owner, class Base = spawned_task>
class [[nodiscard]] root {
public:
    struct promise_type : Base {
        template <class... Rest>
        explicit promise_type(Owner& work_owner, Rest&...) noexcept : owner(work_owner) {}

        root get_return_object() noexcept { return root(*this); }
        std::suspend_always initial_suspend() noexcept { return {}; }

        struct end {
            bool await_ready() const noexcept { return false; }
            auto await_suspend(std::coroutine_handle<promise_type> self) const noexcept {
                return self.promise().owner.ended(self.promise());
            }
            void await_resume() const noexcept {}
        };
        end final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }

        executor_ref executor() const noexcept { return owner.executor(); }

        Owner& owner;
    };

    /// Runs a task without an awaiter.
    static root own(Owner&, task<> work) { co_await std::move(work); }

    root(root&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    root& operator=(root&&) = delete;
    ~root() {
        if (coroutine_) {
            running_task::end(coroutine_);
            coroutine_.destroy();
        }
    }

    void start() noexcept { running_task::resume(coroutine_, running_task::tracks<promise_type>); }

    /// Gives the frame up. Its owner ends it by `coroutine(base).destroy()`.
    Base& release() noexcept { return std::exchange(coroutine_, nullptr).promise(); }

    /// The coroutine in whose frame `base` is.
    static std::coroutine_handle<> coroutine(Base& base) noexcept {
        return std::coroutine_handle<promise_type>::from_promise(static_cast<promise_type&>(base));
    }

private:
    explicit root(promise_type& promise) noexcept
        : coroutine_(std::coroutine_handle<promise_type>::from_promise(promise)) {}

    std::coroutine_handle<promise_type> coroutine_;
};

} // namespace tryst::detail
