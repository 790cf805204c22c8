// SPDX-License-Identifier: MIT
/// @file
/// Takes the place of tryst/detail/platform/atomic.hpp, for simulated threads. Memory is
/// sequentially consistent, and another thread may go on at each access. To be named by
/// TRYST_PLATFORM.
#pragma once

#include "sim/scheduler.hpp"
#include "sim/stop_token.hpp"

#include <array>
#include <atomic> // std::memory_order
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <utility>

// Steps are counted, and threads are often interrupted there.
#define TRYST_TRACE(which, ...) ::tryst::sim::step_taken(static_cast<unsigned>(step::which))

namespace tryst::sim {

/// The part of std::atomic that the library and its tests use.
template <class T>
class atomic {
public:
    using where = std::source_location;

    constexpr atomic() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic.
    constexpr atomic(T value) noexcept : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(std::memory_order /*order*/, where at = where::current()) const noexcept {
        access("load", at);
        count_access(this, use::reads);
        return value_;
    }

    void store(T desired, std::memory_order /*order*/, where at = where::current()) noexcept {
        access("store", at);
        count_access(this, use::writes);
        value_ = desired;
    }

    T exchange(T desired, std::memory_order /*order*/, where at = where::current()) noexcept {
        access("exchange", at);
        count_access(this, use::writes);
        return std::exchange(value_, desired);
    }

    bool compare_exchange_strong(T& expected, T desired, std::memory_order /*success*/,
                                 std::memory_order /*failure*/,
                                 where at = where::current()) noexcept {
        access("strong CAS", at);
        return replace(expected, desired);
    }

    /// Fails spuriously now and then.
    bool compare_exchange_weak(T& expected, T desired, std::memory_order /*success*/,
                               std::memory_order /*failure*/,
                               where at = where::current()) noexcept {
        access("weak CAS", at);
        if (choices().one_in(16)) {
            count_access(this, use::fails);
            expected = value_;
            return false;
        }
        return replace(expected, desired);
    }

    /// A compare-exchange that is not atomic: for mutants.
    bool split_compare_exchange(T& expected, T desired, std::memory_order success,
                                std::memory_order failure, where at = where::current()) noexcept {
        const T seen = load(failure, at);
        const bool equal = seen == expected;
        if (equal) {
            store(desired, success, at);
        }
        expected = seen;
        return equal;
    }

    T fetch_add(T operand, std::memory_order /*order*/, where at = where::current()) noexcept {
        access("fetch_add", at);
        count_access(this, use::writes);
        return std::exchange(value_, static_cast<T>(value_ + operand));
    }

    T fetch_sub(T operand, std::memory_order /*order*/, where at = where::current()) noexcept {
        access("fetch_sub", at);
        count_access(this, use::writes);
        return std::exchange(value_, static_cast<T>(value_ - operand));
    }

    T fetch_or(T operand, std::memory_order /*order*/, where at = where::current()) noexcept {
        access("fetch_or", at);
        count_access(this, use::writes);
        return std::exchange(value_, static_cast<T>(value_ | operand));
    }

    /// A load that is no access, for callers that no other thread can interrupt.
    T peek() const noexcept { return value_; }

private:
    bool replace(T& expected, T desired) noexcept {
        count_access(this, value_ == expected ? use::writes : use::fails);
        if (value_ != expected) {
            expected = value_;
            return false;
        }
        value_ = desired;
        return true;
    }

    T value_{};
};

/// One `T` for each simulated thread of the current run.
template <class T>
class values_of_threads {
public:
    T& mine() noexcept {
        entry& own = entries_[current_thread()];
        if (own.run != run_number()) {
            own.run = run_number();
            std::destroy_at(&own.value);
            std::construct_at(&own.value);
            // The slot that a thread tries first, and when it looks at a wait list first, must not
            // depend on an address or the clock.
            if constexpr (requires { own.value.probe; }) {
                own.value.probe = static_cast<std::uint32_t>(choices().next()) | 0x80000000U;
                own.value.random = own.value.probe;
            }
        }
        return own.value;
    }

private:
    struct entry {
        T value{};
        std::uint64_t run = 0;
    };
    std::array<entry, max_threads> entries_{};
};

} // namespace tryst::sim

namespace tryst::detail {

template <class T>
using atomic = sim::atomic<T>;

/// Simulated time, in the form of a steady clock.
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept { return time_point(sim::look_at_clock()); }
};

using stop_token = sim::stop_token;
template <class Callback>
using stop_callback = sim::stop_callback<Callback>;

template <class T>
T& per_thread() noexcept {
    static sim::values_of_threads<T> all;
    return all.mine();
}

inline const void* this_thread_address() noexcept {
    return &per_thread<char>();
}

/// Each simulated thread has a number.
inline std::uint32_t find_thread_number() noexcept {
    return static_cast<std::uint32_t>(sim::current_thread());
}
inline std::uint32_t thread_number_if_known() noexcept {
    return find_thread_number();
}
inline const void* thread_number_source() noexcept {
    return nullptr;
}

inline void spin_pause(std::source_location at = std::source_location::current()) noexcept {
    sim::pause(at);
}

inline void prefetch_for_write(const void* /*address*/) noexcept {}

inline void yield_thread() noexcept {
    sim::yield_waiting();
}

inline bool yield_core() noexcept {
    sim::yield_waiting();
    return sim::choices().one_in(2);
}

inline void nap() noexcept {
    sim::yield();
}
inline constexpr unsigned yields_before_nap = 1;

template <class Done>
void yield_until(Done done) noexcept {
    while (!done()) {
        sim::yield();
    }
}
template <class Done>
void retry_until(Done done) noexcept {
    yield_until(done);
}

// Enough for each path through the code. `contention.cpp` sets those of real machines.
inline constinit int spin_pauses = 2;
inline constinit int spin_rounds = 3;
inline constexpr int arena_rounds = 2;
inline constinit std::chrono::nanoseconds lone_patience{50};
inline constinit std::uint8_t most_completions = 3;
inline constexpr std::size_t held_cases = 2;
inline constinit int lock_looks = 2;
inline constinit int first_lock_pauses = 2;
inline constinit int most_lock_pauses = 2;
inline constexpr std::size_t items_per_section = 3;

inline unsigned processor_count() noexcept {
    return sim::processors();
}

class sleep_word {
public:
    atomic<std::uint32_t> value{0};

    void sleep(std::uint32_t seen) noexcept { sleep_unless_changed(seen, sim::no_deadline); }

    void sleep_until(std::uint32_t seen, clock::time_point deadline) noexcept {
        sleep_unless_changed(seen, deadline.time_since_epoch());
    }

    void store_and_wake(std::uint32_t desired) noexcept {
        const void* const address = &value;
        sim::linger();
        value.store(desired, std::memory_order_release);
        // The word may be gone.
        sim::access("wake", std::source_location::current());
        sim::wake(address);
    }

    void let_waker_finish() noexcept {}

private:
    void sleep_unless_changed(std::uint32_t seen, sim::instant deadline) noexcept {
        sim::access("sleep", std::source_location::current());
        if (value.peek() == seen) {
            sim::sleep(&value, deadline);
        }
    }
};

} // namespace tryst::detail
