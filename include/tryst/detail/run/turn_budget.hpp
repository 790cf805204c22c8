// SPDX-License-Identifier: MIT
/// @file
/// How many operations complete one after the other before their coroutine lets other work run.
/// Standard library only. Never allocates, blocks or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

namespace tryst::detail {

/// The budget of the batch of nodes that the calling thread runs (docs/adr/0015). A new one begins
/// with each batch (`executor_scope::next_batch`), or, on an executor without batches, when the
/// coroutine is queued. The budget belongs to the thread, so a coroutine may be queued after fewer
/// operations, if others have spent the rest.
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
