// SPDX-License-Identifier: MIT
/// @file
/// What a measurement of the machine is: several short samples, of which the median counts.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tryst::probe {

using steady = std::chrono::steady_clock;

/// A thread that keeps to one processor.
std::jthread pinned_thread(unsigned processor, std::function<void()> body);

/// Nanoseconds, each a sample's mean.
struct spread {
    double median = 0;
    double least = 0;
    double most = 0;
};

/// Takes `samples` samples by calling `sample`, which returns nanoseconds; one more before, to warm up.
spread spread_of(int samples, const std::function<double()>& sample);

struct measurement {
    std::string key;
    std::string what; ///< For people.
    spread ns;
};

/// The real library at work, for what a model says of it to be held against.
struct exchange_measurement {
    std::string kind; ///< threads or loops
    std::string design;
    unsigned processors;
    spread ns; ///< Of one completed exchange, two participants served.
};

/// How long the calling thread has been running, others' turns on its processor not counted.
steady::duration processor_time();

/// How long `body` keeps a processor, divided by `count`.
double timed(unsigned processor, std::int64_t count, const std::function<void()>& body);

/// As above, of two bodies that start together on two processors: until both have ended.
double timed_together(unsigned one, unsigned other, std::int64_t count,
                      const std::function<void()>& body, const std::function<void()>& companion);

// Cache lines and atomic steps; what needs two processors is left out on one.
void measure_memory(int samples, std::vector<measurement>& into);
// Coroutines and loops.
void measure_loops(int samples, std::vector<measurement>& into);
// What the kernel does: wake-ups, switches.
void measure_kernel(int samples, std::vector<measurement>& into);
/// @throws std::runtime_error if items were lost or made up.
void measure_exchanges(int samples, std::vector<exchange_measurement>& into);

} // namespace tryst::probe
