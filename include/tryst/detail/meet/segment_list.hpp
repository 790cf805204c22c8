// SPDX-License-Identifier: MIT
/// @file
/// The cells of a dual queue: an endless array, kept in segments that are recycled.
/// Standard library only. Allocates while it grows; only the constructor throws.
#pragma once

#include <tryst/detail/meet/node_pool.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

namespace tryst::detail {

/* The segment list
 * Cells are numbered by tickets (dual_queue.hpp). A segment holds `cell_count` cells. The segments
 * in use form a linked list, in the order of their first tickets.
 *
 * A cell is `finished` after its second visit. Nobody counts the visits. Whoever has appended a
 * segment looks at the oldest ones, and takes out those whose cells are all finished (`tidy`).
 * Several parties may do so at the same time, and none waits for another. So a party that has lost
 * its processor keeps at most one segment from being used again.
 *
 * I9. In the dual queue, no ticket, first ticket of a segment, or link ever returns to an old
 *     value. Tickets only grow. A link counts its changes, also from one use of its segment to the
 *     next. So a CAS that expects an old value fails, and two equal values mean that nothing has
 *     changed between. A segment gets its first ticket before it is linked, and is released if it
 *     is not. It has not had this ticket before, because when it was allocated, nothing was linked
 *     behind `last`. (The count wraps after 2^45 changes of one link. A front shows 46 bits of a
 *     segment's place, so only a colour that skips exactly 2^46 segments could mistake it.)
 *
 * I10. A segment of the dual queue is released only after the last visit to its cells. A later
 *     access is a read that is checked (below), or the CAS of a withdrawal, which fails, because
 *     its waiter is in no cell.
 *
 * Taking out. After Harris, "A Pragmatic Implementation of Non-Blocking Linked-Lists" (2001),
 * section 3, and with the walks that help of Michael, "High Performance Dynamic Lock-Free Hash
 * Tables and List-Based Sets" (2002), section 3.
 *
 * 1. A CAS marks the link of the segment [G12]. Its successor is then fixed. The party that has
 *    marked it is the one that will release it.
 * 2. A CAS makes the link of its predecessor lead around it [G5]. Whoever comes across a marked
 *    segment does that (`look_behind`).
 * 3. The party of step 1 releases it, after it has found that step 2 is done. Only after that, the
 *    segment may get another first ticket [G2].
 *
 * Finding. A party walks along the links, from a segment that its colour has used lately
 * (`front`), or from the head. It may come to a segment that was taken out, released and reused.
 *
 * 1. A party that reads an unmarked link of p to d, then the first ticket of d, and then the same
 *    link of p again, knows that d followed p in the list with that ticket: while the link of p is
 *    unmarked, p is in the list, and d cannot be taken out before that link has changed.
 * 2. A party that finds its link marked, or another first ticket than it expects, begins again at
 *    the head.
 * 3. The segment of a party's own ticket is not released, because its visit is to come. So if the
 *    party passes over it, that segment has been swept, or its ticket is void.
 * 4. `front` is moved only by the holder of a ticket of that segment. So if it shows the segment of
 *    a party's ticket, no sweep has released that segment.
 *
 * Sweeping. A segment whose waiters have all withdrawn stays in the list until the other colour has
 * visited its cells. To bound the memory, the list is swept after as many appends as half of all
 * segments. So a withdrawal costs amortised O(1), and at worst there is a segment for each waiter,
 * and as many again. A sweep takes such a segment d out, if the trailing cursor is not past the
 * first ticket of d's predecessor. When it has marked d, an RMW [Q9] reads the trailing cursor:
 *
 * 1. If it is still open and not past the first ticket of d, any party that gets a ticket of d gets
 *    it later, sees the mark, and cannot find d. So d is released.
 * 2. Otherwise some parties may have found d, and others will not. Either is right, because all
 *    cells of d are cancelled. Then d stays in use until the destructor. This is rare: meanwhile as
 *    many parties as a segment has cells have taken the tickets of d's predecessor.
 *
 * Void tickets. Suppose that a party has a ticket, but there is neither its segment nor memory for
 * it. Its partner must not wait for it in a segment that is appended later.
 *
 * 1. The party makes its ticket, and all before it, void (`void_until`), and then writes the link
 *    of the last segment [G4] without changing it.
 * 2. If [G4] fails, there is a next segment, in which the party continues.
 * 3. Otherwise a party that appends the next segment [G3], or finds it, sees the void tickets. In
 *    a void cell the first visitor does not wait, and an append may leave out void segments.
 *
 * Closing. When both cursors are closed, the closer ends the list [G13]. Then it visits the cells
 * of which only one colour has the ticket. Until then their segments have cells that are not
 * `finished`, so they stay in the list.
 *
 * @tparam CellBits  the binary logarithm of `cell_count`; smaller in tests. */
template <unsigned CellBits>
class segment_list {
    static_assert(CellBits <= 6);
    static constexpr unsigned number_bits = 18; // of a segment in the pool

public:
    using word = slot::word;
    using number = std::uint32_t;
    using ticket = std::uint64_t;

