// SPDX-License-Identifier: MIT
/// @file
/// The wait list of two colours, last in, first out.
/// Standard library only. Allocates for each new maximum of waiters; never throws.
#pragma once

#include <tryst/detail/meet/node_pool.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstdint>

namespace tryst::detail {

/* The dual stack
 * After Scherer and Scott, "Nonblocking Concurrent Data Structures with Condition Synchronization"
 * (2004), section 3: a Treiber stack of waiters. A party pushes a node that holds its waiter, or
 * pops a node with a waiter of the other colour. In the paper it pushes a node of its own on top,
 * which fulfils the waiter, and both are popped. Here the popper swaps with the waiter itself.
 *
 * The CAS on the head needs the number of the next node, so it reads nodes, which are never freed
 * (I7). It does not read waiters. The popper takes the waiter's address out of its node by an
 * exchange [D4], a closer by a CAS [D11], a withdrawer by a CAS [D6]. So I1 holds.
 *
 * The node of a withdrawn waiter stays on the stack as `vacant`, and the next arrival may refill
 * it. So a withdrawal is O(1), and there are only as many nodes as the largest number of parties
 * that have waited at the same time (temporarily one more, if a node was disowned). In return, the
 * order is last in, first out only among parties that arrived while no node was vacant. The content
 * of a node is one of these:
 *
 *   free       not on the stack
 *   a waiter   on the stack, or about to be pushed
 *   vacant     on the stack; also in the pool, or allocated by an arrival
 *   disowned   on the stack; allocated by an arrival that could not use it; its popper releases it
 *
 *   free     --push[D2]-------> a waiter
 *   a waiter --withdraw[D6]---> vacant
 *   vacant   --refill[D3]-----> a waiter   by an arrival of the same colour
 *   vacant   --disown[D5]-----> disowned   by an arrival of the other colour
 *   any      --pop[D9], [D4]--> free       or by a closer [D7], [D11]
 *
 * I11. All waiters on the stack have the colour that the head contains. A party pushes only on an
 *     empty stack or on its own colour, and refills only nodes that are vacant in its own colour.
 *
 * I12. A node of the stack is released once after each allocation: by the withdrawer that made it
 *     vacant, by the popper that found a waiter or `disowned` in it, or by the arrival that could
 *     not push it. */
class dual_stack {
    struct node;
    using pool = node_pool<node, 24>;
    using number = pool::number;
    using word = slot::word;

public:
    static constexpr bool withdraws_in_one_step = false;

