// SPDX-License-Identifier: MIT
/// @file
/// A wait for another thread, which is about to do its next step.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

namespace tryst::detail {

/// Waits for a step that takes another thread a few instructions: spins for a moment, then yields
/// until `done()`.
template <class Done>
void spin_until(Done done) noexcept {
    for (int i = 0; i != spin_pauses; ++i) {
        if (done()) {
            return;
        }
        spin_pause();
    }
    detail::yield_until(done);
}

} // namespace tryst::detail
