// SPDX-License-Identifier: MIT
/// @file
/// Many seeds on several processes: a crash of one is a failure of its seed, and seeds cannot spoil each
/// other's memory.
#pragma once

#include <cstdint>
#include <string>

namespace tryst::sim {

struct campaign {
    std::uint64_t first_seed = 1;
    std::uint64_t seeds = 10'000;
    unsigned jobs = 1;
    std::string program; ///< As the user has called it, for the advice how to repeat a failure.
};

/// Runs the seeds, some of them twice, and for some all k-th allocations failing in turn; stops at the first
/// failure. Progress goes to stderr.
/// @returns whether all went well: also that each step of the protocol was taken, if there were seeds
///   enough.
bool run(const campaign& c);

} // namespace tryst::sim
