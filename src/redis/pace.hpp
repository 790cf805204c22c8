// SPDX-License-Identifier: MIT
// How long the turns of a room last.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

TRYST_REDIS_BEGIN
namespace detail {

/// While parties meet in the local place, they are left alone, up to the longest pause: a turn
/// lasts one turn of the loop, and the longer the more turns in succession saw parties meet.
class pace {
public:
    /// How long the next turn lasts; 0: one turn of the loop.
    std::chrono::microseconds pause() const { return pause_; }

    /// A party has been taken out of the local place.
    void add_taken() { ++taken_; }

    /// A turn ends.
    /// @param departures  of the local place.
    /// @returns whether to take the parties that wait there.
    bool must_take(std::uint32_t departures) {
        const std::uint32_t met = departures - taken_;
        has_met_ = static_cast<std::int32_t>(met - met_) > 0;
        met_ = has_met_ ? met : met_;
        taken_before_ = taken_;
        return !has_met_ || pause_ == longest;
    }

    /// The turn has ended. Perhaps a party is about to wait, or has met but not resumed yet. (Those
    /// that were taken have not left at the next turn.)
    void adapt() {
        const bool has_taken = taken_ != taken_before_;
        if (has_met_ || (!has_taken && !had_taken_)) {
            pause_ = std::clamp(2 * pause_, shortest, longest);
        } else if (has_taken) {
            pause_ = pause_ > shortest ? pause_ / 2 : pause_.zero();
        }
        had_taken_ = has_taken;
    }

private:
    static constexpr std::chrono::microseconds shortest{16};
    static constexpr std::chrono::microseconds longest{1024};

    std::chrono::microseconds pause_{0};
    std::uint32_t taken_ = 0; ///< Parties taken out of the local place, modulo 2^32,
    std::uint32_t taken_before_ = 0; ///< before the end of the present turn,
    bool had_taken_ = false; ///< and in the last turn.
    std::uint32_t met_ = 0; ///< Parties known to have met there, modulo 2^32,
    bool has_met_ = false; ///< and in the present turn.
};

} // namespace detail
TRYST_REDIS_END
