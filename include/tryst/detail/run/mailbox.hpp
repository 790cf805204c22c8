// SPDX-License-Identifier: MIT
/// @file
/// An inbox whose owner is a thread: it sleeps until there is mail.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/inbox.hpp>
#include <tryst/detail/run/parker.hpp>
#include <tryst/executor.hpp>

namespace tryst::detail {

/// A loop that slept and finds that a poster was faster waits for that poster's unpark, even if it woke by
/// itself: after it no poster is inside, and the loop may be destroyed.
class mailbox : private inbox {
public:
    /// Hands over `node`, and wakes the loop if it sleeps. From any thread.
    void post(executor_node* node) noexcept {
        if (inbox::post(node)) {
            parker_.unpark();
        }
    }

    using inbox::has_mail;
    using inbox::take;

    /// Sleeps until there is mail. On the loop's thread, as the next.
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
