// SPDX-License-Identifier: MIT
/// @file
/// What each step of the simulated machine costs, in picoseconds: derived from the probe's findings.
#pragma once

#include <cstdint>

namespace tryst::scale {

/// Whole numbers, so that sums are the same everywhere.
using picoseconds = std::int64_t;

struct costs {
    // A core at a line that it has.
    picoseconds load = 0;
    picoseconds store = 0;
    picoseconds update = 0; ///< Any read-modify-write.

    // A core at a line that it has not: how long until it does.
    picoseconds read_line = 0; ///< To read: another has written it.
    picoseconds take_line = 0; ///< To write: another has written it.
    picoseconds upgrade_line = 0; ///< To write: it can read it, as others can.

    picoseconds request = 0; ///< Of each of these: until the others notice.
    picoseconds read_service =
        0; ///< How long a line that is read by one core keeps the next waiting.

    picoseconds turn =
        0; ///< A node posted to a loop and run: a coroutine resumed, until it suspends.
    picoseconds instructions = 0; ///< A party's own, for an exchange, beside all this.
    picoseconds pause = 0; ///< A step of a spin loop.
    picoseconds yield = 0; ///< A thread yields in vain.
    picoseconds wake_call = 0; ///< What waking takes the waker,
    picoseconds wake = 0; ///< and until the sleeper runs.
};

} // namespace tryst::scale
