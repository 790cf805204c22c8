// SPDX-License-Identifier: MIT
/// @file
/// Counts the parties that wait in the local place of a room, and says when the room must look
/// after them.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>

namespace tryst::detail {

/* The room looks at its local place in turns, but only while a party waits there. Bit 0 of the word
 * says that a turn is scheduled. The other bits below 32 count the parties that wait, and those
 * above, the parties that have ever waited.
 *
 * 1. A party enters before it waits. If no turn was scheduled, it schedules one.
 * 2. A turn ends the schedule only by a CAS from a word without a waiting party. So it either sees
 *    the party and is repeated, or the party finds that no turn is scheduled.
 * The word orders nothing else: a party and the room meet in the local place, so relaxed accesses
 * suffice. */
class arrivals {
public:
    /// A party will wait. @returns whether the caller must schedule a turn.
    bool enter() noexcept {
        // [A1] relaxed: see above.
        const std::uint64_t before = word_.fetch_add(entered + waiting, std::memory_order_relaxed);
        // [A2] relaxed: see above.
        return (before & scheduled) == 0 &&
               (word_.fetch_or(scheduled, std::memory_order_relaxed) & scheduled) == 0;
    }

    /// A party does not wait any more.
    void leave() noexcept {
        // [A3] relaxed: see above.
        word_.fetch_sub(waiting, std::memory_order_relaxed);
    }

    /// The parties that have left, modulo 2^32.
    std::uint32_t departures() const noexcept {
        // [A4] relaxed: an estimate.
        const std::uint64_t now = word_.load(std::memory_order_relaxed);
        return static_cast<std::uint32_t>(now / entered) -
               static_cast<std::uint32_t>(now % entered / waiting);
    }

    /// A turn has looked at the place. @returns whether it must be repeated.
    bool repeat() noexcept {
        // [A5] relaxed: see above.
        std::uint64_t seen = word_.load(std::memory_order_relaxed);
        do {
            if (seen % entered >= waiting) {
                return true;
            }
            // [A6] relaxed: see above.
        } while (!word_.compare_exchange_weak(seen, seen - scheduled, std::memory_order_relaxed,
                                              std::memory_order_relaxed));
        return false;
    }

private:
    static constexpr std::uint64_t scheduled = 1;
    static constexpr std::uint64_t waiting = 2;
    static constexpr std::uint64_t entered = std::uint64_t{1} << 32U;

    atomic<std::uint64_t> word_{0};
};

} // namespace tryst::detail
