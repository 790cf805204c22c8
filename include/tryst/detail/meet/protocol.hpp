// SPDX-License-Identifier: MIT
/// @file
/// How two parties of one exchanger find each other, wait, give up and close: the whole algorithm.
/// Standard library only. Allocates in its constructor, and where its home does; never throws after.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tryst::detail {

/// Where a step of the protocol has left a waiter.
enum class arrival : std::uint8_t {
    completed, ///< Its outcome is final, and it is its owner's again.
    waiting, ///< Offered in slot 0. If it is `unstoppable`, it must not be touched any more; else `park` it.
    offered, ///< Offered above slot 0, for the owner to `expire` after a while.
    claimed, ///< Out of its slot, its partner is about to finish: look again by `expire`.
};

/* The protocol
 * @tparam WaitList  where waiters may stay: the one slot 0 of the exchanger, or a dual structure for two colours
 *   (slot.hpp). `W` is the waiter of one side, with its item.
 *
 * After Scherer, Lea and Scott, "A Scalable Elimination-based Exchange Channel" (2005), section 3, with
 * waiters that live in frames and therefore the opposite order of claiming (R1, slot.hpp): the paper
 * fills the waiter's hole first and cleans the slot after; here the slot decides, and then the waiter is
 * touched.
 *
 *   arrive   1. Look at slot 0. A waiter there is claimed: swap, complete it, done. (R4: whoever waits
 *               there is taken by the next arrival that sees it, however busy the arena is.)
 *            2. While the arena is grown, look at this thread's own slot. A waiter is claimed likewise;
 *               in an empty slot, offer oneself there, for a bounded time.
 *            3. Else offer oneself in slot 0.
 *   expire   The bounded time is over: leave the slot, and arrive again, at slot 0 only.
 *   park     In slot 0: tell the completer that it must post us.
 *   cancel   A stop or a deadline: withdraw the waiter from slot 0, and complete it.
 *   close    Close slot 0, claim all that waits, and complete it.
 *
 * R2. Only slot 0 waits. Two waiters that stayed in different slots would miss each other for ever. In
 *     the slots above 0 a thread spins for a bounded time, as in the paper. A coroutine must not spin on
 *     its loop: its patience is one turn of the loop. It posts its own check and suspends; when the check
 *     runs, either a partner has come (which then had nobody to post or wake), or the offer expires.
 *     No stop and no deadline is in force meanwhile: they are, from the moment the waiter has been in
 *     slot 0 for such a time, too (docs/adr/0003).
 * R3. At quiescence at most one waiter is parked, in slot 0; none once closed.
 *
 * Who completes a waiter owns it: the one whose CAS took it from its slot. It writes the outcome, then
 * sets `done`, and posts the waiter if it found `parked`; it does not touch it after. Two shortcuts: in
 * slot 0 a `unstoppable` waiter, which nothing can cancel, has no use for the signal: completing it is posting
 * it; and on the loop that both run on, the signal needs no atomic step (W8, docs/adr/0002).
 *
 * Lifetime. A party that has returned may destroy the exchanger, if it knows that none will arrive any
 * more; so no party touches the exchanger after it has let its partner go, except under the guard of a
 * `moving` slot (slot.hpp) or of an announced withdrawal (W1, waiter.hpp). The last step before a post,
 * which may run anybody's code inline, is therefore to let go of the exchanger.
 *
 * Checked in tests/spin/exchange.pml, step by step; raced in tests/stress.
 * Not handled: fairness among those who arrive at the same time, and memory of who met whom. */
template <class WaitList>
class protocol {
    using arena = basic_arena<WaitList>;

public:
    explicit protocol(std::size_t capacity) : arena_(capacity) {}
    protocol(const protocol&) = delete;
    protocol& operator=(const protocol&) = delete;
    ~protocol() {
        close();
        arena_.drain();
    }

    bool is_closed() const noexcept { return arena_.wait_list().is_closed(); }

    /// Step 1 of `arrive`, alone: one load and, if somebody is there, one CAS.
    /// @returns whether `w` is completed.
    template <class W>
    bool meet(W& w) noexcept {
        return apply_match(w, arena_.wait_list().try_match(W::side), nullptr);
    }

