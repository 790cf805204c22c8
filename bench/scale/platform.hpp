// SPDX-License-Identifier: MIT
/// @file
/// The platform of tryst/detail/platform/atomic.hpp for the cores of a simulated machine: each
/// access costs what a cache line costs. TRYST_PLATFORM names this file.
#pragma once

#include "machine.hpp"

#include <atomic> // std::memory_order
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <stop_token>
#include <type_traits>
#include <utility>

// Counts the steps: an offer above slot 0 that expires takes another turn of its loop.
#define TRYST_TRACE(which, ...) ::tryst::scale::step_taken(static_cast<unsigned>(step::which))

namespace tryst::scale {

/// Memory orders change nothing: their cost is part of the steps.
template <class T>
class atomic {
public:
    using order = std::memory_order;

    constexpr atomic() noexcept = default;
    // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic.
    constexpr atomic(T value) noexcept : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(order /*o*/) const noexcept {
        machine::here().read(this, machine::here().prices().load);
        return value_;
    }
    void store(T desired, order /*o*/) noexcept {
        machine::here().store(this, machine::here().prices().store);
        value_ = desired;
    }
    T exchange(T desired, order /*o*/) noexcept {
        update();
        return std::exchange(value_, desired);
    }
    bool compare_exchange_strong(T& expected, T desired, order /*success*/,
                                 order /*failure*/) noexcept {
        update(); // which takes the line in any case
        if (value_ != expected) {
            expected = value_;
            return false;
        }
        value_ = desired;
        return true;
    }
    bool compare_exchange_weak(T& expected, T desired, order success, order failure) noexcept {
        return compare_exchange_strong(expected, desired, success, failure);
    }
    T fetch_add(T operand, order /*o*/) noexcept {
        update();
        return std::exchange(value_, static_cast<T>(value_ + operand));
    }
    T fetch_sub(T operand, order /*o*/) noexcept {
        update();
        return std::exchange(value_, static_cast<T>(value_ - operand));
    }
    T fetch_or(T operand, order /*o*/) noexcept {
        update();
        return std::exchange(value_, static_cast<T>(value_ | operand));
    }

    /// Reads without an access.
    T peek() const noexcept { return value_; }

private:
    void update() noexcept { machine::here().update(this, machine::here().prices().update); }

    T value_{};
};

void step_taken(unsigned step) noexcept;

inline std::size_t types_of_own = 0;
template <class T>
inline const std::size_t type_of_own = types_of_own++;

/// Accesses and work that the platform does not see, reported by the parties.
struct simulated_memory {
    /// Accesses to plain memory, which are free if the core has the line.
    static void read(const void* address) noexcept { machine::here().read(address, 0); }
    static void write(const void* address) noexcept { machine::here().store(address, 0); }
    static void turn() noexcept { machine::here().spend_about(machine::here().prices().turn); }
    /// The work between two exchanges.
    static void work() noexcept;
};

} // namespace tryst::scale

namespace tryst::detail {

template <class T>
using atomic = scale::atomic<T>;

/// Simulated time as a steady clock.
struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<clock>;
    static constexpr bool is_steady = true;

    static time_point now() noexcept {
        scale::machine::here().pass_outside();
        return time_point(duration(scale::machine::here().now() / 1000));
    }
};

using stop_token = std::stop_token;
template <class Callback>
using stop_callback = std::stop_callback<Callback>;

template <class T>
T& per_thread() noexcept {
    static_assert(std::is_trivially_destructible_v<T>);
    void*& own = scale::machine::here().own(scale::type_of_own<T>);
    if (own == nullptr) {
        T* const made = new T();
        if constexpr (requires { made->probe; }) {
            // The slot at which a thread probes an arena, and when it looks at a wait list first,
            // must not depend on an address or the clock.
            made->probe = static_cast<std::uint32_t>(scale::machine::here().random() >> 32U) | 1U;
            if constexpr (requires { made->random; }) {
                made->random = made->probe;
            }
        }
        own = made;
    }
    return *static_cast<T*>(own);
}

inline const void* this_thread_address() noexcept {
    return &per_thread<char>();
}

/// Each core has a number, and runs one thread.
inline std::uint32_t find_thread_number() noexcept {
    return scale::machine::here().core();
}
inline std::uint32_t thread_number_if_known() noexcept {
    return find_thread_number();
}
inline const void* thread_number_source() noexcept {
    return nullptr;
}

inline void spin_pause() noexcept {
    scale::machine::here().spend_about(scale::machine::here().prices().pause);
}

/// Fetches the line now, so that the next load and compare-and-exchange find it.
inline void prefetch_for_write(const void* address) noexcept {
    if (scale::region::line_of(address) != scale::region::line_count) { // any address is allowed
        scale::machine::here().own(address);
    }
}

inline void yield_thread() noexcept {
    scale::machine::here().spend_about(scale::machine::here().prices().yield);
}

/// Each thread has a core of its own.
inline bool yield_core() noexcept {
    yield_thread();
    return false;
}

inline void nap() noexcept {
    yield_thread();
}
inline constexpr unsigned yields_before_nap = 64;

template <class Done>
void yield_until(Done done) noexcept {
    while (!done()) {
        yield_thread();
    }
}

// The values of a real machine.
inline constexpr int spin_pauses = 128;
inline constexpr int spin_rounds = 16;
inline constexpr std::uint8_t most_completions = 64;
inline constexpr std::size_t held_cases = 16;
inline constexpr int arena_rounds = 2;
inline constexpr std::chrono::nanoseconds lone_patience{3'000};

inline unsigned processor_count() noexcept {
    return scale::machine::here().cores();
}

/// Without deadlines.
class sleep_word {
public:
    atomic<std::uint32_t> value{0};

    void sleep(std::uint32_t seen) noexcept {
        scale::machine::here().sleep(&value, [&] { return value.peek() != seen; });
    }

    void sleep_until(std::uint32_t seen, clock::time_point /*deadline*/) noexcept { sleep(seen); }

    void store_and_wake(std::uint32_t desired) noexcept {
        const void* const address = &value;
        value.store(desired, std::memory_order_release);
        scale::machine::here().wake(address);
        scale::machine::here().spend(scale::machine::here().prices().wake_call);
    }

    void let_waker_finish() noexcept {}
};

} // namespace tryst::detail
