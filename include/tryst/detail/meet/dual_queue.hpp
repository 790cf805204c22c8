// SPDX-License-Identifier: MIT
/// @file
/// The wait list of two colours, first in, first out.
/// Standard library only. Allocates in its constructor and for each new maximum of waiters; only
/// the constructor throws.
///
/// This header is long because the steps of one algorithm are best read in one place.
#pragma once

#include <tryst/detail/meet/segment_list.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstdint>
#include <utility>

namespace tryst::detail {

/* The dual queue
 * After Koval, Alistarh and Elizarov, "Fast and Scalable Channels in Kotlin Coroutines" (2023),
 * section 3. The i-th red party meets the i-th blue party in the i-th cell of a segment list
 * (segment_list.hpp). Each colour has a cursor, which hands out the tickets 0, 1, 2, ... in order.
 * A ticket entitles its holder to one visit to the cell of that number:
 *
 *   empty    --stay[Q1]------> a waiter
 *   a waiter --claim[Q2]-----> matched     by the second visitor, which completes the waiter
 *   a waiter --withdraw[Q3]--> cancelled   by its owner or a canceller
 *   empty    --pass[Q4]------> cancelled   by the first visitor, which will not wait here
 *
 * A party that finds its cell `cancelled` takes another ticket.
 *
 * I8. Each colour visits a cell at most once. A ticket is taken by a CAS on the colour's cursor,
 *     which never returns to an old value (I9). If only one colour has taken the ticket of a cell,
 *     the closer makes the other visit after it has closed both cursors.
 *
 * Claim and withdraw each CAS the same word away from the waiter, so I1 holds as it does in a slot.
 *
 * A party that has taken a ticket, but has not reached its cell yet, delays no other party. If its
 * partner arrives there first, the partner waits in the cell. If later cells may hold waiters, the
 * partner passes this cell instead [Q4].
 *
 * @tparam CellBits  as in `segment_list`. */
template <unsigned CellBits>
class basic_dual_queue {
    using list = segment_list<CellBits>;
    using segment = typename list::segment;
    using number = typename list::number;
    using word = typename list::word;

public:
    static constexpr bool withdraws_in_one_step = false;
    /// A party that offered in the arena would be overtaken by later arrivals in the wait list.
    static constexpr bool spreads = false;

    /// @throws std::bad_alloc.
    basic_dual_queue() {
        const number first = segments_.add_first();
        // Relaxed: no other thread knows the queue yet.
        red_.store(list::cursor_at(0, first), std::memory_order_relaxed);
        // Relaxed: as above.
        blue_.store(list::cursor_at(0, first), std::memory_order_relaxed);
    }

