// SPDX-License-Identifier: MIT
/// @file
/// The thread that a context is bound to: the first one that runs it.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>

namespace tryst::uring::detail {

/// Binds a context to a thread. `std::thread::id` would not do: a later thread may get the same id.
class owner_thread {
public:
    enum class claim : std::uint8_t { first, repeated, refused };

    /// Binds to the calling thread unless another thread was first.
    claim try_claim() noexcept {
        const std::uint64_t here = this_thread();
        std::uint64_t owner = 0;
        // Relaxed: only the number matters; the context itself was handed over by its user.
        // Failure relaxed: as on success.
        if (owner_.compare_exchange_strong(owner, here, std::memory_order_relaxed,
                                           std::memory_order_relaxed)) {
            return claim::first;
        }
        return owner == here ? claim::repeated : claim::refused;
    }

    /// Undoes the first claim, which was the calling thread's.
    void release() noexcept {
        // Relaxed: only the number matters.
        owner_.store(0, std::memory_order_relaxed);
    }

    /// Whether the calling thread is the owner.
    bool is_here() const noexcept {
        // Relaxed: only the owner itself can find its own number here.
        return owner_.load(std::memory_order_relaxed) == this_thread();
    }

private:
    /// A number for the calling thread that no other thread of the process ever gets. Never 0.
    static std::uint64_t this_thread() noexcept {
        static tryst::detail::atomic<std::uint64_t> last{0};
        // Relaxed: the numbers only have to differ.
        thread_local const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
        return number;
    }

    /// 0 while there is no owner. Atomic because threads that are refused read it, too.
    tryst::detail::atomic<std::uint64_t> owner_{0};
};

} // namespace tryst::uring::detail
