// SPDX-License-Identifier: MIT
/// @file
/// One run of the simulation: which parties take part, and what disturbs them. `random` chooses
/// everything.
#pragma once

#include "sim/scheduler.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace tryst::sim {

/// How a run has ended, and what its operations came to.
struct report : verdict {
    std::size_t operations = 0;
    std::size_t exchanged = 0;
    std::size_t abandoned = 0;
    std::array<std::size_t, 7> failed{}; ///< By exchange_errc.
    bool allocation_failed = false;
};

/// The largest number of parties that a run may draw.
enum class crowd : std::uint8_t {
    medium, ///< Up to about 50: a fuzzer wants short runs.
    large, ///< Up to about 650.
};

/// Makes the run that `choices` describe.
/// @param failing_allocation  the number of the allocation that fails; 0: none fails; -1: `choices`
///     decide.
report play(random choices, long failing_allocation = -1, crowd largest = crowd::large);

} // namespace tryst::sim
