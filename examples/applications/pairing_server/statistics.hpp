// SPDX-License-Identifier: MIT
/// @file
/// Counts connections and their outcomes. At any moment
///     accepted = refused + active + the sum over all outcomes.
#pragma once

#include "protocol.hpp"
#include "rooms.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace pairing {

class statistics {
public:
    struct counts {
        std::uint64_t accepted = 0;
        std::uint64_t refused = 0; ///< Rejected before the session began.
        std::uint64_t active = 0;
        std::uint64_t pauses = 0; ///< Pauses of accepting, usually for lack of descriptors.
        std::chrono::steady_clock::time_point last_pause{}; ///< If `pauses` is not 0.
        std::array<std::uint64_t, outcome_count> finished{};
    };

    void refuse();
    void begin();
    void finish(outcome end);
    void pause();

    /// A consistent snapshot: one mutex guards all counters, so they add up.
    counts now() const;

private:
    mutable std::mutex mutex_;
    counts counts_;
};

/// One line: `accepted=3 refused=0 active=1 ...`.
/// @param connected  whether other servers can be reached; nullopt if there are none.
std::string line_of(const statistics::counts& counts, const rooms::occupancy& occupancy,
                    std::optional<bool> connected);

} // namespace pairing
