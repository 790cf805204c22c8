// SPDX-License-Identifier: MIT
/// @file
/// The protocol by which the parties of one exchanger match, wait, withdraw and close.
/// Standard library only. Allocates in its constructor and where its wait list does; only the
/// constructor throws.
///
/// This header is long because the steps of one algorithm are best read in one place.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/patience.hpp>
#include <tryst/detail/meet/signal.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/spin.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tryst::detail {

/// The result of a step of the protocol for a waiter.
enum class arrival : std::uint8_t {
    completed, ///< Its outcome is final, and it belongs to its owner again.
    waiting, ///< In the wait list: `park` it. If it is unstoppable, it must not be touched.
    offered, ///< Offered in the arena. Its owner calls `expire` after a while.
    claimed, ///< Out of its slot. Its partner is about to complete it: call `expire` again.
};

/* The protocol
 * After Scherer, Lea and Scott, "A Scalable Elimination-based Exchange Channel" (2005), section 3,
 * with one difference. In the paper a party fills the waiter's hole and then cleans the slot. Here
 * waiters live in frames, so a party first takes the waiter out of its slot and then touches it
 * (I1, slot.hpp).
 *
 *   arrive   1. Look at the wait list. If a partner waits there: claim it, swap items, complete it.
 *            2. If the arena has grown, look at this thread's slot there. Claim a partner likewise,
 *               or offer the party's own waiter in the empty slot, for a bounded time.
 *            3. Otherwise offer the party's own waiter in the wait list.
 *            If the list eliminates, step 2 comes first.
 *   expire   The bounded time is over: leave the arena's slot, and arrive again in the wait list.
 *   park     In the wait list: tell the completer that it must post the waiter. If a stop came
 *            first, withdraw the waiter instead.
 *   cancel   A stop or a deadline: withdraw the waiter from the wait list, and complete it.
 *   close    Close the wait list, claim all waiters, and complete them.
 *
 * Below, "in the arena" means: in a slot above slot 0, as opposed to the wait list.
 *
 * I2. Only the wait list (slot 0) holds waiters for an unbounded time. Two waiters that stayed in
 *     different slots would miss each other forever. In the arena a thread spins for a bounded
 *     time, as in the paper. A coroutine must not spin on its loop. Its patience is one turn of the
 *     loop, or a few microseconds if it is alone there (patience.hpp): it posts a check, which is a
 *     node that calls `expire`, and suspends. When the check runs, either a partner has come,
 *     without having to post the waiter, or the offer expires. During that turn no stop or deadline
 *     is in force. A waiter on an executor spends such a turn in the wait list, too, before the
 *     stop and the deadline come into force (docs/adr/0003).
 *
 * I4. A party in the wait list is claimed by the next arrival that sees it, however busy the arena
 *     is. Each arrival looks; but if the list eliminates and the arena is in use, it looks before
 *     it tries the arena only with a probability of 1 in 256 (dual_stack.hpp).
 *
 * I6. A party that has released its partner touches the exchanger only while a slot that it leaves
 *     is `moving` (slot.hpp) or while it holds a pin (I5, signal.hpp). The partner may return and
 *     destroy the exchanger, if it knows that no other party will arrive. A post may run any code
 *     inline. So a party ends `moving` before it posts. A closer unpins before it posts the last
 *     waiter if that waiter resumes inline.
 *
 * Access. A waiter belongs to the party whose CAS took it from its slot. This party writes the
 * outcome, sets `done`, and posts the waiter if it found `parked`. After that it does not touch the
 * waiter. There are two shortcuts. An unstoppable waiter in the wait list does not use the
 * signal, because nothing can cancel it: its completer only posts it. And if both parties run on
 * one loop, the signal needs no atomic step ([W7], docs/adr/0002).
 *
 * tests/model checks the protocol step by step, and tests/stress runs it under load.
 * The protocol does not provide fairness among parties that arrive at the same time, and does not
 * remember past partners.
 *
 * @tparam WaitList  a `single_slot`, or a `dual_queue` or `dual_stack` for two colours. In the
 *   members, `W` is the type of one side's waiter, with its item.
 * @tparam Observer  what the exchanger's policies observe. */
