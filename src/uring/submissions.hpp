// SPDX-License-Identifier: MIT
/// @file
/// The operations of a context that are in the kernel or on their way there, and their
/// cancellations.
#pragma once

#include "ring.hpp"

#include <tryst/uring/detail/operation_base.hpp>

#include <cstdint>

namespace tryst::uring::detail {

/* Three lists
 *   queued     operations that wait for an entry of the submission queue
 *   in flight  operations that the kernel has
 *   cancels    operations that the kernel has, and whose cancellation waits for an entry
 * Which list an operation is in follows from its state (tryst/uring/detail/operation_base.hpp).
 * Normally `queued` and `cancels` are empty: an entry is missing only while the kernel refuses
 * submissions, for instance because it has no memory.
 *
 * The order of cancellations when `run` returns:
 *   1. The kernel searches a list from one end for the operation to cancel. If the operation is at
 *      the other end each time, the searches take time quadratic in the number of operations.
 *   2. Operations that wait for a file are in the ring's hash table of polls. It has at most 256
 *      lists, each with the newest operation first. So the newest is cancelled first.
 *   3. Operations that wait for a worker are in the workers' queue, which begins with the oldest.
 *      So the oldest is cancelled first. Every search goes through this queue before the hash
 *      table, so the queue is emptied before the table.
 *   4. When the context runs again, operations start in their old order: they end in the order of
 *      their cancellations, and `restart` puts each at the front or at the back of `queued`. */
class submissions {
public:
    explicit submissions(ring& owners) noexcept : ring_(owners) {}
    submissions(const submissions&) = delete;
    submissions& operator=(const submissions&) = delete;

    bool empty() const noexcept { return queued_.alone() && !has_any_in_kernel(); }
    bool has_any_in_kernel() const noexcept { return !in_flight_.alone() || has_cancels(); }
    bool has_cancels() const noexcept { return !cancels_.alone(); }
    /// Whether anything waits for an entry.
    bool has_backlog() const noexcept { return !queued_.alone() || has_cancels(); }
    /// Whether a fixed read or write uses this entry of the table of buffers.
    bool uses_buffer(int entry) const noexcept;

    /// Submits a new operation, behind those that wait for an entry.
    void submit(operation_base& operation) noexcept;
    /// Queues an operation behind the others, to be submitted by `flush`.
    void queue(operation_base& operation) noexcept;
    /// Queues an operation that was interrupted, or cancelled because `run` returned.
    void restart(operation_base& operation) noexcept;

    /// Asks the kernel to cancel an operation, unless that has been done.
    void cancel(operation_base& operation) noexcept;
    /// Queues the cancellation again, because the kernel has not found the operation; gives up
    /// after some attempts, unless the kernel still has task work.
    void retry_cancel(operation_base& operation) noexcept;
    /// Queues a cancellation of each operation that the kernel has, except `close` operations.
    void cancel_all() noexcept;

    /// Submits operations and cancellations that wait for an entry, while there are entries.
    void flush() noexcept {
        if (has_backlog()) {
            flush_backlog();
        }
    }
    void flush_cancels(unsigned most = ~0u) noexcept;

private:
    void queue_before(list_links& place, operation_base& operation) noexcept;
    void flush_backlog() noexcept;
    bool try_submit(operation_base& operation) noexcept;
    bool try_submit_cancel(operation_base& operation) noexcept;

    ring& ring_;
    list_links queued_;
    list_links cancels_;
    list_links in_flight_;
};

} // namespace tryst::uring::detail
