// SPDX-License-Identifier: MIT
/// @file
/// The settings of a `context`.
#pragma once

namespace tryst::uring {

/// The settings of a `context`.
struct context_options {
    /// The number of operations for which the submission queue has room, at least 1; the kernel
    /// rounds it up to a power of two. When the queue is full, the context submits it at once.
    /// Operations wait in user space only while the kernel refuses submissions. The kernel has room
    /// for eight times as many completions, and allocates memory for more.
    ///
    /// To cancel an operation on a pipe or socket, the kernel searches one of 64 lists with 256
    /// entries, and one of 256 lists with 1024 or more. When 100,000 reads reached the same
    /// deadline, each took 82 us of processor time with 256 entries, and 26 us with 8192.
    unsigned entries = 256;

    /// The maximum number of times that an idle context polls for work before it sleeps, as in
    /// `run_loop_options::max_spins`.
    unsigned max_spins = 2'000;

    /// The maximum number of kernel threads that run `openat`, `fsync`, and blocking reads and
    /// writes of files. If all of them are blocked, for instance in `openat` of a FIFO, later
    /// operations wait. 0 keeps the kernel's limit: the smaller of `entries` and four times the
    /// number of processors. All contexts on a thread share these kernel threads. The limit also
    /// holds for the thread that made the context. If several contexts set a limit, the last one to
    /// start running decides. Needs Linux 5.15; on an older kernel `run` throws.
    unsigned max_bounded_workers = 0;

    /// The maximum number of kernel threads for operations on sockets, pipes and terminals. 0 keeps
    /// the kernel's limit, which is the user's limit of processes (RLIMIT_NPROC).
    unsigned max_unbounded_workers = 0;
};

} // namespace tryst::uring