template <wait_list WaitList, class Observer = observer<>>
class protocol {
    using arena = basic_arena<WaitList>;

public:
    /// @param shared  the observer's counters, if it does not have its own.
    template <class... Counters>
    explicit protocol(std::size_t capacity, const Counters&... shared)
        : arena_(capacity), observer_(shared...) {}
    protocol(const protocol&) = delete;
    protocol& operator=(const protocol&) = delete;
    ~protocol() {
        close();
        arena_.drain();
    }

    bool is_closed() const noexcept { return arena_.list().is_closed(); }

    /// Whether an arrival that can wait should begin with `try_match` (wait_list.hpp).
    static constexpr bool looks_first = WaitList::spreads;

    /// Step 1 of `arrive` alone. In a `single_slot`: one load and, if a partner waits, one CAS. For
    /// a party that does not spin, also looks at this thread's slot of the arena. Inlined, because
    /// half of all exchanges end here.
    /// @returns whether `w` is completed.
    template <bool OwnsThread = false, class W>
    [[gnu::always_inline]] inline bool try_match(W& w) noexcept {
        if constexpr (WaitList::eliminates) {
            if (arena_.skips_list()) {
                return false;
            }
        }
        match_result found = arena_.list().try_match(W::side);
        return apply_match(w, found, nullptr) ||
               (!OwnsThread && WaitList::spreads && !WaitList::eliminates &&
                found.kind == match_result::empty && arena_.has_grown() && try_match_in_arena(w));
    }

    /// Swaps with a partner that waits in the wait list; offers nothing.
    /// @returns whether `w` is completed.
    template <class W>
    bool try_match_in_list(W& w) noexcept {
        match_result found{};
        do {
            found = arena_.list().try_match(W::side);
            if (apply_match(w, found, nullptr)) {
                return true;
            }
        } while (found.kind == match_result::collided);
        return false;
    }

    /// Swaps with a partner that waits in any slot; offers nothing.
    /// @returns whether `w` is completed.
    template <class W>
    bool try_match_all(W& w) noexcept {
        if (try_match_in_list(w)) {
            return true;
        }
        if (!arena_.has_grown()) {
            return false;
        }
        for (std::uint32_t i = 1; i <= arena_.capacity(); ++i) {
            if (match_in_group(w, i).kind == group_visit::matched) {
                return true;
            }
        }
        return false;
    }

    /// After `try_match` has found no partner: claims one that has come since, or otherwise offers
    /// `w`. Offers it in the arena only if `spread`.
    /// @tparam OwnsThread  whether the party is the only one of its thread. Then it moves with its
    ///   partners (arena.hpp).
    template <bool OwnsThread = false, class W>
    arrival arrive(W& w, bool spread) noexcept {
        TRYST_TRACE(wait_start, name_, std::addressof(w), this);
        observer_.arrive(w, name_);
        if constexpr (W::side == colour::none && !OwnsThread) {
            // `try_match` has just looked at the wait list, and at this thread's slot of the arena.
            if (!arena_.has_grown()) {
                w.place = 0;
                if (arena_.list().enqueue_or_match(w, W::side).kind == match_result::offered) {
                    return arrival::waiting;
                }
            } else if (spread && offer_in_arena(w)) {
                return arrival::offered;
            }
        }
        return arrive<OwnsThread>(w, spread, nullptr);
    }

    /// Ends the bounded offer of `w` in the arena (I2). If `w` is in the wait list, where it may
    /// stay, only checks whether it is complete. Call on the owner's executor or thread.
    template <bool OwnsThread = false, class W>
    arrival expire(W& w) noexcept {
        if (w.state.is_done()) {
            return arrival::completed;
        }
        if (arena::index_of(w.place) == 0) {
            return arrival::waiting;
        }
        const signal::view seen = w.state.begin_withdraw();
        if (seen.is_done()) {
            return arrival::completed;
        }
        if (seen.has_failed_to_withdraw()) {
            give_way();
            return arrival::claimed;
        }
        slot& here = slot_of(w); // after the announcement, which keeps the exchanger alive (I5)
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        if (!here.begin_move(std::addressof(w), W::side)) {
            return fail_withdraw(w);
        }
        TRYST_TRACE(expiry, this, std::addressof(w));
        observer_.count(counted_event::expiry);
        observer_.count(counted_event::shrinkage, arena_.expired(w.place));
        w.state.reset(); // no stop and no deadline is in force before it waits in the wait list
        return arrive<OwnsThread>(w, false, &here);
    }

