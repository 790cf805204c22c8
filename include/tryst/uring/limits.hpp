// SPDX-License-Identifier: MIT
/// @file
/// The conditions that end an operation early.
#pragma once

#include <tryst/detail/platform/time.hpp>
#include <tryst/wait_limit.hpp>

#include <chrono>
#include <concepts>
#include <stop_token>
#include <utility>

namespace tryst::uring {
namespace detail {

/// Of other types, only what was meant to be a limit.
template <class Limit, class Limits>
concept converts_to_limits = !std::same_as<Limit, Limits> && tryst::detail::is_like_a_limit<Limit>;

} // namespace detail

/// At most one time limit and one stop token, to be stored or passed to several operations. An
/// operation takes such an object in the place of its limits: `recv(socket, into, 0, until)`.
class limits {
public:
    using clock = std::chrono::steady_clock; ///< The clock of deadlines.

    /// @param limit  a `time_limit`, a `std::stop_token`, both in either order, or neither. A
    ///   duration begins now.
    template <class... Limit>
        requires(sizeof...(Limit) != 1 || (detail::converts_to_limits<Limit, limits> && ...))
    limits(Limit... limit) noexcept {
        if constexpr (check<Limit...>()) {
            (set(std::move(limit)), ...);
        }
    }

    /// The stop token. If none was given, `stop_possible()` of this token is false.
    const std::stop_token& stop() const noexcept { return stop_; }
    /// The deadline; `time_point::max()` if there is none.
    clock::time_point deadline() const noexcept { return deadline_; }
    /// Whether there is a deadline.
    bool has_deadline() const noexcept { return deadline_ != (clock::time_point::max)(); }

private:
    /// Fails to compile at the first mistake. @returns whether there is none.
    template <class... Limit>
    static constexpr bool check() {
        constexpr bool valid = tryst::detail::check_limits<Limit...>();
        constexpr bool known = ((time_limit<Limit> || std::same_as<Limit, std::stop_token>) && ...);
        static_assert(known || !valid,
                      "tryst::uring: the stop token of an operation is a std::stop_token");
        return valid && known;
    }

    void set(std::stop_token&& stop) noexcept { stop_ = std::move(stop); }
    template <class Duration>
    void set(std::chrono::time_point<clock, Duration> deadline) noexcept {
        deadline_ = tryst::detail::nearest(deadline);
    }
    template <class Rep, class Period>
    void set(std::chrono::duration<Rep, Period> patience) noexcept {
        deadline_ = tryst::detail::after(clock::now(), tryst::detail::saturated(patience));
    }

    std::stop_token stop_;
    clock::time_point deadline_ = (clock::time_point::max)();
};

} // namespace tryst::uring
