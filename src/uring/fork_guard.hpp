// SPDX-License-Identifier: MIT
/// @file
/// Detects that the calling process is a fork of the one that made a context.
/// POSIX.
#pragma once

namespace tryst::uring::detail {

/// Remembers the process that made it. A child shares the parent's ring, but not the ring's memory.
class fork_guard {
public:
    /// @throws std::system_error if the C library cannot register the fork handler.
    fork_guard();

    /// Whether this is a child's copy, inherited through fork(2).
    bool is_in_child() const noexcept;

    /// Ends the program with a message if `is_in_child()`.
    void expect_parent() const noexcept;

private:
    unsigned forks_; ///< The number of forks before this object was made.
};

[[noreturn]] void die_in_child() noexcept;

} // namespace tryst::uring::detail
