// SPDX-License-Identifier: MIT
/// @file
/// The costs of the simulated machine's steps, in picoseconds, derived from the probe's results.
#pragma once

#include <cstdint>

namespace tryst::scale {

/// An integer, so that sums are the same everywhere.
using picoseconds = std::int64_t;

struct costs {
    // Accesses to a line that the core has.
    picoseconds load = 0;
    picoseconds store = 0;
    picoseconds update = 0; ///< Any read-modify-write.

    // Time until the core has a line that it does not have.
    picoseconds read_line = 0; ///< To read; another core wrote it.
    picoseconds take_line = 0; ///< To write; another core wrote it.
    picoseconds upgrade_line = 0; ///< To write; other cores can read it, too.
    bool reads_take = false; ///< A read of a line that its owner wrote takes it from the owner.

    /// These times for a line of another socket, as a percentage. On four machines with two Intel
    /// Xeons, a message between cores of different sockets takes 2.1 to 2.8 times as long as within
    /// one (median 2.75; N. Viennot, "Measuring CPU core-to-core latency", dual sockets results,
    /// https://github.com/nviennot/core-to-core-latency).
    std::int64_t far_percent = 275;

    picoseconds request = 0; ///< The part of each until the other cores notice.
    picoseconds read_service = 0; ///< Time for which a read delays the next reader.

    picoseconds run_ahead = 0; ///< Work that a core does while its update waits for a line.

    picoseconds turn = 0; ///< A node is posted and run, and its coroutine suspends again.
    picoseconds instructions = 0; ///< All else that a party of one design does.
    picoseconds pause = 0; ///< One step of a spin loop.
    picoseconds yield = 0; ///< A thread yields, and no other thread runs.
    picoseconds wake_call = 0; ///< The waker's part of a wake-up.
    picoseconds wake = 0; ///< Time until the woken thread runs.
};

} // namespace tryst::scale
