// SPDX-License-Identifier: MIT
/// @file
/// How long the bounded offer of a coroutine lasts.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

namespace tryst::detail {

/* Patience
 * A coroutine's offer in the arena lasts for one turn of its executor. If many coroutines share the
 * executor, another of them comes within the turn. If nothing else is ready, the turn ends at once,
 * long before a partner on another core can come. So the offer is prolonged, turn by turn, while
 *   - no other party has made an offer in an arena on this thread since, and
 *   - less than `lone_patience` has passed since the end of the first turn. With other work on the
 *     executor, this ends the offer after few turns.
 * A loop without work polls for longer than that before it sleeps, so this costs no processor
 * time. */
class patience {
public:
    /// Call when the offer of `party` has been made.
    static void begin(const void* party) noexcept {
        auto& here = per_thread<patience>();
        here.latest_ = party;
        here.prolonged_ = false;
    }

    /// Call at the end of each turn, while `party` has no partner.
    /// @returns whether the offer lasts for another turn.
    static bool lasts(const void* party) noexcept {
        // The offer may have been made on another thread, so that its address is here by chance. It
        // then lasts too long or too short, within the same bound.
        auto& here = per_thread<patience>();
        if (lone_patience.count() == 0 || here.latest_ != party) {
            return false;
        }
        const auto now = clock::now();
        if (!here.prolonged_) {
            here.prolonged_ = true;
            here.end_ = now + lone_patience;
        }
        return now < here.end_;
    }

private:
    const void* latest_ = nullptr; ///< The party of this thread that made the latest offer.
    bool prolonged_ = false;
    clock::time_point end_; ///< If prolonged.
};

} // namespace tryst::detail
