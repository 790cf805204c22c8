// SPDX-License-Identifier: MIT
/// @file
/// How a plain thread waits: it looks out for a partner for a moment, then sleeps.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/parker.hpp>
#include <tryst/executor.hpp>

#include <algorithm>

namespace tryst::detail {

/* Sleepers
 * Whoever waits and is no coroutine, a thread here, a fiber in an adapter, blocks in `wait_with(sleeper)`
 * of an operation. Its sleeper lives on its stack and serves one wait:
 *
 *   executor()               what the protocol posts to, from any thread and once at most, to end the sleep;
 *                            perhaps before it begins, and perhaps from the waiting party itself
 *   look_out(done, late)     lets a bounded time pass after an offer. May end as soon as `done()`, or
 *                            `late()`: the deadline is over
 *   sleep()                  until posted
 *   sleep_until(deadline)    or until then; returns whether it was posted
 *   step(f)                  f(), a stretch of the protocol without any suspension
 *
 * Who posts must not touch the sleeper once that may have gone on: a `sleep` returns, and a `sleep_until`
 * returns true, when the post is through with it. A `sleep_until` that returned false is followed by a
 * `sleep`, because the post is promised by then. */

/// The sleeper of a thread. Its bed and what it has learnt about spinning are the thread's own.
class thread_wait_strategy {
public:
    executor_ref executor() noexcept {
        static constexpr executor_vtable vtable{.post = [](void* context, executor_node*) noexcept {
            static_cast<parker*>(context)->unpark();
        }};
        return {&per_thread<parker>(), &vtable};
    }

    /// By spinning, for a partner that runs on another core; by yielding, for one that waits for this core.
    /// Spins longer next time if that helped, or if nobody else wants the core; else shorter.
    template <class Done, class Late>
    void look_out(Done is_done, Late is_late) noexcept {
        int& spins = per_thread<thread_state>().spins;
        const auto longer = [&] { spins = std::min(2 * spins, max_spins); };
        for (int round = 0; round != spin_rounds; ++round) {
            for (int i = 0; i != spins; ++i) {
                if (is_done()) {
                    if (round == 0) {
                        longer();
                    }
                    return;
                }
                spin_pause();
            }
            if (is_late()) { // only now: a partner that is there already costs no look at the clock
                return;
            }
            if (yield_core()) {
                spins = std::max(spins / 2, min_spins);
            } else {
                longer();
            }
        }
    }

    void sleep() noexcept { per_thread<parker>().park(); }

    bool sleep_until(clock::time_point deadline) noexcept {
        return per_thread<parker>().park_until(deadline);
    }

    template <class Step>
    auto step(Step step) noexcept {
        return step();
    }
};

} // namespace tryst::detail
