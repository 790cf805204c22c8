// SPDX-License-Identifier: MIT
/// @file
/// Where parties of two colours wait, first in, first out.
/// Standard library only. Allocates while more wait than ever before; never throws.
#pragma once

#include <tryst/detail/meet/node_pool.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

namespace tryst::detail {

/* The dual queue
 * The i-th red meets the i-th blue in the i-th cell, after Koval, Alistarh and Elizarov, "Fast and Scalable
 * Channels in Kotlin Coroutines" (2023), section 3. Each colour has a cursor, which hands out tickets in
 * order. A ticket is for one visit to one cell, so a cell sees one party of each colour, or none any more:
 *
 *   empty --stay[Q1]--> a waiter --claim[Q2]----> matched      the second visitor completes the first
 *                       a waiter --withdraw[Q3]-> cancelled     the first does not wait any more
 *   empty --pass[Q4]--> cancelled                               the second comes first, and will not wait
 *
 * Who finds a cell `cancelled` takes another ticket. Claim and withdraw are two CAS on one word, as in a slot, and
 * R1 holds for the same reason. A party that has a ticket and has not come to its cell yet does not delay
 * others: its partner stays there in its place, or passes it over if there are more to meet behind.
 *
 * Segments. Cells come in segments of a pool, linked in order. A ticket keeps its segment: each counts the
 * visits that ended in it, the second in each cell, and the departures of the two cursors; whoever completes
 * the count releases it. A withdrawal is counted apart, and taken off by the visitor who finds it, so that a
 * late withdrawer keeps the segment, too. A segment in which all have withdrawn would wait long for that
 * visitor: it is swept out of the list, once the list has grown by its own length, which makes withdrawing
 * amortised O(1) and the memory proportional to the waiters, a segment to each at worst.
 *
 * Sweeping. One party at a time takes a segment d out by a CAS of its predecessor p's link. Nobody may enter d
 * meanwhile: the cursor that has not been there is behind the end of p before the CAS, and after it, which an
 * RMW on the cursor tells; who reads p's link does so at its end, and so after that RMW, and so does who closes
 * the cursor and goes on from there. In the rare other case d is left to whoever has entered it, or to the
 * destructor.
 *
 * Numbers do not come back: cursors and links carry tickets, 2^44 of them, so a stale CAS fails.
 *
 * @tparam CellBits  of a segment's cells; fewer for tests. */
template <unsigned CellBits>
class basic_dual_queue {
    struct segment;
    static_assert(CellBits <= 6);
    static constexpr unsigned segment_bits = 18;
    using pool = node_pool<segment, segment_bits>;
    using number = typename pool::number;
    using word = slot::word;

public:
    static constexpr bool withdraws_in_one_step = false;
    /// Whoever offers above slot 0 is overtaken by those who come later and wait in the wait list.
    static constexpr bool spreads = false;

    /// @throws std::bad_alloc.
    basic_dual_queue() {
        const number first = segments_.allocate();
        if (first == pool::none) {
            throw std::bad_alloc();
        }
        segments_[first].clear(0);
        // Relaxed: no other thread knows the queue yet.
        red_.store(cursor_at(0, first), std::memory_order_relaxed);
        // Relaxed: as above.
        blue_.store(cursor_at(0, first), std::memory_order_relaxed);
    }

    match_result try_match(colour own) noexcept {
        while (true) {
            // [Q11] acquire, pairs with [Q6], [Q9], [Q14], [Q15] and [Q16]: the segment, and what the
            // closer did.
            const std::uint64_t mine = cursor(own).load(std::memory_order_acquire);
            if (is_closed(mine)) {
                return closed_to(own);
            }
            // Relaxed: only a number of tickets. The cells of that colour's waiters are acquired by [Q10].
            const std::int64_t lead =
                distance(cursor(opposite(own)).load(std::memory_order_relaxed), mine);
            if (lead <= 0) {
                return {lead < 0 ? match_result::own_side : match_result::empty};
            }
            if (at_end(mine)) {
                step_on(own, mine); // there is a link; [Q5] fails if we do not see it yet
                continue;
            }
            // A party that has only a ticket does not wait yet. Relaxed: the visit acquires with [Q10].
            if (cell_of(mine).load(std::memory_order_relaxed) == empty) {
                return {match_result::empty};
            }
            if (take_ticket(own, mine)) {
                if (const match_result end = visit(mine, nullptr);
                    end.kind == match_result::partner) {
                    return end;
                }
            }
        }
    }