    /// Takes any partner that waits in any slot; offers nothing.
    /// @returns whether `w` is completed.
    template <class W>
    bool take(W& w) noexcept {
        match_result home{};
        do {
            home = arena_.wait_list().try_match_all(W::side);
            if (apply_match(w, home, nullptr)) {
                return true;
            }
        } while (home.kind == match_result::collided);
        if (!arena_.has_grown()) {
            return false;
        }
        for (std::uint32_t i = 1; i <= arena_.capacity(); ++i) {
            const slot::word seen = arena_.at(i).peek();
            waiter* const q = slot::offered(seen);
            if (q != nullptr && slot::meets(W::side, seen) && arena_.at(i).claim(seen)) {
                swap_with(w, q, false, nullptr);
                return true;
            }
        }
        return false;
    }

    /// Looks for a partner, and else offers `w`, above slot 0 only if `spread`.
    template <class W>
    arrival arrive(W& w, bool spread) noexcept {
        return arrive(w, spread, nullptr);
    }

    /// Whether `w` has been completed.
    static bool is_done(const waiter& w) noexcept {
        // [W1] acquire, pairs with [W5]: the partner's item and the outcome.
        return (w.state.load(std::memory_order_acquire) & signal::done) != 0;
    }

    /// Ends the bounded offer of `w` above slot 0; in slot 0, where it may stay, only looks. On the
    /// owner's executor or thread.
    template <class W>
    arrival expire(W& w) noexcept {
        if (is_done(w)) {
            return arrival::completed;
        }
        if (arena::index_of(w.place) == 0) {
            return arrival::waiting;
        }
        const signal::bits seen = begin_withdraw(w);
        if ((seen & signal::done) != 0) {
            return arrival::completed;
        }
        if ((seen & signal::withdraw_failed) != 0) {
            return arrival::claimed;
        }
        slot& here = slot_of(w); // not before the announcement, which keeps the exchanger alive
        TRYST_TRACE(step::withdrawing);
        if (!here.begin_move(std::addressof(w), W::side)) {
            return withdraw_failed(w);
        }
        TRYST_TRACE(step::expiry);
        arena_.expired(w.place);
        // Relaxed: `w` is in no slot, and no stop or deadline is in force before it waits in slot 0.
        w.state.store(0, std::memory_order_relaxed);
        return arrive(w, false, &here);
    }

    /// Suspends `w`, which is `waiting` and not `unstoppable`.
    /// @returns whether it is suspended, and then not to be touched; else it is completed.
    template <class W>
    bool park(W& w) noexcept {
        signal::bits seen = 0;
        // [W2] release, pairs with [W4]: a canceller that sees `parked` sees the offer and the waiter.
        // Failure acquire, pairs with [W5] if `done` is there.
        if (w.state.compare_exchange_strong(seen, signal::parked, std::memory_order_release,
                                            std::memory_order_acquire)) {
            return true;
        }
        if ((seen & signal::done) == 0) {
            // A stop that came before we parked is ours to serve.
            seen = begin_withdraw(w);
        }
        if ((seen & signal::done) != 0) {
            return false;
        }
        TRYST_TRACE(step::withdrawing);
        if (withdraw_from_wait_list(w)) {
            TRYST_TRACE(step::own_stop);
            w.result = signal::reason(seen);
            return false;
        }
        return withdraw_failed(w, signal::parked) == arrival::claimed;
    }

    /// Ends the wait of `w` for `why` (`stop`, and `expired` if by its deadline), unless a partner was
    /// faster. From any thread, while the operation lives. Precondition: `w` is, or was, `waiting`.
    template <class W>
    void cancel(W& w, signal::bits why) noexcept {
        // [W4] acquire, pairs with [W2]. No release: the end of the stop callback, or of the timer, orders
        // this call before the end of the waiter's life.
        const signal::bits seen = w.state.fetch_or(why, std::memory_order_acquire);
        if ((seen & (signal::done | signal::stop)) != 0 || (seen & signal::parked) == 0) {
            return; // too late, or somebody else's to serve, or the owner's own
        }
        TRYST_TRACE(step::withdrawing);
        if (withdraw_from_wait_list(w)) {
            TRYST_TRACE(step::stop);
            w.result = signal::reason(why);
            post(w);
        } else {
            TRYST_TRACE(step::late_stop);
            withdraw_failed(w);
        }
    }