    static constexpr number none = 0;
    static constexpr number cell_count = number{1} << CellBits;
    static constexpr word empty_cell = 0;
    static constexpr word cancelled_cell = 1; ///< Its first visitor has left.
    static constexpr word finished_cell = 2; ///< After its second visit.

    static bool is_before(ticket a, ticket b) noexcept {
        return static_cast<std::int64_t>(a - b) < 0;
    }
    static bool is_first(ticket t) noexcept { return t % cell_count == 0; }
    /// The first ticket of the segment of `t`.
    static ticket first_of(ticket t) noexcept { return t - t % cell_count; }

    /// A segment: its number, and its first ticket when it was seen.
    struct place {
        number n;
        ticket first;
    };

    /// @param begin  the first ticket, that of a segment; not 0 in tests.
    /// @throws std::bad_alloc.
    explicit segment_list(ticket begin = 0) {
        const number first = segments_.allocate();
        if (first == none) {
            throw std::bad_alloc();
        }
        segments_[first].clear(begin);
        // Relaxed: no other thread knows the list yet.
        head_.store(first, std::memory_order_relaxed);
    }

    /// Where a colour begins to search: a segment of one of its tickets. The number of the segment,
    /// and above it the lower bits of the number of its first ticket, divided by `cell_count`.
    using front = atomic<std::uint64_t>;

    /// Precondition: no other thread knows the list yet.
    std::uint64_t first() noexcept {
        const number n = successor(link_of(none));
        return packed({n, first_at(n)});
    }

    /// The number of the segment of `t`, a ticket of the caller; or none, if `from` shows another.
    static number at_front(const front& from, ticket t) noexcept {
        // [G1] acquire, pairs with [G6]: the segment.
        const std::uint64_t seen = from.load(std::memory_order_acquire);
        return seen >> number_bits == shown(t) >> number_bits ? number_of(seen) : none;
    }

    /// Finds the segment with the first ticket `wanted`.
    /// @returns the segment; or a later one, if there will be none with this ticket; or an earlier
    ///   one, which is the last.
    place find(ticket wanted, const front& from) noexcept {
        // [G11] acquire, pairs with [G6]: the segment.
        const std::uint64_t seen = from.load(std::memory_order_acquire);
        const place at{number_of(seen), first_at(number_of(seen))};
        const bool is_reused = packed(at) != seen;
        return walk(is_reused || is_before(wanted, at.first) ? head : at, wanted);
    }

    /// Whether the list has been closed behind `at`.
    bool is_sealed(place at) noexcept {
        return is_sealed(link_of(at.n)) && first_at(at.n) == at.first;
    }

    /// Moves `mark` to `to`, if it is at least `distance` segments behind.
    void advance(front& mark, place to, std::uint64_t distance) noexcept {
        // Relaxed: the CAS re-reads it.
        std::uint64_t seen = mark.load(std::memory_order_relaxed);
        while (!is_before(shown(to.first), (seen & ~number_mask) + (distance << number_bits))) {
            // [G6] release, pairs with [G1] and [G11]: the segment. Failure relaxed: retried.
            if (mark.compare_exchange_weak(seen, packed(to), std::memory_order_release,
                                           std::memory_order_relaxed)) {
                return;
            }
        }
    }

    /// The end of the list, if it is at most two segments behind `at`; otherwise some segment.
    place two_behind(place at) noexcept { return walk(at, at.first + 2 * cell_count); }

    enum class append_result : std::uint8_t { appended, exists, out_of_memory };