    match_result try_match_all(colour own) noexcept {
        // Relaxed: only a number of tickets, as in `look`.
        const std::uint64_t limit = cursor(opposite(own)).load(std::memory_order_relaxed);
        while (true) {
            // [Q12] acquire, pairs with [Q6], [Q9], [Q14], [Q15] and [Q16], as [Q11].
            const std::uint64_t mine = cursor(own).load(std::memory_order_acquire);
            if (is_closed(mine)) {
                return closed_to(own);
            }
            if (distance(limit, mine) <= 0) {
                return try_match(own); // who has come since is not passed over
            }
            if (at_end(mine)) {
                step_on(own, mine);
            } else if (take_ticket(own, mine)) {
                if (const match_result end = visit(mine, nullptr);
                    end.kind == match_result::partner) {
                    return end;
                }
            }
        }
    }

    match_result enqueue_or_match(waiter& w, colour own) noexcept {
        // Read once: if it could move, two parties could pass each other over endlessly. Relaxed:
        // only a number of tickets.
        const std::uint64_t limit = cursor(opposite(own)).load(std::memory_order_relaxed);
        while (true) {
            // [Q13] acquire, pairs with [Q6], [Q9], [Q14], [Q15] and [Q16], as [Q11].
            const std::uint64_t mine = cursor(own).load(std::memory_order_acquire);
            if (is_closed(mine)) {
                return closed_to(own);
            }
            if (at_end(mine)) {
                if (!step_on(own, mine)) {
                    return {match_result::out_of_memory};
                }
            } else if (take_ticket(own, mine)) {
                const bool more_behind = distance(limit, mine) > 1;
                if (const match_result end = visit(mine, more_behind ? nullptr : &w);
                    end.kind != match_result::empty) {
                    return end;
                }
            }
        }
    }

    bool withdraw(waiter& w, colour /*own*/) noexcept {
        const number n = w.place >> CellBits;
        word seen = reinterpret_cast<word>(&w);
        segment& here = segments_[n];
        // [Q3] release, pairs with [Q1], [Q2], [Q4] and [Q10]: a party that finds the cell `cancelled` and then
        // destroys the exchanger knows that this withdrawal is counted ([A3]). Failure relaxed: the waiter
        // is its partner's, and not touched.
        if (!here.cells[w.place % cell_count].compare_exchange_strong(
                seen, cancelled, std::memory_order_release, std::memory_order_relaxed)) {
            return false;
        }
        count(here, n, one_cancelled);
        return true;
    }

    template <class Each>
    waiter* close(Each each) noexcept {
        // [Q14] acquire, pairs with [Q6] and [Q9]: the segments up to here; release, pairs with
        // [Q11], [Q12] and [Q13]: what the closer did. A closed cursor gives no more tickets. Those
        // that only one colour has taken belong to the closer: the thread that closed blue's
        // cursor.
        const std::uint64_t blue_end = blue_.fetch_or(closed, std::memory_order_acq_rel);
        // [Q15] acquire, pairs with [Q6] and [Q9]; release, pairs with [Q11], [Q12], [Q13] and [Q17].
        const std::uint64_t red_end = red_.fetch_or(closed, std::memory_order_acq_rel);
        if (is_closed(blue_end)) {
            return nullptr;
        }
        std::uint64_t at = red_end;
        std::uint64_t end = blue_end;
        if (distance(end, at) < 0) {
            std::swap(at, end);
        }
        waiter* last = nullptr;
        while (distance(end, at) > 0) {
            if (at_end(at)) {
                // Relaxed: the links up to the farther cursor were acquired by [Q14] or [Q15], and so
                // was any change of them that [Q9] follows.
                at = start_of(
                    successor(segments_[segment_of(at)].next.load(std::memory_order_relaxed)));
                continue;
            }
            // Relaxed: a hint. A waiter that this load misses is still arriving, so `each` cannot destroy it.
            const word seen = cell_of(at).load(std::memory_order_relaxed);
            if (last != nullptr && seen != empty && seen != cancelled) {
                each(*std::exchange(last, nullptr));
            }
            if (const match_result found = visit(at, nullptr);
                found.kind == match_result::partner) {
                if (last != nullptr) {
                    each(*last);
                }
                last = found.claimed;
            }
            at = after(at);
        }
        return last;
    }

