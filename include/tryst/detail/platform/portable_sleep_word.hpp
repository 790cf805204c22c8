// SPDX-License-Identifier: MIT
/// @file
/// A word to sleep on, for systems without a futex.
/// Standard library only. Never allocates or throws.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace tryst::detail {

/// A `sleep_word` (atomic.hpp) that uses a mutex and a condition variable. The mutex orders all
/// accesses, so those to the word are relaxed.
/// @tparam Word, Mutex, Condition  as `atomic<std::uint32_t>`, `std::mutex` and
///   `std::condition_variable`; the model checker has its own.
template <class Word, class Mutex, class Condition>
class portable_sleep_word {
public:
    Word value{0};

    void sleep(std::uint32_t seen) noexcept {
        std::unique_lock<Mutex> lock(mutex_);
        // Relaxed: the mutex orders it.
        changed_.wait(lock, [&] { return value.load(std::memory_order_relaxed) != seen; });
    }

    template <class TimePoint>
    void sleep_until(std::uint32_t seen, TimePoint deadline) noexcept {
        std::unique_lock<Mutex> lock(mutex_);
        // Relaxed: as above.
        changed_.wait_until(lock, deadline,
                            [&] { return value.load(std::memory_order_relaxed) != seen; });
    }

    void store_and_wake(std::uint32_t desired) noexcept {
        const std::scoped_lock<Mutex> lock(mutex_);
        // Relaxed: because of the mutex, everything before this is ordered before
        // `let_waker_finish`.
        value.store(desired, std::memory_order_relaxed);
        changed_.notify_one();
    }

    /// Call after seeing the store, before the word's lifetime ends.
    void let_waker_finish() noexcept { const std::scoped_lock<Mutex> lock(mutex_); }

private:
    Mutex mutex_;
    Condition changed_;
};

} // namespace tryst::detail
