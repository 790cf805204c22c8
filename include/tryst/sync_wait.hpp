// SPDX-License-Identifier: MIT
/// @file
/// Waiting on a plain thread, for an exchange or a task.
/// Standard library only.
#pragma once

#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

namespace detail {

/// An operation that can wait on a thread by itself.
template <class Operation>
concept waitable = requires(Operation&& operation) { std::forward<Operation>(operation).wait(); };

using sync_wait_loop = basic_run_loop<clock, true>;

/// Runs `work` to its end, and leaves the result in it.
template <class T>
task<> finish_on(sync_wait_loop& loop, task<T>& work) {
    co_await work.when_ready();
    loop.stop();
}

} // namespace detail

/// Waits on this thread for an exchange: spins for a moment, then sleeps. Precondition: the thread
/// is not running a loop, because the wait would block the loop's work.
/// @returns the result of `co_await`.  @throws nothing.  @allocation as the operation documents.
/// @cancellation by the operation's own stop token and deadline.  @sync as for `co_await`.
template <class Operation>
    requires detail::waitable<Operation>
auto sync_wait(Operation&& operation) noexcept(
    noexcept(std::forward<Operation>(operation).wait())) {
    return std::forward<Operation>(operation).wait();
}

/// Runs a task to its end on this thread. Meanwhile the thread is the task's executor, with timers.
/// Precondition: the thread is not running a loop, because the wait would block the loop's work.
/// @returns the result of the task.  @throws what the task throws, and std::bad_alloc.
/// @allocation coroutine frames.
/// @cancellation none of its own: give a stop token to the operations that the task awaits.
/// @sync everything that the task did happens-before the return.
template <class T>
T sync_wait(task<T> work) {
    assert(detail::may_block() && "tryst: a thread that runs a loop must not block; use co_await");
    detail::sync_wait_loop loop;
    loop.spawn(detail::finish_on(loop, work));
    loop.run();
    return work.take();
}

/// @}
} // namespace tryst
