// SPDX-License-Identifier: MIT
/// @file
/// Arithmetic on the clock that cannot overflow.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <chrono>

namespace tryst::detail {

/// The clock's form of a duration: rounded up, so that no wait ends early; at least zero. More than a
/// century, where the rounding of a floating-point duration might overflow, is for ever.
template <class Rep, class Period>
clock::duration saturated(std::chrono::duration<Rep, Period> time) noexcept {
    using seconds = std::chrono::duration<long double>;
    constexpr seconds century = std::chrono::years(100);
    if (!(seconds(time) > seconds::zero())) { // not-a-number, too
        return clock::duration::zero();
    }
    return seconds(time) < century ? std::chrono::ceil<clock::duration>(time)
                                   : clock::duration::max();
}

/// `now + patience`, at most the end of time. Precondition: neither is negative.
inline clock::time_point after(clock::time_point now, clock::duration patience) noexcept {
    const auto room = clock::time_point::max() - now;
    return patience < room ? now + patience : clock::time_point::max();
}

} // namespace tryst::detail
