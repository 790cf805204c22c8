// SPDX-License-Identifier: MIT
/// @file
/// Waiting on a plain thread, for an exchange, a task or any other awaitable.
/// Standard library only.
#pragma once

#include <tryst/detail/run/awaitable.hpp>
#include <tryst/run_loop.hpp>

#include <cassert>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

namespace detail {

/// An operation that can wait on a thread by itself.
template <class Operation>
concept waitable = requires(Operation&& operation, location where) {
    std::forward<Operation>(operation).wait(where);
};

using sync_wait_loop = basic_run_loop<temporary_clock>;

} // namespace detail

/// Waits on this thread for an exchange: spins for a moment, then sleeps. Precondition: the thread
/// is not running a loop, because the wait would block the loop's work.
/// @param where  the call, for debuggers.
/// @returns the result of `co_await`.  @throws nothing.  @allocation as the operation documents.
/// @cancellation by the operation's own stop token and deadline.  @sync as for `co_await`.
template <class Operation>
    requires detail::waitable<Operation>
auto sync_wait(Operation&& operation,
               detail::location where =
                   detail::location::current()) noexcept(noexcept(std::forward<Operation>(operation)
                                                                      .wait(where))) {
    return std::forward<Operation>(operation).wait(where);
}

/// Waits on this thread for a task, or another awaitable, as for an exchange. Meanwhile the thread
/// is its executor, with timers.
/// @returns the result of `work`.  @throws what `work` throws, and std::bad_alloc.
/// @allocation coroutine frames.
/// @cancellation none of its own: give a stop token to the operations that `work` awaits.
/// @sync everything that `work` did happens-before the return.
template <detail::awaitable Work>
    requires(!detail::waitable<Work>)
detail::awaited<Work> sync_wait(Work&& work, detail::location where = detail::location::current()) {
    assert(detail::may_block() && "tryst: a thread that runs a loop must not block; use co_await");
    detail::sync_wait_loop loop;
    return loop.run(std::forward<Work>(work), where);
}

/// @}
} // namespace tryst
