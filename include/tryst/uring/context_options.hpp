// SPDX-License-Identifier: MIT
/// @file
/// The settings of a `context`.
/// Standard library only.
#pragma once

namespace tryst::uring {

/// The settings of a `context`.
struct context_options {
    /// Room for operations between two submissions; the kernel rounds up to a power of two.
    /// Operations beyond that wait in user space.
    unsigned entries = 256;

    /// The most often an idle context looks for work before it sleeps; as
    /// `run_loop_options::max_spins`.
    unsigned max_spins = 2'000;

    /// The most kernel threads that run `openat`, `fsync`, and reads and writes of files that
    /// block. If all of them are blocked, for instance in `openat` of a FIFO, later operations
    /// wait. 0 keeps the kernel's limit: the smaller of `entries` and four times the number of
    /// processors. All contexts on a thread share these kernel threads; if several of them set a
    /// limit, the last one to start running decides. Needs Linux 5.15; on an older kernel `run`
    /// throws.
    unsigned max_bounded_workers = 0;

    /// The most kernel threads for operations on sockets, pipes and terminals. 0 keeps the kernel's
    /// limit, which is that of the user's processes (RLIMIT_NPROC).
    unsigned max_unbounded_workers = 0;
};

} // namespace tryst::uring
