// SPDX-License-Identifier: MIT
/// @file
/// How a thread sleeps: on a binary semaphore with one owner.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>

namespace tryst::detail {

/* The parker, a binary semaphore: `park` blocks until `unpark`
 *   no token --unpark[P1]--> token      the owner is asleep or awake
 *   token    --park[P2]----> no token
 *
 * I14. Each token of `unpark` is taken by exactly one `park`. The users of a parker ensure that
 *     there is at most one `unpark` for each sleep, and that an owner that is owed a token takes it
 *     before the parker is destroyed. After its store, `unpark` uses only the address of the word.
 *
 * @tparam SleepWord  other than `sleep_word` in tests. */
template <class SleepWord>
class basic_parker {
public:
    /// Blocks until the token is there, and takes it.
    void park() noexcept {
        while (!take_token()) {
            word_.sleep(no_token);
        }
    }

    /// Blocks until the token is there or `deadline` has passed.
    /// @returns whether it took the token.
    bool park_until(clock::time_point deadline) noexcept {
        while (!take_token()) {
            if (clock::now() >= deadline) {
                return false;
            }
            word_.sleep_until(no_token, deadline);
        }
        return true;
    }

    /// Provides the token and wakes the owner.
    void unpark() noexcept { word_.store_and_wake(token); }

private:
    static constexpr std::uint32_t no_token = 0;
    static constexpr std::uint32_t token = 1;

    bool take_token() noexcept {
        // [P2] acquire, pairs with [P1].
        if (word_.value.load(std::memory_order_acquire) != token) {
            return false;
        }
        // Relaxed: only the owner uses the word until the next `unpark`. The next waker learns of a
        // sleep only after this store (I14).
        word_.value.store(no_token, std::memory_order_relaxed);
        word_.let_waker_finish();
        return true;
    }

    SleepWord word_;
};

using parker = basic_parker<sleep_word>;

} // namespace tryst::detail
