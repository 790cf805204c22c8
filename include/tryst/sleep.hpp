// SPDX-License-Identifier: MIT
/// @file
/// Sleeping in a coroutine: until a time has come, or a stop is requested.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/continuation.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <chrono>
#include <coroutine>
#include <cstdint>
#include <tuple>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

namespace detail {

/* The sleeper
 *   starting --suspend[Z1]--> asleep            its timer and stop callback are in place
 *   starting --wake[Z2]-----> expired, stopped  the sleeper finds this at [Z1], and goes on
 *   asleep   --wake[Z2]-----> expired, stopped  the waker posts the coroutine
 *
 * The sleeper takes the first step; the timer and the stop callback take the others.
 *
 * I43. The coroutine continues exactly once. The timer and the stop both try to change the
 *     word, and only one of them does. It posts the coroutine if it found `asleep`; after that it
 *     does not touch the sleeper. If it found `starting`, the CAS at [Z1] fails. */
template <class Limits>
class [[nodiscard]] sleep_awaiter : private wait_limits<sleep_awaiter<Limits>, Limits>,
                                    public not_in_asio {
    using base = wait_limits<sleep_awaiter, Limits>;
    friend base;

public:
    template <class Limit, class... StopToken>
    explicit sleep_awaiter(Limit limit, StopToken&&... stop) noexcept
        : base(limit, std::forward<StopToken>(stop)...) {}

    /// The frame of the coroutine may be destroyed, on its executor, while it sleeps.
    ~sleep_awaiter() {
        if (at_ != stage::finished) {
            base::end_limits();
        }
    }

    bool await_ready() noexcept {
        assert(at_ == stage::created && "tryst: a sleep can be awaited only once");
        if (base::stop_was_requested()) {
            // Relaxed: no other party has the word.
            word_.store(state::stopped, std::memory_order_relaxed);
            return true;
        }
        return false;
    }

    /// Not inlined: after [Z1] the frame must not be touched.
    template <class Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        sleeper_.set(coroutine);
        if (base::has_no_time(sleeper_.executor())) {
            // Relaxed: no other party has the word.
            word_.store(state::expired, std::memory_order_relaxed);
            return false;
        }
        base::start_limits();
        state seen = state::starting;
        // [Z1] release, pairs with [Z2]: publishes the stop callback to the timer thread. Failure
        // relaxed: `end_limits` waits for the waker.
        return word_.compare_exchange_strong(seen, state::asleep, std::memory_order_release,
                                             std::memory_order_relaxed);
    }

    bool await_resume() noexcept {
        base::end_limits();
        // Relaxed: `end_limits` has waited for the waker.
        return word_.load(std::memory_order_relaxed) == state::expired;
    }

private:
    enum class state : std::uint8_t { starting, asleep, expired, stopped };

    stage& wait_stage() noexcept { return at_; }
    executor_ref wait_executor() const noexcept { return sleeper_.executor(); }

    /// Called by the timer and the stop callback.
    void cancel(bool by_deadline) noexcept {
        const state woken = by_deadline ? state::expired : state::stopped;
        // Relaxed: the CAS acquires.
        state seen = word_.load(std::memory_order_relaxed);
        while (seen == state::starting || seen == state::asleep) {
            // [Z2] acquire, pairs with [Z1]: the sleeper. Failure relaxed: the next try acquires,
            // or nothing is left to do.
            if (word_.compare_exchange_weak(seen, woken, std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
                if (seen == state::asleep) {
                    sleeper_.post();
                }
                return;
            }
        }
    }

    continuation sleeper_;
    stage at_ = stage::created;
    atomic<state> word_{state::starting};
};

/// The duration or the time point of a sleep, and perhaps a stop token.
template <class Limit, class... StopToken>
class [[nodiscard]] sleep : public not_in_asio {
public:
    explicit sleep(Limit limit, StopToken... stop) noexcept
        : limit_(limit), stop_(std::move(stop)...) {}

    auto operator co_await() && noexcept { return begin(std::move(stop_)); }
    auto operator co_await() const& noexcept { return begin(std::tuple<StopToken...>(stop_)); }

private:
    auto begin(std::tuple<StopToken...>&& stop) const noexcept {
        return std::apply(
            [&](StopToken&... token) {
                return sleep_awaiter<limits<true, StopToken...>>(limit_, std::move(token)...);
            },
            stop);
    }

    Limit limit_;
    [[no_unique_address]] std::tuple<StopToken...> stop_;
};

} // namespace detail

/// Sleeps for `patience`, never less, or until a stop is requested:
/// `co_await sleep_for(5ms, stop)`. With a patience of zero or less, it does not suspend. To let
/// other work of the executor run, use `co_await executor.schedule()`.
///
/// @returns     an awaitable of `bool`: true if the time has passed, false if a stop was requested
///   first. It can be moved, stored, and awaited again: then it begins again.
/// @throws      nothing.
/// @progress    wait-free until suspension, except for the timers and the stop token.
/// @resumes     on the executor that it was awaited on; without an executor, inline, on the timer
///   thread or inside `request_stop`.
/// @cancellation by the stop token. The coroutine may be destroyed while it sleeps, on its
///   executor; without an executor, only when no other thread can be resuming it.
/// @sync        everything before the stop happens-before our return.
/// @allocation  none. The timer is the executor's, on its clock. For a coroutine without an
///   executor, or on one without timers, a thread of the library serves it, started on first use.
///   If the system cannot start that thread, `std::terminate` is called.
template <class Rep, class Period, stoppable_token... StopToken>
    requires(sizeof...(StopToken) <= 1)
[[nodiscard]] auto sleep_for(std::chrono::duration<Rep, Period> patience,
                             StopToken... stop) noexcept {
    return detail::sleep<detail::clock::duration, StopToken...>(detail::saturated(patience),
                                                                std::move(stop)...);
}

/// As `sleep_for`, but until `time` (steady_clock).
template <class Duration, stoppable_token... StopToken>
    requires(sizeof...(StopToken) <= 1)
[[nodiscard]] auto sleep_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                               StopToken... stop) noexcept {
    return detail::sleep<detail::clock::time_point, StopToken...>(detail::nearest(time),
                                                                  std::move(stop)...);
}

/// @}
} // namespace tryst
