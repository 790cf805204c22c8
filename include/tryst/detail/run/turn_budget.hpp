// SPDX-License-Identifier: MIT
/// @file
/// How many operations complete one after the other before their coroutine lets other work run.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

namespace tryst::detail {

/* The budget of a turn (docs/adr/0015)
 * Each thread counts the operations that complete without a suspension. When the budget is spent,
 * the next operation takes its partner as usual, but its coroutine continues by way of its
 * executor's queue. So a coroutine that always finds a waiting partner lets other work run.
 *
 * A new budget begins with each batch of the executor's work (`executor_scope::next_batch`). On an
 * executor without batches, it begins when the coroutine is queued. With a spent budget, an
 * operation whose deadline has passed times out, even if a partner is waiting.
 *
 * The budget belongs to the thread, so that it needs no memory in frames. A coroutine may thus be
 * queued after fewer operations, if others have spent the rest. */

/// The budget of the turn that the calling thread is in.
class turn_budget {
public:
    /// Whether the next operation goes through the queue.
    static bool is_spent() noexcept {
        return per_thread<thread_state>().completions >= most_completions;
    }

    /// Counts an operation that completes without a suspension. The budget was not spent when it
    /// began. But it may have resumed a coroutine inline that has spent the rest.
    static void spend() noexcept { ++per_thread<thread_state>().completions; }

    /// Begins a new budget, if the executor that runs here does not do so itself.
    static void renew() noexcept {
        auto& here = per_thread<thread_state>();
        if (!here.has_batches) {
            here.completions = 0;
        }
    }

    /// Whether an operation may complete now without a suspension, and `poll()` completes it.
    template <class Poll>
    static bool poll(Poll poll) noexcept {
        if (is_spent() || !poll()) {
            return false;
        }
        spend();
        return true;
    }
};

} // namespace tryst::detail