    /// Whether `w`, which has been offered, is in the arena and not complete. Call as `expire`.
    template <class W>
    bool is_in_arena(const W& w) const noexcept {
        return arena::index_of(w.place) != 0 && !w.state.is_done();
    }

    /// Suspends `w`, which is `waiting` and `stoppable`.
    /// @returns whether it is suspended, and so must not be touched; otherwise it is completed.
    template <class W>
    bool park(W& w) noexcept {
        observer_.park(w);
        signal::view seen = w.state.park();
        if (seen.is_clear()) {
            return true;
        }
        if (!seen.is_done()) {
            // The owner acts on a stop that came before it was parked.
            seen = w.state.begin_withdraw();
        }
        if (seen.is_done()) {
            return false;
        }
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        const outcome why = reason(seen.is_expired());
        if (withdraw_from_list(w, why)) {
            TRYST_TRACE(own_stop, this, std::addressof(w));
            w.result = why;
            return false;
        }
        return fail_withdraw(w, true) == arrival::claimed;
    }

    /// Ends the wait of `w` for a stop or its deadline, unless a partner was faster. Call from any
    /// thread during the operation's life. Precondition: `w` is, or was, `waiting`.
    template <class W>
    void cancel(W& w, bool by_deadline) noexcept {
        const signal::view seen = w.state.request_stop(by_deadline);
        if (seen.is_done() || seen.is_stopped() || !seen.is_parked()) {
            return; // too late, or left to another canceller or to the owner
        }
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        if (withdraw_from_list(w, reason(by_deadline))) {
            TRYST_TRACE(stop, this, std::addressof(w));
            w.result = reason(by_deadline);
            detail::post(w);
        } else {
            TRYST_TRACE(late_stop, this, std::addressof(w));
            fail_withdraw(w);
        }
    }

    /// Takes back the offer of `w`, whose suspended coroutine is being destroyed. Call on the
    /// executor of `w`. Precondition: the stop callback and the timer have been removed.
    /// @param limited  whether a stop or a deadline was in force.
    /// @param queued   whether its check or its resumption has just been taken out of the
    ///   executor's queue.
    /// @returns whether no party refers to `w` any more; if not, its resumption is about to be
    ///   posted.
    template <class W>
    bool abandon(W& w, bool limited, bool queued) noexcept {
        const bool unstoppable = w.kind == waiter::kind_type::unstoppable;
        const bool stays = arena::index_of(w.place) == 0 && (unstoppable || limited);
        if (stays) {
            return queued ||
                   (unstoppable ? withdraw_from_list(w, outcome::cancelled)
                                : try_withdraw(w, outcome::cancelled) == arrival::waiting);
        }
        // Its check was queued, and no other party posts the waiter.
        withdraw(w, outcome::cancelled);
        return true;
    }

    /// Takes `w`, which no other party will post, out of its slot. If it has been claimed, waits
    /// until the claimer does not refer to it any more.
    /// @param why  for the observer.
    template <class W>
    void withdraw(W& w, outcome why) noexcept {
        detail::spin_until([&] { return try_withdraw(w, why) != arrival::claimed; });
    }

    /// Ends the operation of `w`, which belongs to the caller and is in no slot, without an
    /// exchange.
    template <class W>
    void complete_own(W& w, outcome how) noexcept {
        observer_.ended(w, how);
        set_own_outcome(w, how);
    }

    /// Closes permanently, and completes all waiters with `closed`. A party that finds the
    /// exchanger closed may destroy it, because the destructor waits until this call has completed
    /// the last waiter.
    void close() noexcept {
        arena_.pin();
        if constexpr (WaitList::eliminates) {
            // Before a party can find the list closed: those that arrive later must look there.
            arena_.shut();
        }
        const auto take = [this](waiter& q) { return take_closed(q); };
        const auto complete_and_post = [this](waiter& q) {
            if (complete_closed(q)) {
                post(q);
            }
        };
        waiter* const last = arena_.list().close(take, complete_and_post);
        for (std::uint32_t i = 0; i != arena_.capacity() * arena::group_size; ++i) {
            slot& here = arena_.at(1 + i / arena::group_size, i % arena::group_size);
            const slot::word seen = here.peek();
            waiter* const q = slot::offered(seen);
            if (q != nullptr && here.claim(seen)) {
                observer_.ended(*q, outcome::closed);
                complete(*q, outcome::closed, false);
            }
            // A later offer here expires, and its party then finds the wait list closed.
        }
        const bool suspended = last != nullptr && complete_closed(*last);
        const bool is_inline = suspended && !last->executor;
        if (suspended && !is_inline) {
            post(*last);
        }
        arena_.unpin();
        if (is_inline) { // the party may destroy the exchanger (I6)
            post(*last);
        }
    }

