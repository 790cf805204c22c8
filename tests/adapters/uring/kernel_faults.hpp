// SPDX-License-Identifier: MIT
/// @file
/// What stands between tryst::uring and the kernel: a program that is linked with this has liburing's
/// functions, and the few of the C library's, of its own. They count, fail on demand, and pass the rest on.
#pragma once

#include <atomic>
#include <cerrno>
#include <functional>
#include <mutex>
#include <thread>

#include <liburing.h>

namespace tryst::test {

/// What was asked of the kernel, since the program began.
inline std::atomic<long> eventfd_writes{0};
inline std::atomic<long> messages{0}; ///< From ring to ring.
inline std::atomic<long> waits{0}; ///< Sleeps, those that ended at once included.
inline std::atomic<long> submissions{
    0}; ///< System calls that submit, those that fail on demand included.
inline std::atomic<long> overflows{0}; ///< Looks at a ring that had no room for all completions.
inline std::atomic<int> asleep{0}; ///< Threads that are in a wait now.

/// Returns when `count` contexts are about to sleep, or sleep: they look no more by themselves.
inline void until_asleep(int count = 1) noexcept {
    while (asleep.load() != count) {
        std::this_thread::yield();
    }
}

/// For its life, the kernel fails as its members say. To be set before the threads start that meet it. One
/// at a time.
class kernel_faults {
public:
    kernel_faults() noexcept { current.store(this); }
    kernel_faults(const kernel_faults&) = delete;
    kernel_faults& operator=(const kernel_faults&) = delete;
    ~kernel_faults() { current.store(nullptr); }

    // ---- Of a ring's set-up.
    int setup_error = 0; ///< It fails so.
    unsigned unknown_flags = 0; ///< It fails with EINVAL for any of these.
    unsigned unknown_features = 0; ///< The ring is without these.
    int enable_error = 0; ///< Enabling the ring fails so.
    int eventfd_error = 0;
    int workers_error = 0; ///< Limiting the kernel's threads fails so.
    int table_error = 0; ///< Registering a table of buffers fails so.
    int buffer_ring_error = 0;
    int taken_groups = 0; ///< So many more rings of buffers fail with EEXIST.
    std::atomic<int> setups{0}; ///< How many were tried.

    // ---- Of system calls.
    std::atomic<int> failing_submits{0}; ///< So many more fail, with
    std::atomic<int> submit_error{EAGAIN};
    bool submits_fail_at_random = false; ///< One in three, likewise.
    std::atomic<int> early_waits{0}; ///< So many more submit, but return at once, with
    std::atomic<int> wait_error{EINTR};

    // ---- Of the ring.
    bool claims_work = false; ///< It says that there is task work, always.

    // ---- Of requests.
    int unknown_operation = -1; ///< It fails with EINVAL, and the probe does not list it.
    /// Sees, and may change, each entry before its submission. If it returns an error, the request comes to
    /// nothing and completes with that; 0 lets it pass. One call at a time.
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
    std::atomic<int> failed{0}; ///< How many have, of those that `fail` is about.

    /// Calls `on_request`.
    int judge(io_uring_sqe& entry) {
        if (entry.opcode == unknown_operation) {
            return -EINVAL;
        }
        const std::lock_guard lock(mutex_);
        return on_request ? on_request(entry) : 0;
    }

    inline static std::atomic<kernel_faults*> current{nullptr};

    /// Of three, at random; the same ones in each test.
    bool is_one_in_three() noexcept {
        // Relaxed: only a number.
        const unsigned drawn = random_.fetch_add(0x9e37'79b9, std::memory_order_relaxed);
        return (drawn ^ drawn >> 15) * 0x85eb'ca6bU % 3 == 0;
    }

private:
    std::atomic<unsigned> random_{0};
    std::mutex mutex_;
};

} // namespace tryst::test
