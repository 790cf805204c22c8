// SPDX-License-Identifier: MIT
/// @file
/// A thread's bed: `park` sleeps until somebody calls `unpark`.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cstdint>

namespace tryst::detail {

/* The parker
 *   asleep or awake, no token --unpark[P1]--> token --park[P2]--> no token
 * One token for each `unpark`, consumed by exactly one `park`. A protocol above makes sure that each
 * sleep is ended by at most one `unpark`, and that a sleeper who was promised one collects it before
 * the parker dies. `unpark` touches nothing but the word's address after its store. */
class parker {
public:
    /// Sleeps until the token is there, and takes it.
    void park() noexcept {
        while (!take_token()) {
            word_.sleep(no_token);
        }
    }

    /// Sleeps until the token is there or `deadline` has passed.
    /// @returns whether the token was taken.
    bool park_until(clock::time_point deadline) noexcept {
        while (!take_token()) {
            if (clock::now() >= deadline) {
                return false;
            }
            word_.sleep_until(no_token, deadline);
        }
        return true;
    }

    /// Hands over the token and wakes the sleeper.
    void unpark() noexcept { word_.store_and_wake(token); }

private:
    static constexpr std::uint32_t no_token = 0;
    static constexpr std::uint32_t token = 1;

    bool take_token() noexcept {
        // [P2] acquire, pairs with [P1].
        if (word_.value.load(std::memory_order_acquire) != token) {
            return false;
        }
        // Relaxed: only the sleeper looks at the word until the next unpark, which is ordered after
        // this store by whatever tells the waker that somebody sleeps.
        word_.value.store(no_token, std::memory_order_relaxed);
        word_.let_waker_finish();
        return true;
    }

    sleep_word word_;
};

} // namespace tryst::detail
