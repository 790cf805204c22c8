// SPDX-License-Identifier: MIT
/// @file
/// The slots of one exchanger: slot 0, its wait list, and the others, the arena; and how far
/// arrivals spread over them.
/// Standard library only. Allocates only in its constructor.
#pragma once

#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>
#include <tryst/executor.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

namespace tryst::detail {

/// An event of probability 1 in 256, by the thread's pseudo-random numbers: SplitMix64 (Steele, Lea
/// and Flood, "Fast Splittable Pseudorandom Number Generators", 2014, section 4). The seed differs
/// between threads, and also between short threads that use the same memory one after the other.
inline bool comes_up(thread_state& here) noexcept {
    if (here.random == 0) [[unlikely]] {
        here.random = static_cast<std::uint64_t>(clock::now().time_since_epoch().count()) ^
                      reinterpret_cast<std::uintptr_t>(&here);
    }
    std::uint64_t x = here.random += 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    return x >> 56U == 0;
}

/* The arena
 * Slot 0 is the wait list, the only place where a waiter may stay (I2, offers.hpp). Slots 1 to
 * `bound` are for elimination: pairs that meet there do not write to the wait list's cache line.
 * The bound begins at 0, so an exchanger without contention uses only the wait list.
 *
 *   grow     by one when a claim failed, because another party used the same slot at the same time
 *   shrink   by one when an offer above slot 0 expired without a partner
 *
 * This rule is taken from java.util.concurrent.Exchanger (JDK 8 and later). So is the sequence
 * number in the bound: a CAS that is based on an old bound fails. In Java the capacity is half the
 * number of processors. Here the default is their full number: two coroutines of one loop can be
 * partners, and a loop with a slot of its own pairs them without sharing a cache line.
 *
 * Each thread has one random number, its probe, which selects its slot within the current bound.
 * The thread keeps to that slot until it collides there or its offer expires, as threads do with
 * the cells of LongAdder (JDK 8). A collision at slot 0, which all threads visit, does not change
 * the probe. Otherwise a few collisions there would drive every thread away from the slot that only
 * it and its partners use (docs/adr/0008).
 *
 * With colours, a slot is of no use to a party whose own colour has an offer there. So each index
 * has a group of slots, in one cache line, which a party searches for a partner and then for an
 * empty slot. The coroutines of a loop are mostly of alternating colours, because they run in the
 * order in which their offers were claimed. The group lets them differ from that a little.
 *
 * Two rules bring threads together in pairs. They are for threads with one party each, because such
 * a party needs a partner of another thread, and always the same one is best:
 *   met      a thread that meets only strangers in its slot shares it with more than one partner.
 *            It counts this as a collision
 *   follow   a thread whose offer has expired, and which then finds a waiter in the wait list,
 *            takes the probe of that waiter's thread. Both use the same slot from then on */
/// @tparam GroupSize  the number of slots at each index.
template <class WaitList, std::uint32_t GroupSize = 1>
class alignas(line_pair) basic_arena {
public:
    using list_type = WaitList;
    static constexpr std::size_t max_capacity = 255;

    static constexpr std::uint32_t group_size = GroupSize;

    explicit basic_arena(std::size_t capacity)
        : capacity_(static_cast<std::uint32_t>((std::min)(capacity, max_capacity))),
          spread_(capacity_ == 0 ? nullptr : std::make_unique<group[]>(capacity_)) {}

    /// Slot 0, where waiters may stay.
    WaitList& list() noexcept { return list_; }
    const WaitList& list() const noexcept { return list_; }

    /// One of the slots at `index`, which is from 1 to `capacity()`.
    slot& at(std::size_t index, std::uint32_t member = 0) noexcept {
        return spread_[index - 1].members[member];
    }

    std::uint32_t capacity() const noexcept { return capacity_; }

    /// The current bound, with its sequence number.
    std::uint32_t bound() const noexcept {
        // Relaxed: a hint. A stale bound costs a collision or an empty slot.
        return bound_.load(std::memory_order_relaxed);
    }

    /// Whether there can be offers above slot 0. Some may remain above a bound that has shrunk.
    bool has_grown() const noexcept { return bound() != 0; }

