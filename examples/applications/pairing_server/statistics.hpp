// SPDX-License-Identifier: MIT
/// @file
/// What has become of every connection. At any moment
///     accepted = refused + active + the sum over all outcomes.
#pragma once

#include "protocol.hpp"
#include "rooms.hpp"

#include <array>
#include <cstdint>
#include <mutex>
#include <string>

namespace pairing {

class statistics {
public:
    struct counts {
        std::uint64_t accepted = 0;
        std::uint64_t refused = 0; ///< Turned away at the door.
        std::uint64_t active = 0;
        std::uint64_t pauses = 0; ///< Times that nobody could be accepted for want of descriptors.
        std::array<std::uint64_t, outcome_count> finished{};
    };

    void refuse();
    void begin();
    void finish(outcome end);
    void pause();

    /// All at the same moment: one mutex for all counters is what makes them add up.
    counts now() const;

private:
    mutable std::mutex mutex_;
    counts counts_;
};

/// One line: `accepted=3 refused=0 active=1 ...`.
std::string line_of(const statistics::counts& counts, const rooms::occupancy& occupancy);

} // namespace pairing