    std::size_t capacity() const noexcept { return arena_.capacity(); }

    const char* name() const noexcept { return name_; }
    void set_name(const char* name) noexcept { name_ = name; }

    statistics stats() const noexcept { return observer_.stats(); }

    /// The number of the highest slot in use now.
    std::size_t spread() const noexcept { return arena::highest(arena_.bound()); }

private:
    /// Acts on the result of a step of `w` in the wait list. `moving`, if not null, is the slot
    /// that `w` is leaving. If the partner is stale (I41), changes the result to `collided`.
    /// @returns whether `w` is completed.
    template <class W>
    [[gnu::always_inline]] bool apply_match(W& w, match_result& found, slot* moving) noexcept {
        switch (found.kind) {
        case match_result::partner:
            if (!swap_with(w, found.claimed, true, moving)) {
                found.kind = match_result::collided;
                return false;
            }
            return true;
        case match_result::closed:
            complete_own(w, outcome::closed);
            break;
        case match_result::out_of_memory:
            complete_own(w, outcome::out_of_memory);
            break;
        case match_result::collided:
            count_collision(arena_.grow());
            return false;
        default:
            return false;
        }
        if (moving != nullptr) {
            moving->end_move();
        }
        return true;
    }

    /// What a party found in the slots at one index of the arena.
    struct group_visit {
        enum kind_type : std::uint8_t {
            matched, ///< The party is completed.
            collided, ///< No partner but those that other parties claimed first.
            vacant, ///< No partner; a slot is empty.
            full, ///< No partner, and no slot is empty.
        };
        kind_type kind;
        std::uint32_t empty_slot = 0;
    };

    /// Claims a partner in the slots at `index`, if there is one. `moving` is as in `apply_match`.
    template <class W>
    group_visit match_in_group(W& w, std::uint32_t index, slot* moving = nullptr) noexcept {
        group_visit result{group_visit::full};
        bool collided = false;
        for (std::uint32_t i = 0; i != arena::group_size; ++i) {
            slot& here = arena_.at(index, i);
            const slot::word offer = here.peek();
            waiter* const q = slot::offered(offer);
            if (q == nullptr) {
                if (slot::is_empty(offer) && result.kind == group_visit::full) {
                    result = {group_visit::vacant, i};
                }
            } else if (slot::matches(W::side, offer)) {
                if (here.claim(offer)) {
                    swap_with(w, q, false, moving);
                    return {group_visit::matched};
                }
                collided = true;
            }
        }
        return collided ? group_visit{group_visit::collided} : result;
    }

    /// Claims a partner in one of a few indexes that belong to other threads, before `w` goes to
    /// the wait list. If each thread serves only one colour, partners are not at its own index.
    template <class W>
    bool match_nearby(W& w, std::uint32_t bound, slot* moving) noexcept {
        const std::uint32_t slot_count = arena::highest(bound);
        const std::uint32_t own = slot_count > 1 ? arena::index(bound) : 1;
        for (std::uint32_t i = 0; i + 1 < slot_count && i != 4; ++i) {
            const std::uint32_t other = 1 + (own + i) % slot_count;
            if (match_in_group(w, other, moving).kind == group_visit::matched) {
                return true;
            }
        }
        return false;
    }

