// SPDX-License-Identifier: MIT
/// @file
/// The protocols by which the parties of one exchanger match, wait, withdraw and close.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/observer.hpp>

#include <cstdint>

namespace tryst::detail {

/// The result of a step of the protocol for a waiter.
enum class arrival : std::uint8_t {
    completed, ///< Its outcome is final, and it belongs to its owner again.
    waiting, ///< In the wait list: `park` it. If it is unstoppable, it must not be touched.
    offered, ///< Offered in the arena. Its owner calls `expire` after a while.
    claimed, ///< Out of its slot. Its partner is about to complete it: call `expire` again.
};

struct coroutine_party; ///< Shares its thread with others (swap.hpp).
struct thread_party; ///< Is the only one of its thread (swap.hpp).

/* The protocols
 * There is one for each wait list, a specialisation of `protocol`:
 *
 *   swap.hpp          any two parties meet in one slot, or in an arena of slots
 *   eliminating.hpp   two colours meet at a stack, or in an arena in front of it
 *   fifo.hpp          two colours meet in a queue
 *   buffering.hpp     senders and receivers meet at a buffer
 *   future_state.hpp  a promise meets its future
 *
 * They differ in how a party searches for a partner, or for a place in which to wait. The first two
 * share offers.hpp, the steps in an arena; the last two share section_protocol.hpp; all share
 * steps.hpp. tests/model checks them step by step, and tests/stress runs them under load.
 *
 * I4. However busy the arena is, every arrival tries slot 0 of an exchanger first, and the stack
 *     with a probability of at least 1 in 256. So a party in the wait list is claimed by the next
 *     arrival that sees it.
 *
 * None is fair among parties that arrive at the same time. None keeps a party from meeting the same
 * partner again.
 *
 * The members, where `Party` is a `coroutine_party` or a `thread_party`; none throws:
 *
 *   begin<Party>(w)         the first step of an arrival that can wait: `try_match`, a part of it,
 *                           or nothing. Returns whether `w` is completed
 *   try_match<Party>(w)     swaps with a partner that is easy to find; offers nothing. Returns
 *                           whether `w` is completed
 *   try_match_in_list(w)    swaps with a partner that waits in the wait list; offers nothing
 *   try_match_all(w)        swaps with a partner that waits anywhere; offers nothing
 *   arrive<Party>(w, spread)   after `begin`: claims a partner, or otherwise offers `w`. Offers it
 *                           in the arena only if `spread`
 *   expire<Party>(w)        ends the bounded offer of `w` in the arena (I2). If `w` is in the wait
 *                           list, only checks whether it is complete. Call on the owner's executor
 *                           or thread
 *   is_in_arena(w)          whether `w`, which has been offered, is in the arena and not complete.
 *                           Call as `expire`
 *   park(w), cancel(w, ..)  suspend or end the wait of a waiter in the wait list (steps.hpp)
 *   complete_own(w, how), is_closed()   (steps.hpp)
 *   abandon(w, limited, queued)   takes back the offer of `w`, whose suspended coroutine is being
 *                           destroyed. Call on the executor of `w`. Precondition: the stop callback
 *                           and the timer have been removed. `limited` says whether a stop or a
 *                           deadline was in force; `queued`, whether its check or its resumption
 *                           has just been taken out of the executor's queue. Returns whether no
 *                           party refers to `w` any more; if not, its resumption is about to be
 *                           posted
 *   withdraw(w, why)        takes `w`, which no other party will post, out of its slot. If it has
 *                           been claimed, waits until the claimer does not refer to it any more.
 *                           `why` is for the observer
 *   close()                 closes permanently, and completes all waiters with `closed`. A party
 *                           that finds the exchanger closed may destroy it, because the destructor
 *                           waits until this call has completed the last waiter */
/// @tparam Observer  the observer that the exchanger's policies select.
template <class WaitList, class Observer = observer<>>
class protocol;

} // namespace tryst::detail
