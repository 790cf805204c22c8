// SPDX-License-Identifier: MIT
/// @file
/// What a context asks of the kernel: operations, sleep, and the calls that end it.
/// Linux, liburing.
#pragma once

#include "buffer_table.hpp"
#include "owner_thread.hpp"
#include "ring.hpp"
#include "submissions.hpp"
#include "wakeup.hpp"

#include <tryst/detail/run/serial_queue.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/uring/context.hpp>
#include <tryst/uring/detail/stream.hpp>

#include <array>
#include <cstdint>

#include <liburing.h>

namespace tryst::uring::detail {

class reactor {
public:
    /// @throws std::system_error
    reactor(context& loop, tryst::detail::serial_queue& ready, tryst::detail::timer_heap& timers,
            const context_options& options);
    reactor(const reactor&) = delete;
    reactor& operator=(const reactor&) = delete;
    ~reactor();

    // ---- From any thread.
    void deliver(executor_node* node) noexcept;
    context& loop() const noexcept { return loop_; }
    unsigned setup_flags() const noexcept { return ring_.setup_flags(); }

    // ---- By the loop.
    /// The calling thread is about to run the loop. @throws std::system_error if it must not.
    void claim_thread();
    /// Takes back all that is in flight, to start again when the loop goes on, awaits the call that is owed
    /// to it, and sees to those that it has made.
    void quiesce() noexcept;

    executor_node* take_mail() noexcept { return wakeup_.take_mail(); }
    bool has_events() const noexcept;
    void fetch_events() noexcept;
    void sleep(const context::time_point* deadline) noexcept;

    // ---- By operations, on the loop.
    void start(operation_base& operation) noexcept;
    void abandon(operation_base& operation) noexcept;
    static void stop(executor_node* node) noexcept; ///< A stop was requested.
    void finish(operation_base& operation, int result, std::uint32_t flags = 0) noexcept;
    detail::submissions& submissions() noexcept { return submissions_; }

    // ---- What the kernel knows of memory.
    result<void> register_buffers(const buffer_pool& pool) noexcept;
    result<void> unregister_buffers(const buffer_pool& pool) noexcept;
    int registration_of(const buffer_pool* pool) const noexcept { return buffers_.find(pool); }
    io_uring* ring_handle() noexcept { return ring_.handle(); }
    std::uint16_t new_buffer_group() noexcept { return buffer_groups_++; }
    /// Whether this is a child process' copy of a context that its parent made: the ring is the parent's.
    bool is_in_child() const noexcept { return ring_.is_in_child(); }

private:
    using state = operation_base::state;

    static void resume(executor_node* node) noexcept;
    static void expire(timer_node* node) noexcept;

    void submit_and_drain() noexcept;

    void cancel(operation_base& operation, bool expired) noexcept;
    void disarm(operation_base& operation) noexcept;

    static void wake(const wakeup::sleeper& other) noexcept;
    void wait(const context::time_point* deadline) noexcept;
    void complete_all() noexcept;
    void complete(const io_uring_cqe& completion) noexcept;
    void complete(operation_base& operation, int result, std::uint32_t flags) noexcept;
    void complete_cancellation(operation_base& operation, int result) noexcept;
    void settle(operation_base& operation, int result, std::uint32_t flags) noexcept;

    context& loop_;
    tryst::detail::serial_queue& ready_;
    tryst::detail::timer_heap& timers_;
    std::array<unsigned, 2> max_workers_; ///< Bounded, unbounded; 0: as the kernel has it.
    owner_thread owner_;
    ring ring_;
    detail::submissions submissions_;
    buffer_table buffers_;
    bool asked_in_vain_ = false; ///< The kernel says that it has work, and had none.

    std::uint16_t buffer_groups_ = 0;

    wakeup wakeup_; // over-aligned
};

/// The reactor whose context the calling thread runs; null for none.
extern thread_local reactor* running_reactor;

} // namespace tryst::uring::detail
