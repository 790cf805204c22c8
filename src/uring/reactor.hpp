// SPDX-License-Identifier: MIT
/// @file
/// What a context asks of the kernel: operations, sleep, and the calls that end it.
/// Linux, liburing.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>
#include <tryst/detail/run/inbox.hpp>
#include <tryst/detail/run/serial_queue.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/uring/context.hpp>
#include <tryst/uring/detail/stream.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <liburing.h>

namespace tryst::uring::detail {

/* How a context sleeps, and is called
 * Mail is in the inbox, whose word also says that the owner sleeps (detail/run/inbox.hpp). It sleeps in the
 * kernel, until any completion. The one poster that has to call it sends it a completion: from its own ring if
 * it is a context itself (IORING_OP_MSG_RING), else by writing to the owner's eventfd, which a poll
 * watches. A poster reads the numbers of ring and eventfd before it posts, and touches nothing of the
 * context after. An owner that woke by itself and finds that a poster was faster is owed that poster's
 * call: it neither says again that it sleeps nor leaves `run` before the call has come. After that no poster
 * is inside, and the context may be destroyed. A message that the kernel refuses comes back to its poster,
 * which then writes to the eventfd instead, before it leaves `run` itself. */
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
    unsigned setup_flags() const noexcept { return ring_.flags; }

    // ---- By the loop.
    /// The calling thread is about to run the loop. @throws std::system_error if it must not.
    void claim_thread();
    /// Takes back all that is in flight, to start again when the loop goes on, awaits the call that is owed
    /// to it, and sees to those that it has made.
    void come_to_rest() noexcept;

    executor_node* take_mail() noexcept { return inbox_.take(); }
    bool has_events() const noexcept;
    void fetch_events() noexcept;
    void sleep(const context::time_point* deadline) noexcept;

    // ---- By operations, on the loop.
    void start(operation_base& operation) noexcept;
    void abandon(operation_base& operation) noexcept;
    static void stop(executor_node* node) noexcept; ///< A stop was requested.

    // ---- What the kernel knows of memory.
    result<void> register_buffers(const buffer_pool& pool) noexcept;
    result<void> unregister_buffers(const buffer_pool& pool) noexcept;
    int registration_of(const buffer_pool* pool) const noexcept;
    io_uring* ring() noexcept { return &ring_; }
    std::uint16_t new_buffer_group() noexcept { return buffer_groups_++; }
    /// Whether this is a child process' copy of a context that its parent made: the ring is the parent's.
    bool is_in_child() const noexcept;

private:
    using state = operation_base::state;

    void enable();
    void limit_workers();
    void expect_no_fork() const noexcept;

    static void resume(executor_node* node) noexcept;
    static void expire(timer_node* node) noexcept;

    void take_back() noexcept;
    void submit_and_drain() noexcept;
    bool kernel_knows(unsigned kind) noexcept;

    void enqueue(operation_base& operation) noexcept;
    void fill(io_uring_sqe& entry, operation_base& operation) const noexcept;
    void cancel(operation_base& operation, bool expired) noexcept;
    void finish(operation_base& operation, int result, std::uint32_t flags = 0) noexcept;
    void disarm(operation_base& operation) noexcept;
    void start_source(stream_base& stream) noexcept;
    void wait_on(stream_base& stream, operation_base& next) noexcept;

    io_uring_sqe* new_entry() noexcept;
    bool submit_start(operation_base& operation) noexcept;
    bool submit_cancel(operation_base& operation) noexcept;
    void ask_to_cancel(operation_base& operation) noexcept;
    void flush_backlogs() noexcept;
    void flush_cancels(unsigned most = ~0u) noexcept;
    bool submit_call(int ring, int eventfd) noexcept;
    void watch_eventfd() noexcept;

    bool kernel_has_work() const noexcept;
    void wait(const context::time_point* deadline) noexcept;
    void reap() noexcept;
    void complete(std::uint64_t about, int result, std::uint32_t flags) noexcept;
    void complete(operation_base& operation, int result, std::uint32_t flags) noexcept;
    void complete(stream_base& stream, int result, std::uint32_t flags) noexcept;
    void complete_cancellation(operation_base& operation, int result) noexcept;
    void settle(operation_base& operation, int result, std::uint32_t flags) noexcept;
    void called() noexcept;

    int change_registration(int entry, std::span<std::byte> memory) noexcept;
    bool is_in_use(int registration) const noexcept;

    context& loop_;
    tryst::detail::serial_queue& ready_;
    tryst::detail::timer_heap& timers_;
    unsigned forks_; ///< Before the context was made.
    std::array<unsigned, 2> max_workers_; ///< Bounded, unbounded; 0: as the kernel has it.
    io_uring ring_{};
    descriptor eventfd_;
    std::uint8_t quiet_ =
        0; ///< The flag by which only failures are completed, if the kernel has it.
    bool can_message_ = true; ///< Until the kernel says that it does not know how.
    /// The first thread that ran the loop, and the only one; 0: none yet. Atomic for others that try.
    tryst::detail::atomic<std::uint64_t> owner_{0};

    bool asked_in_vain_ = false; ///< The kernel says that it has work, and had none.
    bool watching_ = false; ///< The poll of the eventfd is armed.
    bool dozing_ = false; ///< We said that we sleep, and have not been called.
    bool call_owed_ = false; ///< We woke by ourselves, but a poster is about to call.

    list_links starts_; ///< Operations that wait for an entry.
    list_links cancels_; ///< Operations in flight whose cancellation does.
    list_links in_flight_;

    /// The serial numbers of the registered pools; 0: a free entry of the kernel's table.
    std::array<std::uint64_t, context::max_pools> pools_{};
    bool has_table_ = false;
    std::uint16_t buffer_groups_ = 0;

    alignas(tryst::detail::line_pair) tryst::detail::inbox inbox_; // what other threads write
};

/// The reactor whose context the calling thread runs; null for none.
extern thread_local reactor* running_reactor;

} // namespace tryst::uring::detail
