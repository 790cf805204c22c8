// SPDX-License-Identifier: MIT
/// @file
/// The wait of a plain thread for its partner.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/parker.hpp>
#include <tryst/executor.hpp>

namespace tryst::detail {

/// The wait strategy of a thread (blocking_wait.hpp): it spins for a moment, then sleeps. Its
/// parker is thread-local. The bounds of spinning are in platform/atomic.hpp, and the reasons in
/// docs/adr/0004. A thread that runs a loop spins in event_loop.hpp instead.
class thread_wait_strategy {
public:
    static constexpr bool owns_thread = true;

    executor_ref executor() noexcept {
        static constexpr executor_vtable vtable{.post = [](void* context, executor_node*) noexcept {
            saw_partner(true);
            static_cast<parker*>(context)->unpark();
        }};
        return {&per_thread<parker>(), &vtable};
    }

    /// Spins for a partner that runs on another core, then yields to a partner that waits for this
    /// core. Repeats this for about as long as a wake-up takes, unless another thread has used the
    /// core: then either it was the partner, or the core is wanted.
    template <class Done, class Late>
    void await_partner(Done is_done, Late is_late) noexcept {
        for (int round = 0; round != spin_rounds; ++round) {
            // The clock is read after the spins, so that a prompt partner costs no clock read.
            if (spin(is_done) || is_late() || yield_core()) {
                return;
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

private:
    /// On a single processor, only looks once, because the partner cannot run meanwhile.
    /// @returns whether the partner has come.
    template <class Done>
    static bool spin(Done is_done) noexcept {
        const int pauses = processor_count() > 1 ? spin_pauses : 0;
        for (int i = 0; i != pauses; ++i) {
            if (is_done()) {
                return true;
            }
            spin_pause();
        }
        return is_done();
    }
};

} // namespace tryst::detail
