// SPDX-License-Identifier: MIT
/// @file
/// How parties of two colours meet, last in, first out: in an arena, or at the stack behind it.
/// Standard library only. Allocates where its wait list does; only the constructor throws.
#pragma once

#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/offers.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace tryst::detail {

/* Elimination
 * After Hendler, Shavit and Yerushalmi, "A Scalable Lock-free Stack Algorithm" (2004), for two
 * colours. The head of the stack is one cache line, which all parties write. When many do, pairs
 * form in the arena instead, even while parties wait on the stack. In the paper each operation
 * tries the stack first, and the array after a failed compare-exchange. Here an arrival tries the
 * arena first once that is in use, and the stack is one on which parties wait (dual_stack.hpp).
 *
 *   begin    1. If the arena is not in use, try the stack. If it is, do so only with a probability
 *               of 1 in 256 (I4).
 *   arrive   2. If the arena is in use, look for a partner at this thread's index there, or offer
 *               the party's own waiter in an empty slot, for a bounded time.
 *            3. Otherwise look at a few other indexes, then at the stack, and push the party's own
 *               waiter.
 *   expire   The bounded time is over: leave the arena's slot, and arrive again from step 3.
 *
 * This keeps the order of a stack:
 *   1. When a red and a blue party meet in the arena, both are within their calls, and neither is
 *      on the stack.
 *   2. At that instant, take the party whose colour the stack has to push itself (either of them,
 *      if the stack is empty), and the other one to pop it at once. Both steps are permitted
 *      (I11).
 *   3. The stack is then as it was. So the meeting does not depend on the parties that wait there,
 *      and does not change what they can see.
 *   4. So everything that parties can see with the arena they can see without it.
 *      (tests/unit/elimination_test.cpp plays all histories of up to four parties.)
 *   5. Offers in the arena are bounded, and expire into the stack (I2). So I3 holds.
 *   6. Others may pass a waiter on the stack for as long as they meet in the arena, as they may by
 *      meeting above it on the stack. But each arrival looks at the stack first with a probability
 *      of 1 in 256. An offer that expires goes there, too, unless it finds a partner in the arena
 *      on the way. A count instead, such as every 256th arrival of a thread, would depend on the
 *      program: if it visits several stacks in a regular pattern, all looks may be at one of them.
 *   7. A party that arrives after a close must find it, without looking at the stack. So a close
 *      shuts the arena, too. */
template <class Observer>
class protocol<dual_stack, Observer> : public offers<basic_arena<dual_stack, 4>, Observer> {
    using arena = basic_arena<dual_stack, 4>;
    using base = offers<arena, Observer>;
    using typename base::group_visit;

public:
    using base::base;
    ~protocol() {
        close();
        base::cases().end();
        arena_.drain();
    }

    template <class Party, class W>
    [[gnu::always_inline]] inline bool begin(W& w) noexcept {
        return try_match<Party>(w);
    }

    /// Step 1. Inlined, because half of all exchanges end here.
    template <class Party = coroutine_party, class W>
    [[gnu::always_inline]] inline bool try_match(W& w) noexcept {
        if (arena_.skips_list()) {
            return false;
        }
        match_result found = arena_.list().try_match(W::side);
        return base::apply_match(w, found);
    }

    template <class Party = coroutine_party, class W>
    arrival arrive(W& w, bool spread) noexcept {
        return meet(w, spread, nullptr);
    }

    template <class Party = coroutine_party, class W>
    arrival expire(W& w) noexcept {
        return base::expire(w, [&](slot& moving) { return meet(w, false, &moving); });
    }

    void close() noexcept {
        // Before a party can find the stack closed: those that arrive later must look there.
        arena_.shut();
        base::close();
    }

private:
    using base::arena_;

    /// @param moving  the slot that `w` is leaving, if any.
    template <class W>
    arrival meet(W& w, bool spread, slot* moving) noexcept {
        // `try_match` has just tried the stack, if the arena is not in use; else perhaps.
        bool tried = moving == nullptr && !arena_.has_grown();
        while (true) {
            const std::uint32_t bound = arena_.bound();
            const std::uint32_t index = spread ? arena::index(bound) : 0;
            if (index != 0) {
                const group_visit seen = base::match_in_group(w, index);
                if (seen.kind == group_visit::matched) {
                    return arrival::completed;
                }
                if (seen.kind == group_visit::collided) {
                    base::count_collision(arena_.collided());
                } else if (seen.kind == group_visit::full) {
                    spread = false;
                } else {
                    w.place = arena::place(bound, index, seen.empty_slot);
                    if (base::offer(w, base::slot_of(w))) {
                        return arrival::offered;
                    }
                    base::count_collision(arena_.grow());
                }
                continue;
            }
            const bool has_tried_stack = std::exchange(tried, false);
            if (!has_tried_stack) {
                if (match_nearby(w, bound, moving)) {
                    return arrival::completed;
                }
                match_result found = arena_.list().try_match(W::side);
                if (base::apply_match(w, found, moving)) {
                    return arrival::completed;
                }
                if (found.kind == match_result::collided) {
                    continue; // the arena may have grown
                }
            }
            match_result found =
                arena_.list().enqueue_or_match(w, W::side, [&]() noexcept { base::begin_wait(w); });
            if (found.kind == match_result::out_of_memory && has_tried_stack) {
                continue; // `try_match` may have collided, and overlooked a partner
            }
            if (base::apply_match(w, found, moving)) {
                return arrival::completed;
            }
            if (found.kind == match_result::offered) {
                base::end_move(moving);
                return arrival::waiting;
            }
        }
    }

    /// Claims a partner in one of a few indexes that belong to other threads, before `w` goes to
    /// the stack. If each thread serves only one colour, partners are not at its own index.
    template <class W>
    bool match_nearby(W& w, std::uint32_t bound, slot* moving) noexcept {
        const std::uint32_t slot_count = arena::highest(bound);
        const std::uint32_t own = slot_count > 1 ? arena::index(bound) : 1;
        for (std::uint32_t i = 0; i + 1 < slot_count && i != 4; ++i) {
            const std::uint32_t other = 1 + (own + i) % slot_count;
            if (base::match_in_group(w, other, moving).kind == group_visit::matched) {
                return true;
            }
        }
        return false;
    }
};

} // namespace tryst::detail
