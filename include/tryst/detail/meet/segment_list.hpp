// SPDX-License-Identifier: MIT
/// @file
/// The cells of a dual queue: an endless array, kept in segments that are recycled.
/// Standard library only. Allocates while it grows; only `add_first` throws.
#pragma once

#include <tryst/detail/meet/node_pool.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <array>
#include <cstdint>
#include <new>

namespace tryst::detail {

/* The segment list
 * Cells are numbered by tickets. A segment has `cell_count` cells, and the segments in use are
 * linked in order. Two cursors, one for each colour, move along the cells and hand out the tickets
 * (dual_queue.hpp). The id of a segment is its position in this order; its number in the pool is
 * reused.
 *
 * I9. A cursor never returns to an old value, because it contains a ticket. A link never returns to
 *     its value in an earlier use of the segment, because it contains the id. So a CAS that expects
 *     such a value fails. (Tickets wrap after 2^44, and ids with them.)
 *
 * I10. A segment is released once, after the last access that depends on its cells. A later access
 *     is a read, or a CAS that fails (I9; in a withdrawal, because the waiter is no longer in any
 *     cell). Both are harmless (I7).
 *
 * Counting. The counter of a segment has two halves:
 *
 *   upper   cells whose second visit has ended, and cursors that have moved on to the next segment
 *   lower   withdrawals that no second visitor has found yet
 *
 * A withdrawer adds one after its CAS, and the second visitor takes one off, in either order. The
 * party whose step leaves the upper half complete and the lower half at zero releases the segment.
 * So a segment also stays in use until a late withdrawer has counted its withdrawal.
 *
 * Sweeping. A segment whose waiters have all withdrawn stays in the list until the other colour
 * comes to visit its cells. To bound the memory, the list is swept whenever its length has doubled
 * since the last sweep. So a withdrawal costs amortised O(1), and at worst there is a segment for
 * each waiter.
 * Only one party sweeps at a time. It takes such a segment d out as follows:
 *
 * 1. A CAS [Q8] makes the link of d's predecessor p lead around d.
 * 2. Only the trailing cursor can still enter d. A party that moves it there has found it at the
 *    end of p and then read p's link. A closer does the same after it has closed the cursor.
 * 3. An RMW [Q9] reads the trailing cursor. If the cursor is open and before the end of p, a party
 *    of step 2 reads a value that follows [Q9] in the modification order. So that party sees the
 *    new link. Nothing enters d, and the sweeper releases it.
 * 4. Otherwise a party may have read the old link, and the sweeper leaves d alone. If the cursor
 *    enters d, d is released when its counter is complete. Otherwise it stays in use until the
 *    destructor.
 *
 * @tparam CellBits  the binary logarithm of `cell_count`; smaller in tests. */
template <unsigned CellBits>
class segment_list {
    static_assert(CellBits <= 6);
    static constexpr unsigned segment_bits = 18;

public:
    using word = slot::word;
    using number = std::uint32_t;
    static constexpr number none = 0;
    static constexpr number cell_count = number{1} << CellBits;
    static constexpr word empty_cell = 0;

    // ---- Cursors. From the low end: whether it is closed; whether it has left the last cell of
    // its segment; the number of the segment; the next ticket. Tickets are in the high bits, so
    // that differences of cursors are signed and wrap.

    static constexpr std::uint64_t closed = 1;

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
    /// The id of the segment that the cursor is in.
    static std::uint64_t id_of(std::uint64_t cursor) noexcept {
        const std::uint64_t last = ticket_of(cursor) - (at_end(cursor) ? 1 : 0);
        return (last << ticket_at) >> (ticket_at + CellBits);
    }

    // ---- Segments.

    struct alignas(line_pair) segment {
        void clear(std::uint64_t id) noexcept {
            for (auto& cell : cells) {
                // Relaxed: published by the link [Q5]. The last use came before ([Q7], [Q19]).
                cell.store(empty_cell, std::memory_order_relaxed);
            }
            // Relaxed: as above.
            ended.store(0, std::memory_order_relaxed);
            // Relaxed: as above.
            next.store(link_to(id, none), std::memory_order_relaxed);
        }

        atomic<std::uint64_t> next{0}; // the id of this segment, and the number of the next
        atomic<std::uint64_t> ended{0};
        atomic<number> link{none};
        std::array<atomic<word>, cell_count> cells{};
    };

    // The amounts that `count` adds: for a second visit or a cursor that moves on, and for a
    // withdrawal.
    static constexpr std::uint64_t one_ended = std::uint64_t{1} << 32U;
    static constexpr std::uint64_t one_cancelled = 1;

    segment& operator[](number n) const noexcept { return segments_[n]; }

    /// Adds the first segment. @returns its number. @throws std::bad_alloc.
    number add_first() {
        const number first = segments_.allocate();
        if (first == none) {
            throw std::bad_alloc();
        }
        segments_[first].clear(0);
        return first;
    }

