// SPDX-License-Identifier: MIT
#include "statistics.hpp"

#include <fmt/format.h>

#include <iterator>

namespace pairing {

void statistics::refuse() {
    const std::scoped_lock lock(mutex_);
    ++counts_.accepted;
    ++counts_.refused;
}

void statistics::begin() {
    const std::scoped_lock lock(mutex_);
    ++counts_.accepted;
    ++counts_.active;
}

void statistics::finish(outcome end) {
    const std::scoped_lock lock(mutex_);
    --counts_.active;
    ++counts_.finished.at(static_cast<std::size_t>(end));
}

void statistics::pause() {
    const std::scoped_lock lock(mutex_);
    ++counts_.pauses;
    counts_.last_pause = std::chrono::steady_clock::now();
}

statistics::counts statistics::now() const {
    const std::scoped_lock lock(mutex_);
    return counts_;
}

std::string line_of(const statistics::counts& counts, const rooms::occupancy& occupancy,
                    std::optional<bool> connected) {
    std::string line;
    const auto out = std::back_inserter(line);
    fmt::format_to(out, "accepted={} refused={} active={} waiting={} asking={} rooms={} pauses={}",
                   counts.accepted, counts.refused, counts.active, occupancy.waiting,
                   occupancy.asking, occupancy.rooms, counts.pauses);
    if (connected) {
        fmt::format_to(out, " connected={}", *connected ? 1 : 0);
    }
    for (std::size_t i = 0; i != outcome_count; ++i) {
        fmt::format_to(out, " {}={}", name_of(static_cast<outcome>(i)), counts.finished[i]);
    }
    return line;
}

} // namespace pairing