    /// With a wait list that eliminates: the arena comes first.
    template <bool /*OwnsThread*/, class W>
    arrival arrive(W& w, bool spread, slot* moving) noexcept
        requires WaitList::eliminates
    {
        // `try_match` has just tried the list, unless it skipped it.
        bool tried = moving == nullptr && !arena_.has_grown();
        while (true) {
            const std::uint32_t bound = arena_.bound();
            const std::uint32_t index = spread ? arena::index(bound) : 0;
            if (index != 0) {
                const group_visit seen = match_in_group(w, index);
                if (seen.kind == group_visit::matched) {
                    return arrival::completed;
                }
                if (seen.kind == group_visit::collided) {
                    count_collision(arena_.collided());
                } else if (seen.kind == group_visit::full) {
                    spread = false;
                } else {
                    w.place = arena::place(bound, index, seen.empty_slot);
                    if (slot_of(w).offer(std::addressof(w), W::side)) {
                        TRYST_TRACE(offer_in_arena, this, std::addressof(w));
                        return arrival::offered;
                    }
                    count_collision(arena_.grow());
                }
                continue;
            }
            const bool skips = std::exchange(tried, false);
            if (!skips) {
                if (match_nearby(w, bound, moving)) {
                    return arrival::completed;
                }
                match_result found = arena_.list().try_match(W::side);
                if (apply_match(w, found, moving)) {
                    return arrival::completed;
                }
                if (found.kind == match_result::collided) {
                    continue; // the arena may have grown
                }
            }
            match_result found = arena_.list().enqueue_or_match(w, W::side);
            if (found.kind == match_result::out_of_memory && skips) {
                continue; // `try_match` may have collided, and overlooked a partner
            }
            if (apply_match(w, found, moving)) {
                return arrival::completed;
            }
            if (found.kind == match_result::offered) {
                if (moving != nullptr) {
                    moving->end_move();
                }
                return arrival::waiting;
            }
        }
    }

    /// Offers `w` in this thread's slot of the arena, if that is empty. This and the next function
    /// are not inlined, because most exchangers stay at slot 0.
    /// @returns whether `w` is offered.
    template <class W>
    [[gnu::noinline]] bool offer_in_arena(W& w) noexcept {
        const std::uint32_t bound = arena_.bound();
        const std::uint32_t index = arena::index(bound);
        w.place = arena::place(bound, index);
        if (index == 0 || !arena_.at(index).offer(std::addressof(w), W::side)) {
            return false;
        }
        TRYST_TRACE(offer_in_arena, this, std::addressof(w));
        return true;
    }

    /// Claims a partner in this thread's slot of the arena.
    /// @returns whether `w` is completed.
    template <class W>
    [[gnu::noinline]] bool try_match_in_arena(W& w) noexcept {
        const std::uint32_t index = arena::index(arena_.bound());
        if (index == 0) {
            return false;
        }
        slot& here = arena_.at(index);
        const slot::word offer = here.peek();
        waiter* const q = slot::offered(offer);
        if (q == nullptr || !slot::matches(W::side, offer)) {
            return false;
        }
        if (!here.claim(offer)) {
            count_collision(arena_.collided());
            return false;
        }
        swap_with(w, q, false, nullptr);
        return true;
    }

    template <bool OwnsThread, class W>
    arrival arrive(W& w, bool spread, slot* moving) noexcept {
        // The wait list comes first (I4). If it does not spread, `enqueue_or_match` is the look.
        bool tried = !WaitList::spreads;
        while (true) {
            match_result found{match_result::own_side};
            if (!std::exchange(tried, false)) {
                found = arena_.list().try_match(W::side);
                if constexpr (OwnsThread && WaitList::spreads) {
                    // A longer wait list stores a number of its own in `place`.
                    if (moving != nullptr && found.kind == match_result::partner) {
                        arena::follow(found.claimed->place);
                    }
                }
                if (apply_match(w, found, moving)) {
                    return arrival::completed;
                }
                if (found.kind == match_result::collided) {
                    continue;
                }
            }
            const std::uint32_t bound = arena_.bound();
            // If the party's own side waits in the list, partners look there first.
            const bool spreads = WaitList::spreads && spread && found.kind == match_result::empty;
            const std::uint32_t index = spreads ? arena::index(bound) : 0;
            if (index == 0) {
                w.place = OwnsThread ? arena::place_in_list(bound) : 0;
                found = arena_.list().enqueue_or_match(w, W::side);
                if (apply_match(w, found, moving)) {
                    return arrival::completed;
                }
                if (found.kind == match_result::offered) {
                    if (moving != nullptr) {
                        moving->end_move();
                    }
                    return arrival::waiting;
                }
                continue;
            }
            w.place = arena::place(bound, index);
            slot& here = arena_.at(index);
            if constexpr (OwnsThread) {
                prefetch_for_write(&here);
            }
            const slot::word offer = here.peek();
            if (waiter* const q = slot::offered(offer)) {
                if constexpr (OwnsThread) {
                    prefetch_for_write(q); // no dereference (I1)
                }
                if (here.claim(offer)) {
                    if constexpr (OwnsThread) {
                        count_growth(arena_.met(q->executor));
                    }
                    swap_with(w, q, false, nullptr);
                    return arrival::completed;
                } else {
                    count_collision(arena_.collided());
                }
            } else if (slot::is_empty(offer)) {
                if (here.offer(std::addressof(w), W::side)) {
                    TRYST_TRACE(offer_in_arena, this, std::addressof(w));
                    return arrival::offered;
                }
            } else {
                spread = false; // a party moves from here to the wait list: meet it there
            }
        }
    }

