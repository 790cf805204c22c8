// SPDX-License-Identifier: MIT
/// @file
/// What may end an operation early.
/// Standard library only.
#pragma once

#include <tryst/detail/time.hpp>

#include <chrono>
#include <stop_token>
#include <utility>

namespace tryst::uring {

/// A stop token, a deadline, both, or neither: the last parameter of every operation, made from either.
/// A deadline is absolute on the steady clock, or counted from the making of the operation.
class limits {
public:
    using clock = std::chrono::steady_clock;

    limits() noexcept = default;
    limits(std::stop_token stop) noexcept : stop_(std::move(stop)) {}
    limits(clock::time_point deadline, std::stop_token stop = {}) noexcept
        : stop_(std::move(stop)), deadline_(deadline) {}
    template <class Rep, class Period>
    limits(std::chrono::duration<Rep, Period> patience, std::stop_token stop = {}) noexcept
        : limits(tryst::detail::after(clock::now(), tryst::detail::saturated(patience)),
                 std::move(stop)) {}

    const std::stop_token& stop() const noexcept { return stop_; }
    clock::time_point deadline() const noexcept { return deadline_; }
    bool has_deadline() const noexcept { return deadline_ != clock::time_point::max(); }

private:
    std::stop_token stop_;
    clock::time_point deadline_ = clock::time_point::max();
};

} // namespace tryst::uring
