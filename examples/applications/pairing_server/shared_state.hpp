// SPDX-License-Identifier: MIT
/// @file
/// What all sessions share, and what an administrator may know about it.
#pragma once

#include "options.hpp"
#include "room.hpp"
#include "rooms.hpp"
#include "statistics.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pairing {

/// Any thread may use it.
struct shared_state {
    explicit shared_state(const options& chosen)
        : settings(chosen), place(chosen.redis.empty() ? make_local_place(chosen.red_blue)
                                                       : make_redis_place(chosen)),
          all_rooms(*place) {}

    /// Why the server cannot pair new clients now; empty if it can.
    std::string unready_reason() const;

    /// All numbers, by name. None names a room: clients choose the names, and a monitor would keep
    /// a time series for each.
    std::vector<std::pair<std::string, std::uint64_t>> samples() const;

    /// The same in one line: `accepted=3 refused=0 active=1 ...`.
    std::string line() const;

    const options settings;
    const std::unique_ptr<meeting_place> place;
    rooms all_rooms;
    statistics counters;
    std::atomic<bool> draining = false;
};

} // namespace pairing
