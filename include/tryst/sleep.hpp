// SPDX-License-Identifier: MIT
/// @file
/// Sleeping in a coroutine: until a time has come, or a stop is requested.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/continuation.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <chrono>
#include <coroutine>
#include <tuple>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

namespace detail {

/* The timer and the stop both leave the handshake.
 *
 * I43. The first of a sleep's timer and its stop decides how the sleep ends, and posts the
 *     coroutine if it found `awaited`. After the post it does not touch the sleeper. The coroutine
 *     reads how the sleep ended after `end_limits`, which waits until both have returned, or were
 *     withdrawn. */
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
        return base::stop_was_requested();
    }

    /// Not inlined (see `handshake::suspend`).
    template <class Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> coroutine,
                                         location where = location::current()) noexcept {
        sleeper_.set(coroutine, where);
        if (base::has_no_time(sleeper_.executor())) {
            expired_ = true;
            return false;
        }
        base::start_limits();
        return handshake_.suspend();
    }

    bool await_resume() noexcept {
        base::end_limits();
        return expired_;
    }

private:
    using state = handshake::state;

    stage& wait_stage() noexcept { return at_; }
    executor_ref wait_executor() const noexcept { return sleeper_.executor(); }

    /// Called by the timer and the stop callback.
    void cancel(bool by_deadline) noexcept {
        const state found = handshake_.leave(state::finished);
        if (found == state::finished) {
            return; // the other one came first
        }
        expired_ = by_deadline;
        if (found == state::awaited) {
            sleeper_.post();
        }
    }

    continuation sleeper_;
    stage at_ = stage::created;
    handshake handshake_;
    bool expired_ = false;
};

/// The duration or the time point of a sleep, and perhaps a stop token.
template <class Limit, class... StopToken>
class [[nodiscard]] sleep : public not_in_asio {
public:
    explicit sleep(Limit limit, StopToken... stop) noexcept
        : limit_(limit), stop_(std::move(stop)...) {}

    Limit limit() const noexcept { return limit_; }

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