    /// The arena's slot of the latest offer of `w`.
    slot& slot_of(const waiter& w) noexcept {
        return arena_.at(arena::index_of(w.place), arena::member_of(w.place));
    }

    void count_growth(bool grown) noexcept { observer_.count(counted_event::growth, grown); }
    void count_collision(bool grown) noexcept {
        observer_.count(counted_event::collision);
        count_growth(grown);
    }

    /// Takes `w` out of the wait list, if it has not been claimed.
    template <class W>
    bool withdraw_from_list(W& w, outcome why) noexcept {
        if constexpr (WaitList::withdraws_in_one_step && !Observer::counts) {
            return arena_.list().withdraw(w, W::side);
        } else {
            // Once `w` is out, its party no longer waits for this withdrawal, so the destructor
            // must wait for it (I6).
            arena_.pin();
            const bool out = arena_.list().withdraw(w, W::side);
            if (out) {
                observer_.ended(w, why);
            }
            arena_.unpin();
            return out;
        }
    }

    /// Takes `w` out of the arena, if it has not been claimed. No other thread destroys the
    /// exchanger (exchange_operation.hpp).
    template <class W>
    bool withdraw_from_arena(W& w, outcome why) noexcept {
        if (!slot_of(w).withdraw(std::addressof(w), W::side)) {
            return false;
        }
        observer_.ended(w, why);
        return true;
    }

    /// Takes `w` out of its slot permanently.
    /// @returns `waiting` if it was still there, `completed` if it is completed, and `claimed` if
    ///   its partner is about to complete it.
    template <class W>
    arrival try_withdraw(W& w, outcome why) noexcept {
        const signal::view seen = w.state.begin_withdraw();
        if (seen.is_done()) {
            return arrival::completed;
        }
        if (seen.has_failed_to_withdraw()) {
            return arrival::claimed;
        }
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        const bool out = arena::index_of(w.place) == 0 ? withdraw_from_list(w, why)
                                                       : withdraw_from_arena(w, why);
        return out ? arrival::waiting : fail_withdraw(w);
    }

    /// For a thread that looks again and again whether a claimer has completed a waiter: naps at
    /// times, because the claimer may have lost its processor to this thread.
    static void give_way() noexcept {
        if (++per_thread<thread_state>().looks % yields_before_nap == 0) {
            nap();
        }
    }

    /// Ends the announced withdrawal of `w`, which came too late (I5).
    arrival fail_withdraw(waiter& w, bool also_parked = false) noexcept {
        if (!w.state.fail_withdraw(also_parked).is_done()) {
            return arrival::claimed;
        }
        arena_.unpin();
        return arrival::completed;
    }

    static outcome reason(bool by_deadline) noexcept {
        return by_deadline ? outcome::timed_out : outcome::cancelled;
    }

    /// Swaps the items of `w`, which belongs to the caller, and of the waiter that the caller has
    /// claimed. Completes the latter. This is the only place where items change hands.
    /// @returns false if the claimed waiter is stale (I41).
    template <class W>
    bool swap_with(W& w, waiter* claimed, bool in_list, slot* moving) noexcept {
        // NOLINTNEXTLINE(bugprone-branch-clone): the steps differ where they are traced.
        if (in_list) {
            TRYST_TRACE(claim_in_wait_list, this, claimed);
        } else {
            TRYST_TRACE(claim_in_arena, this, claimed);
        }
        auto& q = static_cast<typename W::partner&>(*claimed);
        if (in_list && q.kind == waiter::kind_type::selecting) {
            return swap_with_case(w, q, moving);
        }
        observer_.matched(w, q);
        w.swap_items(q);
        set_own_outcome(w, outcome::exchanged);
        end_swap(complete(q, outcome::exchanged, in_list), q, moving);
        return true;
    }