    bool is_closed() const noexcept {
        // [Q17] acquire, pairs with [Q15] and [Q16]: what the closer did.
        return is_closed(red_.load(std::memory_order_acquire));
    }

private:
    static constexpr number cell_count = number{1} << CellBits;

    struct alignas(line_pair) segment {
        void clear(std::uint64_t id) noexcept {
            for (auto& cell : cells) {
                // Relaxed: published by the link [Q5]. The last use came before ([Q7], [Q19]).
                cell.store(empty, std::memory_order_relaxed);
            }
            // Relaxed: as above.
            ended.store(0, std::memory_order_relaxed);
            // Relaxed: as above.
            next.store(link_to(id, pool::none), std::memory_order_relaxed);
        }

        atomic<std::uint64_t> next{0}; // whose link it is, and the successor's number
        atomic<std::uint64_t> ended{0};
        atomic<number> link{pool::none};
        std::array<atomic<word>, cell_count> cells{};
    };

    // Cells.
    static constexpr word empty = 0;
    static constexpr word cancelled = 1;
    static constexpr word matched = 2;

    // What has ended in a segment: visits and departures above, withdrawals nobody has found below.
    static constexpr std::uint64_t one_ended = std::uint64_t{1} << 32U;
    static constexpr std::uint64_t one_cancelled = 1;
    static constexpr std::uint64_t all_ended = (cell_count + 2) * one_ended;
    static constexpr std::uint64_t all_cancelled = one_ended + cell_count * one_cancelled;

    // A cursor: closed or not, whether it has left the last cell of its segment, the segment, the next ticket.
    // Tickets are on top, so that differences of cursors are signed and wrap.
    static constexpr std::uint64_t closed = 1;
    static constexpr std::uint64_t past_last = 2;
    static constexpr number number_mask = (number{1} << segment_bits) - 1;
    static constexpr unsigned segment_at = 2;
    static constexpr unsigned ticket_at = 20;
    static_assert(segment_at + segment_bits == ticket_at);

    static bool is_closed(std::uint64_t cursor) noexcept { return (cursor & closed) != 0; }
    static bool at_end(std::uint64_t cursor) noexcept { return (cursor & past_last) != 0; }
    static number segment_of(std::uint64_t cursor) noexcept {
        return static_cast<number>(cursor >> segment_at) & number_mask;
    }
    static std::uint64_t ticket_of(std::uint64_t cursor) noexcept { return cursor >> ticket_at; }
    static std::int64_t distance(std::uint64_t to, std::uint64_t from) noexcept {
        const std::uint64_t tickets = (ticket_of(to) - ticket_of(from)) << ticket_at;
        return static_cast<std::int64_t>(tickets) >> ticket_at;
    }
    static std::uint64_t cursor_at(std::uint64_t ticket, number n) noexcept {
        return (ticket << ticket_at) | (std::uint64_t{n} << segment_at);
    }
    static std::uint64_t after(std::uint64_t cursor) noexcept {
        const std::uint64_t next = cursor + (std::uint64_t{1} << ticket_at);
        return ticket_of(next) % cell_count == 0 ? next | past_last : next;
    }
    /// Which segment of all that ever were the cursor is in.
    static std::uint64_t id_of(std::uint64_t cursor) noexcept {
        const std::uint64_t last = ticket_of(cursor) - (at_end(cursor) ? 1 : 0);
        return (last << ticket_at) >> (ticket_at + CellBits);
    }

    // A link: the id of the segment it is in, and the number of the next.
    static std::uint64_t link_to(std::uint64_t id, number n) noexcept {
        return (id << segment_bits) | n;
    }
    static std::uint64_t owner_of(std::uint64_t link) noexcept { return link >> segment_bits; }
    static number successor(std::uint64_t link) noexcept {
        return static_cast<number>(link) & number_mask;
    }
    /// The id after that one; like tickets, ids wrap.
    static std::uint64_t next_id(std::uint64_t id) noexcept {
        return ((id + 1) << (ticket_at + CellBits)) >> (ticket_at + CellBits);
    }

    atomic<std::uint64_t>& cursor(colour of) noexcept { return of == colour::red ? red_ : blue_; }

