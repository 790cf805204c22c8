// SPDX-License-Identifier: MIT
/// @file
/// Arithmetic on the clock that cannot overflow.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <chrono>
#include <limits>
#include <ratio>
#include <type_traits>

namespace tryst::detail {

/// Converts a duration to the clock's type. The result is rounded up, so that no wait ends early,
/// and is the nearest that the clock can count. For not-a-number it is the least. (If the ratio of
/// the units has large terms, such as 999999937/999999929, it may be early by one tick.)
template <class Rep, class Period>
clock::duration nearest(std::chrono::duration<Rep, Period> time) noexcept {
    if constexpr (std::is_same_v<decltype(time), clock::duration>) {
        return time;
    }
    using ratio = std::ratio_divide<Period, typename clock::duration::period>;
    using range = std::numeric_limits<clock::rep>;
    // For a unit other than the clock's, so much less that no rounding exceeds the maximum.
    constexpr long double most =
        static_cast<long double>((range::max)()) - (ratio::num == ratio::den ? 0 : 1024);
    using unit = std::chrono::duration<std::common_type_t<Rep, long double>,
                                       typename clock::duration::period>;
    const auto about = static_cast<long double>(unit(time).count());
    if (!(about > -most)) {
        return (clock::duration::min)();
    }
    if (about >= most) {
        return (clock::duration::max)();
    }
    if constexpr (std::is_same_v<Rep, float>) { // whose rounding might exceed the maximum
        return std::chrono::ceil<clock::duration>(std::chrono::duration<double, Period>(time));
    } else if constexpr (std::is_integral_v<Rep>) {
        // Not by std::chrono::ceil, which compares in a unit so fine that it may overflow.
        using wide = std::common_type_t<Rep, clock::rep>;
        constexpr clock::rep num = ratio::num;
        constexpr clock::rep den = ratio::den;
        const wide count = time.count();
        const auto whole = static_cast<clock::rep>(count / static_cast<wide>(den));
        const auto rest = static_cast<clock::rep>(count % static_cast<wide>(den));
        if constexpr (num <= (range::max)() / den) {
            const clock::rep part = rest * num;
            return clock::duration(whole * num + part / den + (part % den > 0 ? 1 : 0));
        } else {
            const long double part = static_cast<long double>(rest) * num / den;
            const auto cut = static_cast<clock::rep>(part);
            return clock::duration(whole * num + cut +
                                   (static_cast<long double>(cut) < part ? 1 : 0));
        }
    } else {
        return std::chrono::ceil<clock::duration>(time);
    }
}

/// A patience: as `nearest`, but at least zero. A century or more becomes the maximum.
template <class Rep, class Period>
clock::duration saturated(std::chrono::duration<Rep, Period> time) noexcept {
    constexpr clock::duration century = std::chrono::years(100);
    const clock::duration patience = detail::nearest(time);
    if (patience < clock::duration::zero()) {
        return clock::duration::zero();
    }
    return patience < century ? patience : (clock::duration::max)();
}

/// Converts a time point in the same way as `nearest`. It may be before the clock's epoch, as the
/// clock of a test may be.
template <class Clock, class Duration>
clock::time_point nearest(std::chrono::time_point<Clock, Duration> time) noexcept {
    return clock::time_point(detail::nearest(time.time_since_epoch()));
}

/// `now + patience`, or the latest time point if the sum is later. Precondition: `patience` is not
/// negative.
inline clock::time_point after(clock::time_point now, clock::duration patience) noexcept {
    return now < (clock::time_point::max)() - patience ? now + patience
                                                       : (clock::time_point::max)();
}

/// The time from `now` until `deadline`: zero if that has passed, and the longest duration if it is
/// longer.
inline clock::duration until(clock::time_point now, clock::time_point deadline) noexcept {
    if (deadline <= now) {
        return clock::duration::zero();
    }
    const bool fits = now.time_since_epoch() >= clock::duration::zero() ||
                      deadline < (clock::time_point::max)() + now.time_since_epoch();
    return fits ? deadline - now : (clock::duration::max)();
}

} // namespace tryst::detail
