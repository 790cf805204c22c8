// SPDX-License-Identifier: MIT
/// @file
/// One io_uring: its set-up, its two queues, and the errors of the system calls that serve them.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>

#include <liburing.h>

namespace tryst::uring::detail {

/// The kind of a completion.
enum class tag : std::uint8_t {
    operation, ///< An operation ended, or a multishot one has a result. With its address.
    cancellation, ///< The answer to a request for cancellation. With the operation's address.
    eventfd, ///< The poll of this context's eventfd ended.
    wake, ///< A message from another context, which wakes this one.
    sent_wake, ///< A message to another context was sent or refused. With that context's eventfd.
    ignored, ///< No action is needed.
};

/// Addresses with a tag must be multiples of this.
inline constexpr std::uint64_t tag_values = 8;

/// The word that goes to the kernel and comes back, and the parts that it is made of.
struct user_data {
    std::uint64_t word;

    user_data(std::uint64_t raw) noexcept : word(raw) {}
    user_data(tag kind) noexcept : word(static_cast<std::uint64_t>(kind)) {}
    user_data(tag kind, const void* address) noexcept
        : word(reinterpret_cast<std::uintptr_t>(address) | static_cast<std::uint64_t>(kind)) {}
    user_data(tag kind, int number) noexcept
        : word(static_cast<std::uint64_t>(number) * tag_values | static_cast<std::uint64_t>(kind)) {
    }

    tag kind() const noexcept { return static_cast<tag>(word % tag_values); }
    int number() const noexcept { return static_cast<int>(word / tag_values); }
    template <class T>
    T& target() const noexcept {
        static_assert(alignof(T) >= tag_values);
        return *reinterpret_cast<T*>(word - word % tag_values);
    }
};

/* The ring
 *   new_entry --> submission queue --submit, submit_and_run_tasks, wait--> kernel
 *   kernel --task work--> completion queue --drain--> the caller
 *
 * Task work is work that the kernel defers until the ring's thread enters the kernel. Completions
 * that do not fit into the queue overflow: the kernel keeps them and sets a flag of the ring, which
 * `has_task_work` reads. The next call that runs task work fetches them.
 *
 * I29. One thread uses a ring: the one that called `enable`.
 * I30. After `enable`, no call of a ring reports an error. After a temporary error the caller tries
 *     again in its next round. Any other error ends the program, because the completions that it
 *     waits for would never arrive.
 *
 * A child process shares its parent's ring, but not the ring's memory, so it must not use it. */
class ring {
public:
    using time_point = tryst::detail::clock::time_point;

    /// Sets up the best ring that the kernel supports.
    /// @param entries  room for submissions; the kernel rounds up to a power of two.
    /// @throws std::system_error
    explicit ring(unsigned entries);
    ring(const ring&) = delete;
    ring& operator=(const ring&) = delete;
    ~ring();

    /// Binds the ring to the calling thread (I29).
    /// @param max_workers  bounded, unbounded; 0 keeps the kernel's limit. The kernel keeps a pool
    ///   of workers for each thread, not for each ring.
    /// @throws std::system_error
    void enable(std::array<unsigned, 2> max_workers);

    int descriptor() const noexcept { return ring_.ring_fd; }
    unsigned setup_flags() const noexcept { return ring_.flags; }
    /// For liburing's registrations.
    io_uring* handle() noexcept { return &ring_; }
    /// Whether this is a child's copy, inherited through fork(2).
    bool is_in_child() const noexcept { return forks_ != forks_so_far(); }
    /// Ends the program with a message if `is_in_child()`.
    void expect_parent() const noexcept {
        if (is_in_child()) {
            die_in_child();
        }
    }

    // ---- Submissions.

    /// An entry with no other arguments yet, to be submitted with the next system call; null if the
    /// kernel takes none now.
    io_uring_sqe* new_entry(io_uring_op code, user_data about) noexcept {
        expect_parent();
        io_uring_sqe* entry = io_uring_get_sqe(&ring_);
        if (entry == nullptr) {
            submit(); // may fail for now
            entry = io_uring_get_sqe(&ring_);
        }
        if (entry != nullptr) {
            std::memset(entry, 0, sizeof(*entry));
            entry->opcode = static_cast<std::uint8_t>(code);
            entry->user_data = about.word;
        }
        return entry;
    }

    /// Turns an entry that the kernel has not taken yet into one without effect.
    void revoke(io_uring_sqe& entry) noexcept;

    /// The entry flag that suppresses the completion of a success; 0 if the kernel lacks it.
    unsigned char quiet_flag() const noexcept {
        return (ring_.features & IORING_FEAT_CQE_SKIP) != 0 ? IOSQE_CQE_SKIP_SUCCESS : 0;
    }
    bool has_unsubmitted() const noexcept { return io_uring_sq_ready(&ring_) != 0; }
    void submit() noexcept;
    void submit_and_run_tasks() noexcept;

    // ---- Completions.

    bool has_completions() const noexcept { return io_uring_cq_ready(&ring_) != 0; }
    /// Whether the kernel says that it has task work or overflowed completions for `run_tasks`.
    bool has_task_work() const noexcept {
        return (IO_URING_READ_ONCE(*ring_.sq.kflags) &
                (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
    }
    void run_tasks() noexcept;
    /// Submits, and sleeps until there is a completion or `deadline` passes; null: no deadline.
    void wait(const time_point* deadline) noexcept;

    /// Calls `complete(const io_uring_cqe&)` for each completion, oldest first.
    template <class Complete>
    void drain(Complete complete) noexcept {
        unsigned head = 0;
        unsigned count = 0;
        const io_uring_cqe* completion = nullptr;
        io_uring_for_each_cqe(&ring_, head, completion) {
            ++count;
            complete(*completion);
        }
        io_uring_cq_advance(&ring_, count);
    }

    /// Whether the kernel knows this opcode. It fails an unknown one with EINVAL, as it does for
    /// wrong arguments.
    bool knows(unsigned kernel_opcode) noexcept;

private:
    [[noreturn]] static void die_in_child() noexcept;
    static void expect_temporary(int answer) noexcept;
    static unsigned forks_so_far() noexcept {
        // Relaxed: the number changes only while the child has one thread only.
        return forks.load(std::memory_order_relaxed);
    }

    /// The number of forks between the process that made the first ring and this one.
    inline static tryst::detail::atomic<unsigned> forks{0};

    io_uring ring_;
    unsigned forks_; ///< The number of forks before this ring was made.
};

} // namespace tryst::uring::detail
