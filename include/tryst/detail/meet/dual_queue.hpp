// SPDX-License-Identifier: MIT
/// @file
/// The wait list of two colours, first in, first out.
/// Standard library only. Allocates in its constructor and where its segment list does; only the
/// constructor throws.
#pragma once

#include <tryst/detail/meet/segment_list.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <utility>

namespace tryst::detail {

/* The dual queue
 * After Koval, Alistarh and Elizarov, "Fast and Scalable Channels in Kotlin Coroutines" (2023),
 * section 3. The i-th red party meets the i-th blue party in the i-th cell of a segment list
 * (segment_list.hpp). Each colour has a cursor, which hands out the tickets 0, 1, 2, ... in order,
 * to a party that will wait by one fetch-and-add. A ticket entitles its holder to one visit to the
 * cell of that number:
 *
 *   empty     --stay[Q1]------> a waiter
 *   a waiter  --claim[Q2]-----> finished    by the second visitor, which completes the waiter
 *   a waiter  --withdraw[Q3]--> cancelled   by its owner or a canceller
 *   empty     --pass[Q4]------> cancelled   by the first visitor, which will not wait here
 *   cancelled --leave[Q5]-----> finished    by the second visitor
 *
 * In the paper, `finished` is DONE, `cancelled` is INTERRUPTED after a withdrawal and BROKEN after
 * [Q4]. There, the first visitor of a cell reads the other cursor, and may pass. Here it waits
 * without reading it, unless it is a `try_` operation, has no memory, or has a void ticket.
 *
 * A party that finds its cell `cancelled` takes another ticket. So does a party whose cell does not
 * exist, because its segment was swept or its ticket is void.
 *
 * I8. Each colour visits a cell of the dual queue at most once, because it takes each ticket at
 *     most once (I9). If only one colour has taken the ticket of a cell when the cursors are
 *     closed, the closer makes the other visit.
 *
 * Claim and withdraw each CAS the same word away from the waiter, so I1 holds as it does in a slot.
 *
 * A party that holds a ticket always makes its visit. Until then, its partner waits in the cell,
 * even if other parties with later tickets wait as well. A `try_` operation does not wait: it takes
 * a ticket only if its partner has one, by a CAS, and passes the cell if the partner has not come
 * yet [Q4].
 *
 * @tparam CellBits  as in `segment_list`. */
template <unsigned CellBits>
class basic_dual_queue {
    using list = segment_list<CellBits>;
    using place = typename list::place;
    using append_result = typename list::append_result;
    using ticket = typename list::ticket;
    using word = typename list::word;

public:
    static constexpr bool withdraws_in_one_step = true;

    /// @param begin  as of `segment_list`.
    /// @throws std::bad_alloc.
    explicit basic_dual_queue(ticket begin = 0)
        : red_{begin * one_ticket}, blue_{begin * one_ticket}, segments_(begin) {
        for (auto& front : front_) {
            // Relaxed: no other thread knows the queue yet.
            front.store(segments_.first(), std::memory_order_relaxed);
        }
    }

    /// If a partner that began earlier has not come to its cell yet, passes the cell.
    match_result try_match(colour own) noexcept {
        // Read only once. Otherwise this party could pass the cells of one arriving party forever.
        const std::uint64_t limit = hint(opposite(own));
        const std::uint64_t mine = own_cursor(own);
        const std::int64_t lead = distance(limit, mine);
        if (lead <= 0 && !is_closed(mine)) {
            return {lead < 0 ? match_result::own_side : match_result::empty};
        }
        return match_before(limit, own, mine);
    }

    template <class BeforeOffer = nothing_before_offer>
    match_result enqueue_or_match(waiter& w, colour own, BeforeOffer before_offer = {}) noexcept {
        while (true) {
            // [Q6] acquire, pairs with [Q9], [Q14] and [Q15]: the links that a sweep has changed,
            // or everything before the close.
            const std::uint64_t mine = cursor(own).fetch_add(one_ticket, std::memory_order_acquire);
            if (is_closed(mine)) {
                return closed_to(own);
            }
            TRYST_TRACE(ticket);
            const ticket t = ticket_of(mine);
            typename list::number n = list::at_front(front(own), t);
            bool has_memory = true;
            if (n == list::none || list::is_first(t)) {
                n = find(own, t, has_memory);
            }
            if (n != list::none) {
                if (const match_result found = visit(t, n, has_memory ? &w : nullptr, before_offer);
                    found.kind != match_result::empty) {
                    return found;
                }
            }
            if (!has_memory) { // it takes no other ticket, because it would fail again
                return {match_result::out_of_memory};
            }
        }
    }

