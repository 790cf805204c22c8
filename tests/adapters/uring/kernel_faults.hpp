// SPDX-License-Identifier: MIT
/// @file
/// Replaces the functions of liburing, and a few of the C library, in the program that links it.
/// The replacements count calls, fail on demand, and otherwise call the original.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <liburing.h>

namespace tryst::test {

/// Counts since the start of the program.
inline std::atomic<long> eventfd_writes{0};
inline std::atomic<long> messages{0}; ///< From ring to ring.
inline std::atomic<long> waits{0}; ///< Sleeps, including those that ended at once.
inline std::atomic<long> submissions{
    0}; ///< System calls that submit, including those that fail on demand.
inline std::atomic<long> overflows{0}; ///< Looks at a ring whose completions have overflowed.
inline std::atomic<int> asleep{0}; ///< Threads that are in a wait now.

/// Returns when `count` contexts sleep or are about to: they have looked for mail for the last
/// time.
inline void until_asleep(int count = 1) noexcept {
    while (asleep.load() != count) {
        std::this_thread::yield();
    }
}

/// While an object exists, the kernel fails as its members say. Set them before other threads use
/// the kernel. At most one object may exist.
class kernel_faults {
public:
    kernel_faults() noexcept { current.store(this); }
    kernel_faults(const kernel_faults&) = delete;
    kernel_faults& operator=(const kernel_faults&) = delete;
    ~kernel_faults() { current.store(nullptr); }

    // ---- The set-up of a ring.
    int setup_error = 0; ///< The set-up fails with this error.
    unsigned unknown_flags = 0; ///< The set-up fails with EINVAL if it has any of these flags.
    unsigned unknown_features = 0; ///< The ring lacks these features.
    int enable_error = 0; ///< Enabling the ring fails with this error.
    int eventfd_error = 0;
    int workers_error = 0; ///< Limiting the kernel's threads fails with this error.
    int table_error = 0; ///< Registering a table of buffers fails with this error.
    int buffer_ring_error = 0;
    int taken_groups = 0; ///< This many more rings of buffers fail with EEXIST.
    std::atomic<int> setups{0}; ///< The number of attempts.

    // ---- System calls.
    std::atomic<int> failing_submits{0}; ///< This many more fail with `submit_error`.
    std::atomic<int> submit_error{EAGAIN};
    bool submits_fail_at_random = false; ///< One in three fails with `submit_error`.
    std::atomic<int> early_waits{0}; ///< This many more submit, but return `wait_error` at once.
    std::atomic<int> wait_error{EINTR};
    std::function<void()> before_wake; ///< Called by each thread that is about to write an eventfd.

    // ---- The ring.
    bool claims_work = false; ///< It always says that there is task work.

    // ---- Requests.
    int unknown_operation = -1; ///< This opcode fails with EINVAL, and the probe does not list it.
    /// Sees each entry before its submission, and may change it. If it returns an error, the
    /// request has no effect and completes with that error. Never called twice at the same time.
    std::function<int(io_uring_sqe&)> on_request;

    /// The next `times` requests of that kind fail.
    void fail(io_uring_op kind, int error, int times = 1) {
        on_request = [this, kind, error, times](const io_uring_sqe& entry) mutable {
            if (entry.opcode != kind || times == 0) {
                return 0;
            }
            --times;
            ++failed;
            return error;
        };
    }
    std::atomic<int> failed{0}; ///< The number of requests that `fail` has made fail.

    /// Calls `on_request`.
    int judge(io_uring_sqe& entry) {
        if (entry.opcode == unknown_operation) {
            return -EINVAL;
        }
        const std::lock_guard lock(mutex_);
        return on_request ? on_request(entry) : 0;
    }

    inline static std::atomic<kernel_faults*> current{nullptr};

    /// True at random for one call in three; the same calls in each test.
    bool is_one_in_three() noexcept {
        // Relaxed: only a number.
        const unsigned drawn = random_.fetch_add(0x9e37'79b9, std::memory_order_relaxed);
        return (drawn ^ drawn >> 15) * 0x85eb'ca6bU % 3 == 0;
    }

private:
    std::atomic<unsigned> random_{0};
    std::mutex mutex_;
};

/// Whether it starts an operation: the user_data is the operation's address then.
inline bool is_operation(const io_uring_sqe& entry) noexcept {
    return entry.user_data > 7 && entry.user_data % 8 == 0;
}

inline bool is_multishot(const io_uring_sqe& entry) noexcept {
    return (entry.opcode == IORING_OP_ACCEPT && (entry.ioprio & IORING_ACCEPT_MULTISHOT) != 0) ||
           (entry.opcode == IORING_OP_RECV && (entry.ioprio & IORING_RECV_MULTISHOT) != 0);
}

/// Records the requests to the kernel, in order. Read it when no other thread makes requests.
class request_log {
public:
    request_log() {
        faults.on_request = [this](const io_uring_sqe& entry) {
            entries.push_back(entry);
            return 0;
        };
    }

    template <class Predicate>
    long count(Predicate is) const {
        return std::ranges::count_if(entries, is);
    }
    long count(io_uring_op kind) const {
        return count([kind](const io_uring_sqe& entry) { return entry.opcode == kind; });
    }

    std::vector<io_uring_sqe> entries;
    kernel_faults faults;
};

} // namespace tryst::test
