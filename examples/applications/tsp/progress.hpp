// SPDX-License-Identifier: MIT
/// @file
/// What is said on standard error meanwhile.
#pragma once

#include "evolution.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace tsp {

/// On a terminal one line, drawn over and over, and erased in the end; else a line now and then.
class progress_line {
public:
    explicit progress_line(std::optional<std::int64_t> optimum);
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;
    ~progress_line();

    /// To be called often: it draws as often as is good.
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
