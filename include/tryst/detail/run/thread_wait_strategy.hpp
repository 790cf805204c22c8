// SPDX-License-Identifier: MIT
/// @file
/// The wait of a plain thread for its partner.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/parker.hpp>
#include <tryst/executor.hpp>

#include <algorithm>

namespace tryst::detail {

/// The wait strategy of a thread (blocking_wait.hpp): it spins for a moment, then sleeps. Its
/// parker and its current number of spins are thread-local. The bounds of spinning are in
/// platform/atomic.hpp. A thread that runs a loop spins in event_loop.hpp instead.
class thread_wait_strategy {
public:
    static constexpr bool owns_thread = true;

    executor_ref executor() noexcept {
        static constexpr executor_vtable vtable{.post = [](void* context, executor_node*) noexcept {
            static_cast<parker*>(context)->unpark();
        }};
        return {&per_thread<parker>(), &vtable};
    }

    /// Spins for a partner that runs on another core, and yields to a partner that waits for this
    /// core. Spins longer next time if that helped, or if no other thread wants this core;
    /// otherwise shorter.
    template <class Done, class Late>
    void await_partner(Done is_done, Late is_late) noexcept {
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
            if (is_late()) { // after the spins, so that a prompt partner costs no clock read
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