    /// As above, for a waiter of a selection in the wait list. Not inlined, because it is rarer.
    template <class W>
    [[gnu::noinline]] bool swap_with_case(W& w, typename W::partner& q, slot* moving) noexcept {
        const auto committed = commit(q);
        if (committed == commitment::commit_result::stale) {
            return false;
        }
        observer_.matched(w, q);
        w.swap_items(q);
        set_own_outcome(w, outcome::exchanged);
        const bool suspended = complete_case(q, outcome::exchanged, committed);
        if (suspended && commitment_of(q).leave_parked != nullptr) {
            commitment_of(q).leave_parked(commitment_of(q));
        }
        end_swap(suspended, q, moving);
        return true;
    }

    /// The end of a swap: leaves the slot `moving` (I6), and posts `q` if it is suspended.
    void end_swap(bool suspended, waiter& q, slot* moving) noexcept {
        if (moving != nullptr) {
            moving->end_move();
        }
        if (suspended) {
            post(q);
        }
    }

    /// Writes the outcome of `w`, which belongs to the caller.
    template <class W>
    static void set_own_outcome(W& w, outcome how) noexcept {
        w.result = how;
        if constexpr (requires { w.decide(); }) {
            w.decide(); // before its partner is posted (I42.5)
        }
    }

    /// Decides for `q`, a waiter of a selection that the caller has claimed. If it is stale, hands
    /// it back; then the caller must not touch it any more.
    commitment::commit_result commit(waiter& q) noexcept {
        const auto result = commitment_of(q).commit(q);
        if (result == commitment::commit_result::stale) {
            observer_.ended(q, outcome::not_selected);
            q.state.complete(arena_); // its owner may be withdrawing it (I5)
        }
        return result;
    }

    static commitment& commitment_of(waiter& q) noexcept {
        return *static_cast<commitment*>(q.owner);
    }

    /// Completes `q`, for which the caller has decided. @returns as `complete`.
    static bool complete_case(waiter& q, outcome how,
                              commitment::commit_result committed) noexcept {
        q.result = how;
        if (committed == commitment::commit_result::parked) {
            return true;
        }
        commitment_of(q).deliver(q);
        return false;
    }

    /// Completes `q`, which belongs to the caller.
    /// @returns whether the caller must post `q`; if not, the caller must not touch it any more.
    bool complete(waiter& q, outcome how, bool in_list) noexcept {
        TRYST_TRACE(completing, this, &q);
        q.result = how;
        if (in_list && q.kind == waiter::kind_type::unstoppable) {
            return true;
        }
        return in_list ? complete_limited(q) : complete_by_signal(q);
    }

    /// Not inlined, so that it does not slow down the completion of unstoppable waiters.
    [[gnu::noinline]] bool complete_limited(waiter& q) noexcept { return complete_by_signal(q); }

    bool complete_by_signal(waiter& q) noexcept {
        if (q.executor.alone_here() && !is_limited(q.at)) {
            // No limit is in force for `q`, so it is not parked and cannot be cancelled. This stays
            // so during this call, because the executor of `q` runs nothing else.
            q.state.complete_in_place();
            TRYST_TRACE(completion_in_place, this, &q);
            return false;
        }
        const bool suspended = q.state.complete(arena_).is_parked();
        if (!suspended) {
            saw_partner(false);
        }
        return suspended;
    }

    /// Decides for `q`, which a close has claimed in the wait list, if it belongs to a selection. A
    /// closer must do so at once (I41): it may resume a party inline before it completes `q`.
    /// @returns whether `complete_closed` must follow; if not, `q` must not be touched any more.
    bool take_closed(waiter& q) noexcept {
        if (q.kind != waiter::kind_type::selecting) {
            return true;
        }
        const auto committed = commit(q);
        if (committed != commitment::commit_result::stale) {
            observer_.ended(q, outcome::closed);
            return complete_case(q, outcome::closed, committed);
        }
        return false;
    }

    /// Completes `q` after `take_closed`. @returns as `complete`.
    bool complete_closed(waiter& q) noexcept {
        if (q.kind == waiter::kind_type::selecting) {
            return true;
        }
        observer_.ended(q, outcome::closed);
        return complete(q, outcome::closed, true);
    }

    // The rest uses the end of the arena's last cache line.
    [[no_unique_address]] arena arena_;
    const char* name_ = "";
    [[no_unique_address]] Observer observer_;
};

} // namespace tryst::detail
