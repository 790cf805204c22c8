// SPDX-License-Identifier: MIT
// A platform (tryst/detail/platform/atomic.hpp) for one thread, on which spinning and yielding go
// as a test says.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stop_token>

namespace tryst::test {

/// What the thread does while it waits, and what comes of it.
struct script {
    int pauses = 0;
    int yields = 0;
    bool core_is_wanted = false;
    unsigned processors = 2;
};

inline script& the_script() {
    static script instance;
    return instance;
}

} // namespace tryst::test

namespace tryst::detail {

template <class T>
using atomic = std::atomic<T>;
using clock = std::chrono::steady_clock;
using stop_token = std::stop_token;
template <class Callback>
using stop_callback = std::stop_callback<Callback>;

template <class T>
T& per_thread() noexcept {
    static T instance{};
    return instance;
}

inline const void* this_thread_address() noexcept {
    return &per_thread<char>();
}

inline void spin_pause() noexcept {
    ++test::the_script().pauses;
}
inline void prefetch_for_write(const void* /*address*/) noexcept {}
inline void yield_thread() noexcept {
    ++test::the_script().yields;
}
inline bool yield_core() noexcept {
    yield_thread();
    return test::the_script().core_is_wanted;
}
inline void nap() noexcept {
    yield_thread();
}
inline constexpr unsigned yields_before_nap = 64;

template <class Done>
void yield_until(Done done) noexcept {
    while (!done()) {
    }
}
template <class Done>
void retry_until(Done done) noexcept {
    yield_until(done);
}

inline constexpr int spin_pauses = 128;
inline constexpr int spin_rounds = 16;
inline constexpr int arena_rounds = 2;
inline constexpr std::chrono::nanoseconds lone_patience{3'000};
inline constexpr std::uint8_t most_completions = 64;
inline constexpr std::size_t held_cases = 16;
inline constexpr int lock_looks = 16;
inline constexpr int first_lock_pauses = 32;
inline constexpr int most_lock_pauses = 256;
inline constexpr std::size_t items_per_section = 64;

inline unsigned processor_count() noexcept {
    return test::the_script().processors;
}

/// Nobody sleeps here.
struct sleep_word {
    atomic<std::uint32_t> value{0};
    void sleep(std::uint32_t /*seen*/) noexcept {}
    void sleep_until(std::uint32_t /*seen*/, clock::time_point /*deadline*/) noexcept {}
    void store_and_wake(std::uint32_t /*desired*/) noexcept {}
    void let_waker_finish() noexcept {}
};

} // namespace tryst::detail
