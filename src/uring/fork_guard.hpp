// SPDX-License-Identifier: MIT
/// @file
/// Detects that the calling process was forked from the one that made a context.
/// POSIX.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

namespace tryst::uring::detail {

/// Ends the program with a message.
[[noreturn]] void die_in_child() noexcept;

/// Remembers the process that made it. A child shares the parent's ring, but not the ring's memory.
class fork_guard {
public:
    /// @throws std::system_error if the C library cannot register the fork handler.
    fork_guard();

    /// Whether this is a child's copy, inherited through fork(2).
    bool is_in_child() const noexcept { return forks_ != forks_so_far(); }

    /// Ends the program with a message if `is_in_child()`.
    void expect_parent() const noexcept {
        if (is_in_child()) {
            die_in_child();
        }
    }

private:
    static unsigned forks_so_far() noexcept {
        // Relaxed: the number changes only in `count_fork`, while the child has one thread only.
        return forks.load(std::memory_order_relaxed);
    }
    static void count_fork() noexcept;

    /// The number of forks between the process that made the first context and this one.
    inline static tryst::detail::atomic<unsigned> forks{0};

    unsigned forks_ = 0; ///< The number of forks before this object was made.
};

} // namespace tryst::uring::detail