    match_result try_match(colour own) noexcept {
        while (true) {
            // [Q11] acquire, pairs with [Q6], [Q9], [Q14], [Q15] and [Q16]: the segment, and
            // everything before the close.
            const std::uint64_t mine = cursor(own).load(std::memory_order_acquire);
            if (list::is_closed(mine)) {
                return closed_to(own);
            }
            // Relaxed: only a ticket number; [Q10] acquires the waiters.
            const std::int64_t lead =
                list::distance(cursor(opposite(own)).load(std::memory_order_relaxed), mine);
            if (lead <= 0) {
                return {lead < 0 ? match_result::own_side : match_result::empty};
            }
            if (list::at_end(mine)) {
                step_on(own, mine); // the link exists; if it is not visible yet, [Q5] fails
                continue;
            }
            // Holding a ticket does not yet count as waiting. Relaxed: the visit acquires with
            // [Q10].
            if (segments_.cell_of(mine).load(std::memory_order_relaxed) == empty) {
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
        // Relaxed: only a ticket number, as in `try_match`.
        const std::uint64_t limit = cursor(opposite(own)).load(std::memory_order_relaxed);
        while (true) {
            // [Q12] acquire, pairs with [Q6], [Q9], [Q14], [Q15] and [Q16], as [Q11].
            const std::uint64_t mine = cursor(own).load(std::memory_order_acquire);
            if (list::is_closed(mine)) {
                return closed_to(own);
            }
            if (list::distance(limit, mine) <= 0) {
                return try_match(own); // which does not pass the cell of a later arrival
            }
            if (list::at_end(mine)) {
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
        // Read only once: if the limit could move, two parties could pass each other forever.
        // Relaxed: only a ticket number.
        const std::uint64_t limit = cursor(opposite(own)).load(std::memory_order_relaxed);
        while (true) {
            // [Q13] acquire, pairs with [Q6], [Q9], [Q14], [Q15] and [Q16], as [Q11].
            const std::uint64_t mine = cursor(own).load(std::memory_order_acquire);
            if (list::is_closed(mine)) {
                return closed_to(own);
            }
            if (list::at_end(mine)) {
                if (!step_on(own, mine)) {
                    return {match_result::out_of_memory};
                }
            } else if (take_ticket(own, mine)) {
                const bool more_behind = list::distance(limit, mine) > 1;
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
        // [Q3] release, pairs with [Q1], [Q2], [Q4] and [Q10]: a party that finds the cell
        // `cancelled` and then destroys the exchanger sees the pin of this withdrawal ([A3]).
        // Failure relaxed: the waiter belongs to its partner and is not touched.
        if (!here.cells[w.place % list::cell_count].compare_exchange_strong(
                seen, cancelled, std::memory_order_release, std::memory_order_relaxed)) {
            return false;
        }
        segments_.count(here, n, list::one_cancelled);
        return true;
    }

    template <class Each>
    waiter* close(Each each) noexcept {
        // [Q14] acquire, pairs with [Q6] and [Q9]: the segments up to here; release, pairs with
        // [Q11], [Q12] and [Q13]: everything before the close. A closed cursor hands out no more
        // tickets. The thread that closed blue's cursor is the closer: it makes all visits for
        // which only one colour has a ticket (I8).
        const std::uint64_t blue_end = blue_.fetch_or(list::closed, std::memory_order_acq_rel);
        // [Q15] acquire, pairs with [Q6] and [Q9]; release, pairs with [Q11], [Q12], [Q13] and
        // [Q17]: as [Q14].
        const std::uint64_t red_end = red_.fetch_or(list::closed, std::memory_order_acq_rel);
        if (list::is_closed(blue_end)) {
            return nullptr;
        }
        std::uint64_t at = red_end;
        std::uint64_t end = blue_end;
        if (list::distance(end, at) < 0) {
            std::swap(at, end);
        }
        waiter* last = nullptr;
        while (list::distance(end, at) > 0) {
            if (list::at_end(at)) {
                // Relaxed: [Q14] or [Q15] acquired the links up to the leading cursor, and every
                // change of a link that a [Q9] has published.
                at = segments_.start_of(list::successor(
                    segments_[list::segment_of(at)].next.load(std::memory_order_relaxed)));
                continue;
            }
            // Relaxed: a hint. A waiter that this load misses is still arriving, so `each` cannot
            // destroy it.
            const word seen = segments_.cell_of(at).load(std::memory_order_relaxed);
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
            at = list::after(at);
        }
        return last;
    }

    bool is_closed() const noexcept {
        // [Q17] acquire, pairs with [Q15] and [Q16]: everything before the close.
        return list::is_closed(red_.load(std::memory_order_acquire));
    }

private:
    // The states of a cell.
    static constexpr word empty = list::empty_cell;
    static constexpr word cancelled = 1;
    static constexpr word matched = 2;

    atomic<std::uint64_t>& cursor(colour of) noexcept { return of == colour::red ? red_ : blue_; }

    /// The result for a party that found its cursor closed. Before it returns, a blue party also
    /// closes red's cursor. So no party can find the queue open after another has found it closed.
    /// A red party need not help, because red's cursor is closed second.
    match_result closed_to(colour own) noexcept {
        if (own == colour::blue) {
            // [Q16] release, pairs with [Q11], [Q12], [Q13] and [Q17]: everything before the close
            // of blue's cursor.
            red_.fetch_or(list::closed, std::memory_order_release);
        }
        return {match_result::closed};
    }

    bool take_ticket(colour own, std::uint64_t mine) noexcept {
        // Relaxed: the load of `mine` acquired the segment. The next user of the cursor acquires
        // what [Q6] released, because all changes of a cursor are read-modify-writes. Failure
        // relaxed: retried.
        if (!cursor(own).compare_exchange_strong(mine, list::after(mine), std::memory_order_relaxed,
                                                 std::memory_order_relaxed)) {
            return false;
        }
        TRYST_TRACE(step::ticket);
        return true;
    }

    /// Makes the visit that `ticket` is for (I8). A first visitor leaves `w` in the cell, or passes
    /// the cell if `w` is null.
    /// @returns `partner` or `offered`; `empty` if the partner has withdrawn or passed, or if this
    ///   party has passed.
    match_result visit(std::uint64_t ticket, waiter* w) noexcept {
        const number n = list::segment_of(ticket);
        segment& here = segments_[n];
        atomic<word>& cell = here.cells[list::ticket_of(ticket) % list::cell_count];
        // [Q10] acquire, pairs with [Q1] and [Q3]: the first visitor's waiter, or its withdrawal.
        word seen = cell.load(std::memory_order_acquire);
        if (seen == empty) {
            if (w != nullptr) {
                w->place = (n << CellBits) |
                           static_cast<number>(list::ticket_of(ticket) % list::cell_count);
                // [Q1] release, pairs with [Q2], [Q4] and [Q10]: publishes *w to the second
                // visitor. Failure acquire, pairs with [Q1] and [Q3].
                if (cell.compare_exchange_strong(seen, reinterpret_cast<word>(w),
                                                 std::memory_order_release,
                                                 std::memory_order_acquire)) {
                    return {match_result::offered};
                }
                // [Q4] publishes only that this party does not use the cell. Failure acquire, pairs
                // with [Q1] and [Q3]. Success acquire, too: g++ 12 rejects a weaker order than on
                // failure.
            } else if (cell.compare_exchange_strong(seen, cancelled, std::memory_order_acquire,
                                                    std::memory_order_acquire)) {
                TRYST_TRACE(step::passing_over);
                segments_.count(here, n, list::one_cancelled);
                return {match_result::empty};
            }
        }
        // [Q2] claims the waiter, which the read of `seen` has acquired. Failure acquire, pairs
        // with [Q1] and [Q3]: the waiter has withdrawn. Success acquire, too: g++ 12 rejects a
        // weaker order than on failure.
        if (seen != cancelled &&
            cell.compare_exchange_strong(seen, matched, std::memory_order_acquire,
                                         std::memory_order_acquire)) {
            segments_.count(here, n, list::one_ended);
            return {match_result::partner, reinterpret_cast<waiter*>(seen)};
        }
        TRYST_TRACE(step::vacancy);
        segments_.count(here, n, list::one_ended - list::one_cancelled);
        return {match_result::empty};
    }

    /// Moves a cursor from the end of its segment to the start of the next, unless another party
    /// has done so.
    /// @returns false if there is no next segment and no memory for it.
    bool step_on(colour own, std::uint64_t mine) noexcept {
        segment& here = segments_[list::segment_of(mine)];
        const std::uint64_t id = list::id_of(mine);
        std::uint64_t link = list::link_of(here);
        if (link == list::link_to(id, list::none)) {
            // Relaxed: only a count.
            if (until_sweep_.fetch_sub(1, std::memory_order_relaxed) == 1) {
                // Relaxed: as above.
                until_sweep_.store(sweep(), std::memory_order_relaxed);
            }
            if (!segments_.append(here, id, link)) {
                return false;
            }
        }
        if (list::owner_of(link) != id) {
            return true; // the segment was released: the link belongs to a later use of it
        }
        // [Q6] release, pairs with [Q11], [Q12], [Q13], [Q14] and [Q15]: the segment that begins
        // here. Failure relaxed: another party has moved the cursor.
        if (cursor(own).compare_exchange_strong(mine, segments_.start_of(list::successor(link)),
                                                std::memory_order_release,
                                                std::memory_order_relaxed)) {
            segments_.count(here, list::segment_of(mine), list::one_ended);
        }
        return true;
    }

    /// Sweeps the segment list from the trailing cursor on.
    /// @returns by how many segments the list may grow before the next sweep.
    std::uint32_t sweep() noexcept {
        // Relaxed: only where to begin. A segment that is in use again has another id.
        const std::uint64_t red = red_.load(std::memory_order_relaxed);
        // Relaxed: as above.
        const std::uint64_t blue = blue_.load(std::memory_order_relaxed);
        return list::distance(red, blue) < 0 ? segments_.sweep(red, red_)
                                             : segments_.sweep(blue, blue_);
    }

    alignas(line_pair) atomic<std::uint64_t> red_{0};
    atomic<std::uint64_t> blue_{0};
    atomic<std::uint32_t> until_sweep_{list::min_growth};
    list segments_;
};

using dual_queue = basic_dual_queue<6>;

} // namespace tryst::detail
