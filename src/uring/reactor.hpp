// SPDX-License-Identifier: MIT
/// @file
/// The compiled part of a context: connects its loop and its operations to the kernel.
#pragma once

#include "buffer_table.hpp"
#include "ring.hpp"
#include "submissions.hpp"
#include "wakeup.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/serial_queue.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/uring/context.hpp>
#include <tryst/uring/detail/stream.hpp>

#include <array>
#include <cstdint>

#include <liburing.h>

namespace tryst::uring::detail {

/* From `co_await` to the resumption
 *   1. `start` (operation.cpp) arms the timer and the stop callback, and hands the operation to
 *      `submissions`, which writes it into the ring.
 *   2. The loop calls `fetch_events`, or `sleep` if nothing is ready (reactor.cpp). Both enter the
 *      kernel, and then call `complete_all`.
 *   3. `complete` (completion.cpp) is called for each completion. Here a completion becomes a
 *      resumption: `finish` puts the operation's node into the loop's queue, and `resume`, run by
 *      the loop, resumes the coroutine.
 *   4. A stop, a deadline, or the destruction of the coroutine calls `cancel` (operation.cpp). The
 *      operation still ends by step 3 if the kernel has it (I37).
 * operation.cpp and stream.cpp also contain members of operation_base and stream_base. The states
 * are in tryst/uring/detail/operation_base.hpp. For sleep see wakeup.hpp. */
class reactor {
public:
    /// @throws std::system_error
    reactor(context& loop, tryst::detail::serial_queue& ready, tryst::detail::timer_heap& timers,
            const context_options& options);
    reactor(const reactor&) = delete;
    reactor& operator=(const reactor&) = delete;
    ~reactor();

    // ---- By any thread.
    void deliver(executor_node* node) noexcept;
    context& loop() const noexcept { return loop_; }
    unsigned setup_flags() const noexcept { return ring_.setup_flags(); }

    // ---- By the loop.
    /// Binds the context to the calling thread, which is about to run it.
    /// @throws std::system_error if it is bound to another one.
    void claim_thread();
    /// Cancels all operations in flight, which start again when the loop runs again. Waits until
    /// the kernel has none of them (I36), until no wake is owed (I32), and until the messages that
    /// this context sent have been accepted or refused (I34).
    void quiesce() noexcept;

    executor_node* take_mail() noexcept { return wakeup_.take_mail(); }
    bool has_events() const noexcept;
    void fetch_events() noexcept;
    /// Sleeps until there are events or `deadline` passes; null: no deadline. May return early.
    void sleep(const context::time_point* deadline) noexcept;

    // ---- By operations and streams, on the loop.
    void start(operation_base& operation) noexcept;
    void finish(operation_base& operation, int result, std::uint32_t flags = 0) noexcept;
    void abandon(operation_base& operation) noexcept;
    static void stop(executor_node* node) noexcept; ///< Run for an operation whose stop was posted.
    detail::submissions& submissions() noexcept { return submissions_; }

    // ---- Registered memory.
    result<void> register_buffers(const buffer_pool& pool) noexcept;
    result<void> unregister_buffers(const buffer_pool& pool) noexcept;
    /// The pool's entry in the kernel's table; -1 if it has none.
    int registration_of(const buffer_pool* pool) const noexcept { return buffers_.find(pool); }
    io_uring* ring_handle() noexcept { return ring_.handle(); }
    std::uint16_t new_buffer_group() noexcept { return buffer_groups_++; }
    /// Whether this is a child's copy of a context whose ring belongs to the parent.
    bool is_in_child() const noexcept { return ring_.is_in_child(); }

private:
    using state = operation_state;

    bool is_owner() const noexcept;
    void cancel(operation_base& operation, end_reason why) noexcept;
    void disarm(operation_base& operation) noexcept;
    static void expire(timer_node* node) noexcept;

    void complete_all() noexcept;
    void complete(const io_uring_cqe& completion) noexcept;
    void complete_operation(operation_base& operation, int result, std::uint32_t flags) noexcept;
    void complete_cancellation(operation_base& operation, int answer) noexcept;
    void conclude(operation_base& operation, int result, std::uint32_t flags) noexcept;
    static void resume(executor_node* node) noexcept;

    static void wake(const wakeup::sleeper& other) noexcept;
    void wait(const context::time_point* deadline) noexcept;
    void run_all_tasks() noexcept;

    context& loop_;
    tryst::detail::serial_queue& ready_;
    tryst::detail::timer_heap& timers_;
    std::array<unsigned, 2> max_workers_; ///< Bounded, unbounded; 0 keeps the kernel's limit.
    /// The number of the thread that runs the context; 0 before the first run. Atomic because
    /// threads that are refused read it, too.
    tryst::detail::atomic<std::uint64_t> owner_{0};
    ring ring_;
    detail::submissions submissions_;
    buffer_table buffers_;
    std::uint16_t buffer_groups_ = 0; ///< The number of the next group of provided buffers.
    bool is_flag_stale_ = false; ///< The kernel's flag for task work is set, but there was none.
    wakeup wakeup_; // last, because it is aligned to cache lines
};

/// The reactor whose context the calling thread runs; null for none.
extern thread_local reactor* running_reactor;

} // namespace tryst::uring::detail
