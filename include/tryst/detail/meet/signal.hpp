// SPDX-License-Identifier: MIT
/// @file
/// The state of one waiter, through which its owner, its completer and its cancellers communicate
/// (slot.hpp defines these parties).
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstdint>

namespace tryst::detail {

/* The signal
 * One byte. Its bits are only ever added, until the owner resets them between two offers.
 *
 *   bit              set by      meaning
 *   parked           owner       "I am suspended: post me when you complete me"
 *   done             completer   "your item and outcome are in place"
 *   stop             canceller   "this wait must end"; with `expired`, because of its deadline
 *   withdrawing      owner       "I am about to withdraw my own offer"
 *   withdraw_failed  withdrawer  "my withdrawal failed, and I will not touch the exchanger again"
 *
 * Exactly one party may withdraw a waiter from the wait list. It is the canceller that set `stop`
 * first, if it found `parked`. Otherwise it is the owner, which finds `stop` when it tries to set
 * `parked`. (If the owner set `parked` regardless, the waiter could be completed, reused and parked
 * again before a late canceller withdrew it. That withdrawal would remove the new offer.)
 *
 * I5. The exchanger outlives every withdrawal. A withdrawal may come too late: before the
 *     withdrawer's CAS, a partner may have claimed the waiter, returned, and begun to destroy the
 *     exchanger.
 *     1. A withdrawer announces itself here first: by `withdrawing`, or by a `stop` that found
 *        `parked`.
 *     2. A completer that finds such an announcement pins the exchanger (`basic_arena::pin`) before
 *        it sets `done`.
 *     3. A withdrawer whose CAS failed sets `withdraw_failed`. If it then finds `done`, it unpins.
 *     4. A completer that finds `withdraw_failed` has no withdrawal to wait for, and pins nothing.
 *     5. The destructor of the exchanger waits until there are no pins. */
class signal {
public:
    using bits = std::uint8_t;
    static constexpr bits stop = 1;
    static constexpr bits expired = 2;
    static constexpr bits done = 4;
    static constexpr bits parked = 8;
    static constexpr bits withdrawing = 16;
    static constexpr bits withdraw_failed = 32;

    /// The bits that a transition found.
    class view {
    public:
        constexpr explicit view(bits seen) noexcept : seen_(seen) {}
        constexpr bool is_clear() const noexcept { return seen_ == 0; }
        constexpr bool is_done() const noexcept { return has(done); }
        constexpr bool is_stopped() const noexcept { return has(stop); }
        constexpr bool is_expired() const noexcept { return has(expired); }
        constexpr bool is_parked() const noexcept { return has(parked); }
        constexpr bool has_failed_to_withdraw() const noexcept { return has(withdraw_failed); }

        /// Whether a withdrawal has been announced and may still be under way.
        constexpr bool is_withdrawing() const noexcept {
            const bool by_owner = has(withdrawing);
            const bool by_canceller = has(stop) && has(parked);
            return (by_owner || by_canceller) && !has(withdraw_failed);
        }

    private:
        constexpr bool has(bits which) const noexcept { return (seen_ & which) != 0; }

        bits seen_;
    };

    // ---- The owner.

    /// Whether the waiter has been completed.
    bool is_done() const noexcept {
        // [W1] acquire, pairs with [W4]: the partner's item and the outcome.
        return view(word_.load(std::memory_order_acquire)).is_done();
    }

    /// Sets `parked` if no bit is set yet.
    /// @returns the bits that it found; if none, the waiter is parked and no longer belongs to the
    ///   owner.
    view park() noexcept {
        bits seen = 0;
        // [W2] release, pairs with [W3]: a canceller that sees `parked` sees the offer and the
        // waiter. Failure acquire, pairs with [W4] if `done` is there.
        word_.compare_exchange_strong(seen, parked, std::memory_order_release,
                                      std::memory_order_acquire);
        return view(seen);
    }

    /// Announces the owner's withdrawal (I5.1).
    view begin_withdraw() noexcept {
        // [W5] acquire, pairs with [W4] if `done` is there. No release: a completer decides from
        // this word alone whether to pin the exchanger, and [W6] releases the withdrawal itself.
        return view(word_.fetch_or(withdrawing, std::memory_order_acquire));
    }

    /// Prepares the waiter for another offer. Precondition: it is in no slot, and nothing can
    /// cancel it.
    void reset() noexcept {
        // Relaxed: no other party knows the waiter.
        word_.store(0, std::memory_order_relaxed);
    }

    // ---- The owner or a canceller.

    /// Ends an announced withdrawal that came too late (I5.3). With `also_parked`, also marks the
    /// owner as suspended.
    view fail_withdraw(bool also_parked) noexcept {
        const bits added = also_parked ? withdraw_failed | parked : withdraw_failed;
        // [W6] acquire, pairs with [W4] if `done` is there; release, pairs with [W4].
        return view(word_.fetch_or(added, std::memory_order_acq_rel));
    }

    // ---- A canceller.

    /// Requests the end of the wait, because of its deadline or a stop.
    view request_stop(bool by_deadline) noexcept {
        const bits added = by_deadline ? stop | expired : stop;
        // [W3] acquire, pairs with [W2]. No release: removing the stop callback or the timer orders
        // this call before the end of the waiter's lifetime.
        return view(word_.fetch_or(added, std::memory_order_acquire));
    }

    // ---- The completer.

    /// Sets `done` from any thread. If a withdrawal is under way, calls `pins.pin()` before
    /// `done` becomes visible (I5.2), and `pins.unpin()` if the pin turns out to be
    /// unnecessary (I5.4). Not inlined, so that it does not slow down
    /// `complete_in_place`.
    template <class Pins>
    [[gnu::noinline]] view complete(Pins& pins) noexcept {
        // Relaxed: the CAS re-reads it.
        bits seen = word_.load(std::memory_order_relaxed);
        bool pinned = false;
        do {
            // The pin comes before `done`, because the withdrawer unpins as soon as it sees `done`.
            // If the pin came later, that unpin could remove the pin of another withdrawal.
            if (pinned != view(seen).is_withdrawing()) {
                pinned ? pins.unpin() : pins.pin();
                pinned = !pinned;
            }
            // [W4] release, pairs with [W1], [W2], [W5] and [W6]: the item and the outcome.
            // Acquire, pairs with [W6]. Failure relaxed: retried.
        } while (!word_.compare_exchange_weak(seen, static_cast<bits>(seen | done),
                                              std::memory_order_acq_rel,
                                              std::memory_order_relaxed));
        if (pinned) {
            TRYST_TRACE(pinned, std::addressof(pins));
        }
        return view(seen);
    }

    /// Sets `done` on the owner's own executor. Precondition: nothing can cancel the waiter, and
    /// the owner cannot run during this call, because it needs the executor.
    void complete_in_place() noexcept {
        // [W7] relaxed: no other thread reads or writes the signal (docs/adr/0002).
        word_.store(done, std::memory_order_relaxed);
    }

private:
    atomic<bits> word_{0};
};

} // namespace tryst::detail
