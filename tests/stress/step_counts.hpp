// SPDX-License-Identifier: MIT
/// @file
/// Counts the steps of the protocol, and sometimes delays the thread at one, so that short races
/// are met on any machine. A compiler option includes this before any header of tryst.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>

#define TRYST_TRACE(which, ...) ::tryst::test::count_step(static_cast<std::size_t>(step::which))

namespace tryst::test {

inline std::array<std::atomic<long>, 40> step_counts{};

/// Lets others overtake this thread, for a random time, once in `one_in` steps.
inline void dwell(unsigned one_in) noexcept {
    thread_local unsigned x = 2463534242U;
    x ^= x << 13U;
    x ^= x >> 17U;
    x ^= x << 5U;
    if (x % one_in != 0) {
        return;
    }
    for (unsigned i = x % 61; i != 0; --i) {
        std::this_thread::yield();
    }
}

inline void count_step(std::size_t step) noexcept {
    step_counts.at(step).fetch_add(1, std::memory_order_relaxed);
    dwell(16);
}

template <class Step>
long count_of(Step step) noexcept {
    return step_counts.at(static_cast<std::size_t>(step)).load(std::memory_order_relaxed);
}

inline void forget_steps() noexcept {
    for (auto& count : step_counts) {
        count.store(0, std::memory_order_relaxed);
    }
}

/// Whether any of `steps` has never been taken.
template <class... Step>
bool missing(Step... steps) noexcept {
    return ((count_of(steps) == 0) || ...);
}

/// How long a stress test takes; and up to three minutes more, while it has not seen all that it
/// must see.
class stress_time {
public:
    /// @param tests  how many tests share the time.
    explicit stress_time(int tests = 1)
        : end_(std::chrono::steady_clock::now() + given() / tests) {}

    template <class Missing>
    bool goes_on(Missing is_missing) const {
        const auto now = std::chrono::steady_clock::now();
        return now < end_ || (now < end_ + std::chrono::minutes(3) && is_missing());
    }

private:
    static std::chrono::milliseconds given() {
        const char* const seconds = std::getenv("TRYST_STRESS_SECONDS");
        return std::chrono::seconds(seconds == nullptr ? 5 : std::atoi(seconds));
    }

    std::chrono::steady_clock::time_point end_;
};

} // namespace tryst::test
