// SPDX-License-Identifier: MIT
/// @file
/// What can end a wait early: a time limit and a stop token. Every operation takes them last.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/stop_state.hpp>
#include <tryst/detail/platform/time.hpp>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

/// `std::stop_token`, or a type that works like it and has a member template `callback_type`, such
/// as the `inplace_stop_token` of P2300. The callback is registered on the executor that the
/// operation is awaited on, and runs on the thread that requests the stop. Registering and removing
/// the callback must not throw.
template <class StopToken>
concept stoppable_token =
    std::is_nothrow_move_constructible_v<StopToken> && requires(const StopToken& token) {
        { token.stop_requested() } noexcept -> std::convertible_to<bool>;
        { token.stop_possible() } noexcept -> std::convertible_to<bool>;
        typename detail::callback_of<StopToken, void (*)()>::type;
    };

namespace detail {

template <class>
inline constexpr bool is_duration = false;
template <class Rep, class Period>
inline constexpr bool is_duration<std::chrono::duration<Rep, Period>> = true;

template <class>
inline constexpr bool is_time_point = false;
template <class Clock, class Duration>
inline constexpr bool is_time_point<std::chrono::time_point<Clock, Duration>> = true;

template <class>
inline constexpr bool is_deadline = false;
template <class Duration>
inline constexpr bool is_deadline<std::chrono::time_point<clock, Duration>> = true;

} // namespace detail

/// A duration, or a time point of the `std::chrono::steady_clock`.
///
/// A duration is measured on the clock of the executor that the operation is awaited on. It begins
/// one turn of the loop after the wait began (on a thread, after its first round of spins), or up
/// to 3 us later on a loop without other work. When the time is over, the operation ends with
/// `timed_out`, never earlier, as soon as the executor looks at its timers: a busy loop does so
/// after each 64 coroutines. With a duration of zero or less, or a time point that has passed, the
/// operation meets a waiting partner, or fails at once. After 64 operations in a row that met their
/// partners at once, one whose time point has passed fails even so.
template <class Limit>
concept time_limit = detail::is_duration<Limit> || detail::is_deadline<Limit>;

/// What follows the other arguments of an operation that waits: at most one `time_limit` and at
/// most one `stoppable_token`, in either order. When a stop is requested, the operation ends with
/// `cancelled`. A stop that was requested before the start cancels at once, even if a partner is
/// waiting. A call with a wrong limit does not compile, not even in a `requires` expression.
template <class Limit>
concept wait_limit = time_limit<Limit> || stoppable_token<Limit>;

namespace detail {

/// Whether the argument was meant to be a limit.
template <class Argument>
inline constexpr bool is_like_a_limit =
    wait_limit<Argument> || std::is_arithmetic_v<Argument> || is_time_point<Argument>;

/// After a mistake: what the right call would return, so that no other error follows. Not defined.
template <class T>
T right_type();

/// Fails to compile at the first mistake. @returns whether there is none.
template <class... Limit>
constexpr bool check_limits() {
    constexpr bool other_clock = ((is_time_point<Limit> && !is_deadline<Limit>) || ...);
    constexpr bool number = (std::is_arithmetic_v<Limit> || ...);
    constexpr bool known = (wait_limit<Limit> && ...);
    constexpr bool one_time = (std::size_t{time_limit<Limit>} + ... + 0) <= 1;
    constexpr bool one_stop = (std::size_t{stoppable_token<Limit>} + ... + 0) <= 1;
    static_assert(!other_clock,
                  "tryst: a deadline is a time point of the std::chrono::steady_clock: "
                  "ex.exchange(x, std::chrono::steady_clock::now() + 5ms)");
    static_assert(other_clock || !number, "tryst: a number is no time limit, it needs a unit: "
                                          "ex.exchange(x, std::chrono::milliseconds(5))");
    static_assert(other_clock || number || known,
                  "tryst: the last arguments of an operation are its limits, a duration or a time "
                  "point of the steady_clock, and a stop token: ex.exchange(x, 5ms, stop)");
    static_assert(!known || one_time,
                  "tryst: an operation takes one duration or one time point, not two: "
                  "ex.exchange(x, 5ms, stop)");
    static_assert(!known || !one_time || one_stop,
                  "tryst: an operation takes one stop token, not two: "
                  "ex.exchange(x, 5ms, stop)");
    return known && one_time && one_stop;
}

/// Refuses the limits of a `try_` operation, which returns `Result`.
template <class Result, class... Limit>
Result refuse_limits() {
    static_assert(sizeof...(Limit) == 0,
                  "tryst: a try_ operation does not wait, so it takes no limit: "
                  "ex.try_exchange(x), or with a limit ex.exchange(x, 5ms, stop)");
    return detail::right_type<Result>();
}

/// A time limit in the clock's own unit.
template <class Rep, class Period>
clock::duration to_limit(std::chrono::duration<Rep, Period> patience) noexcept {
    return detail::saturated(patience);
}
template <class Duration>
clock::time_point to_limit(std::chrono::time_point<clock, Duration> deadline) noexcept {
    return detail::nearest(deadline);
}

/// Calls `make` with the limits in one order: the time, in the clock's own unit, and then the stop
/// token.
/// @returns what `make` returns.
template <class Make>
auto with_limits(Make make) {
    return make();
}
template <class Make, time_limit Time, class... Stop>
auto with_limits(Make make, Time& time, Stop&... stop) {
    return make(detail::to_limit(time), std::move(stop)...);
}
template <class Make, stoppable_token Stop, class... Time>
auto with_limits(Make make, Stop& stop, Time&... time) {
    return make(detail::to_limit(time)..., std::move(stop));
}

} // namespace detail

/// @}
} // namespace tryst
