// SPDX-License-Identifier: MIT
/// @file
/// Where a loop on a thread of its own gets its mail, and sleeps until there is some.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/inbox.hpp>
#include <tryst/detail/run/parker.hpp>
#include <tryst/executor.hpp>

namespace tryst::detail {

/// The inbox of a loop. If a poster is about to wake a loop that has slept, the loop waits for that
/// wake-up, even if it woke by itself (I13). After that no poster uses the mailbox, and the loop
/// may be destroyed.
class mailbox : private inbox {
public:
    /// Hands over `node`, and wakes the loop if it sleeps. Call from any thread.
    void post(executor_node* node) noexcept {
        if (inbox::post(node)) {
            parker_.unpark();
        }
    }

    using inbox::has_mail;
    using inbox::take;

    /// Sleeps until there is mail. This and the next function are for the loop's thread.
    void sleep() noexcept {
        if (prepare_wait()) {
            parker_.park();
        }
    }

    /// Sleeps until there is mail or `deadline` has passed.
    void sleep_until(clock::time_point deadline) noexcept {
        if (prepare_wait() && !parker_.park_until(deadline) && !cancel_wait()) {
            parker_.park();
        }
    }

private:
    parker parker_;
};

} // namespace tryst::detail
