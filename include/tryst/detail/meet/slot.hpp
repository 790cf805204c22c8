// SPDX-License-Identifier: MIT
/// @file
/// One meeting point: a single word through which two parties pair up.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/meet/waiter.hpp>

#include <cassert>
#include <cstdint>

namespace tryst::detail {

/* The slot
 *   empty --offer[S1]--> offered --claim[S2]------> empty    the claimer completes the waiter
 *                        offered --withdraw[S3]---> empty    the withdrawer completes the waiter
 *                        offered --begin_move[S4]-> moving   the owner is taking itself to slot 0
 *   moving --end_move[S5]--> empty
 *   any    --close[S6]--> closed                             slot 0 only, and for ever
 *
 * Claim, withdraw and begin_move CAS the same word away from the same waiter: exactly one wins, and
 * only the winner may touch the waiter.
 *
 * R1. Nobody dereferences a waiter before their own CAS removed it. So it may live in a coroutine frame
 *     without hazard pointers or epochs, and the reuse of its address is harmless: a CAS that finds the
 *     same address again claims whatever waiter sits there now, which is just as good.
 *
 * `moving` holds no waiter and refuses offers. It is there for the destructor of the exchanger, which
 * must not end while an owner is on its way from this slot to slot 0; nobody else waits for it. */
class slot {
public:
    using word = std::uintptr_t;

    /// What is in the slot, to be claimed, not to be dereferenced.
    word peek() const noexcept {
        // Relaxed: the word is only compared; the claim acquires.
        return word_.load(std::memory_order_relaxed);
    }

    static bool is_empty(word seen) noexcept { return seen == empty; }
    static bool is_closed(word seen) noexcept { return seen == closed; }
    static waiter* offered(word seen) noexcept {
        return seen > moving ? reinterpret_cast<waiter*>(seen & ~blue) : nullptr;
    }

    /// Whether a party of that side can meet the waiter that is offered as `seen`.
    static bool meets(colour own, word seen) noexcept {
        return own == colour::none || ((seen & blue) != 0) == (own == colour::red);
    }

    /// Puts `w` into the empty slot. On success it may be claimed at once.
    bool offer(waiter* w, colour side = colour::none) noexcept {
        word seen = empty;
        // [S1] release, pairs with [S2], [S6]: publishes *w to the claimer. Acquire, pairs with [S5]:
        // whoever destroys the exchanger after us also does so after those who moved from here before.
        // Failure relaxed: `seen` is not used.
        return word_.compare_exchange_strong(seen, to_word(w, side), std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
    }

    /// Takes out what is `offered` as `seen`, for its partner or for a close. On success the caller owns it.
    bool claim(word seen) noexcept {
        // [S2] acquire, pairs with [S1]: the claimer sees the item and the executor.
        // Failure relaxed: nothing is dereferenced (R1).
        return word_.compare_exchange_strong(seen, empty, std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }

    /// Takes `w` out, for its owner or a canceller. Strong: a spurious failure would lose the stop.
    bool withdraw(waiter* w, colour side = colour::none) noexcept {
        word seen = to_word(w, side);
        // [S3] release, pairs with [S6]: our use of the exchanger happens-before its destruction. No
        // acquire: the owner made *w; a canceller acquired it with [W4]. Failure relaxed (R1). Above slot
        // 0, where [S5] may end the release sequence, only frames that are being destroyed withdraw.
        return word_.compare_exchange_strong(seen, empty, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    /// Takes `w` out, for its owner, and holds the destructor off until `end_move`.
    bool begin_move(waiter* w, colour side = colour::none) noexcept {
        word seen = to_word(w, side);
        // [S4] relaxed: the owner made *w. Failure relaxed (R1).
        return word_.compare_exchange_strong(seen, moving, std::memory_order_relaxed,
                                             std::memory_order_relaxed);
    }

    void end_move() noexcept {
        // [S5] release, pairs with [S7] and [S1]: our use of the exchanger happens-before its destruction.
        word_.store(empty, std::memory_order_release);
    }

    /// Whether an owner is between `begin_move` and `end_move`.
    bool is_moving() const noexcept {
        // [S7] acquire, pairs with [S5].
        return word_.load(std::memory_order_acquire) == moving;
    }

    /// Closes the slot for ever. Returns the waiter that was in it, owned by the caller, or null.
    waiter* close() noexcept {
        // [S6] acquire, pairs with [S1] and [S3]; release, pairs with [S8].
        return offered(word_.exchange(closed, std::memory_order_acq_rel));
    }

    bool is_closed() const noexcept {
        // [S8] acquire, pairs with [S6]: what the closer did happens-before a result of `closed`.
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

/// What an arrival finds in the wait list, slot 0, where a waiter may stay.
struct match_result {
    enum kind_type : std::uint8_t {
        nobody, ///< Nobody to meet, and nobody of the own side,
        own_side, ///< or somebody.
        partner, ///< Claimed: it is the caller's.
        offered, ///< The arrival waits there, and may be claimed at once.
        collided, ///< Somebody was faster: look again.
        closed,
        out_of_memory,
    };
    kind_type kind;
    waiter* claimed = nullptr;
};

/* Wait lists
 * Where waiters may stay, in an order and a number of its own: one slot here, the dual structures of
 * dual_queue.hpp and dual_stack.hpp for two colours. R1 holds in all of them; and R3, that at quiescence no
 * two wait that could meet.
 *
 *   look       claims a partner that waits; may report nobody while one is on the way
 *   search     the same for who will not wait: does not let one on the way hide another that waits
 *   settle     after `look` has found none: claims a partner that has come meanwhile, or leaves the waiter
 *   withdraw   takes it out again, if it has not been claimed
 *   close      permanently. Claims all waiters: calls a function with each but the last, and
 *              returns the last. Each call comes before the claim of the next suspended waiter,
 *              because the party that the call resumes may destroy that waiter's frame
 *
 * A waiter's `place` is 24 bits, at the home's disposal. */

/// A home for one: slot 0 of an exchanger without colours, where two that could meet never wait.
class single_slot : public slot {
public:
    /// Whether a withdrawal ends with its CAS, and whether arrivals may spread over the slots above.
    static constexpr bool withdraws_in_one_step = true;
    static constexpr bool spreads = true;

    match_result try_match(colour /*own*/) noexcept {
        const word seen = peek();
        if (is_empty(seen)) {
            return {match_result::nobody};
        }
        if (slot::is_closed(seen)) {
            static_cast<void>(is_closed()); // acquires what the closer did
            return {match_result::closed};
        }
        return claim(seen) ? match_result{match_result::partner, slot::offered(seen)}
                           : match_result{match_result::collided};
    }
    match_result try_match_all(colour own) noexcept { return try_match(own); }

    match_result enqueue_or_match(waiter& w, colour own) noexcept {
        return {offer(&w, own) ? match_result::offered : match_result::nobody};
    }

    using slot::withdraw;
    bool withdraw(waiter& w, colour own) noexcept { return slot::withdraw(&w, own); }

    template <class Each>
    waiter* close(Each /*each*/) noexcept {
        return slot::close();
    }
};

} // namespace tryst::detail
