// SPDX-License-Identifier: MIT
/// @file
/// The registry of what this program can measure: pairs of an implementation and a workload, each
/// with its function.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tryst::bench {

using steady = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;
using nanoseconds = std::chrono::duration<double, std::nano>;

/// The parameters of the command line.
struct parameters {
    unsigned threads = 2;
    unsigned loops = 1;
    unsigned tasks = 2;
    unsigned channels = 2;
    std::chrono::microseconds patience{100};
    std::chrono::microseconds pause{20};
    bench::seconds seconds{0.5};
    bench::seconds warmup{0.1};
};

/// The result of a measurement, which is printed.
struct measurement {
    std::uint64_t count;
    bench::seconds elapsed;
    bool conserved;
    std::vector<std::pair<std::string_view, double>> more = {};
    std::optional<double> ns = {}; ///< where it is not elapsed / count
};

using workload = measurement (*)(const parameters&);

struct pair {
    std::string_view implementation;
    std::string_view workload_name;
    workload run;
};

inline std::vector<pair>& registry() {
    static std::vector<pair> all;
    return all;
}

/// Registers the workloads of an implementation. Each source file has objects of this at namespace
/// scope.
struct enrolment {
    enrolment(std::string_view implementation,
              std::initializer_list<std::pair<std::string_view, workload>> workloads) {
        for (const auto& [name, run] : workloads) {
            registry().push_back({implementation, name, run});
        }
    }
};

} // namespace tryst::bench