    /// Appends a segment behind `last`, unless there is one.
    append_result append(place last) noexcept {
        word link = link_of(last.n);
        if (!is_end(last, link)) {
            return append_result::exists;
        }
        const number n = segments_.allocate();
        if (n == none) {
            return append_result::out_of_memory;
        }
        if (link_of(last.n) != link) { // I9: `n` may have been that segment
            segments_.release(n);
            return append_result::exists;
        }
        // The cells of void tickets would never be finished. Relaxed: a hint; if it is old, one
        // segment stays in the list.
        const ticket after_void =
            first_of(void_until_.load(std::memory_order_relaxed) + cell_count - 1);
        const ticket next = last.first + cell_count;
        segments_[n].clear(is_before(next, after_void) ? after_void : next);
        // [G3] release, pairs with [G7] and [G4]: the empty cells, and the void tickets that this
        // party has seen. Acquire, pairs with [G4]: the void tickets. Failure relaxed: the caller
        // looks again.
        if (!segments_[last.n].next.compare_exchange_strong(
                link, changed(link, n), std::memory_order_acq_rel, std::memory_order_relaxed)) {
            segments_.release(n);
            return append_result::exists;
        }
        return append_result::appended;
    }

    /// Makes all tickets before `end` void, for which there is no segment behind `last`.
    /// @returns false if there is a next segment.
    bool make_void(ticket end, place last) noexcept {
        // Relaxed: the CAS re-reads it.
        ticket seen = void_until_.load(std::memory_order_relaxed);
        while (seen < end) {
            // Relaxed: published by [G4]. Failure relaxed: retried.
            if (void_until_.compare_exchange_weak(seen, end, std::memory_order_relaxed,
                                                  std::memory_order_relaxed)) {
                break;
            }
        }
        word link = link_of(last.n);
        // [G4] release, pairs with [G3] and [G7]: the void tickets. Acquire, pairs with [G4]: those
        // of others. Failure relaxed: the caller looks again.
        return is_end(last, link) &&
               segments_[last.n].next.compare_exchange_strong(link, link, std::memory_order_acq_rel,
                                                              std::memory_order_relaxed);
    }

    /// Makes the list end with its last segment. Call once, after both cursors were closed.
    void seal() noexcept {
        for (place last = head;;) {
            last = walk(last, last.first + max_distance);
            word link = link_of(last.n);
            // [G13] relaxed: [G7] has acquired all segments. Failure relaxed: retried.
            if (is_end(last, link) && segments_[last.n].next.compare_exchange_strong(
                                          link, changed(link, sealed), std::memory_order_relaxed,
                                          std::memory_order_relaxed)) {
                return;
            }
        }
    }

    /// Calls `visit` with the cells of the tickets from `first` to `end`, in this order.
    template <class Visit>
    void for_each_cell(ticket first, ticket end, Visit visit) noexcept {
        place at = head;
        for (ticket next = first_of(first);;) {
            at = walk(at, next);
            if (is_before(at.first, next)) {
                return;
            }
            next = at.first + cell_count;
            for (ticket t = (std::max)(at.first, first); t < (std::min)(next, end); ++t) {
                visit(cell(at.n, t));
            }
        }
    }

    /// Whether the first visitor of the cell must not wait there. Call after `find`.
    bool is_void(ticket t) const noexcept {
        // Relaxed: a party that has found the segment sees what matters ([G3], [G4]).
        return t < void_until_.load(std::memory_order_relaxed);
    }

    atomic<word>& cell(number n, ticket t) const noexcept {
        return segments_[n].cells[index_of(t)];
    }

    /// A cell as a number of 24 bits.
    static number cell_number(number n, ticket t) noexcept { return (n << CellBits) | index_of(t); }
    atomic<word>& cell(number of) const noexcept {
        return segments_[of >> CellBits].cells[of % cell_count];
    }