    atomic<word>& cell_of(std::uint64_t cursor) const noexcept {
        return segments_[segment_of(cursor)].cells[ticket_of(cursor) % cell_count];
    }

    static std::uint64_t link_of(const segment& s) noexcept {
        // [Q18] acquire, pairs with [Q5] and [Q8]: the next segment's empty cells.
        return s.next.load(std::memory_order_acquire);
    }

    /// Where a cursor enters segment `n`.
    std::uint64_t start_of(number n) const noexcept {
        // Relaxed: the segment was cleared before it was linked; if it has been cleared again, the
        // cursor has moved on and [Q6] fails.
        const std::uint64_t id = owner_of(segments_[n].next.load(std::memory_order_relaxed));
        return cursor_at(id << CellBits, n);
    }

    /// A blue party has found its cursor closed: before anybody hears of it red's is, too, so that closing is one
    /// instant. (Whose is closed second, needs no help.)
    match_result closed_to(colour own) noexcept {
        if (own == colour::blue) {
            // [Q16] release, pairs with [Q11], [Q12], [Q13] and [Q17]: what the thread that closed
            // blue's did.
            red_.fetch_or(closed, std::memory_order_release);
        }
        return {match_result::closed};
    }

    bool take_ticket(colour own, std::uint64_t mine) noexcept {
        // Relaxed: the load of `mine` acquired the segment, and the next user of the cursor acquires what
        // [Q6] released, because all changes of a cursor are read-modify-writes. Failure relaxed: retried.
        if (!cursor(own).compare_exchange_strong(mine, after(mine), std::memory_order_relaxed,
                                                 std::memory_order_relaxed)) {
            return false;
        }
        TRYST_TRACE(step::ticket);
        return true;
    }

    /// Makes the visit that `ticket` is for. A first visitor leaves `w` there, or passes if that is null.
    /// @returns partner, offered; or nobody: the other is gone, or will find out that we are.
    match_result visit(std::uint64_t ticket, waiter* w) noexcept {
        const number n = segment_of(ticket);
        segment& here = segments_[n];
        atomic<word>& cell = here.cells[ticket_of(ticket) % cell_count];
        // [Q10] acquire, pairs with [Q1] and [Q3]: the first's item and executor, or its withdrawal.
        word seen = cell.load(std::memory_order_acquire);
        if (seen == empty) {
            if (w != nullptr) {
                w->place = (n << CellBits) | static_cast<number>(ticket_of(ticket) % cell_count);
                // [Q1] release, pairs with [Q2], [Q4] and [Q10]: publishes *w to the second. Failure
                // acquire, pairs with [Q1] and [Q3].
                if (cell.compare_exchange_strong(seen, reinterpret_cast<word>(w),
                                                 std::memory_order_release,
                                                 std::memory_order_acquire)) {
                    return {match_result::offered};
                }
                // [Q4] only says that we will not use the cell. Failure acquire, pairs with [Q1]
                // and [Q3]. Success acquire, too: g++ 12 rejects a weaker order than on failure.
            } else if (cell.compare_exchange_strong(seen, cancelled, std::memory_order_acquire,
                                                    std::memory_order_acquire)) {
                TRYST_TRACE(step::passing_over);
                count(here, n, one_cancelled);
                return {match_result::empty};
            }
        }
        // [Q2] takes the first, which `seen` has acquired. Failure acquire, pairs with [Q1] and [Q3]: the
        // first has withdrawn. Success acquire, too: g++ 12 rejects a weaker order than on failure.
        if (seen != cancelled &&
            cell.compare_exchange_strong(seen, matched, std::memory_order_acquire,
                                         std::memory_order_acquire)) {
            count(here, n, one_ended);
            return {match_result::partner, reinterpret_cast<waiter*>(seen)};
        }
        TRYST_TRACE(step::vacancy);
        count(here, n, one_ended - one_cancelled);
        return {match_result::empty};
    }

    /// Something has ended in segment `n`, which is not the caller's any more.
    void count(segment& of, number n, std::uint64_t what) noexcept {
        // [Q7] acquire and release, pairs with itself and [Q19]: a segment is released after all visits.
        if (of.ended.fetch_add(what, std::memory_order_acq_rel) + what == all_ended) {
            TRYST_TRACE(step::recycling);
            segments_.release(n);
        }
    }

