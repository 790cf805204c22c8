// SPDX-License-Identifier: MIT
/// @file
/// The lock of a channel with a buffer or of a future, and what takes its place in a channel of one
/// thread.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <algorithm>
#include <cassert>

namespace tryst::detail {

/* The lock
 * Its sections take a few instructions: they resume no party, allocate nothing, and call no code
 * of the user except moves of items, destructors of items that were moved from, and the function
 * of `weighted`. A futex would cost an atomic exchange at each unlock, so a party that waits looks
 * again instead. It looks rarely, because each look takes the cache line from the holder. Then it
 * yields and naps, because the holder may have lost its processor to this thread. */
class section_lock {
public:
    static constexpr bool is_shared = true; ///< Between threads.

    section_lock() = default;
    section_lock(const section_lock&) = delete;
    section_lock& operator=(const section_lock&) = delete;

    void lock() noexcept {
        if (!try_lock()) {
            wait();
        }
    }

    bool try_lock() noexcept {
        // [H1] acquire, pairs with [H2]: all earlier sections.
        return locked_.exchange(1, std::memory_order_acquire) == 0;
    }

    void unlock() noexcept {
        // [H2] release, pairs with [H1]: this section happens-before the next one. The last access
        // to the channel or future of a party whose operation is complete.
        locked_.store(0, std::memory_order_release);
    }

    /// After the constructor, and between the last section and the destruction.
    void disown() noexcept {}

private:
    bool is_free() const noexcept {
        return locked_.load(std::memory_order_relaxed) == 0; // relaxed: a hint; [H1] acquires
    }

    /// Not inlined, because most sections find the lock free.
    [[gnu::noinline]] void wait() noexcept {
        int pauses = first_lock_pauses;
        for (int look = 0; look != lock_looks; ++look) {
            for (int i = 0; i != pauses; ++i) {
                spin_pause();
            }
            if (try_lock()) {
                return;
            }
            pauses = (std::min)(2 * pauses, most_lock_pauses);
        }
        detail::yield_until([this] { return is_free() && try_lock(); });
    }

    atomic<unsigned> locked_{0};
};

/// For a channel that one thread uses. Asserts this, until the destructor.
class no_lock {
public:
    static constexpr bool is_shared = false;

    void lock() noexcept {
        assert(is_owner() &&
               "tryst: a channel with the policy single_threaded was used by a second thread");
    }
    void unlock() noexcept {}
    void disown() noexcept { owner_ = nullptr; }

private:
    /// The first user becomes the owner.
    bool is_owner() noexcept {
        if (owner_ == nullptr) {
            owner_ = this_thread_address();
        }
        return owner_ == this_thread_address();
    }

    const void* owner_ = nullptr;
};

/// Holds a lock.
template <class Lock>
class lock_section {
public:
    explicit lock_section(Lock& of) noexcept : lock_(of) { lock_.lock(); }
    lock_section(const lock_section&) = delete;
    lock_section& operator=(const lock_section&) = delete;
    ~lock_section() { lock_.unlock(); }

private:
    Lock& lock_;
};

} // namespace tryst::detail
