// SPDX-License-Identifier: MIT
/// @file
/// Counts what bounds throughput on many processors: the cache lines that move between simulated
/// threads, and the compare-exchanges that fail, for each exchange.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace tryst::sim {

/// For each exchange, of two parties.
struct contention {
    std::string_view kind; ///< "loops", with 16 coroutines each, or "threads".
    std::string_view design;
    std::size_t parties = 0; ///< Loops or threads: each on a processor of its own.
    double hottest = 0; ///< Moves of the line that moves most. It serves one processor at a time.
    double all = 0; ///< Moves of all lines.
    double failed = 0; ///< Compare-exchanges.
};

/// Counts all designs with 2, 4, 8, ... parties. The same each time.
/// @param most  parties, at most 128.
std::vector<contention> count_contention(std::size_t most);

/// Prints them, as comma-separated values.
void print_contention();

} // namespace tryst::sim
