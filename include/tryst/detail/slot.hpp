// SPDX-License-Identifier: MIT
/// @file
/// One meeting point: a single word through which two parties pair up.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/waiter.hpp>

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
        return seen > moving ? reinterpret_cast<waiter*>(seen) : nullptr;
    }

    /// Puts `w` into the empty slot. On success it may be claimed at once.
    bool offer(waiter* w) noexcept {
        word seen = empty;
        // [S1] release, pairs with [S2], [S6]: publishes *w to the claimer. Acquire, pairs with [S5]:
        // whoever destroys the exchanger after us also does so after those who moved from here before.
        // Failure relaxed: `seen` is not used.
        return word_.compare_exchange_strong(seen, to_word(w), std::memory_order_acq_rel,
                                             std::memory_order_relaxed);
    }

    /// Takes `w` out, for its partner or for a close. On success the caller owns it.
    bool claim(waiter* w) noexcept {
        word seen = to_word(w);
        // [S2] acquire, pairs with [S1]: the claimer sees the item and the executor.
        // Failure relaxed: nothing is dereferenced (R1).
        return word_.compare_exchange_strong(seen, empty, std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }

    /// Takes `w` out, for its owner or a canceller. Strong: a spurious failure would lose the stop.
    bool withdraw(waiter* w) noexcept {
        word seen = to_word(w);
        // [S3] release, pairs with [S6]: our use of the exchanger happens-before its destruction. No
        // acquire: the owner made *w; a canceller acquired it with [W4]. Failure relaxed (R1). Above slot
        // 0, where [S5] may end the release sequence, only frames that are being destroyed withdraw.
        return word_.compare_exchange_strong(seen, empty, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    /// Takes `w` out, for its owner, and holds the destructor off until `end_move`.
    bool begin_move(waiter* w) noexcept {
        word seen = to_word(w);
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

    static word to_word(waiter* w) noexcept { return reinterpret_cast<word>(w); }

    atomic<word> word_{empty};
};

} // namespace tryst::detail