    /// Takes back the offer of `w`, whose frame is being destroyed while it is suspended, with no
    /// canceller left. On its executor. `queued` says that its check or its resumption was in the
    /// executor's queue, and is no more.
    /// @returns whether nobody refers to `w` any more; else its resumption is about to be posted.
    template <class W>
    bool abandon(W& w, bool queued) noexcept {
        const bool stays = arena::index_of(w.place) == 0 && (w.unstoppable || w.limited);
        if (stays) {
            return queued || (w.unstoppable ? withdraw_from_wait_list(w)
                                            : try_withdraw(w) == arrival::waiting);
        }
        // Its check was queued, and nobody else posts it.
        yield_until([&] { return try_withdraw(w) != arrival::claimed; });
        return true;
    }

    /// Closes permanently, and completes all waiters with `closed`. A party that finds the
    /// exchanger closed may destroy it; the destructor waits until this close has completed the
    /// last waiter.
    void close() noexcept {
        arena_.pin();
        waiter* const last = arena_.wait_list().close([&](waiter& q) { complete_closed(q); });
        for (std::uint32_t i = 1; i <= arena_.capacity(); ++i) {
            const slot::word seen = arena_.at(i).peek();
            waiter* const q = slot::offered(seen);
            if (q != nullptr && arena_.at(i).claim(seen)) {
                complete(*q, outcome::closed, false);
            }
            // Offers made here from now on find slot 0 closed when they expire.
        }
        const bool suspended = last != nullptr && complete(*last, outcome::closed, true);
        const bool is_inline = suspended && !last->executor;
        if (suspended && !is_inline) {
            post(*last);
        }
        arena_.unpin();
        if (is_inline) { // the party may destroy the exchanger
            post(*last);
        }
    }

    std::size_t capacity() const noexcept { return arena_.capacity(); }

    /// The highest slot in use now.
    std::size_t spread() const noexcept { return arena::highest(arena_.bound()); }

private:
    /// Serves what `w` has seen in the wait list. `moving`, if not null, is the slot that `w` comes from.
    /// @returns whether `w` is completed.
    template <class W>
    bool apply_match(W& w, match_result seen, slot* moving) noexcept {
        switch (seen.kind) {
        case match_result::partner:
            swap_with(w, seen.claimed, true, moving);
            return true;
        case match_result::closed:
            w.result = outcome::closed;
            break;
        case match_result::out_of_memory:
            w.result = outcome::out_of_memory;
            break;
        case match_result::collided:
            arena_.grow();
            return false;
        default:
            return false;
        }
        if (moving != nullptr) {
            moving->end_move();
        }
        return true;
    }

    template <class W>
    arrival arrive(W& w, bool spread, slot* moving) noexcept {
        while (true) {
            match_result seen = arena_.wait_list().try_match(W::side);
            if (apply_match(w, seen, moving)) {
                return arrival::completed;
            }
            if (seen.kind == match_result::collided) {
                continue;
            }
            const std::uint32_t bound = arena_.bound();
            // Where the own side waits in the wait list, partners go there first.
            const bool spreads = WaitList::spreads && spread && seen.kind == match_result::nobody;
            const std::uint32_t index = spreads ? arena::index(bound) : 0;
            w.place = arena::place(bound, index);
            if (index == 0) {
                seen = arena_.wait_list().enqueue_or_match(w, W::side);
                if (apply_match(w, seen, moving)) {
                    return arrival::completed;
                }
                if (seen.kind == match_result::offered) {
                    if (moving != nullptr) {
                        moving->end_move();
                    }
                    return arrival::waiting;
                }
                continue;
            }
            slot& here = arena_.at(index);
            const slot::word offer = here.peek();
            if (waiter* const q = slot::offered(offer)) {
                if (!slot::meets(W::side, offer)) {
                    spread = false; // its own side is here already: wait for both in the wait list
                } else if (here.claim(offer)) {
                    swap_with(w, q, false, nullptr);
                    return arrival::completed;
                } else {
                    arena_.collided();
                }
            } else if (slot::is_empty(offer)) {
                if (here.offer(std::addressof(w), W::side)) {
                    TRYST_TRACE(step::offer_in_arena);
                    return arrival::offered;
                }
            } else {
                spread = false; // somebody is on the way from here to slot 0: meet it there
            }
        }
    }

    /// Where the latest offer of `w` was made, above slot 0.
    slot& slot_of(const waiter& w) noexcept { return arena_.at(arena::index_of(w.place)); }

    /// Takes `w` out of slot 0, if it has not been claimed.
    template <class W>
    bool withdraw_from_wait_list(W& w) noexcept {
        if constexpr (WaitList::withdraws_in_one_step) {
            return arena_.wait_list().withdraw(w, W::side);
        } else {
            // Once it is out, nobody waits for us: the destructor must.
            arena_.pin();
            const bool out = arena_.wait_list().withdraw(w, W::side);
            arena_.unpin();
            return out;
        }
    }

