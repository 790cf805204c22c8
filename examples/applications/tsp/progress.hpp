// SPDX-License-Identifier: MIT
/// @file
/// Prints progress on standard error.
#pragma once

#include "evolution.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tsp {

/// On a terminal, redraws a single line and erases it at the end. Otherwise prints a line each
/// second.
class progress_line {
public:
    explicit progress_line(std::optional<std::int64_t> optimum);
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;
    ~progress_line();

    /// May be called often: it limits the rate itself.
    void show(status now);

private:
    using clock = std::chrono::steady_clock;

    std::optional<std::int64_t> optimum_;
    bool on_terminal_;
    clock::time_point start_ = clock::now();
    clock::time_point next_ = start_;
    bool drawn_ = false;
};

} // namespace tsp
