// SPDX-License-Identifier: MIT
/// @file
/// Runs many seeds on several processes: a crash is a failure of its seed, and seeds cannot corrupt
/// each other's memory.
#pragma once

#include <cstdint>
#include <string>

namespace tryst::sim {

struct campaign {
    std::uint64_t first_seed = 1;
    std::uint64_t seeds = 10'000;
    unsigned jobs = 1;
    std::string program; ///< The program's name, for the command that repeats a failure.
};

/// Runs the seeds, some of them twice, and for some all k-th allocations failing in turn; stops at
/// the first failure.
/// @returns whether no seed has failed and, if there were enough seeds, each step of the protocol
/// was taken.
bool run(const campaign& c);

} // namespace tryst::sim
