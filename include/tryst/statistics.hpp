// SPDX-License-Identifier: MIT
/// @file
/// Counters of what happens in exchangers and channels, and other policies that observe their
/// waits.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/thread_number.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace tryst {
/// @addtogroup meeting
/// @{

/// What has happened so far in the exchangers that share one `counters`.
///
/// A snapshot is taken while other threads count. Each number, except `waiting`, is exact at some
/// moment during the call, but not all at the same one. None of them falls from one snapshot of a
/// thread to its next. If everything that the exchangers did happens-before the snapshot, it is
/// exact, and these hold:
/// - `arrivals == 2 * exchanges + ended() + waiting`;
/// - `waiting` is zero if no operation is in progress.
struct statistics {
    std::uint64_t arrivals = 0; ///< Parties that arrived. A case of a selection counts if it waits
        ///< in the exchanger, or meets a partner there.
    std::uint64_t exchanges = 0; ///< Pairs that met.
    std::uint64_t timeouts = 0; ///< Parties whose deadline passed.
    std::uint64_t cancellations = 0; ///< Parties that were stopped, or destroyed while they waited.
    std::uint64_t closed = 0; ///< Parties that found the exchanger closed, or were waiting then.
    std::uint64_t no_partner = 0; ///< `try_` operations that found no partner.
    std::uint64_t out_of_memory = 0; ///< Parties for which there was no memory to wait.
    std::uint64_t not_selected = 0; ///< Cases that waited while another one, or none, took place;
        ///< also those of a `case_set` that a partner found while the owner was away.

    std::uint64_t collisions = 0; ///< Claims that failed, because another party was faster.
    std::uint64_t expiries = 0; ///< Offers in the arena that found no partner in their time.
    std::uint64_t growths = 0; ///< How often the arena got another slot.
    std::uint64_t shrinkages = 0; ///< How often it lost one.

    /// Parties that have arrived, and whose operation has not ended. In a snapshot that is taken
    /// while others count, it may also include parties that arrived during the call.
    std::uint64_t waiting = 0;

    /// The longest of the waits that have ended, on the steady clock. It is measured in batches of
    /// an executor's work, so it may be off by the length of a batch. For a thread, a fiber, or an
    /// operation with a deadline or a stop, the wait begins when the deadline begins (see
    /// `time_limit`). Shorter waits count as zero.
    std::chrono::nanoseconds longest_wait{0};

    /// Parties whose operation ended without an exchange.
    constexpr std::uint64_t ended() const noexcept {
        return timeouts + cancellations + closed + no_partner + out_of_memory + not_selected;
    }
};

namespace detail {

/// What a `counters` counts. A party adds to one of the first two; as well as to `wait`, it may
/// later add to `late_exchange` or to a failure. So each statistic is a sum that never falls.
enum class counted_event : std::uint8_t {
    wait, ///< A party begins to wait, or fails without a wait.
    exchange, ///< A party that has not begun to wait claims a partner.
    late_exchange, ///< A party that has begun to wait claims a partner.
    timeout,
    cancellation,
    closed,
    no_partner,
    out_of_memory,
    not_selected,
    collision,
    expiry,
    growth,
    shrinkage,
};

} // namespace detail

/// Counters that one or more exchangers and channels share. They must outlive the exchangers.
///
/// The first threads that count do so in cache lines of their own, without atomic
/// read-modify-writes. The others share a few lines. Each party of an exchange takes one increment:
/// when it begins to wait, or when it claims its partner. A party that loses a race for its place
/// may take two.
class counters {
public:
    /// Makes counters that are zero.
    /// @param threads  how many threads count in lines of their own. Each takes 128 bytes. By
    ///   default four more than the process may use processors.
    /// @throws std::bad_alloc.
    explicit counters(std::size_t threads = detail::processor_count() + std::size_t{4})
        : own_cells_(static_cast<std::uint32_t>(std::min<std::size_t>(threads, most_cells))),
          cells_(std::make_unique<cell[]>(own_cells_ + shared_cells)) {}

    counters(const counters&) = delete;
    counters& operator=(const counters&) = delete;
    ~counters() = default;

    /// Takes a snapshot. Any thread may call it at any time.
    /// @throws nothing.  @progress wait-free; linear in the number of processors.
    /// @allocation none.  @sync none.
    statistics stats() const noexcept {
        using detail::counted_event;
        std::array<std::uint64_t, event_count> sum{};
        std::int64_t longest = 0;
        // Backwards, so that most of what ends during this call was seen to arrive.
        for (std::size_t event = event_count; event-- != 0;) {
            for (std::size_t i = 0; i != own_cells_ + shared_cells; ++i) {
                // Relaxed: a snapshot orders nothing.
                sum[event] += cells_[i].counts[event].load(std::memory_order_relaxed);
            }
        }
        for (std::size_t i = 0; i != own_cells_ + shared_cells; ++i) {
            // Relaxed: as above.
            longest = (std::max)(longest, cells_[i].longest.load(std::memory_order_relaxed));
        }
        const auto of = [&sum](counted_event event) {
            return sum[static_cast<std::size_t>(event)];
        };
        const std::uint64_t at_once = of(counted_event::exchange);
        statistics seen{.arrivals = of(counted_event::wait) + at_once,
                        .exchanges = at_once + of(counted_event::late_exchange),
                        .timeouts = of(counted_event::timeout),
                        .cancellations = of(counted_event::cancellation),
                        .closed = of(counted_event::closed),
                        .no_partner = of(counted_event::no_partner),
                        .out_of_memory = of(counted_event::out_of_memory),
                        .not_selected = of(counted_event::not_selected),
                        .collisions = of(counted_event::collision),
                        .expiries = of(counted_event::expiry),
                        .growths = of(counted_event::growth),
                        .shrinkages = of(counted_event::shrinkage),
                        .longest_wait = std::chrono::nanoseconds(longest)};
        const std::uint64_t done = 2 * seen.exchanges + seen.ended();
        seen.waiting = seen.arrivals > done ? seen.arrivals - done : 0;
        return seen;
    }