    /// Releases segments that are not needed any more.
    /// @param trailing  the cursor that is behind; the ticket is in its upper 63 bits, and the
    ///   lowest bit tells whether it is closed.
    void tidy(atomic<std::uint64_t>& trailing) noexcept {
        const bool sweeps = is_time_to_sweep();
        // Relaxed: a hint; [Q9] decides.
        ticket limit = trailing.load(std::memory_order_relaxed) >> 1U;
        std::uint32_t released = 0;
        for (place before = head; sweeps || released != max_released;) {
            const neighbours seen = look_behind(before);
            const place at = seen.behind;
            if (at.n == none || successor(seen.beyond) == none) {
                return; // the last segment stays
            }
            const bool passed = !is_before(limit, at.first + cell_count); // by both cursors
            if (!passed) {
                if (!sweeps) {
                    return;
                }
                // Relaxed: as above. The cursor may have skipped what this sweep has taken out.
                limit = trailing.load(std::memory_order_relaxed) >> 1U;
            }
            const bool is_far = before.n != none && !is_before(before.first, limit);
            if (!(passed ? all_cells_are(finished_cell, at.n)
                         : is_far && all_cells_are(cancelled_cell, at.n))) {
                before = at;
            } else if (mark(at.n, seen.beyond)) {
                const bool is_free = passed || is_still_before(trailing, at.first);
                if (!unlink(before.n, seen.link, successor(seen.beyond))) {
                    walk(head, at.first + 1); // comes past it, unless another party has unlinked it
                }
                if (passed) {
                    TRYST_TRACE(recycling);
                }
                if (is_free) {
                    if (!passed) {
                        TRYST_TRACE(sweeping);
                    }
                    segments_.release(at.n);
                }
                ++released;
            }
        }
    }

private:
    struct alignas(line_pair) segment {
        void clear(ticket from) noexcept {
            for (auto& cell : cells) {
                // Relaxed: released by [G3], which links the segment.
                cell.store(empty_cell, std::memory_order_relaxed);
            }
            // [G2] release, pairs with [G8]: a party that sees the new ticket sees that the links
            // to the old segment have changed.
            first.store(from, std::memory_order_release);
            // Relaxed: nobody else changes the link of a segment that is not in the list.
            const word latest = next.load(std::memory_order_relaxed);
            // [G9] release, pairs with [G7]: as [G2], and the new ticket.
            next.store(changed(latest, none), std::memory_order_release);
        }

        atomic<ticket> first{0};
        atomic<word> next{0}; // a link
        atomic<number> link{none};
        alignas(line_pair / 2) std::array<atomic<word>, cell_count> cells{};
    };
    using pool = node_pool<segment, number_bits>;

    // A link: the number of the next segment or `none`, a mark, and a count of its changes.
    static constexpr word number_mask = (word{1} << number_bits) - 1;
    static constexpr word marked = number_mask + 1; ///< The segment is being taken out.
    static constexpr word sealed = marked | none; ///< It will stay the last.
    static constexpr word one_change = 2 * marked;

    static constexpr place head{none, ticket{0} - cell_count}; ///< Before all segments.
    static constexpr ticket max_distance = ticket{1} << 62U;
    /// Between two sweeps there are at least this many appends.
    static constexpr std::uint32_t min_growth = 2;
    /// Each append releases at most this many segments, so that no arrival is held up for long.
    static constexpr std::uint32_t max_released = 4;

    static number successor(word link) noexcept { return static_cast<number>(link & number_mask); }
    static bool is_sealed(word link) noexcept { return (link & (one_change - 1)) == sealed; }
    static bool is_marked(word link) noexcept {
        return (link & marked) != 0 && successor(link) != none;
    }
    static word changed(word link, word to) noexcept {
        return (link / one_change + 1) * one_change + to;
    }

    static std::uint64_t shown(ticket t) noexcept { return (t >> CellBits) << number_bits; }
    static std::uint64_t packed(place p) noexcept { return shown(p.first) | p.n; }
    static number number_of(std::uint64_t front) noexcept { return successor(front); }

    /// Consecutive tickets use different lines, because different cores visit their cells.
    static number index_of(ticket t) noexcept {
        constexpr unsigned line_bits = 3; // eight cells of 8 bytes
        const auto i = static_cast<number>(t % cell_count);
        if constexpr (CellBits < 2 * line_bits) {
            return i;
        } else {
            constexpr number in_line = (1U << line_bits) - 1;
            return (i & in_line) << (CellBits - line_bits) | i >> line_bits;
        }
    }