    /// The highest slot that arrivals use under `bound`.
    static std::uint32_t highest(std::uint32_t bound) noexcept { return bound & index_mask; }

    /// The calling thread's slot under `bound`; 0 if `bound` admits no other slot.
    static std::uint32_t index(std::uint32_t bound) noexcept {
        // The thread remembers its latest place, because the bound changes rarely.
        std::uint32_t& known = per_thread<thread_state>().place;
        if ((known & bound_mask) != bound) {
            known = place(bound, choose_index(bound));
        }
        return index_of(known);
    }

    /// The place in slot 0 of a waiter that another thread may follow: this thread's probe, or 0 if
    /// the arena has not grown.
    static std::uint32_t place_in_list(std::uint32_t bound) noexcept {
        return highest(bound) == 0 ? 0 : probe() & bound_mask;
    }

    /// A slot under `bound`, packed into one word for `expired`, `index_of` and `member_of`.
    static std::uint32_t place(std::uint32_t bound, std::uint32_t index,
                               std::uint32_t member = 0) noexcept {
        return bound | (member << bound_bits) | (index << index_at);
    }
    static std::uint32_t index_of(std::uint32_t place) noexcept { return place >> index_at; }
    static std::uint32_t member_of(std::uint32_t place) noexcept {
        return (place >> bound_bits) % group_size;
    }

    /// Whether an arrival may skip the wait list: because the arena is in use, except with a
    /// probability of 1 in 256. Call once for each arrival.
    bool skips_list() const noexcept {
        return highest(bound()) != 0 && !comes_up(per_thread<thread_state>());
    }

    /// After a failed claim in the thread's slot above 0: selects another slot, and grows.
    /// @returns as `grow`.
    bool collided() noexcept {
        next_probe();
        return grow();
    }

