// SPDX-License-Identifier: MIT
/// @file
/// The conditions that end an operation early.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/time.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

namespace tryst::uring {

/// A stop token, a deadline, both, or neither: the last parameter of every operation. A stop token
/// or a deadline converts to it. A deadline is a time point of the steady clock, or a duration that
/// starts when `limits` is made.
class limits {
public:
    using clock = std::chrono::steady_clock; ///< The clock of deadlines.

    /// No limits.
    limits() noexcept = default;
    /// Until a stop is requested.
    limits(std::stop_token stop) noexcept : stop_(std::move(stop)) {}
    /// Until `deadline`, or a stop is requested.
    limits(clock::time_point deadline, std::stop_token stop = {}) noexcept
        : stop_(std::move(stop)), deadline_(deadline) {}
    /// The same, in another unit.
    template <class Duration>
    limits(std::chrono::time_point<clock, Duration> deadline, std::stop_token stop = {}) noexcept
        : limits(tryst::detail::nearest(deadline), std::move(stop)) {}
    /// For `patience` from now, or until a stop is requested.
    template <class Rep, class Period>
    limits(std::chrono::duration<Rep, Period> patience, std::stop_token stop = {}) noexcept
        : limits(tryst::detail::after(clock::now(), tryst::detail::saturated(patience)),
                 std::move(stop)) {}

    /// The stop token. If none was given, `stop_possible()` of this token is false.
    const std::stop_token& stop() const noexcept { return stop_; }
    /// The deadline; `time_point::max()` if there is none.
    clock::time_point deadline() const noexcept { return deadline_; }
    /// Whether there is a deadline.
    bool has_deadline() const noexcept { return deadline_ != (clock::time_point::max)(); }

private:
    std::stop_token stop_;
    clock::time_point deadline_ = (clock::time_point::max)();
};

} // namespace tryst::uring