    atomic<word>& link_at(number n) noexcept { return n == none ? head_ : segments_[n].next; }
    word link_of(number n) noexcept {
        // [G7] acquire, pairs with [G3], [G4], [G5], [G9] and [G12]: the next segment, or that this
        // one is in use again, and all that the party has seen that changed the link.
        return link_at(n).load(std::memory_order_acquire);
    }
    ticket first_at(number n) noexcept {
        // [G8] acquire, pairs with [G2].
        return n == none ? head.first : segments_[n].first.load(std::memory_order_acquire);
    }
    /// Whether `at` was the last segment when its link was `link`.
    bool is_end(place at, word link) noexcept {
        return (link & (one_change - 1)) == none && first_at(at.n) == at.first;
    }

    /// A segment of the list and the links before and behind it; or none behind the last one.
    struct neighbours {
        word link;
        place behind;
        word beyond;
    };

    /// Looks at what is behind `at`, and unlinks marked segments there. If `at` itself was taken
    /// out, begins again at the head.
    neighbours look_behind(place& at) noexcept {
        while (true) {
            const word link = link_of(at.n);
            if (is_marked(link) || first_at(at.n) != at.first) {
                at = head;
                continue;
            }
            const number next = successor(link);
            if (next == none) {
                return {link, {none, 0}, 0};
            }
            const neighbours seen{link, {next, first_at(next)}, link_of(next)};
            if (link_of(at.n) != link) {
                continue;
            }
            if (!is_marked(seen.beyond)) {
                return seen;
            }
            unlink(at.n, link, successor(seen.beyond));
        }
    }

    /// Finds the first segment from `at` on that is not before `wanted`, or the last one.
    place walk(place at, ticket wanted) noexcept {
        while (is_before(at.first, wanted)) {
            const place behind = look_behind(at).behind;
            if (behind.n == none) {
                break;
            }
            at = behind;
        }
        return at;
    }

    /// Counts an append. In one step, so that whoever loses its processor here stops no sweep.
    bool is_time_to_sweep() noexcept {
        // Relaxed: only a count.
        std::uint32_t seen = until_sweep_.load(std::memory_order_relaxed);
        std::uint32_t left = 0;
        do {
            left = seen == 1 ? (std::max)(min_growth, segments_.size() / 2) : seen - 1;
            // Relaxed: only a count. Failure relaxed: retried.
        } while (!until_sweep_.compare_exchange_weak(seen, left, std::memory_order_relaxed,
                                                     std::memory_order_relaxed));
        return seen == 1;
    }

    /// Marks the link of segment `n`, unless it has changed.
    bool mark(number n, word link) noexcept {
        // [G12] release, pairs with [G7]: the last visits to its cells. Failure relaxed: the caller
        // looks again.
        return segments_[n].next.compare_exchange_strong(
            link, link | marked, std::memory_order_release, std::memory_order_relaxed);
    }

    /// Makes the link of segment `n` lead around a marked one, unless it has changed.
    bool unlink(number n, word link, number behind) noexcept {
        // [G5] release, pairs with [G7]: the segment behind, and the mark. Failure relaxed: the
        // caller looks again.
        return link_at(n).compare_exchange_strong(
            link, changed(link, behind), std::memory_order_release, std::memory_order_relaxed);
    }

    /// Whether all parties that get the ticket `first`, or a later one, will see the mark that this
    /// party has set.
    static bool is_still_before(atomic<std::uint64_t>& trailing, ticket first) noexcept {
        // [Q9] release, pairs with [Q6], [Q8], [Q14] and [Q15]: the mark.
        const std::uint64_t now = trailing.fetch_add(0, std::memory_order_release);
        return (now & 1U) == 0 && !is_before(first, now >> 1U);
    }

    bool all_cells_are(word state, number n) const noexcept {
        return std::ranges::all_of(segments_[n].cells, [state](const atomic<word>& cell) {
            // [Q7] acquire, pairs with [Q2], [Q3], [Q4] and [Q5]: the visits of the cell.
            return cell.load(std::memory_order_acquire) == state;
        });
    }

    // Read by every first visitor, and written once for many.
    alignas(line_pair) atomic<word> head_{0}; ///< A link to the first segment.
    atomic<ticket> void_until_{0};

    alignas(line_pair) pool segments_;
    atomic<std::uint32_t> until_sweep_{min_growth}; ///< Appends until the next sweep.
};

} // namespace tryst::detail
