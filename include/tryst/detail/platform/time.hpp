// SPDX-License-Identifier: MIT
/// @file
/// Arithmetic on the clock that cannot overflow.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <chrono>

namespace tryst::detail {

/// Converts a duration to the clock's type. The result is rounded up, so that no wait ends early,
/// and is at least zero. A duration of more than a century becomes the maximum, because the
/// rounding of a floating-point duration might overflow there.
template <class Rep, class Period>
clock::duration saturated(std::chrono::duration<Rep, Period> time) noexcept {
    using seconds = std::chrono::duration<long double>;
    constexpr seconds century = std::chrono::years(100);
    if (!(seconds(time) > seconds::zero())) { // also true for not-a-number
        return clock::duration::zero();
    }
    return seconds(time) < century ? std::chrono::ceil<clock::duration>(time)
                                   : (clock::duration::max)();
}

/// `now + patience`, or the latest time point if the sum is later. Precondition: neither is
/// negative.
inline clock::time_point after(clock::time_point now, clock::duration patience) noexcept {
    const auto room = (clock::time_point::max)() - now;
    return patience < room ? now + patience : (clock::time_point::max)();
}

} // namespace tryst::detail
