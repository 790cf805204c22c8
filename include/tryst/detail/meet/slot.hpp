// SPDX-License-Identifier: MIT
/// @file
/// One meeting point: a single word through which two parties form a pair.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/meet/waiter.hpp>

#include <cassert>
#include <cstdint>

namespace tryst::detail {

/* The parties
 *   owner       the party whose waiter it is
 *   partner     the party that matches the waiter
 *   closer      the thread that calls `close`
 *   canceller   the thread on which a stop or a deadline ends the wait
 *   completer   the party that has taken the waiter out of its slot and writes its outcome
 *
 * The slot
 *   empty   --offer[S1]------> offered
 *   offered --claim[S2]------> empty    by a partner or a closer, which completes the waiter
 *   offered --withdraw[S3]---> empty    by the owner or a canceller, which completes the waiter
 *   offered --begin_move[S4]-> moving   by the owner, which takes its offer to the wait list
 *   moving  --end_move[S5]---> empty
 *   any     --close[S6]------> closed   slot 0 only; final
 *
 * Claim, withdraw and begin_move each CAS the word away from the same waiter. Exactly one of them
 * wins, and the waiter then belongs to the winner.
 *
 * I1. A partner or a closer dereferences a waiter only after its own CAS or exchange has removed
 *     the waiter from its slot. So a waiter may live in a coroutine frame without hazard pointers
 *     or epochs. Address reuse is harmless: a CAS that finds the same address again claims the
 *     waiter that is there now, which is just as good a partner.
 *
 * A slot that is `moving` holds no waiter and refuses offers. The exchanger's destructor waits for
 * `end_move` (I6, steps.hpp); no other party does. */
class slot {
public:
    using word = std::uintptr_t;

    /// The content of the slot. The waiter may be claimed, but not dereferenced (I1).
    word peek() const noexcept {
        // Relaxed: the word is only compared; the claim acquires.
        return word_.load(std::memory_order_relaxed);
    }

    static bool is_empty(word seen) noexcept { return seen == empty; }
    static bool is_closed(word seen) noexcept { return seen == closed; }
    static waiter* offered(word seen) noexcept {
        return seen > moving ? reinterpret_cast<waiter*>(seen & ~blue) : nullptr;
    }

    /// Whether a party of side `own` matches the waiter that is offered as `seen`.
    static bool matches(colour own, word seen) noexcept {
        return own == colour::none || ((seen & blue) != 0) == (own == colour::red);
    }

    /// Puts `w` into the slot if it is empty. On success `w` may be claimed at once.
    bool offer(waiter* w, colour side = colour::none) noexcept {
        word seen = empty;
        // [S1] release, pairs with [S2] and [S6]: publishes *w to the claimer. Acquire, pairs with
        // [S5]: earlier moves happen-before a destruction of the exchanger that follows this offer.
        // Failure relaxed: `seen` is not used.
        return word_.compare_exchange_strong(seen, to_word(w, side), std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
    }

    /// Takes out the waiter that is offered as `seen`, for its partner or a closer. On success it
    /// belongs to the caller.
    bool claim(word seen) noexcept {
        // [S2] acquire, pairs with [S1]: the claimer sees the item and the executor. Failure
        // relaxed: nothing is dereferenced (I1).
        return word_.compare_exchange_strong(seen, empty, std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }

    /// Takes `w` out, for its owner or a canceller. The CAS is strong, because a spurious failure
    /// would lose the stop.
    bool withdraw(waiter* w, colour side = colour::none) noexcept {
        word seen = to_word(w, side);
        // [S3] release, pairs with [S6]: this use of the exchanger happens-before its destruction.
        // No acquire: the owner made *w, and a canceller acquired it by [W3]. Failure relaxed (I1).
        // Above slot 0, [S5] may end the release sequence. But there a waiter is withdrawn only
        // when its waiting frame is destroyed, and never while another thread destroys the
        // exchanger (exchange_operation.hpp).
        return word_.compare_exchange_strong(seen, empty, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    /// Takes `w` out, for its owner. The exchanger's destructor then waits until `end_move`.
    bool begin_move(waiter* w, colour side = colour::none) noexcept {
        word seen = to_word(w, side);
        // [S4] relaxed: the owner made *w. Failure relaxed (I1).
        return word_.compare_exchange_strong(seen, moving, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

    void end_move() noexcept {
        // [S5] release, pairs with [S7] and [S1]: this use of the exchanger happens-before its
        // destruction.
        word_.store(empty, std::memory_order_release);
    }

    /// Whether an owner is between `begin_move` and `end_move`.
    bool is_moving() const noexcept {
        // [S7] acquire, pairs with [S5].
        return word_.load(std::memory_order_acquire) == moving;
    }

    /// Closes the slot permanently. @returns the waiter that was in it, which now belongs to the
    /// caller, or null.
    waiter* close() noexcept {
        // [S6] acquire, pairs with [S1] and [S3]; release, pairs with [S8].
        return offered(word_.exchange(closed, std::memory_order_acq_rel));
    }

    bool is_closed() const noexcept {
        // [S8] acquire, pairs with [S6]: everything before the close happens-before a result of
        // `closed`.
        return word_.load(std::memory_order_acquire) == closed;
    }

private:
    static constexpr word empty = 0;
    static constexpr word closed = 1;
    static constexpr word moving = 2;
    static constexpr word blue = 1; ///< Added to the address of a waiter, which is even.

    static word to_word(waiter* w, colour side) noexcept {
        return reinterpret_cast<word>(w) + (side == colour::blue ? blue : 0);
    }

    atomic<word> word_{empty};
};

} // namespace tryst::detail
