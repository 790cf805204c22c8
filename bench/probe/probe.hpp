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
#include <utility>
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

struct measurement {
    unsigned processors; ///< 1 or 2
    std::function<double()> sample; ///< Returns nanoseconds.
    spread ns;
};

/// One step of the machine.
struct step : measurement {
    step(unsigned cores, const char* name, const char* meaning, std::function<double()> one)
        : measurement{cores, std::move(one), {}}, key(name), what(meaning) {}

    std::string key;
    std::string what; ///< For people.
};

/// An exchange of the real library, with which a model's figures are compared. The time is that of
/// one completed exchange, two participants served.
struct exchange : measurement {
    std::string kind; ///< threads or loops
    std::string design;
};

/// Takes every sample.
inline constexpr double any_distance = 0;

/// Takes samples of all measurements in turn, so that a disturbance spreads over all of them. The
/// first round is to warm up. A virtual machine may move its processors while it runs, closer to
/// each other or farther apart. So a sample of two processors is taken again unless the
/// `distance_now` before and after it was about `distance`.
/// @throws std::runtime_error if the processors are at another distance for too long.
void measure(int samples, double distance, const std::vector<measurement*>& all);

/// The time in nanoseconds in which a line moves between two processors that spin.
double distance_now();

/// The median of `distance_now` during a second.
double usual_distance();

/// Returns the processor time of the calling thread.
steady::duration processor_time();

/// Returns the processor time of `body`, divided by `count`.
double timed(unsigned processor, std::int64_t count, const std::function<void()>& body);

/// Returns the time until two bodies that start together on two processors have both ended, divided
/// by `count`.
double timed_together(unsigned one, unsigned other, std::int64_t count,
                      const std::function<void()>& body, const std::function<void()>& companion);

// Cache lines and atomic steps. On one processor, measurements that need two are left out.
void add_memory(std::vector<step>& into);
// Coroutines and loops.
void add_loops(std::vector<step>& into);
// Wake-ups and switches of the kernel.
void add_kernel(std::vector<step>& into);
/// Their samples throw std::runtime_error if items were lost or made up.
void add_exchanges(std::vector<exchange>& into);

} // namespace tryst::probe
