// SPDX-License-Identifier: MIT
/// @file
/// Protects an object from its end while other threads use it.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>

namespace tryst::detail {

/* Run-down protection
 * A thread that uses the object stands between `enter` and `leave`. The owner calls `end`, which
 * waits until no thread does. After that, `enter` returns false, and a thread may use only this
 * counter, until its `leave`. The owner must keep the counter until it has called `drain`.
 *
 * I24. One word holds the number of threads inside and whether the end has begun. So a thread that
 *     enters either sees the end, or is seen by it. */
class rundown {
public:
    /// Call from any thread. In either case call `leave` afterwards.
    /// @returns whether the object may be used until then.
    [[nodiscard]] bool enter() noexcept {
        // [R1] relaxed: acquires nothing, because the object is known already. If the end does not
        // see this entry, this entry sees the end (I24).
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

    /// For the owner.
    bool has_ended() const noexcept {
        // Relaxed: the owner's own store.
        return (word_.load(std::memory_order_relaxed) & ended) != 0;
    }

private:
    static constexpr std::uint64_t ended = 1;
    static constexpr std::uint64_t one_thread = 2;

    atomic<std::uint64_t> word_{0};
};

} // namespace tryst::detail
