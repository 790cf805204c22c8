// SPDX-License-Identifier: MIT
/// @file
/// Runs the workloads of rivals/cpp as samples of Google Benchmark.
#pragma once

#include "rivals/cpp/registry.hpp"

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace tryst::bench {

/// How long a sample exchanges, after a warm-up that does not count.
inline constexpr std::chrono::milliseconds sample_time{200};
inline constexpr std::chrono::milliseconds warm_up_time{20};

/// Marks a sample as failed; the program then ends with status 1.
void fail(benchmark::State& state, const char* why);

/// Reports a sample as the time of one of `count` events.
void report(benchmark::State& state, seconds elapsed, std::uint64_t count);

/// Registers a benchmark of a workload on one or two loops, for each of these numbers of coroutines
/// on each loop. It reports the time of one swap or item handed over, and the fairness.
void add(const std::string& name, workload run, unsigned loops,
         const std::vector<std::int64_t>& coroutines);

/// Makes a benchmark take one sample in each repetition, which measures its own time.
inline void one_sample(benchmark::internal::Benchmark* benchmark) {
    benchmark->UseManualTime()->Iterations(1);
}

} // namespace tryst::bench
