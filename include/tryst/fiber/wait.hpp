// SPDX-License-Identifier: MIT
/// @file
/// Waits for an operation in a fiber of Boost.Fiber.
/// Boost.Fiber.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/fiber/detail/wait_strategy.hpp>

/// @namespace tryst::fiber
/// The adapter for Boost.Fiber.
namespace tryst::fiber {

namespace detail {

/// An operation that a fiber's wait strategy can wait for.
template <class Operation>
concept waitable =
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

} // namespace detail

/// Waits in the calling fiber for an exchange: `wait(ex.exchange(item, 5ms, stop))`. The fiber is
/// suspended while its thread runs other fibers. Works under any scheduling algorithm and on any
/// thread. A plain thread waits as its own main fiber. Precondition: the thread is not running a
/// tryst loop, whose work it would block.
///
/// @returns     the result that `co_await` would return: `exchange_result<T>` with the partner's
///              item, or with an error and the caller's own item.
/// @throws      nothing.
/// @progress    lock-free until the fiber is suspended. A partner that wakes the fiber takes a
///              mutex of this wait. That mutex is never held across a suspension.
/// @resumes     the calling fiber, where its scheduling algorithm runs it. Under `shared_work` and
///              `work_stealing` that may be another thread. If there is a match at once, the fiber
///              does not suspend, but after 64 such matches on its thread it yields once. Otherwise
///              it yields once in the wait list, and before that once in the arena if it makes an
///              offer there. It suspends if no partner has come by then.
/// @cancellation total, as for `co_await`. The stop and the deadline take effect after these
///              yields. The fiber's scheduler serves the deadline: never early. Each ready fiber
///              may run twice between the deadline and this fiber.
/// @sync        everything before the partner's exchange happens-before this function returns, and
///              vice versa. Everything before the stop or the close that ended the wait does so,
///              too.
/// @allocation  none by the library. Boost.Fiber allocates a scheduler for each thread that waits
///              here or wakes a suspended fiber for the first time, even a plain thread or a loop.
template <class Operation>
    requires detail::waitable<Operation>
[[gnu::noinline]] auto wait(Operation&& operation) noexcept {
    detail::wait_strategy mine;
    return tryst::detail::blocking_wait(tryst::detail::operation_access::of(operation), mine);
}

/// Waits in the calling fiber for an operation of a remote exchanger or channel. The steps of the
/// operation in this process are waits as above.
/// @returns     the operation's `remote_result`.
template <class Operation>
    requires requires(Operation& operation) {
        operation.wait_with([] { return detail::wait_strategy(); });
    }
[[gnu::noinline]] auto wait(Operation&& operation) noexcept {
    return operation.wait_with([] { return detail::wait_strategy(); });
}

} // namespace tryst::fiber