    /// @cond
    /// Counts an event. Call from any thread.
    [[gnu::always_inline]] void count(detail::counted_event event) noexcept {
        const std::uint32_t number = detail::thread_number_if_known();
        if (has_own_cell(number)) [[likely]] {
            add_to_own(number, event);
        } else {
            count_elsewhere(event);
        }
    }

    /// Records the length of a wait that has ended. Call from any thread. Not inlined, because most
    /// waits end in the batch in which they began.
    [[gnu::noinline]] void record_wait(std::chrono::nanoseconds length) noexcept {
        const std::int64_t wait = length.count();
        const std::uint32_t number = detail::find_thread_number();
        auto& longest = (has_own_cell(number) ? cells_[number] : shared_cell(number)).longest;
        std::int64_t seen = longest.load(std::memory_order_relaxed); // relaxed: as [E1]
        // [E3] relaxed: as [E2]. Failure relaxed: retried.
        while (seen < wait && !longest.compare_exchange_weak(seen, wait, std::memory_order_relaxed,
                                                             std::memory_order_relaxed)) {
        }
    }

private:
    static constexpr std::size_t event_count =
        static_cast<std::size_t>(detail::counted_event::shrinkage) + 1;
    static constexpr std::uint32_t shared_cells = 4;
    static constexpr std::uint32_t most_cells = 1U << 16U; // thread numbers are smaller

    struct alignas(detail::line_pair) cell {
        std::array<detail::atomic<std::uint64_t>, event_count> counts{};
        detail::atomic<std::int64_t> longest{0}; ///< In nanoseconds.
    };

    /// Whether only the thread with this number writes to the cell of that number.
    [[gnu::always_inline]] bool has_own_cell(std::uint32_t number) const noexcept {
        return number < own_cells_ && source_ == detail::thread_number_source();
    }

    [[gnu::always_inline]] void add_to_own(std::uint32_t number,
                                           detail::counted_event event) noexcept {
        auto& mine = cells_[number].counts[static_cast<std::size_t>(event)];
        // [E1] relaxed: no other thread writes here (I49), and a snapshot orders nothing.
        const std::uint64_t before = mine.load(std::memory_order_relaxed);
        mine.store(before + 1, std::memory_order_relaxed); // relaxed: as above
    }

    /// For a thread that has no number yet, or no cell of its own.
    [[gnu::noinline, gnu::cold]] void count_elsewhere(detail::counted_event event) noexcept {
        const std::uint32_t number = detail::find_thread_number();
        if (has_own_cell(number)) {
            add_to_own(number, event);
        } else {
            // [E2] relaxed: as above.
            shared_cell(number).counts[static_cast<std::size_t>(event)].fetch_add(
                1, std::memory_order_relaxed);
        }
    }

    cell& shared_cell(std::uint32_t number) noexcept {
        return cells_[own_cells_ + number % shared_cells];
    }

    const void* source_ = detail::thread_number_source();
    std::uint32_t own_cells_;
    std::unique_ptr<cell[]> cells_;
    /// @endcond
};

/// A policy of exchangers and channels: they count what happens, in counters of their own or in
/// shared ones. For example `exchanger<int, counted>`.
struct counted {};

/// A policy of exchangers and channels: a `Span` exists during each wait, in the waiting operation.
///
/// `Span(name)` is called when the wait begins, with the name of the exchanger (`set_name`); if
/// there is a constructor `Span(name, where)`, this, with the `std::source_location` of the wait.
/// If there is a member `set_deadline(std::chrono::steady_clock::time_point)`, it is called when a
/// deadline takes effect, which may be a turn of the loop later; not for those of `case_set::next`.
/// When the wait ends, `end(error)` is called once, with an `std::error_code` that is zero after an
/// exchange, and then the destructor. All of these run where the waiting party runs: on its
/// executor or thread. They must not throw. An operation that finds its partner at once has no
/// span, nor has a `try_` operation. If another party takes the place in which it was about to
/// wait, it may have a short one. For a selection, each case that waits has one; for a `case_set`,
/// each case from its offer until it takes place or is taken back, also between two rounds.
/// @tparam Span  a class that need not be movable, and is not over-aligned.
template <class Span>
struct traced {};

/// @}
} // namespace tryst
