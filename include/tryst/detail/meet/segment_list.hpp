// SPDX-License-Identifier: MIT
/// @file
/// The cells of a dual queue: an endless array, kept in segments that are recycled.
/// Standard library only. Allocates while it grows; only the constructor throws.
#pragma once

#include <tryst/detail/meet/node_pool.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <new>

namespace tryst::detail {

/* The segment list
 * Cells are numbered by tickets (dual_queue.hpp). A segment holds `cell_count` cells. The segments
 * in use form a linked list, in the order of their ids: the cell of ticket t is in the segment with
 * id t / cell_count. The number of a segment in the pool is reused; its id is not.
 *
 * A cell is `finished` after its second visit. Nobody counts the visits. Whoever appends a segment
 * first looks at the oldest ones, and releases those whose cells are all finished (`tidy`).
 *
 * I9. A ticket, an id and the link of a segment never return to an old value, because they only
 *     grow, or contain an id. So a CAS that expects an old value fails. (Ids wrap after 2^45.)
 *
 * I10. A segment is released after the last visit to its cells. A later access is a read that is
 *     checked (below), or the CAS of a withdrawal, which fails, because its waiter is in no cell.
 *
 * Finding. A party walks along the links, from a segment that its colour has used lately
 * (`front`), or from the oldest one. It may come to a segment that has been taken out of the list,
 * released and reused.
 *
 * 1. A segment p is taken out in two steps: the link of its predecessor leads around it, and then
 *    its own link is marked `gone` [G12], before its successor d can be taken out. Only after that
 *    d may get a new id [G2]. So a party that reads a link of p to d, then the id of d, and then
 *    the same link of p again, knows that d followed p in the list with that id.
 * 2. A party that finds a link `gone`, or another id than it expects, begins again at the oldest
 *    segment.
 * 3. The segment of a party's own ticket is not released, because its visit is to come. So if the
 *    party passes over its id, that segment has been swept, or its ticket is void.
 * 4. `front` is moved only by the holder of a ticket of that segment. So if it shows the id of a
 *    party's ticket, no sweep has released that segment.
 *
 * Sweeping. A segment whose waiters have all withdrawn stays in the list until the other colour has
 * visited its cells. To bound the memory, the list is swept whenever it has doubled since the last
 * sweep. So a withdrawal costs amortised O(1), and at worst there is a segment for each waiter. A
 * sweep takes such a segment d out, if the trailing cursor is more than a segment before d:
 *
 * 1. A store [G5] makes the link of d's predecessor lead around d.
 * 2. An RMW [Q9] reads the trailing cursor. If it is still open and not past the first ticket of d,
 *    any party that gets a ticket of d gets it later, sees [G5], and cannot find d. So d is
 *    released.
 * 3. Otherwise some parties may have found d, and others will not. Either is right, because all
 *    cells of d are cancelled. Then d stays in use until the destructor.
 *
 * Void tickets. Suppose that a party has a ticket, but there is neither its segment nor memory for
 * it. Its partner must not wait for it in a segment that is appended later.
 *
 * 1. The party makes its ticket, and all before it, void (`void_until`), and then writes the link
 *    of the last segment [G4] without changing it.
 * 2. If [G4] fails, there is a next segment, in which the party continues.
 * 3. Otherwise a party that appends the next segment [G3], or finds it, sees the void tickets. In
 *    a void cell the first visitor does not wait, and an append may leave out void ids.
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
    static constexpr unsigned link_bits = number_bits + 1;

public:
    using word = slot::word;
    using number = std::uint32_t;
    using ticket = std::uint64_t;
    /// An id in the upper bits of a word, so that ids wrap like the word and differences are
    /// signed.
    using id_type = std::uint64_t;

    static constexpr number none = 0;
    static constexpr number cell_count = number{1} << CellBits;
    static constexpr word empty_cell = 0;
    static constexpr word cancelled_cell = 1; ///< Its first visitor has left.
    static constexpr word finished_cell = 2; ///< After its second visit.

    static id_type id_of(ticket t) noexcept { return (t >> CellBits) << link_bits; }
    static bool is_before(id_type a, id_type b) noexcept {
        return static_cast<std::int64_t>(a - b) < 0;
    }
    static bool is_first(ticket t) noexcept { return t % cell_count == 0; }
    /// The first ticket of the segment with the id `later`, which is not before that of `t`.
    static ticket first_of(id_type later, ticket t) noexcept {
        return t - t % cell_count + (((later - id_of(t)) >> link_bits) << CellBits);
    }

    /// A segment: its number, and its id when it was seen.
    struct place {
        number n;
        id_type id;
    };

    /// @throws std::bad_alloc.
    segment_list() {
        const number first = segments_.allocate();
        if (first == none) {
            throw std::bad_alloc();
        }
        segments_[first].clear(0);
        // Relaxed: no other thread knows the list yet.
        oldest_.store(first, std::memory_order_relaxed);
    }

    /// Where a colour begins to search: a segment of one of its tickets, packed into a word.
    using front = atomic<std::uint64_t>;

    /// Precondition: no other thread knows the list yet.
    std::uint64_t first() const noexcept {
        // Relaxed: because of the precondition.
        return oldest_.load(std::memory_order_relaxed);
    }

    place oldest() const noexcept {
        // [G11] acquire, pairs with [G10].
        return unpacked(oldest_.load(std::memory_order_acquire));
    }

    static place begin(const front& from) noexcept {
        // [G1] acquire, pairs with [G6]: the segment.
        return unpacked(from.load(std::memory_order_acquire));
    }

    /// Finds the segment with the id `wanted`.
    /// @returns the segment; or a later one, if there will be none with this id; or an earlier one,
    ///   which is the last.
    place find(id_type wanted, const front& from) const noexcept {
        const place at = begin(from);
        return walk(is_before(wanted, at.id) ? oldest() : at, wanted);
    }

    /// As above, from `at` on, which was found earlier and is not behind `wanted`.
    place walk(place at, id_type wanted) const noexcept {
        while (is_before(at.id, wanted)) {
            const std::uint64_t link = link_of(at.n);
            const number next = successor(link);
            if (owner_of(link) != at.id || next == gone) {
                at = oldest();
                continue;
            }
            if (next == none || next == sealed) {
                break;
            }
            const place behind{next, owner_of(link_of(next))};
            if (link_of(at.n) == link) {
                at = behind;
            }
        }
        return at;
    }

    /// Whether the list has been closed behind `at`.
    bool is_sealed(place at) const noexcept { return link_of(at.n) == (at.id | sealed); }

    /// Moves `mark` to `to`, if it is at least `distance` segments behind.
    void advance(front& mark, place to, std::uint64_t distance) noexcept {
        // Relaxed: the CAS re-reads it.
        std::uint64_t seen = mark.load(std::memory_order_relaxed);
        while (!is_before(to.id, unpacked(seen).id + distance * one_id)) {
            // [G6] release, pairs with [G1]: the segment. Failure relaxed: retried.
            if (mark.compare_exchange_weak(seen, packed(to), std::memory_order_release,
                                           std::memory_order_relaxed)) {
                return;
            }
        }
    }

    /// The end of the list, if it is at most two segments behind `at`; otherwise some segment.
    place two_behind(place at) const noexcept { return walk(at, at.id + 2 * one_id); }

    /// Appends a segment behind `last`, unless there is one.
    /// @returns false if there is no memory.
    bool append(place last) noexcept {
        if (successor(link_of(last.n)) != none) {
            return true;
        }
        const number n = segments_.allocate();
        if (n == none) {
            return false;
        }
        // The cells of void tickets would never be finished. Relaxed: a hint; if it is old, one
        // segment stays in the list.
        const id_type after_void =
            id_of(void_until_.load(std::memory_order_relaxed) + cell_count - 1);
        const id_type next = last.id + one_id;
        segments_[n].clear(is_before(next, after_void) ? after_void : next);
        std::uint64_t end = last.id | none;
        // [G3] release, pairs with [G7] and [G4]: the empty cells, and the void tickets that this
        // party has seen. Acquire, pairs with [G4]: the void tickets. Failure relaxed: the caller
        // looks again.
        if (!segments_[last.n].next.compare_exchange_strong(
                end, last.id | n, std::memory_order_acq_rel, std::memory_order_relaxed)) {
            segments_.release(n);
        }
        return true;
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
        std::uint64_t link = last.id | none;
        // [G4] release, pairs with [G3] and [G7]: the void tickets. Acquire, pairs with [G4]: those
        // of others. Failure relaxed: the caller looks again.
        return segments_[last.n].next.compare_exchange_strong(link, link, std::memory_order_acq_rel,
                                                              std::memory_order_relaxed);
    }

    /// Makes the list end with its last segment. Call once, after both cursors were closed.
    void seal() noexcept {
        for (place last = oldest();;) {
            last = walk(last, last.id + max_distance);
            std::uint64_t end = last.id | none;
            // [G13] relaxed: [G7] has acquired all segments. Failure relaxed: retried.
            if (segments_[last.n].next.compare_exchange_strong(
                    end, last.id | sealed, std::memory_order_relaxed, std::memory_order_relaxed)) {
                return;
            }
        }
    }

    /// Calls `visit` with the cells of the tickets from `first` to `end`, in this order.
    template <class Visit>
    void for_each_cell(ticket first, ticket end, Visit visit) noexcept {
        for (place at = walk(oldest(), id_of(first)); !is_before(at.id, id_of(first));) {
            const ticket begin = first_of(at.id, first);
            for (ticket t = std::max(begin, first); t < std::min(begin + cell_count, end); ++t) {
                visit(cell(at.n, t));
            }
            const place next = walk(at, at.id + one_id);
            if (!is_before(at.id, next.id)) {
                return;
            }
            at = next;
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

    /// Releases segments that are not needed any more, unless another party is doing so.
    /// @param trailing  the cursor that is behind; the ticket is in its upper 63 bits, and the
    ///   lowest bit tells whether it is closed.
    void tidy(atomic<std::uint64_t>& trailing) noexcept {
        // [G8] acquire, pairs with [G9]: the work of the last party. If it fails, it orders
        // nothing.
        if (tidying_.exchange(true, std::memory_order_acquire)) {
            return;
        }
        const bool sweeps = --until_sweep_ == 0;
        // Relaxed: a hint; [Q9] decides.
        const id_type limit = id_of(trailing.load(std::memory_order_relaxed) >> 1U);
        std::uint32_t length = min_growth;
        place before{none, 0};
        std::uint32_t released = 0;
        for (place at = oldest(); sweeps || released != max_released;) {
            const number next = successor(link_of(at.n));
            const bool passed = is_before(at.id, limit); // by both cursors
            if (next == none || next == sealed || !(passed || sweeps)) {
                break;
            }
            // Relaxed: [G7] has acquired the segment, and only this party may release it.
            const place behind{next,
                               owner_of(segments_[next].next.load(std::memory_order_relaxed))};
            if (passed ? all_cells_are(finished_cell, at.n)
                       : before.n != none && is_before(limit + one_id, at.id) &&
                             all_cells_are(cancelled_cell, at.n)) {
                take_out(before, at, behind);
                if (passed) {
                    TRYST_TRACE(recycling);
                    segments_.release(at.n);
                } else {
                    // [Q9] release, pairs with [Q6], [Q8], [Q14] and [Q15]: the new link.
                    const std::uint64_t now = trailing.fetch_add(0, std::memory_order_release);
                    const ticket first = now >> 1U;
                    if ((now & 1U) == 0 && (is_before(id_of(first), at.id) ||
                                            (id_of(first) == at.id && is_first(first)))) {
                        TRYST_TRACE(sweeping);
                        segments_.release(at.n);
                    }
                }
                ++released;
            } else {
                before = at;
                ++length;
            }
            at = behind;
        }
        if (sweeps) {
            until_sweep_ = length;
        }
        // [G9] release, pairs with [G8].
        tidying_.store(false, std::memory_order_release);
    }

private:
    struct alignas(line_pair) segment {
        void clear(id_type id) noexcept {
            for (auto& cell : cells) {
                // Relaxed: released by [G3], which links the segment.
                cell.store(empty_cell, std::memory_order_relaxed);
            }
            // [G2] release, pairs with [G7]: a party that sees the new id sees that the links to
            // the old segment are gone.
            next.store(id | none, std::memory_order_release);
        }

        atomic<std::uint64_t> next{0}; // the id of this segment, and the number of the next
        atomic<number> link{none};
        alignas(line_pair / 2) std::array<atomic<word>, cell_count> cells{};
    };
    using pool = node_pool<segment, number_bits>;

    static constexpr std::uint64_t number_mask = (std::uint64_t{1} << link_bits) - 1;
    // Instead of the number of a successor; no segment has such a number:
    static constexpr number gone = number_mask; ///< The segment is out of the list.
    static constexpr number sealed = gone - 1; ///< It will stay the last.
    static constexpr id_type max_distance = std::uint64_t{1} << 62U;
    static constexpr id_type one_id = std::uint64_t{1} << link_bits;
    /// Between two sweeps the list grows by at least this many segments.
    static constexpr std::uint32_t min_growth = 2;
    /// Each append releases at most this many segments, so that no arrival is held up for long.
    static constexpr std::uint32_t max_released = 4;

    static number successor(std::uint64_t link) noexcept {
        return static_cast<number>(link & number_mask);
    }
    static id_type owner_of(std::uint64_t link) noexcept { return link & ~number_mask; }
    static std::uint64_t packed(place p) noexcept { return p.id | p.n; }
    static place unpacked(std::uint64_t p) noexcept { return {successor(p), owner_of(p)}; }

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

    std::uint64_t link_of(number n) const noexcept {
        // [G7] acquire, pairs with [G2], [G3], [G4] and [G5]: the next segment, or that this one is
        // in use again.
        return segments_[n].next.load(std::memory_order_acquire);
    }

    /// Takes `at` out of the list, between `before` (or the beginning) and `behind`.
    void take_out(place before, place at, place behind) noexcept {
        if (before.n == none) {
            // [G10] release, pairs with [G11]: the next segment.
            oldest_.store(packed(behind), std::memory_order_release);
        } else {
            // [G5] release, pairs with [G7]: the next segment. A plain store, because other parties
            // change only the link of the last segment.
            segments_[before.n].next.store(before.id | behind.n, std::memory_order_release);
        }
        // [G12] relaxed: [G2] releases it.
        segments_[at.n].next.store(at.id | gone, std::memory_order_relaxed);
    }

    bool all_cells_are(word state, number n) const noexcept {
        return std::ranges::all_of(segments_[n].cells, [state](const atomic<word>& cell) {
            // [Q7] acquire, pairs with [Q2], [Q3], [Q4] and [Q5]: the visits of the cell.
            return cell.load(std::memory_order_acquire) == state;
        });
    }

    // Read by every arrival, and written once for many.
    alignas(line_pair) atomic<std::uint64_t> oldest_{0};
    atomic<ticket> void_until_{0};

    alignas(line_pair) pool segments_;
    atomic<bool> tidying_{false};
    std::uint32_t until_sweep_ = min_growth; ///< Belongs to the party that tidies.
};

} // namespace tryst::detail