    bool withdraw(waiter& w, colour /*own*/) noexcept {
        word seen = reinterpret_cast<word>(&w);
        // [Q3] release, pairs with [Q1], [Q2], [Q4], [Q7], [Q10], [Q12] and [Q19]: this use of the
        // exchanger happens-before its destruction. Failure relaxed: the waiter belongs to its
        // partner and is not touched.
        return segments_.cell(w.place).compare_exchange_strong(
            seen, cancelled, std::memory_order_release, std::memory_order_relaxed);
    }

    template <class Take, class Complete>
    waiter* close(Take take, Complete complete) noexcept {
        // [Q14] acquire, pairs with [Q9]: the links; release, pairs with [Q6], [Q8] and [Q11]:
        // everything before the close. A closed cursor hands out no more tickets, even if it still
        // moves. The thread that closed blue's cursor is the closer.
        const std::uint64_t blues = blue_.word.fetch_or(closed, std::memory_order_acq_rel);
        close_red();
        if (is_closed(blues)) {
            return nullptr;
        }
        std::uint64_t reds = open;
        // If another party has closed red's cursor, it is about to say at which ticket.
        detail::yield_until([&] {
            reds = red_end_.load(std::memory_order_relaxed); // relaxed: only a ticket number
            return reds != open;
        });
        segments_.seal();
        waiter* last = nullptr;
        // Cells of which only one colour has the ticket. The holders of both tickets of an earlier
        // cell meet there, even after the close: otherwise a waiter could be left over although
        // later ones have been served.
        const auto [first, end] = std::minmax({ticket_of(blues), ticket_of(reds)});
        segments_.for_each_cell(first, end, [&](atomic<word>& cell) {
            // [Q19] acquire, pairs with [Q1] and [Q3]: the waiter, or a withdrawal, which uses the
            // exchanger until then.
            word seen = cell.load(std::memory_order_acquire);
            while (seen == empty || seen > finished) {
                // A waiter that this load has missed is still arriving, so `complete` cannot
                // destroy it.
                if (last != nullptr && seen != empty) {
                    complete(*std::exchange(last, nullptr));
                }
                // [Q12] release, pairs with [Q1], [Q4] and [Q10]: this visit. Failure
                // acquire, pairs with [Q1] and [Q3], as [Q19]. Success acquire, too: g++ 12 rejects
                // a weaker order than on failure.
                if (cell.compare_exchange_weak(seen, cancelled, std::memory_order_acq_rel,
                                               std::memory_order_acquire)) {
                    if (seen != empty && take(*reinterpret_cast<waiter*>(seen))) {
                        last = reinterpret_cast<waiter*>(seen);
                    }
                    break;
                }
            }
        });
        return last;
    }

    bool is_closed() const noexcept {
        // [Q17] acquire, pairs with [Q15]: everything before the close.
        return is_closed(red_.word.load(std::memory_order_acquire));
    }

private:
    static constexpr word empty = list::empty_cell;
    static constexpr word cancelled = list::cancelled_cell;
    static constexpr word finished = list::finished_cell;

    // A cursor: the next ticket, and in the lowest bit whether it is closed.
    static constexpr std::uint64_t closed = 1;
    static constexpr std::uint64_t one_ticket = 2;
    static constexpr std::uint64_t open = closed; ///< Instead of a cursor that was still open.
    struct alignas(line_pair) padded_cursor {
        atomic<std::uint64_t> word;
    };

    static bool is_closed(std::uint64_t cursor) noexcept { return (cursor & closed) != 0; }
    static ticket ticket_of(std::uint64_t cursor) noexcept { return cursor / one_ticket; }
    static std::int64_t distance(std::uint64_t to, std::uint64_t from) noexcept {
        return static_cast<std::int64_t>(ticket_of(to) - ticket_of(from));
    }

