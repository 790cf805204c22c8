// SPDX-License-Identifier: MIT
/// @file
/// Which tasks the calling thread runs. With assertions, a task that destroys itself is found.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cassert>
#include <concepts>
#include <coroutine>
#include <utility>

namespace tryst::detail {

/// A base class of the promises of tasks.
struct task_promise_tag {};

/// The innermost task that a thread runs.
struct [[gnu::visibility("default")]] innermost_task {
    class running_task* task = nullptr;
};

/// A task that the calling thread runs, on the stack of the function that resumes it. A task is no
/// longer in such a record once it is destroyed. So a task that is in one when it is about to be
/// destroyed is its own end: it would go on in freed memory. This is for assertions only.
class running_task {
public:
    explicit running_task(std::coroutine_handle<> task) noexcept
        : frame_(task.address()), outer_(std::exchange(innermost(), this)) {}
    running_task(running_task&&) = delete;
    ~running_task() { innermost() = outer_; }

    template <class Promise>
    static constexpr bool tracks = std::derived_from<Promise, task_promise_tag>;

    /// Resumes a coroutine, which is a task if `is_task`.
    static void resume(std::coroutine_handle<> coroutine, [[maybe_unused]] bool is_task) noexcept {
#ifndef NDEBUG
        if (is_task) {
            const running_task here(coroutine);
            coroutine.resume();
            return;
        }
#endif
        coroutine.resume();
    }

    /// The running task `from` has finished, and `to` is resumed in its place.
    static void pass_on([[maybe_unused]] std::coroutine_handle<> from,
                        [[maybe_unused]] std::coroutine_handle<> to,
                        [[maybe_unused]] bool is_task) noexcept {
#ifndef NDEBUG
        running_task* const here = innermost();
        if (here != nullptr && here->frame_ == from.address()) {
            here->frame_ = is_task ? to.address() : nullptr;
        }
#endif
    }

    /// Call before `task` is destroyed.
    static void end([[maybe_unused]] std::coroutine_handle<> task) noexcept {
#ifndef NDEBUG
        forget(task);
#endif
    }

private:
    static running_task*& innermost() noexcept { return per_thread<innermost_task>().task; }

    /// Not inlined, so that a debugger can still read the coroutines that destroy tasks.
    [[gnu::noinline]] static void forget(std::coroutine_handle<> task) noexcept {
        for (running_task* each = innermost(); each != nullptr; each = each->outer_) {
            if (each->frame_ == task.address()) {
                assert(task.done() && "tryst: a task destroyed itself, or its scope or loop");
                each->frame_ = nullptr;
            }
        }
    }

    const void* frame_;
    running_task* outer_;
};

} // namespace tryst::detail
