// SPDX-License-Identifier: MIT
/// @file
/// Small numbers of threads, for tables with a place for each thread.
/// Standard library only. Never blocks or throws. The first use on a thread registers a destructor,
/// for which the C library may allocate.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

namespace tryst::detail {

/* Thread numbers
 * I49. Each number belongs to at most one thread at a time, and everything that its earlier owner
 *     did happens-before everything that its next owner does. So a thread may write to a place that
 *     belongs to its number by a plain load and a plain store.
 *
 * A thread gets the lowest free number, and gives it back when it ends. Threads that come when all
 * numbers are taken get `no_thread_number`, which is not unique. */
inline constexpr std::uint32_t no_thread_number = ~std::uint32_t{0};

/// The free numbers below `64 * Words`.
template <std::size_t Words>
class number_pool {
public:
    /// @returns the lowest free number, or `no_thread_number`.
    std::uint32_t acquire() noexcept {
        for (std::uint32_t i = 0; i != Words; ++i) {
            std::uint64_t seen = taken_[i].load(std::memory_order_relaxed); // relaxed: a hint
            while (seen != ~std::uint64_t{0}) {
                const int bit = std::countr_one(seen);
                // [O1] acquire, pairs with [O2]: what the earlier owner did (I49). Failure relaxed:
                // retried.
                if (taken_[i].compare_exchange_weak(seen, seen | std::uint64_t{1} << bit,
                                                    std::memory_order_acquire,
                                                    std::memory_order_relaxed)) {
                    return 64 * i + static_cast<std::uint32_t>(bit);
                }
            }
        }
        return no_thread_number;
    }

    /// Gives back a number that `acquire` returned.
    void release(std::uint32_t number) noexcept {
        if (number != no_thread_number) {
            // [O2] release, pairs with [O1]: what this owner did (I49).
            taken_[number / 64].fetch_sub(std::uint64_t{1} << number % 64,
                                          std::memory_order_release);
        }
    }

private:
    atomic<std::uint64_t> taken_[Words] = {};
};

#ifndef TRYST_PLATFORM

/// More than the processors of most machines; 32 bytes.
[[gnu::visibility("default")]] inline number_pool<4> thread_numbers;

/// Where this code gets its numbers. A plugin has a pool of its own, unless the program exports its
/// symbols. Numbers of two pools must not be mixed (I49).
inline const void* thread_number_source() noexcept {
    return &thread_numbers;
}

/// The number of one thread, from its first use until the thread ends.
struct [[gnu::visibility("default")]] thread_number_owner {
    const std::uint32_t number = thread_numbers.acquire();

    thread_number_owner() noexcept = default;
    thread_number_owner(thread_number_owner&&) = delete;
    ~thread_number_owner();
};

/// The number of the calling thread, beside its owner: a thread-local with a destructor is slower
/// to reach, and must not be used after its destruction.
struct [[gnu::visibility("default")]] known_thread_number {
    static constexpr std::uint32_t unknown = no_thread_number - 1;
    std::uint32_t value = unknown;
};

inline thread_number_owner::~thread_number_owner() {
    per_thread<known_thread_number>().value = no_thread_number;
    thread_numbers.release(number);
}

/// The number of the calling thread (I49). While the thread's locals are being destroyed, it may be
/// `no_thread_number`.
[[gnu::noinline]] inline std::uint32_t find_thread_number() noexcept {
    std::uint32_t& known = per_thread<known_thread_number>().value;
    if (known == known_thread_number::unknown) {
        known = per_thread<thread_number_owner>().number;
    }
    return known;
}

/// As above, or any large number if the thread has none yet.
inline std::uint32_t thread_number_if_known() noexcept {
    return per_thread<known_thread_number>().value;
}

#endif

} // namespace tryst::detail
