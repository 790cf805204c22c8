// SPDX-License-Identifier: MIT
/// @file
/// What the benchmarks share: pinned threads, the machine's line hop, and the check of conservation.
#pragma once

#include "pinned_thread.hpp"

#include <tryst/tryst.hpp>

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace tryst::bench {

using steady = std::chrono::steady_clock;

/// How long one sample exchanges for.
inline constexpr std::chrono::milliseconds sample_time{200};

/// What one participant gave away and got; on a line pair of its own.
struct alignas(detail::line_pair) tally {
    std::int64_t exchanges = 0;
    std::int64_t failures = 0;
    std::int64_t given = 0;
    std::int64_t got = 0;

    void success(std::int64_t mine, std::int64_t theirs) noexcept {
        ++exchanges;
        given += mine;
        got += theirs;
    }
};

/// Time for a cache line to go from one core to another: half a round trip, in nanoseconds.
/// 0 on a single processor.
double line_hop_ns();

/// Reports the sample as the time of one completed exchange, that is, of two participants served; or as
/// an error, if items were lost or made up.
/// @returns exchanges completed.
double report(benchmark::State& state, const std::vector<tally>& tallies, steady::duration elapsed);

/// The service of the least served participant as a share of the most served.
double fairness(const std::vector<tally>& tallies);

} // namespace tryst::bench
