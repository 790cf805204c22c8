// SPDX-License-Identifier: MIT
/// @file
/// Lets the owner of an object wait until no other thread uses the object.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>

namespace tryst::detail {

/* Run-down protection
 * A thread calls `enter` before it uses the object, and `leave` afterwards. The owner calls `end`,
 * which waits until each such thread has left. From then on `enter` returns false. A thread that
 * got false must not use the object, but must still call `leave`. So before the owner destroys the
 * counter, it calls `drain`.
 *
 * I24. One word of a rundown holds the number of threads inside and whether the end has begun. So a
 *     thread that enters either sees the end, or is seen by it. */
class rundown {
public:
    /// Call from any thread. Call `leave` afterwards, whatever the result.
    /// @returns whether the object may be used until then.
    [[nodiscard]] bool enter() noexcept {
        // [R1] relaxed: the thread could reach the object before, so there is nothing to acquire.
        // I24 orders it against `end`.
        return (word_.fetch_add(one_thread, std::memory_order_relaxed) & ended) == 0;
    }

    void leave() noexcept {
        // [R2] release, pairs with [R3]: the use happens-before the end. The last access.
        word_.fetch_sub(one_thread, std::memory_order_release);
    }

    /// Lets no thread in any more, and waits for those inside.
    void end() noexcept {
        // Relaxed: `drain` acquires.
        word_.fetch_or(ended, std::memory_order_relaxed);
        drain();
    }

    /// Waits until no thread is between `enter` and `leave`. Sees the threads whose `enter`
    /// happens-before this call.
    void drain() const noexcept {
        yield_until([this] {
            // [R3] acquire, pairs with [R2].
            return (word_.load(std::memory_order_acquire) & ~ended) == 0;
        });
    }

    /// Whether `end` has been called. A thread other than the owner must have synchronized with
    /// that call, or may see false.
    bool has_ended() const noexcept {
        // Relaxed: acquires nothing.
        return (word_.load(std::memory_order_relaxed) & ended) != 0;
    }

private:
    static constexpr std::uint64_t ended = 1;
    static constexpr std::uint64_t one_thread = 2;

    atomic<std::uint64_t> word_{0};
};

} // namespace tryst::detail
