// SPDX-License-Identifier: MIT
/// @file
/// Waiting in a fiber of Boost.Fiber.
/// Boost.Fiber.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/fiber/detail/wait_strategy.hpp>

/// @namespace tryst::fiber
/// The adapter for Boost.Fiber.
namespace tryst::fiber {

namespace detail {

/// An operation that can wait with a fiber's wait strategy.
template <class Operation>
concept waitable =
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

} // namespace detail

/// Waits in the calling fiber for an exchange: `wait(ex.exchange(item))`, likewise `exchange_for` and
/// `exchange_until`, with or without a stop token. The fiber is suspended, its thread goes on with others.
/// Under any scheduling algorithm, on any thread; a plain thread waits as its own main fiber.
/// Precondition: the thread is not running a tryst loop, whose work it would block.
///
/// @returns     what `co_await` would: `exchange_result<T>`, the partner's item, or an error and the own
///              item back.
/// @throws      nothing.
/// @progress    lock-free until the fiber is suspended. A partner that has to wake it takes a mutex of this
///              wait's, which is never held across a suspension.
/// @resumes     the calling fiber, where its scheduling algorithm runs it: under `shared_work` and
///              `work_stealing` perhaps on another thread. A match found at once does not suspend; else the
///              fiber first yields once, and is suspended if nobody has come within that turn.
/// @cancellation total, as for `co_await`. The stop and the deadline come into force after the turn. The
///              deadline is never early, and late by at most one turn of the fiber's scheduler, which keeps it.
/// @sync        everything before the partner's exchange happens-before our return, and vice versa; so
///              does everything before the stop or the close that ended the wait.
/// @allocation  none. Boost.Fiber gives a thread a scheduler, which allocates, when the thread waits here or
///              wakes a suspended fiber for the first time, even if it is a plain thread or runs a loop.
template <class Operation>
    requires detail::waitable<Operation>
[[gnu::noinline]] auto wait(Operation&& operation) noexcept {
    detail::wait_strategy mine;
    return tryst::detail::blocking_wait(tryst::detail::operation_access::of(operation), mine);
}

} // namespace tryst::fiber