    /// After a failed claim: makes room for one more pair.
    /// @returns whether the bound went up.
    bool grow() noexcept {
        std::uint32_t seen = bound();
        if (highest(seen) < capacity_ && seen != shut_bound) {
            // [A1] relaxed: the bound publishes nothing. Failure relaxed: another thread decided.
            if (bound_.compare_exchange_strong(seen, next(seen + 1), std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
                TRYST_TRACE(growth, this, highest(seen) + 1);
                return true;
            }
        }
        return false;
    }

    /// After a thread has claimed an offer above slot 0: selects another slot, and grows, if the
    /// thread has met one stranger after the other there.
    /// @returns as `grow`.
    bool met(executor_ref partner) noexcept {
        auto& latest = detail::per_thread<acquaintance>();
        if (std::exchange(latest.partner, partner) == partner) {
            latest.strangers = 0;
        } else if (++latest.strangers == most_strangers) {
            latest.strangers = 0;
            return collided();
        }
        return false;
    }

    /// Selects the same slots as the thread of a waiter whose place in slot 0 is `place`.
    static void follow(std::uint32_t place) noexcept {
        if (place != 0) {
            per_thread<thread_state>().probe = place;
            per_thread<thread_state>().place = 0; // as in `next_probe`
        }
    }

    /// Ends the use of the arena permanently. Parties that have read the bound before may still
    /// meet there, and offers still expire.
    void shut() noexcept {
        // [A6] relaxed: the close of the list releases it, so an arrival that comes after a party
        // has found the list closed reads this bound. A concurrent [A1] or [A2] is overwritten, or
        // fails.
        bound_.store(shut_bound, std::memory_order_relaxed);
    }

    /// After the offer made at `place` has expired: selects another slot, and lowers the bound by
    /// one.
    /// @returns whether the bound went down.
    bool expired(std::uint32_t place) noexcept {
        next_probe();
        std::uint32_t seen = place & bound_mask;
        if (highest(seen) != 0) {
            // [A2] relaxed, as [A1]. Failure relaxed: the bound has changed since the offer.
            if (bound_.compare_exchange_strong(seen, next(seen - 1), std::memory_order_relaxed,
                                               std::memory_order_relaxed)) {
                TRYST_TRACE(shrinkage, this, highest(seen) - 1);
                return true;
            }
        }
        return false;
    }

    /// Makes the destructor wait until `unpin`: for a withdrawal whose waiter is being completed
    /// (I5, signal.hpp), for a withdrawal of several steps (I6, steps.hpp), or for a close.
    void pin() noexcept {
        // [A3] relaxed: other operations order it. A withdrawer's [A4] comes after it has seen
        // `done` ([W4]), which follows the pin. A party that destroys the exchanger has seen the
        // close or the withdrawal that follows the pin.
        pins_.fetch_add(1, std::memory_order_relaxed);
    }
    void unpin() noexcept {
        // [A4] release, pairs with [A5]: the withdrawal happens-before the destruction.
        pins_.fetch_sub(1, std::memory_order_release);
    }

    /// Waits for moves, pinned withdrawals and closes that are under way. Precondition: the
    /// exchanger is closed, and no more operations arrive.
    void drain() const noexcept {
        for (std::size_t i = 0; i != capacity_; ++i) {
            for (const slot& each : spread_[i].members) {
                detail::yield_until([&] { return !each.is_moving(); });
            }
        }
        // [A5] acquire, pairs with [A4].
        detail::yield_until([&] { return pins_.load(std::memory_order_acquire) == 0; });
    }

private:
    struct alignas(line_pair) group {
        slot members[GroupSize];
    };

    // The lowest byte of the bound is the highest slot in use. The next 13 bits count its changes.
    // One bit is set when the arena is shut.
    static constexpr std::uint32_t sequence = 1U << 8U;
    static constexpr std::uint32_t index_mask = sequence - 1;
    static constexpr unsigned bound_bits = 22;
    static constexpr unsigned index_at = 24; // below it a wait list may use `waiter::place`
    static constexpr std::uint32_t bound_mask = (1U << bound_bits) - 1;
    static constexpr std::uint32_t shut_bound = 1U << (bound_bits - 1);

    struct acquaintance {
        executor_ref partner; ///< Of the thread's latest claim above slot 0.
        int strangers = 0; ///< Claims in a row, each with another partner than the one before.
    };
    static constexpr int most_strangers = 3;

    static std::uint32_t next(std::uint32_t changed) noexcept {
        const std::uint32_t counted = (changed + sequence) % shut_bound;
        return counted != 0 ? counted : sequence; // 0 means that the arena has never grown
    }

    [[gnu::noinline, gnu::cold]] static std::uint32_t choose_index(std::uint32_t bound) noexcept {
        const std::uint32_t slot_count = highest(bound);
        if (slot_count == 0) {
            return 0;
        }
        // Linear hashing (Litwin, "Linear Hashing: A New Tool for File and Table Addressing", 1980,
        // section 2): if the bound changes by one, only the threads of one slot move.
        const std::uint32_t range = std::bit_ceil(slot_count);
        const std::uint32_t i = probe() & (range - 1);
        return 1 + (i < slot_count ? i : i - range / 2);
    }

    static std::uint32_t probe() noexcept {
        std::uint32_t& probe = per_thread<thread_state>().probe;
        return probe != 0 ? probe : next_probe();
    }

    /// The thread's next random number: Marsaglia's xorshift32 ("Xorshift RNGs", 2003, section 3).
    /// The seed is the address of the thread's own state, scrambled by the golden ratio, and so
    /// differs between threads.
    static std::uint32_t next_probe() noexcept {
        std::uint32_t& probe = per_thread<thread_state>().probe;
        std::uint32_t x = probe;
        if (x == 0) {
            const auto seed = reinterpret_cast<std::uintptr_t>(&probe);
            x = static_cast<std::uint32_t>((seed * std::uint64_t{0x9E3779B97F4A7C15}) >> 32U) | 1U;
        }
        x ^= x << 13U;
        x ^= x >> 17U;
        x ^= x << 5U;
        per_thread<thread_state>().place = 0; // the place under a bound of 0, whatever the probe
        return probe = x;
    }

    // With a `single_slot`, all members are in one cache line. Every arrival reads it, but writes
    // it only to match or wait in the wait list, or to change the bound.
    WaitList list_;
    atomic<std::uint32_t> bound_{0};
    std::uint32_t capacity_;
    std::unique_ptr<group[]> spread_;
    atomic<std::int32_t> pins_{0};
};

} // namespace tryst::detail
