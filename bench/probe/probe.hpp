// SPDX-License-Identifier: MIT
/// @file
/// Measurements of the machine: the median of several short samples.
#pragma once

#include "pinned_thread.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace tryst::probe {

using steady = std::chrono::steady_clock;

using bench::pinned_thread;

/// In nanoseconds. Each sample is a mean.
struct spread {
    double median = 0;
    double least = 0;
    double most = 0;
};

/// Takes `samples` samples, after one to warm up. `sample` returns nanoseconds.
spread spread_of(int samples, const std::function<double()>& sample);

struct measurement {
    std::string key;
    std::string what; ///< For people.
    spread ns;
};

/// An exchange of the real library, with which a model's figures are compared.
struct exchange_measurement {
    std::string kind; ///< threads or loops
    std::string design;
    unsigned processors;
    spread ns; ///< Of one completed exchange, two participants served.
};

/// Returns the processor time of the calling thread.
steady::duration processor_time();

/// Returns the processor time of `body`, divided by `count`.
double timed(unsigned processor, std::int64_t count, const std::function<void()>& body);

/// Returns the time until two bodies that start together on two processors have both ended, divided
/// by `count`.
double timed_together(unsigned one, unsigned other, std::int64_t count,
                      const std::function<void()>& body, const std::function<void()>& companion);

// Cache lines and atomic steps. On one processor, measurements that need two are left out.
void measure_memory(int samples, std::vector<measurement>& into);
// Coroutines and loops.
void measure_loops(int samples, std::vector<measurement>& into);
// Wake-ups and switches of the kernel.
void measure_kernel(int samples, std::vector<measurement>& into);
/// @throws std::runtime_error if items were lost or made up.
void measure_exchanges(int samples, std::vector<exchange_measurement>& into);

} // namespace tryst::probe
