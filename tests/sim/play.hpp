// SPDX-License-Identifier: MIT
/// @file
/// What happens in one run: who takes part, and who disturbs them. All chosen by the seed.
#pragma once

#include "sim/scheduler.hpp"

#include <cstdint>

namespace tryst::sim {

/// What a run was like.
struct report : verdict {
    std::size_t operations = 0;
    std::size_t exchanged = 0;
    bool allocation_failed = false;
};

/// Runs `seed`. `failing_allocation` is the number of the allocation that fails, 0 for none, -1 for the
/// seed to choose.
report play(std::uint64_t seed, long failing_allocation = -1);

} // namespace tryst::sim
