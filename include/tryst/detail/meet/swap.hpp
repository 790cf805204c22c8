// SPDX-License-Identifier: MIT
/// @file
/// How parties of one colour meet: in slot 0, or in an arena.
/// Standard library only. Allocates in its constructor; only the constructor throws.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/offers.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace tryst::detail {

/// A party that shares its thread with others: a coroutine or a fiber.
struct coroutine_party {
    using arena = basic_arena<single_slot>;
    static constexpr bool owns_thread = false;

    static std::uint32_t place_in_list(std::uint32_t /*bound*/) noexcept { return 0; }
    static void follow(const waiter& /*claimed*/) noexcept {}
    static bool met(arena& /*where*/, const waiter& /*claimed*/) noexcept { return false; }
    static void will_write(const void* /*where*/) noexcept {}
};

/// A party that is the only one of its thread. The thread moves with its partners (arena.hpp).
struct thread_party {
    using arena = basic_arena<single_slot>;
    static constexpr bool owns_thread = true;

    static std::uint32_t place_in_list(std::uint32_t bound) noexcept {
        return arena::place_in_list(bound);
    }
    static void follow(const waiter& claimed) noexcept { arena::follow(claimed.place); }
    static bool met(arena& where, const waiter& claimed) noexcept {
        return where.met(claimed.executor);
    }
    static void will_write(const void* where) noexcept { detail::prefetch_for_write(where); }
};

/* Swap
 * After Scherer, Lea and Scott, "A Scalable Elimination-based Exchange Channel" (2005), section 3,
 * with these differences:
 *   - In the paper a party fills the waiter's hole and then cleans the slot. Here waiters live in
 *     frames, so a party first takes the waiter out of its slot and then touches it (I1, slot.hpp).
 *   - Once the arena has grown, a party goes to its thread's slot even if slot 0 is empty. In the
 *     paper it leaves slot 0 only after a failed compare-exchange.
 *   - A bound that all parties share and a slot for each thread replace the random backoff
 *     (arena.hpp).
 *   - A coroutine does not spin: it waits for a turn of its loop (patience.hpp).
 *
 *   arrive   1. Look at slot 0. If a partner waits there: claim it, swap items, complete it.
 *            2. If the arena has grown, look at this thread's slot there. Claim a partner likewise,
 *               or offer the party's own waiter in the empty slot, for a bounded time.
 *            3. Otherwise offer the party's own waiter in slot 0.
 *   expire   The bounded time is over: leave the arena's slot, and arrive again in slot 0.
 *
 * Each arrival begins with slot 0, so I4 holds however busy the arena is. */
template <class Observer>
class protocol<single_slot, Observer> : public offers<basic_arena<single_slot>, Observer> {
    using arena = basic_arena<single_slot>;
    using base = offers<arena, Observer>;

public:
    using base::base;
    ~protocol() {
        base::close();
        base::cases().end();
        arena_.drain();
    }

    template <class Party, class W>
    [[gnu::always_inline]] inline bool begin(W& w) noexcept {
        return try_match<Party>(w);
    }

    /// Step 1 of `arrive`: one load and, if a partner waits, one CAS. If slot 0 is empty, a party
    /// that does not spin also looks for a partner in step 2. Inlined, because half of all
    /// exchanges end here.
    template <class Party = coroutine_party, class W>
    [[gnu::always_inline]] inline bool try_match(W& w) noexcept {
        match_result found = arena_.list().try_match(W::side);
        return base::apply_match(w, found) ||
               (!Party::owns_thread && found.kind == match_result::empty && arena_.has_grown() &&
                try_match_in_arena(w));
    }

    template <class Party = coroutine_party, class W>
    arrival arrive(W& w, bool spread) noexcept {
        if constexpr (!Party::owns_thread) {
            // `try_match` has made step 1 and, unless it collided, looked for a partner in step 2.
            if (!arena_.has_grown()) {
                w.place = 0;
                if (offer_in_list(w)) {
                    return arrival::waiting;
                }
            } else if (spread && offer_in_arena(w)) {
                return arrival::offered;
            }
        }
        return meet<Party>(w, spread, nullptr);
    }

    template <class Party = coroutine_party, class W>
    arrival expire(W& w) noexcept {
        return base::expire(w, [&](slot& moving) { return meet<Party>(w, false, &moving); });
    }

private:
    using base::arena_;
    using base::observer_;

    /// Steps 1 to 3, for threads, for expired offers, and after a lost race.
    /// @param moving  the slot that `w` is leaving, if any.
    template <class Party, class W>
    arrival meet(W& w, bool spread, slot* moving) noexcept {
        while (true) {
            match_result found = arena_.list().try_match(W::side);
            if (moving != nullptr && found.kind == match_result::partner) {
                Party::follow(*found.claimed);
            }
            if (base::apply_match(w, found, moving)) {
                return arrival::completed;
            }
            if (found.kind == match_result::collided) {
                continue;
            }
            const std::uint32_t bound = arena_.bound();
            const std::uint32_t index = spread ? arena::index(bound) : 0;
            if (index == 0) {
                w.place = Party::place_in_list(bound);
                if (offer_in_list(w)) {
                    base::end_move(moving);
                    return arrival::waiting;
                }
                continue;
            }
            w.place = arena::place(bound, index);
            slot& here = arena_.at(index);
            Party::will_write(&here);
            const slot::word offer = here.peek();
            if (waiter* const q = slot::offered(offer)) {
                Party::will_write(q); // no dereference (I1)
                if (here.claim(offer)) {
                    base::count_growth(Party::met(arena_, *q));
                    base::swap_in_arena(w, q);
                    return arrival::completed;
                }
                base::count_collision(arena_.collided());
            } else if (slot::is_empty(offer)) {
                if (base::offer(w, here)) {
                    return arrival::offered;
                }
            } else {
                spread = false; // a party moves from here to slot 0: meet it there
            }
        }
    }

    template <class W>
    [[gnu::always_inline]] bool offer_in_list(W& w) noexcept {
        const auto begin_wait = [&]() noexcept { base::begin_wait(w); };
        return arena_.list().enqueue_or_match(w, W::side, begin_wait).kind == match_result::offered;
    }

    /// Offers `w` in this thread's slot of the arena, if that is empty. This and the next function
    /// are not inlined, because most exchangers stay at slot 0.
    /// @returns whether `w` is offered.
    template <class W>
    [[gnu::noinline]] bool offer_in_arena(W& w) noexcept {
        const std::uint32_t bound = arena_.bound();
        const std::uint32_t index = arena::index(bound);
        w.place = arena::place(bound, index);
        return index != 0 && base::offer(w, arena_.at(index));
    }

    /// Claims a partner in this thread's slot of the arena.
    /// @returns whether `w` is completed.
    template <class W>
    [[gnu::noinline]] bool try_match_in_arena(W& w) noexcept {
        const std::uint32_t index = arena::index(arena_.bound());
        if (index == 0) {
            return false;
        }
        const auto seen = base::match_in_group(w, index).kind;
        if (seen == base::group_visit::collided) {
            base::count_collision(arena_.collided());
        }
        return seen == base::group_visit::matched;
    }
};

} // namespace tryst::detail
