// SPDX-License-Identifier: MIT
/// @file
/// The wait of a thread or fiber for its exchange: it spins or yields, then sleeps.
/// Standard library only. Never allocates or throws by itself.
#pragma once

#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <type_traits>

namespace tryst::detail {

/* Wait strategies
 * A thread (thread_wait_strategy.hpp), or a fiber in an adapter, blocks in `blocking_wait`. Its
 * strategy lives on its stack and serves one wait:
 *
 *   executor()                 the executor to which the protocol posts in order to end the sleep.
 *                              It posts at most once, from any thread or from the waiting party
 *                              itself. The post may come before the sleep
 *   await_partner(done, late)  waits for a bounded time after an offer; may return early if
 *                              `done()` (the operation is complete) or `late()` (the deadline has
 *                              passed)
 *   give_way()                 unless it owns its thread: lets other parties of the thread run,
 *                              because the budget is spent (turn_budget.hpp)
 *   sleep()                    blocks until the post
 *   sleep_until(deadline)      blocks until the post or the deadline; returns whether it was posted
 *   owns_thread                whether the party is the only one of its thread
 *   step(f)                    calls f(), a step of the protocol that does not suspend the party
 *
 * The poster must not touch the strategy once the party may have continued. So `sleep` waits for
 * the poster before it returns, and so does `sleep_until` before it returns true. If `sleep_until`
 * returns false, `blocking_wait` cancels the operation and then calls `sleep`, because a post is
 * certain to come.
 *
 * After each suspension the party may be on another thread. So thread-locals are used only within
 * `step`. */

/// Blocks the calling thread or fiber with `strategy` until the operation is complete.
template <class Operation, class WaitStrategy>
typename Operation::result blocking_wait(Operation& op, WaitStrategy& strategy) noexcept {
    using party = std::conditional_t<WaitStrategy::owns_thread, thread_party, coroutine_party>;
    const bool spent = strategy.step([] { return turn_budget::is_spent(); });
    if constexpr (!WaitStrategy::owns_thread) {
        if (spent) {
            strategy.give_way();
        }
    }
    arrival where = strategy.step([&] {
        assert(may_block() && "tryst: a thread that runs a loop must not block; use co_await");
        const arrival first = op.template begin<party>(strategy.executor(), spent);
        if (spent) {
            turn_budget::renew();
        } else if (first == arrival::completed) {
            turn_budget::spend();
        }
        return first;
    });
    bool waited_in_list = false;
    while (where != arrival::completed && !waited_in_list) {
        waited_in_list = where == arrival::waiting;
        int rounds = where == arrival::offered ? arena_rounds : 0; // 0: all that the strategy makes
        strategy.await_partner([&] { return op.is_complete(); },
                               [&] {
                                   if (where == arrival::claimed) {
                                       return false; // the partner may need this processor
                                   }
                                   if (--rounds == 0) {
                                       return true;
                                   }
                                   if constexpr (Operation::is_timed) {
                                       return clock::now() >= op.time_limit();
                                   }
                                   return false;
                               });
        where = strategy.step([&] { return op.template look_again<party>(); });
    }
    if (where != arrival::completed && strategy.step([&] { return op.park(); })) {
        if constexpr (Operation::is_timed) {
            if (!strategy.sleep_until(op.time_limit())) {
                strategy.step([&] { op.cancel(true); });
                strategy.sleep();
            }
        } else {
            strategy.sleep();
        }
    }
    return strategy.step([&] { return op.take_result(); });
}

} // namespace tryst::detail
