// SPDX-License-Identifier: MIT
/// @file
/// The server's numbers in the text format of Prometheus, version 0.0.4.
#pragma once

#include "rooms.hpp"
#include "statistics.hpp"

#include <tryst/statistics.hpp>

#include <optional>
#include <string>

namespace pairing {

struct metrics {
    statistics::counts counts;
    rooms::occupancy occupancy;
    bool ready = false;
    std::optional<bool> connected; ///< Whether Redis can be reached; nullopt without Redis.
    std::optional<tryst::statistics> exchanges; ///< Of all rooms; nullopt if they do not count.
};

/// No label names a room: clients choose the names, and each would be a time series of its own.
std::string prometheus_text_of(const metrics& now);

} // namespace pairing