    atomic<word>& cell_of(std::uint64_t cursor) const noexcept {
        return segments_[segment_of(cursor)].cells[ticket_of(cursor) % cell_count];
    }

    /// Where a cursor enters segment `n`.
    std::uint64_t start_of(number n) const noexcept {
        // Relaxed: the segment was cleared before it was linked. If it has been cleared again, the
        // cursor has moved on and [Q6] fails (I9).
        const std::uint64_t id = owner_of(segments_[n].next.load(std::memory_order_relaxed));
        return cursor_at(id << CellBits, n);
    }

    /// Counts an event in segment `n`, which the caller then must not touch.
    void count(segment& of, number n, std::uint64_t what) noexcept {
        // [Q7] acquire and release, pairs with itself and [Q19]: a segment is released after all
        // visits (I10).
        if (of.ended.fetch_add(what, std::memory_order_acq_rel) + what == all_ended) {
            TRYST_TRACE(step::recycling);
            segments_.release(n);
        }
    }

    // ---- Links: the id of the segment that contains the link, and the number of the next segment.
    static std::uint64_t link_to(std::uint64_t id, number n) noexcept {
        return (id << segment_bits) | n;
    }
    static std::uint64_t owner_of(std::uint64_t link) noexcept { return link >> segment_bits; }
    static number successor(std::uint64_t link) noexcept {
        return static_cast<number>(link) & number_mask;
    }
    /// The id that follows `id`; wraps like the tickets.
    static std::uint64_t next_id(std::uint64_t id) noexcept {
        return ((id + 1) << (ticket_at + CellBits)) >> (ticket_at + CellBits);
    }

    static std::uint64_t link_of(const segment& s) noexcept {
        // [Q18] acquire, pairs with [Q5] and [Q8]: the next segment's empty cells.
        return s.next.load(std::memory_order_acquire);
    }

    /// Links a new segment behind `here`, unless another party has done so.
    /// @param id    the id of `here`.
    /// @param link  the link of `here`, which this updates.
    /// @returns false if there is no memory.
    bool append(segment& here, std::uint64_t id, std::uint64_t& link) noexcept {
        const number n = segments_.allocate();
        if (n == none) {
            return false;
        }
        segments_[n].clear(next_id(id));
        // [Q5] release, pairs with [Q5] and [Q18]: the empty cells. Failure acquire, pairs with
        // [Q5] and [Q8].
        if (here.next.compare_exchange_strong(link, link_to(id, n), std::memory_order_release,
                                              std::memory_order_acquire)) {
            link = link_to(id, n);
        } else {
            segments_.release(n);
        }
        return true;
    }

    /// Takes out the segments whose waiters have all withdrawn. Only one party at a time may call
    /// it.
    /// @param from  a value of `last`, which tells where to begin.
    /// @param last  the trailing cursor.
    /// @returns by how many segments the list may grow before the next sweep: about its length.
    std::uint32_t sweep(std::uint64_t from, atomic<std::uint64_t>& last) noexcept {
        const auto is_before_end_of = [](std::uint64_t id, std::uint64_t cursor) {
            return distance(cursor_at(next_id(id) << CellBits, 0), cursor) > 0;
        };

        number p = segment_of(from);
        std::uint64_t id = id_of(from);
        std::uint64_t link = link_of(segments_[p]);
        std::uint32_t length = min_growth;
        while (owner_of(link) == id && successor(link) != none) {
            const number d = successor(link);
            const std::uint64_t after_d = link_of(segments_[d]);
            const bool is_last = successor(after_d) == none;
            // [Q19] acquire, pairs with [Q7]: everything that happened in d.
            if (!is_last && segments_[d].ended.load(std::memory_order_acquire) == all_cancelled &&
                // Relaxed: a hint; [Q9] decides.
                is_before_end_of(id, last.load(std::memory_order_relaxed))) {
                const std::uint64_t around = link_to(id, successor(after_d));
                // [Q8] release, pairs with [Q5] and [Q18]: the segment behind d. Failure relaxed:
                // the link is read again.
                if (segments_[p].next.compare_exchange_strong(
                        link, around, std::memory_order_release, std::memory_order_relaxed)) {
                    link = around;
                    // [Q9] release, pairs with [Q11], [Q12], [Q13], [Q14] and [Q15]: a party that
                    // finds the cursor at the end of p sees [Q8], and so does the closer.
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

    /// Between two sweeps the list grows by at least this many segments.
    static constexpr std::uint32_t min_growth = 2;

private:
    using pool = node_pool<segment, segment_bits>;

    static constexpr std::uint64_t all_ended = (cell_count + 2) * one_ended;
    static constexpr std::uint64_t all_cancelled = one_ended + cell_count * one_cancelled;

    static constexpr std::uint64_t past_last = 2;
    static constexpr number number_mask = (number{1} << segment_bits) - 1;
    static constexpr unsigned segment_at = 2;
    static constexpr unsigned ticket_at = 20;
    static_assert(segment_at + segment_bits == ticket_at);

    pool segments_;
};

} // namespace tryst::detail