    atomic<std::uint64_t>& cursor(colour of) noexcept {
        return of == colour::red ? red_.word : blue_.word;
    }
    typename list::front& front(colour of) noexcept { return front_[of == colour::red ? 0 : 1]; }

    std::uint64_t hint(colour of) noexcept {
        // Relaxed: only a ticket number; [Q10] acquires the waiters.
        return cursor(of).load(std::memory_order_relaxed);
    }

    std::uint64_t own_cursor(colour own) noexcept {
        // [Q11] acquire, pairs with [Q14] and [Q15]: everything before the close.
        return cursor(own).load(std::memory_order_acquire);
    }

    /// Matches a partner with a ticket before `limit`. Not inlined, because often there is none.
    /// @param mine  this colour's cursor.
    [[gnu::noinline]] match_result match_before(std::uint64_t limit, colour own,
                                                std::uint64_t mine) noexcept {
        for (;; mine = own_cursor(own)) {
            if (is_closed(mine)) {
                return closed_to(own);
            }
            if (distance(limit, mine) <= 0) {
                return {match_result::empty};
            }
            const ticket t = ticket_of(mine);
            const ticket wanted = list::first_of(t);
            if (list::at_front(front(own), t) == list::none &&
                list::is_before(segments_.find(wanted, front(own)).first, wanted)) {
                return {match_result::empty};
            }
            // [Q8] acquire, pairs with [Q9], [Q14] and [Q15], as [Q6]. Failure relaxed: retried.
            if (!cursor(own).compare_exchange_strong(mine, mine + one_ticket,
                                                     std::memory_order_acquire,
                                                     std::memory_order_relaxed)) {
                continue;
            }
            TRYST_TRACE(ticket);
            typename list::number n = list::at_front(front(own), t);
            if (n == list::none) { // look again: it may have been swept before the ticket
                n = own_segment(own, t, segments_.find(wanted, front(own)));
            }
            if (n == list::none) {
                continue;
            }
            if (const match_result found = visit(t, n, nullptr, nothing_before_offer());
                found.kind == match_result::partner) {
                return found;
            }
        }
    }

    /// Closes red's cursor, once blue's is closed.
    void close_red() noexcept {
        // [Q15] acquire, pairs with [Q9]; release, pairs with [Q6], [Q8], [Q11] and [Q17]: as
        // [Q14], or everything before the close of blue's cursor.
        const std::uint64_t before = red_.word.fetch_or(closed, std::memory_order_acq_rel);
        if (!is_closed(before)) {
            red_end_.store(before, std::memory_order_relaxed); // relaxed: only a ticket number
        }
    }

    /// The result for a party that found its cursor closed. Before it returns, a blue party also
    /// closes red's cursor. So no party can find the queue open after another has found it closed.
    /// A red party need not help, because red's cursor is closed second.
    match_result closed_to(colour own) noexcept {
        if (own == colour::blue) {
            close_red();
        }
        return {match_result::closed};
    }

    /// Finds the segment of `t`, a ticket of this party, or appends it. If there is no memory,
    /// clears `has_memory`, and makes the ticket void unless another party has appended the
    /// segment.
    /// @returns the number of the segment, or none: then the party needs another ticket.
    /// Not inlined, because few tickets need it.
    [[gnu::noinline]] typename list::number find(colour own, ticket t, bool& has_memory) noexcept {
        const ticket wanted = list::first_of(t);
        place at = segments_.find(wanted, front(own));
        while (list::is_before(at.first, wanted)) {
            if (segments_.is_sealed(at)) {
                return list::none;
            }
            if (!append(at)) {
                has_memory = false;
                if (segments_.make_void(t + 1, at)) {
                    return list::none;
                }
            }
            at = segments_.find(wanted, front(own));
        }
        const typename list::number n = own_segment(own, t, at);
        if (n != list::none && list::is_first(t)) {
            append(segments_.two_behind(at)); // in advance, so that only one party does it
        }
        return n;
    }

