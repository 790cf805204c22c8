// SPDX-License-Identifier: MIT
/// @file
/// Coroutines that meet for ever on loops, each loop on a thread and a processor of its own, for one sample.
#pragma once

#include "support.hpp"

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace tryst::bench {

/// Runs each loop for one sample, then closes `at`, which all meet in.
template <class Meeting>
steady::duration run_for_a_while(std::vector<std::unique_ptr<run_loop>>& loops, Meeting& at) {
    std::barrier start(static_cast<std::ptrdiff_t>(loops.size()) + 1);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i != loops.size(); ++i) {
        threads.push_back(pinned_thread(i, [&, i] {
            start.arrive_and_wait();
            loops[i]->run();
        }));
    }
    start.arrive_and_wait();
    const auto begin = steady::now();
    std::this_thread::sleep_for(sample_time);
    for (auto& loop : loops) {
        loop->stop();
    }
    threads.clear();
    const auto elapsed = steady::now() - begin;
    at.close(); // nobody is left half served
    for (auto& loop : loops) {
        loop->run_until_idle();
    }
    return elapsed;
}

/// `count` coroutines on each of `loop_count` loops, of the kind that `spawn(loop, id, tally)` starts.
template <class Meeting, class Spawn>
void meet_on_loops(benchmark::State& state, std::size_t loop_count, std::size_t count, Meeting& at,
                   run_loop_options options, Spawn spawn) {
    std::vector<tally> tallies(loop_count * count);
    std::vector<std::unique_ptr<run_loop>> loops;
    for (std::size_t i = 0; i != loop_count; ++i) {
        loops.push_back(std::make_unique<run_loop>(options));
        for (std::size_t j = i * count; j != (i + 1) * count; ++j) {
            spawn(*loops.back(), static_cast<std::int64_t>(j), tallies[j]);
        }
    }
    const auto elapsed = run_for_a_while(loops, at);
    report(state, tallies, elapsed);
    state.counters["fairness"] = fairness(tallies);
}

} // namespace tryst::bench
