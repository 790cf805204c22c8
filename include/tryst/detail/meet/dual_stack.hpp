// SPDX-License-Identifier: MIT
/// @file
/// Where parties of two colours wait, last in, first out.
/// Standard library only. Allocates while more wait than ever before; never throws.
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
 * After Scherer and Scott, "Nonblocking Concurrent Data Structures with Condition Synchronization" (2004),
 * section 3: a Treiber stack that holds waiters of one colour at a time; the other colour pops.
 *
 *   push   a node, with a waiter in it, on top, if those below are of its colour
 *   pop    the top node, which is the popper's from then on, and take what is in it
 *
 * A node holds the waiter's address for whoever takes it out: the popper by an exchange, a withdrawer by a
 * CAS. So the head's CAS, which needs the next node, reads nodes only, which are never freed (node_pool.hpp),
 * and R1 holds: nobody has dereferenced a waiter whose address they did not take out.
 *
 * The node of a withdrawn waiter stays in the stack, but is vacant, and the next push takes its place. So
 * withdrawing is O(1), and there are as many nodes as parties have waited at the same time (one more for a while, if
 * one was disowned); in return the order is last in, first out only among those who came while no place was
 * vacant. What is in a node:
 *
 *   free       in no stack
 *   a waiter   on the stack, or about to be
 *   vacant     on the stack, and the pool's or an arrival's to reuse
 *   disowned   on the stack, and given back by whoever pops it
 *
 *   free     --push----> waiter    vacant --refill--> waiter     its colour's, on the stack already
 *   waiter   --withdraw> vacant    vacant --disown--> disowned   the arrival has the other colour
 *   any      --pop-----> free */
class dual_stack {
    struct node;
    using pool = node_pool<node, 24>;
    using number = pool::number;
    using word = slot::word;

public:
    static constexpr bool withdraws_in_one_step = false;
    static constexpr bool spreads = true;

    match_result try_match(colour own) noexcept {
        // [D1] acquire, pairs with [D2] and [D7]: the top node and all below, or what the closer did.
        std::uint64_t head = head_.load(std::memory_order_acquire);
        while (true) {
            if ((head & closed) != 0) {
                return {match_result::closed};
            }
            const number top = top_of(head);
            if (top == pool::none) {
                return {match_result::empty};
            }
            if (colour_of(head) == own) {
                return {match_result::own_side};
            }
            // Relaxed: acquired with the head; if the node is not on top any more, [D9] fails.
            const number next = nodes_[top].next.load(std::memory_order_relaxed);
            // [D9] relaxed: [D1] acquired all nodes, and the next user of the head acquires what [D2]
            // released, because all changes of the head are read-modify-writes. Failure relaxed: nothing
            // was taken.
            if (!head_.compare_exchange_weak(head, changed(head, next), std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
                return {match_result::collided};
            }
            if (waiter* const q = empty(top)) {
                return {match_result::partner, q};
            }
            TRYST_TRACE(step::vacancy);
            head = changed(head, next);
        }
    }
    match_result try_match_all(colour own) noexcept { return try_match(own); }

    match_result enqueue_or_match(waiter& w, colour own) noexcept {
        const auto mine = reinterpret_cast<word>(&w);
        while (true) {
            const number n = nodes_.allocate();
            if (n == pool::none) {
                return {match_result::out_of_memory};
            }
            w.place = n;
            atomic<word>& place = nodes_[n].content;
            // [D10] acquire, pairs with [D4]: a free node is ours since then, or since [N3].
            word seen = place.load(std::memory_order_acquire);
            if (seen == vacant(own)) {
                // [D3] release, pairs with [D4]: publishes *w to the popper. Failure acquire, pairs with
                // [D4]: the node was popped, and is free.
                if (place.compare_exchange_strong(seen, mine, std::memory_order_release,
                                                  std::memory_order_acquire)) {
                    TRYST_TRACE(step::refill);
                    return {match_result::offered};
                }
            } else if (seen != free) {
                // [D5] release, pairs with [D4]: the node was ours since [N3]. Failure acquire, pairs
                // with [D4], as [D3].
                if (place.compare_exchange_strong(seen, disowned, std::memory_order_release,
                                                  std::memory_order_acquire)) {
                    TRYST_TRACE(step::disowning);
                    continue;
                }
            }
            // Relaxed: published by the head.
            place.store(mine, std::memory_order_relaxed);
            // Relaxed: the CAS looks again.
            std::uint64_t head = head_.load(std::memory_order_relaxed);
            while ((head & closed) == 0 && (top_of(head) == pool::none || colour_of(head) == own)) {
                // Relaxed: published by the head.
                nodes_[n].next.store(top_of(head), std::memory_order_relaxed);
                // [D2] release, pairs with [D1] and [D7]: *w and its node. Failure relaxed: retried.
                if (head_.compare_exchange_weak(head, changed(head, n, own),
                                                std::memory_order_release,
                                                std::memory_order_relaxed)) {
                    return {match_result::offered};
                }
            }
            // Relaxed: released with the node ([N4]).
            place.store(free, std::memory_order_relaxed);
            nodes_.release(n);
            return {match_result::empty};
        }
    }

    bool withdraw(waiter& w, colour own) noexcept {
        const number n = w.place;
        word seen = reinterpret_cast<word>(&w);
        // [D6] release, pairs with [D4]: a party that finds the node vacant and then destroys the
        // exchanger knows that this withdrawal is counted ([A3]). Failure relaxed: the waiter is its
        // partner's, and not touched.
        if (!nodes_[n].content.compare_exchange_strong(seen, vacant(own), std::memory_order_release,
                                                       std::memory_order_relaxed)) {
            return false;
        }
        nodes_.release(n);
        return true;
    }

    template <class Each>
    waiter* close(Each each) noexcept {
        // [D7] acquire, pairs with [D2]: all nodes; release, pairs with [D1] and [D8]: what the closer did.
        const std::uint64_t head = head_.exchange(closed, std::memory_order_acq_rel);
        waiter* last = nullptr;
        for (number n = top_of(head); n != pool::none;) {
            // Relaxed: acquired with the head.
            const number next = nodes_[n].next.load(std::memory_order_relaxed);
            // Relaxed: a hint. A waiter that this load misses is still arriving, so `each` cannot destroy it.
            if (last != nullptr && nodes_[n].content.load(std::memory_order_relaxed) > disowned) {
                each(*std::exchange(last, nullptr));
            }
            if (waiter* const q = empty(n)) {
                if (last != nullptr) {
                    each(*last);
                }
                last = q;
            }
            n = next;
        }
        return last;
    }

    bool is_closed() const noexcept {
        // [D8] acquire, pairs with [D7]: what the closer did.
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

    // The head: closed or not, the colour of those who wait, the number of the top node, and how often it
    // has changed, against the return of the same node with another successor.
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

    /// Takes out what is in a node that the caller has popped: a waiter, which is the caller's, or null.
    waiter* empty(number n) noexcept {
        // [D4] acquire, pairs with [D3], [D5] and [D6]: the waiter, and what the node's last user did;
        // release, pairs with [D3], [D5] and [D10]: we have read `next`, which an arrival that finds the node
        // free may change.
        const word was = nodes_[n].content.exchange(free, std::memory_order_acq_rel);
        if (was == vacant(colour::red) || was == vacant(colour::blue)) {
            return nullptr; // the pool's, or an arrival's, already
        }
        nodes_.release(n);
        return was == disowned ? nullptr : reinterpret_cast<waiter*>(was);
    }

    atomic<std::uint64_t> head_{0};
    pool nodes_;
};

} // namespace tryst::detail