    /// Takes `w` out of its slot for good.
    /// @returns waiting: it was still there; completed: it is completed; claimed: it is about to be.
    template <class W>
    arrival try_withdraw(W& w) noexcept {
        const signal::bits seen = begin_withdraw(w);
        if ((seen & signal::done) != 0) {
            return arrival::completed;
        }
        if ((seen & signal::withdraw_failed) != 0) {
            return arrival::claimed;
        }
        TRYST_TRACE(step::withdrawing);
        const bool out = arena::index_of(w.place) == 0
                             ? withdraw_from_wait_list(w)
                             : slot_of(w).withdraw(std::addressof(w), W::side);
        return out ? arrival::waiting : withdraw_failed(w);
    }

    /// Says that the owner is about to withdraw `w` (W1).
    static signal::bits begin_withdraw(waiter& w) noexcept {
        // [W6] acquire, pairs with [W5] if `done` is there. No release: that the withdrawal is counted
        // is a matter of this word alone, and what the withdrawal does is released by [W7].
        return w.state.fetch_or(signal::withdrawing, std::memory_order_acquire);
    }

    /// Says that a withdrawal of `w` has failed (W1), and with `parked` that its owner is suspended.
    arrival withdraw_failed(waiter& w, signal::bits also = 0) noexcept {
        // [W7] acquire, pairs with [W5] if `done` is there; release, pairs with [W5].
        const signal::bits seen = w.state.fetch_or(
            static_cast<signal::bits>(signal::withdraw_failed | also), std::memory_order_acq_rel);
        if ((seen & signal::done) == 0) {
            return arrival::claimed;
        }
        arena_.unpin();
        return arrival::completed;
    }

    /// Gives `w`, which is the caller's, and `q`, which the caller claimed, each other's items.
    template <class W>
    void swap_with(W& w, waiter* claimed, bool in_wait_list, slot* moving) noexcept {
        TRYST_TRACE(in_wait_list ? step::claim_in_wait_list : step::claim_in_arena);
        auto& q = static_cast<typename W::partner&>(*claimed);
        w.swap_items(q);
        w.result = outcome::exchanged;
        const bool suspended = complete(q, outcome::exchanged, in_wait_list);
        if (moving != nullptr) {
            moving->end_move();
        }
        if (suspended) {
            post(q);
        }
    }

    /// Completes `q`, which the caller owns.
    /// @returns whether it must be posted; if not, it is not to be touched any more.
    bool complete(waiter& q, outcome how, bool in_wait_list) noexcept {
        TRYST_TRACE(step::completing);
        q.result = how;
        if (in_wait_list && q.unstoppable) {
            return true;
        }
        if (q.executor.alone_here() && !q.limited) {
            // [W8] relaxed: nobody else is at the signal. Its owner would have to run here, its canceller
            // does not exist yet, and an executor that is alone here has not parked it.
            q.state.store(signal::done, std::memory_order_relaxed);
            TRYST_TRACE(step::completion_in_place);
            return false;
        }
        // Relaxed: the CAS re-reads it.
        signal::bits seen = q.state.load(std::memory_order_relaxed);
        bool counted = false;
        do {
            // Before `done`, not after: the withdrawer uncounts as soon as it sees `done`, and meanwhile
            // nobody else's withdrawal may make up for a missing one.
            if (counted != signal::withdrawal_under_way(seen)) {
                counted ? arena_.unpin() : arena_.pin();
                counted = !counted;
            }
            // [W5] release, pairs with [W1], [W2], [W6] and [W7]: the item and the outcome. Acquire,
            // pairs with [W7]. Failure relaxed: retried.
        } while (
            !q.state.compare_exchange_weak(seen, static_cast<signal::bits>(seen | signal::done),
                                           std::memory_order_acq_rel, std::memory_order_relaxed));
        if (counted) {
            TRYST_TRACE(step::pinned);
        }
        return (seen & signal::parked) != 0;
    }

    /// Completes `q`, whom a close has claimed in the wait list.
    void complete_closed(waiter& q) noexcept {
        if (complete(q, outcome::closed, true)) {
            post(q);
        }
    }

    static void post(waiter& q) noexcept {
        if (q.executor) {
            q.executor.post(&q);
        } else {
            const inline_scope here;
            q.run(&q);
        }
    }

    arena arena_;
};

} // namespace tryst::detail
