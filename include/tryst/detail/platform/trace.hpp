// SPDX-License-Identifier: MIT
/// @file
/// The steps of the protocol, for tests that check that a step was taken.
/// `TRYST_TRACE(growth)` expands to nothing, unless a test defines it.
#pragma once

#include <cstdint>

#ifndef TRYST_TRACE
#define TRYST_TRACE(...) static_cast<void>(0)
#endif

namespace tryst::detail {

enum class step : std::uint8_t {
    claim_in_wait_list, ///< A partner was claimed in slot 0.
    claim_in_arena, ///< A partner was claimed in another slot.
    completion_in_place, ///< A partner was completed on its own executor, by a plain store.
    offer_in_arena, ///< A bounded offer was made.
    another_turn, ///< The bounded offer of a lone party was prolonged by a turn.
    expiry, ///< A bounded offer expired without a partner.
    growth, ///< The bound went up.
    shrinkage, ///< The bound went down.
    stop, ///< A canceller withdrew a parked waiter.
    late_stop, ///< A canceller lost the race for the waiter.
    own_stop, ///< The owner found a stop when it was about to park.
    pinned, ///< A completion met a withdrawal that was under way.
    withdrawing, ///< A withdrawal has been announced, but not tried yet.
    completing, ///< A waiter is out of its slot, but not done yet.
    vacancy, ///< A partner found the position of a withdrawn waiter.
    refill, ///< An arrival of the same colour reused such a position.
    disowning, ///< An arrival of the other colour could not use such a position.
    ticket, ///< A ticket was taken, but its cell has not been visited yet.
    passing_over, ///< A party passed a cell whose other visitor had not reached it yet.
    recycling, ///< A segment was released, because all its cells were finished.
    sweeping, ///< A segment was released by a sweep.
    commit, ///< A completer decided for a waiter of a selection.
    stale_claim, ///< A claimed waiter belonged to a selection that was decided already.
    held_selection, ///< A completer waited for the registration of a selection.
    wait_start, ///< A party is about to offer its waiter. With the exchanger's name and the waiter.
    wait_end, ///< The party's wait is over. With the waiter and the `outcome`.
};

/// The steps of an adapter are numbered from here.
inline constexpr auto step_count = static_cast<std::uint8_t>(step::wait_end) + 1;

} // namespace tryst::detail
