// SPDX-License-Identifier: MIT
/// @file
/// Counts connections and their outcomes. At any moment
///     accepted = refused + active + the sum over all outcomes.
#pragma once

#include "protocol.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace pairing {

/// Any thread may call any member.
class statistics {
public:
    struct counts {
        std::uint64_t accepted = 0;
        std::uint64_t refused = 0; ///< Rejected before the session began.
        std::uint64_t active = 0;
        std::uint64_t pauses = 0; ///< Pauses of accepting, for lack of descriptors.
        std::chrono::steady_clock::time_point last_pause{}; ///< If `pauses` is not 0.
        std::array<std::uint64_t, outcome_limit> finished{};
    };

    /// Counts a connection. @returns false if the limit of active connections refuses it.
    bool begin(std::size_t limit) {
        const std::scoped_lock lock(mutex_);
        ++counts_.accepted;
        const bool has_room = counts_.active < limit;
        ++(has_room ? counts_.active : counts_.refused);
        return has_room;
    }
    void finish(outcome end) {
        const std::scoped_lock lock(mutex_);
        --counts_.active;
        ++counts_.finished.at(static_cast<std::size_t>(end));
    }
    void pause() {
        const std::scoped_lock lock(mutex_);
        ++counts_.pauses;
        counts_.last_pause = std::chrono::steady_clock::now();
    }

    /// A consistent snapshot: one mutex guards all counters, so they add up.
    counts now() const {
        const std::scoped_lock lock(mutex_);
        return counts_;
    }

private:
    mutable std::mutex mutex_;
    counts counts_;
};

} // namespace pairing
