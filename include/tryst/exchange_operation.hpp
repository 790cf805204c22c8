// SPDX-License-Identifier: MIT
/// @file
/// What the members of exchangers and channels return: one exchange, to be awaited once.
/// Standard library only. Allocates nothing itself.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/detail/meet/operation.hpp>
#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/thread_wait_strategy.hpp>
#include <tryst/executor.hpp>

#include <chrono>
#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

template <class Side>
struct factory;
struct operation_access;

} // namespace detail

/// `std::stop_token`, or what works like it and has its `callback_type`: the tokens of an in-place stop
/// source, as in P2300. A callback is registered on the executor that awaits, and runs where the stop is
/// requested; registering and removing it must not throw.
template <class StopToken>
concept stoppable_token =
    std::is_nothrow_move_constructible_v<StopToken> && requires(const StopToken& token) {
        { token.stop_requested() } noexcept -> std::convertible_to<bool>;
        { token.stop_possible() } noexcept -> std::convertible_to<bool>;
        typename detail::callback_of<StopToken, void (*)()>::type;
    };

/// One exchange, lazily started: nothing happens until it is awaited by `co_await`, or by a plain
/// thread with `sync_wait`. Await it at most once.
///
/// @returns     `exchange_result`: the partner's item, or an error and the own item back.
/// @throws      nothing.
/// @progress    lock-free until suspension.
/// @resumes     on the executor it was awaited on (`executor_of`); without one, inline in whoever
///              completes it. A match found at once does not suspend.
/// @cancellation total: a failure means that nothing was exchanged; a match wins over a later stop or
///              deadline. The coroutine may be destroyed while it waits, on its executor: the offer is
///              withdrawn. (A coroutine without executor only while no partner can come, and none while
///              its exchanger is being destroyed elsewhere.)
/// @sync        everything before the partner's exchange happens-before our return, and vice versa; so
///              does everything before the stop or the close that ended a wait.
/// @allocation  none, but for what an exchanger of two colours says.
///
/// @tparam Side    what is brought and got, and where.
/// @tparam Limits  what can end the wait besides a partner and a close.
template <class Side, class Limits>
class [[nodiscard]] exchange_operation : private detail::operation<Side, Limits> {
    using core = detail::operation<Side, Limits>;

public:
    /// For `co_await`: takes a partner that is waiting, if there is one.
    bool await_ready() noexcept { return core::try_match(); }

    /// For `co_await`: makes the offer.
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        return core::start(executor_of(coroutine), resume, coroutine.address());
    }

    /// For `co_await`: the result. Precondition: not suspended any more.
    typename Side::result await_resume() noexcept { return core::take_result(); }

    /// Blocks the calling thread: spins for a moment, then sleeps. `sync_wait` calls this.
    typename Side::result wait() noexcept {
        detail::thread_wait_strategy strategy;
        return detail::blocking_wait(static_cast<core&>(*this), strategy);
    }

private:
    friend struct detail::factory<Side>;
    friend struct detail::operation_access;

    template <class... Arguments>
    explicit exchange_operation(Arguments&&... arguments) noexcept
        : core(std::forward<Arguments>(arguments)...) {}

    static void resume(executor_node* node) noexcept {
        std::coroutine_handle<>::from_address(core::client_of(node)).resume();
    }
};

namespace detail {

/// Gives other clients the operation below the awaiter.
struct operation_access {
    template <class Side, class Limits>
    static operation<Side, Limits>& of(exchange_operation<Side, Limits>& awaiter) noexcept {
        return awaiter;
    }
};

/// Makes the operations of one side, each with or without a stop token.
template <class Side>
struct factory {
    using protocol = typename Side::protocol;
    using own = typename Side::own;

    template <class... StopToken>
    static auto make_exchange(protocol& with, own&& item, StopToken&&... stop) noexcept {
        return operation<false, StopToken...>(with, std::move(item), std::move(stop)...);
    }
    template <class Duration, class... StopToken>
    static auto make_exchange_for(protocol& with, own&& item, Duration patience,
                                  StopToken&&... stop) noexcept {
        return operation<true, StopToken...>(with, saturated(patience), std::move(item),
                                             std::move(stop)...);
    }
    template <class Duration, class... StopToken>
    static auto make_exchange_until(protocol& with, own&& item,
                                    std::chrono::time_point<clock, Duration> deadline,
                                    StopToken&&... stop) noexcept {
        return operation<true, StopToken...>(
            with, clock::time_point(saturated(deadline.time_since_epoch())), std::move(item),
            std::move(stop)...);
    }
    static typename Side::result try_exchange(protocol& with, own&& item) noexcept {
        typename Side::waiter w(std::move(item));
        if (!with.try_match_all(w)) {
            w.result = outcome::no_partner;
        }
        return Side::result_of(w);
    }

private:
    template <bool Timed, class... StopToken>
    using operation = exchange_operation<Side, limits<Timed, StopToken...>>;
};

} // namespace detail

/// @}
} // namespace tryst