    /// The segment of `t`, a ticket of this party: `at`, unless the segment was swept.
    typename list::number own_segment(colour own, ticket t, place at) noexcept {
        if (at.first != list::first_of(t)) {
            skip(own, at);
            return list::none;
        }
        segments_.advance(front(own), at, list::is_first(t) ? 1 : 2);
        return at.n;
    }

    /// Appends a segment behind `last`, unless there is one, and releases others.
    /// @returns false if there is no memory.
    bool append(place last) noexcept {
        const auto result = segments_.append(last);
        if (result == append_result::exists) {
            return true;
        }
        tidy();
        return result == append_result::appended ||
               segments_.append(last) != append_result::out_of_memory;
    }

    void tidy() noexcept {
        const bool red_trails = distance(hint(colour::blue), hint(colour::red)) > 0;
        segments_.tidy(cursor(red_trails ? colour::red : colour::blue));
    }

    /// Moves the cursor to the first ticket of `at`, because the segment before it is gone.
    void skip(colour own, place at) noexcept {
        const std::uint64_t target = at.first * one_ticket;
        std::uint64_t seen = hint(own);
        while (!is_closed(seen) && seen < target) {
            // Relaxed: it publishes nothing. Failure relaxed: retried.
            if (cursor(own).compare_exchange_weak(seen, target, std::memory_order_relaxed,
                                                  std::memory_order_relaxed)) {
                return;
            }
        }
    }

    /// Makes the visit that `t` is for (I8). A first visitor leaves `w` in the cell, or passes the
    /// cell if `w` is null or the ticket is void.
    /// @returns `partner` or `offered`; `empty` if the partner has withdrawn or passed, or if this
    ///   party has passed.
    template <class BeforeOffer>
    match_result visit(ticket t, typename list::number n, waiter* w,
                       BeforeOffer before_offer) noexcept {
        atomic<word>& cell = segments_.cell(n, t);
        detail::prefetch_for_write(&cell);
        // [Q10] acquire, pairs with [Q1], [Q3], [Q4] and [Q12]: the first visitor's waiter, its
        // withdrawal, or the close.
        word seen = cell.load(std::memory_order_acquire);
        if (seen == empty) {
            if (w != nullptr && !segments_.is_void(t)) {
                w->place = list::cell_number(n, t);
                before_offer();
                // [Q1] release, pairs with [Q2], [Q10], [Q12] and [Q19]: publishes *w to the second
                // visitor or the closer. Failure acquire, pairs with itself, [Q3], [Q4] and [Q12].
                if (cell.compare_exchange_strong(seen, reinterpret_cast<word>(w),
                                                 std::memory_order_release,
                                                 std::memory_order_acquire)) {
                    return {match_result::offered};
                }
                // [Q4] release, pairs with itself, [Q1], [Q7] and [Q10]: this visit. Failure
                // acquire, pairs with itself, [Q1], [Q3] and [Q12].
            } else if (cell.compare_exchange_strong(seen, cancelled, std::memory_order_acq_rel,
                                                    std::memory_order_acquire)) {
                TRYST_TRACE(passing_over);
                return {match_result::empty};
            }
        }
        // [Q2] release, pairs with [Q7]: this visit. Acquire, pairs with [Q1]: the waiter. Failure
        // acquire, pairs with [Q3]: the waiter has withdrawn.
        if (seen > finished &&
            cell.compare_exchange_strong(seen, finished, std::memory_order_acq_rel,
                                         std::memory_order_acquire)) {
            return {match_result::partner, reinterpret_cast<waiter*>(seen)};
        }
        assert(seen == cancelled);
        TRYST_TRACE(vacancy);
        // [Q5] release, pairs with [Q7]: both visits. A plain store, because there is no other
        // visit (I8).
        cell.store(finished, std::memory_order_release);
        return {match_result::empty};
    }

    padded_cursor red_;
    padded_cursor blue_;
    alignas(line_pair) std::array<typename list::front, 2> front_;
    atomic<std::uint64_t> red_end_{open}; ///< Red's cursor when it was closed.
    list segments_;
};

using dual_queue = basic_dual_queue<6>;

} // namespace tryst::detail