    /// Takes a cursor from the end of its segment to the start of the next, unless it has moved already.
    /// @returns whether there is a next: false if there is no memory for one.
    bool step_on(colour own, std::uint64_t mine) noexcept {
        segment& here = segments_[segment_of(mine)];
        const std::uint64_t id = id_of(mine);
        std::uint64_t link = link_of(here);
        if (link == link_to(id, pool::none)) {
            // Relaxed: only a count.
            if (until_sweep_.fetch_sub(1, std::memory_order_relaxed) == 1) {
                // Relaxed: as above.
                until_sweep_.store(sweep(), std::memory_order_relaxed);
            }
            const number n = segments_.allocate();
            if (n == pool::none) {
                return false;
            }
            segments_[n].clear(next_id(id));
            // [Q5] release, pairs with [Q5] and [Q18]: the empty cells. Failure acquire, pairs with [Q5] and
            // [Q8].
            if (here.next.compare_exchange_strong(link, link_to(id, n), std::memory_order_release,
                                                  std::memory_order_acquire)) {
                link = link_to(id, n);
            } else {
                segments_.release(n);
            }
        }
        if (owner_of(link) != id) {
            return true; // all have left it, and it is another's link now
        }
        // [Q6] release, pairs with [Q11], [Q12], [Q13], [Q14] and [Q15]: the segment that begins here.
        // Failure relaxed: another has made this step.
        if (cursor(own).compare_exchange_strong(mine, start_of(successor(link)),
                                                std::memory_order_release,
                                                std::memory_order_relaxed)) {
            count(here, segment_of(mine), one_ended);
        }
        return true;
    }

    /// Takes segments out of the list in which all have withdrawn.
    /// @returns how many segments the list had.
    std::uint32_t sweep() noexcept {
        // Relaxed: where to begin. A segment that was used again meanwhile has another id.
        const std::uint64_t red = red_.load(std::memory_order_relaxed);
        // Relaxed: as above.
        const std::uint64_t blue = blue_.load(std::memory_order_relaxed);
        atomic<std::uint64_t>& last = distance(red, blue) < 0 ? red_ : blue_;
        const std::uint64_t from = distance(red, blue) < 0 ? red : blue;
        const auto is_before_end_of = [](std::uint64_t id, std::uint64_t cursor) {
            return distance(cursor_at(next_id(id) << CellBits, 0), cursor) > 0;
        };

        number p = segment_of(from);
        std::uint64_t id = id_of(from);
        std::uint64_t link = link_of(segments_[p]);
        std::uint32_t length = min_growth;
        while (owner_of(link) == id && successor(link) != pool::none) {
            const number d = successor(link);
            const std::uint64_t after_d = link_of(segments_[d]);
            const bool is_last = successor(after_d) == pool::none;
            // [Q19] acquire, pairs with [Q7]: all that happened in d.
            if (!is_last && segments_[d].ended.load(std::memory_order_acquire) == all_cancelled &&
                // Relaxed: a hint; [Q9] decides.
                is_before_end_of(id, last.load(std::memory_order_relaxed))) {
                const std::uint64_t around = link_to(id, successor(after_d));
                // [Q8] release, pairs with [Q5] and [Q18]: the segment behind d. Failure relaxed: read
                // again.
                if (segments_[p].next.compare_exchange_strong(
                        link, around, std::memory_order_release, std::memory_order_relaxed)) {
                    link = around;
                    // [Q9] release, pairs with [Q11], [Q12], [Q13], [Q14] and [Q15]: a party that finds the
                    // cursor at the end of p sees [Q8], and so does the closer.
                    const std::uint64_t still = last.fetch_add(0, std::memory_order_release);
                    if (is_before_end_of(id, still) && !is_closed(still)) {
                        TRYST_TRACE(step::sweeping);
                        segments_.release(d);
                    }
                } else {
                    link = link_of(segments_[p]);
                }
                continue;
            }
            p = d;
            id = owner_of(after_d);
            link = after_d;
            ++length;
        }
        return length;
    }

    /// How much longer than when it was swept last the list is at least when it is swept.
    static constexpr std::uint32_t min_growth = 2;

    alignas(line_pair) atomic<std::uint64_t> red_{0};
    atomic<std::uint64_t> blue_{0};
    atomic<std::uint32_t> until_sweep_{min_growth};
    pool segments_;
};

using dual_queue = basic_dual_queue<6>;

} // namespace tryst::detail
