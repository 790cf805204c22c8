// SPDX-License-Identifier: MIT
/// @file
/// The place where waiters may stay, and the requirements on it.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/waiter.hpp>

#include <concepts>
#include <cstdint>

namespace tryst::detail {

/* Wait lists
 * A waiter may stay in its exchanger's wait list for an unbounded time. There are three kinds:
 *
 *   single_slot  one waiter, which is enough where any two parties can match
 *   dual_queue   two colours, first in, first out
 *   dual_stack   two colours, last in, first out
 *
 * In buffers and futures (item_buffer.hpp, future_state.hpp), waiters stay under a lock instead.
 *
 * I1 (slot.hpp) holds in all of them.
 *
 * I3. While no step is in progress, no two waiters in a list match each other, and a closed list
 *     holds no waiter. */

/// The result of an arrival's step in a wait list.
struct match_result {
    enum kind_type : std::uint8_t {
        /// No partner waits, and no party of the arrival's own side. From `enqueue_or_match`: start
        /// again.
        empty,
        own_side, ///< No partner waits, but a party of the arrival's own side does.
        partner, ///< A partner was claimed and belongs to the caller.
        offered, ///< The arrival waits in the list, and may be claimed at once.
        collided, ///< Another party was faster, or the partner was stale (I41): try again.
        closed, ///< The list is closed.
        out_of_memory, ///< There is no memory for another waiter.
    };
    kind_type kind;
    waiter* claimed = nullptr;
};

/// For an arrival that nothing observes.
struct nothing_before_offer {
    void operator()() const noexcept {}
};

/// The protocol's requirements on a wait list.
/// - `try_match` claims a waiting partner. It may overlook a partner that is still arriving, but
///   such a partner does not hide another one that waits.
/// - `enqueue_or_match` leaves the waiter in the list or, in the queue, claims a waiting partner.
///   Otherwise (`empty`) the caller starts again. If it finds no partner, it calls `before_offer`
///   before each attempt to leave the waiter in the list.
/// - `withdraw` takes a waiter out, if it has not been claimed.
/// - `close` closes the list permanently and claims all waiters, except those whose partners are
///   arriving. It passes each at once to `take`, which returns false if it has completed the
///   waiter itself. It passes the others to `complete`, but may return the last one instead. It
///   calls `complete` before it claims the next suspended waiter, because the resumed party may
///   destroy the frame of that next waiter.
///
/// The list may use 24 bits of a waiter's `place`.
template <class List>
concept wait_list = requires(List& list, const List& seen, waiter& w, bool (*take)(waiter&),
                             void (*complete)(waiter&), nothing_before_offer before_offer) {
    { list.try_match(colour()) } -> std::same_as<match_result>;
    { list.enqueue_or_match(w, colour(), before_offer) } -> std::same_as<match_result>;
    { list.withdraw(w, colour()) } -> std::same_as<bool>;
    { list.close(take, complete) } -> std::same_as<waiter*>;
    { seen.is_closed() } -> std::same_as<bool>;
    /// Whether a withdrawal's CAS is its last access to the list.
    { List::withdraws_in_one_step } -> std::convertible_to<bool>;
};

} // namespace tryst::detail