    match_result try_match(colour own) noexcept {
        // [D1] acquire, pairs with [D2] and [D7]: the top node and all below it, or everything
        // before the close.
        std::uint64_t head = head_.load(std::memory_order_acquire);
        while (true) {
            if ((head & closed) != 0) {
                return {match_result::closed};
            }
            const number top = top_of(head);
            if (top == pool::none) {
                return {match_result::empty};
            }
            // All waiters below have the colour of the head (I11).
            if (colour_of(head) == own) {
                return {match_result::own_side};
            }
            node& on_top = nodes_[top];
            // Relaxed: acquired with the head. If the node is not on top any more (I7), [D9] fails.
            const number next = on_top.next.load(std::memory_order_relaxed);
            // [D9] relaxed: [D1] acquired all nodes. The next user of the head acquires what [D2]
            // released, because all changes of the head are read-modify-writes. Failure relaxed:
            // nothing was taken.
            if (!head_.compare_exchange_weak(head, changed(head, next), std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
                return {match_result::collided};
            }
            if (waiter* const q = empty(top, on_top)) {
                return {match_result::partner, q};
            }
            TRYST_TRACE(vacancy);
            head = changed(head, next);
        }
    }

    template <class BeforeOffer = nothing_before_offer>
    match_result enqueue_or_match(waiter& w, colour own, BeforeOffer before_offer = {}) noexcept {
        const auto mine = reinterpret_cast<word>(&w);
        while (true) {
            const number n = nodes_.allocate();
            if (n == pool::none) {
                return {match_result::out_of_memory};
            }
            w.place = n;
            node& here = nodes_[n];
            atomic<word>& place = here.content;
            // [D10] acquire, pairs with [D4] and [D11]: if the node is free, its popper no longer
            // reads it. (If the popper itself released it, [N3] has acquired that.)
            word seen = place.load(std::memory_order_acquire);
            if (seen == vacant(own)) {
                before_offer();
                // [D3] release, pairs with [D4] and [D11]: publishes *w to the popper. Failure
                // acquire, pairs with [D4] and [D11]: the node was popped and is free.
                if (place.compare_exchange_strong(seen, mine, std::memory_order_release,
                                                  std::memory_order_acquire)) {
                    TRYST_TRACE(refill);
                    return {match_result::offered};
                }
            } else if (seen != free) {
                // [D5] release, pairs with [D4] and [D11]: everything that this party acquired with
                // the node ([N3]). Failure acquire, pairs with [D4] and [D11], as [D3].
                if (place.compare_exchange_strong(seen, disowned, std::memory_order_release,
                                                  std::memory_order_acquire)) {
                    TRYST_TRACE(disowning);
                    continue;
                }
            }
            // Relaxed: published by the head.
            place.store(mine, std::memory_order_relaxed);
            // Relaxed: the CAS re-reads it.
            std::uint64_t head = head_.load(std::memory_order_relaxed);
            back_off contended;
            while ((head & closed) == 0 && (top_of(head) == pool::none || colour_of(head) == own)) {
                before_offer();
                // Relaxed: published by the head.
                here.next.store(top_of(head), std::memory_order_relaxed);
                // [D2] release, pairs with [D1] and [D7]: *w and its node. Failure relaxed:
                // retried.
                if (head_.compare_exchange_weak(head, changed(head, n, own),
                                                std::memory_order_release,
                                                std::memory_order_relaxed)) {
                    return {match_result::offered};
                }
                contended.pause();
            }
            // Relaxed: released with the node ([N4]).
            place.store(free, std::memory_order_relaxed);
            nodes_.release(n, here);
            return {match_result::empty};
        }
    }

    bool withdraw(waiter& w, colour own) noexcept {
        const number n = w.place;
        node& its = nodes_[n];
        word seen = reinterpret_cast<word>(&w);
        // [D6] release, pairs with [D4] and [D11]: a party that finds the node vacant and then
        // destroys the exchanger sees the pin of this withdrawal ([A3]). Failure relaxed: the
        // waiter belongs to its partner and is not touched.
        if (!its.content.compare_exchange_strong(seen, vacant(own), std::memory_order_release,
                                                 std::memory_order_relaxed)) {
            return false;
        }
        nodes_.release(n, its);
        return true;
    }

    template <class Take, class Complete>
    waiter* close(Take take, Complete complete) noexcept {
        // [D7] acquire, pairs with [D2]: all nodes; release, pairs with [D1] and [D8]: everything
        // before the close.
        const std::uint64_t head = head_.exchange(closed, std::memory_order_acq_rel);
        waiter* last = nullptr;
        for (number n = top_of(head); n != pool::none;) {
            node& here = nodes_[n];
            // Relaxed: acquired with the head.
            const number next = here.next.load(std::memory_order_relaxed);
            // Relaxed: [D11] reads it again.
            word seen = here.content.load(std::memory_order_relaxed);
            do {
                // The party that `complete` resumes may destroy any suspended one, so no other
                // waiter may be claimed then. If the node is refilled after this look, [D11] fails.
                if (last != nullptr && seen > disowned) {
                    complete(*std::exchange(last, nullptr));
                }
                // [D11] acquire, pairs with [D3], [D5] and [D6]; release, pairs with [D3], [D5] and
                // [D10]: as [D4]. Failure relaxed: nothing was taken.
            } while (!here.content.compare_exchange_weak(seen, free, std::memory_order_acq_rel,
                                                         std::memory_order_relaxed));
            if (waiter* const q = emptied(n, here, seen); q != nullptr && take(*q)) {
                last = q;
            }
            n = next;
        }
        return last;
    }

    bool is_closed() const noexcept {
        // [D8] acquire, pairs with [D7]: everything before the close.
        return (head_.load(std::memory_order_acquire) & closed) != 0;
    }

private:
    struct node {
        atomic<word> content{free};
        atomic<number> next{pool::none};
        atomic<number> link{pool::none};
    };

    static constexpr word free = 0;
    static constexpr word disowned = 3;
    static constexpr word vacant(colour own) noexcept { return own == colour::red ? 1 : 2; }

    // The head, from the low end: whether the stack is closed, the colour of its waiters, the
    // number of the top node, and a count of changes. Because of this count, a CAS fails if the
    // same node is on top again with another successor.
    static constexpr std::uint64_t closed = 1;
    static constexpr std::uint64_t blue = 2;
    static constexpr unsigned top_at = 2;
    static constexpr unsigned count_at = top_at + 24;

    static number top_of(std::uint64_t head) noexcept {
        return static_cast<number>(head >> top_at) & ((number{1} << 24U) - 1);
    }
    static colour colour_of(std::uint64_t head) noexcept {
        return (head & blue) != 0 ? colour::blue : colour::red;
    }
    static std::uint64_t changed(std::uint64_t head, number top, colour of) noexcept {
        return (((head >> count_at) + 1) << count_at) | (std::uint64_t{top} << top_at) |
               (of == colour::blue ? blue : 0);
    }
    static std::uint64_t changed(std::uint64_t head, number top) noexcept {
        return changed(head, top, colour_of(head));
    }

    /// Empties a node that the caller has popped. @returns its waiter, which the caller now owns,
    /// or null.
    waiter* empty(number n, node& popped) noexcept {
        // [D4] acquire, pairs with [D3], [D5] and [D6]: the waiter, and everything that the node's
        // last user did; release, pairs with [D3], [D5] and [D10]: this party has read `next`,
        // which an arrival that finds the node free may change.
        return emptied(n, popped, popped.content.exchange(free, std::memory_order_acq_rel));
    }

    /// As above, after the caller has taken `was` out of the node.
    waiter* emptied(number n, node& popped, word was) noexcept {
        if (was == vacant(colour::red) || was == vacant(colour::blue)) {
            return nullptr; // already released, and perhaps allocated again (I12)
        }
        nodes_.release(n, popped);
        return was == disowned ? nullptr : reinterpret_cast<waiter*>(was);
    }

    atomic<std::uint64_t> head_{0};
    pool nodes_;
};

} // namespace tryst::detail
