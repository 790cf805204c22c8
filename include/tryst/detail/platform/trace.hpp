// SPDX-License-Identifier: MIT
/// @file
/// The steps of the protocol, for tests that must know that they were taken.
/// Nothing at all, unless a test defines TRYST_TRACE(step).
#pragma once

#include <cstdint>

#ifndef TRYST_TRACE
#define TRYST_TRACE(step) static_cast<void>(0)
#endif

namespace tryst::detail {

enum class step : std::uint8_t {
    claim_in_wait_list, ///< A partner was taken from slot 0,
    claim_in_arena, ///< or from another slot.
    completion_in_place, ///< The partner was completed on its own executor, by a plain store.
    offer_in_arena, ///< A bounded offer was made,
    expiry, ///< and nobody came.
    growth, ///< The bound went up,
    shrinkage, ///< or down.
    stop, ///< A canceller withdrew a parked waiter.
    late_stop, ///< A canceller lost the race for the waiter.
    own_stop, ///< The owner found a stop when it was about to park.
    pinned, ///< A completion met a withdrawal under way.
    withdrawing, ///< A withdrawal has been announced, and not tried yet.
    completing, ///< A waiter is out of its slot, and not done yet.
    vacancy, ///< The place of a withdrawn waiter was found by a partner,
    refill, ///< or taken by another of its colour,
    disowning, ///< or was of no use to one of the other colour.
    ticket, ///< A ticket was taken, and its cell not visited yet.
    passing_over, ///< Somebody on the way to a cell was not waited for.
    recycling, ///< A segment had served,
    sweeping, ///< or had been left by all before it could.
};

} // namespace tryst::detail
