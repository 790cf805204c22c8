// SPDX-License-Identifier: MIT
/// @file
/// What a thread of the model knows: which events happened before it, and how old a value it may
/// still read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace tryst::model {

inline constexpr std::size_t max_threads = 8;
inline constexpr std::size_t max_atomics = 128; ///< In one execution, the dead included.
inline constexpr std::size_t max_stores = 96; ///< To one atomic.

// Signed: each x86-64 has an instruction for the maxima of eight such numbers, which `join` needs.
using moment = std::int16_t; ///< The number of an event within its thread.

/// Where a store is in the modification order of its atomic. There is room between two.
using rank = std::int16_t;
inline constexpr rank rank_distance = 340;
static_assert(max_stores * std::size_t{rank_distance} <= std::numeric_limits<rank>::max());

/* A view is a vector clock and, for each atomic, the oldest store in its modification order that
 * may still be read. The clock decides data races (Flanagan and Freund, "FastTrack", 2009); the
 * floors give C++'s four coherence rules ([intro.races] 15-18): whatever a thread has read or
 * written, or knows to have happened, it never reads anything older. A release store carries its
 * writer's view, an acquire load joins it (Kang, Hur, Lahav, Vafeiadis and Dreyer, "A promising
 * semantics for relaxed-memory concurrency", 2017, section 2, without promises). */
struct view {
    std::array<moment, max_threads> happened{};
    std::array<rank, max_atomics> floor{};

    /// Called in every other step: `__restrict` and `?:` let g++ use vector instructions.
    void join(const view& __restrict other) noexcept {
        for (std::size_t i = 0; i != max_threads; ++i) {
            happened[i] = happened[i] < other.happened[i] ? other.happened[i] : happened[i];
        }
        for (std::size_t i = 0; i != max_atomics; ++i) {
            floor[i] = floor[i] < other.floor[i] ? other.floor[i] : floor[i];
        }
    }
};

} // namespace tryst::model
