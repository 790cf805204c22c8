// SPDX-License-Identifier: MIT
#include <tryst/detail/platform/time.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <limits>
#include <ratio>

namespace {

using tryst::detail::after;
using tryst::detail::saturated;
using clock = tryst::detail::clock;
using namespace std::chrono_literals;

constexpr clock::duration longest = clock::duration::max();
constexpr clock::time_point end_of_time = clock::time_point::max();

} // namespace

TEST(SaturatedDuration, IsExactWhereTheClockIs) {
    EXPECT_EQ(saturated(1ns), 1ns);
    EXPECT_EQ(saturated(1500us), 1500us);
    EXPECT_EQ(saturated(24h), 24h);
    EXPECT_EQ(saturated(longest), longest);
    EXPECT_EQ(saturated(std::chrono::years(99) + 1ns), std::chrono::years(99) + 1ns);
}

TEST(SaturatedDuration, TakesACenturyForEver) {
    EXPECT_EQ(saturated(std::chrono::years(100)), longest);
    EXPECT_EQ(saturated(longest - 1ns), longest);
}

TEST(SaturatedDuration, RoundsUpSoThatNoWaitEndsEarly) {
    using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    EXPECT_EQ(saturated(picoseconds(1)), 1ns);
    EXPECT_EQ(saturated(picoseconds(1000)), 1ns);
    EXPECT_EQ(saturated(picoseconds(1001)), 2ns);
    EXPECT_EQ(saturated(std::chrono::duration<double, std::nano>(0.5)), 1ns);
}

TEST(SaturatedDuration, OfZeroOrLessIsZero) {
    EXPECT_EQ(saturated(0s), 0ns);
    EXPECT_EQ(saturated(-1ns), 0ns);
    EXPECT_EQ(saturated(std::chrono::hours::min()), 0ns);
    EXPECT_EQ(saturated(clock::duration::min()), 0ns);
    EXPECT_EQ(saturated(std::chrono::duration<double>(-0.5)), 0ns);
}

TEST(SaturatedDuration, OfMoreThanTheClockCanCountIsTheMost) {
    EXPECT_EQ(saturated(std::chrono::hours::max()), longest);
    EXPECT_EQ(saturated(std::chrono::years(300)), longest);
    EXPECT_EQ(saturated(std::chrono::duration<double>(1e300)), longest);
    EXPECT_EQ(saturated(std::chrono::duration<double>(std::numeric_limits<double>::infinity())),
              longest);
}

TEST(SaturatedDuration, OfNotANumberIsZero) {
    using seconds = std::chrono::duration<double>;
    EXPECT_EQ(saturated(seconds(std::numeric_limits<double>::quiet_NaN())), 0ns);
    EXPECT_EQ(saturated(seconds(-std::numeric_limits<double>::infinity())), 0ns);
}

TEST(TimeAfter, AddsUpToTheEndOfTime) {
    const clock::time_point now(1h);
    EXPECT_EQ(after(now, 0ns), now);
    EXPECT_EQ(after(now, 5ms), now + 5ms);
    EXPECT_EQ(after(now, longest - 1h), end_of_time);
    EXPECT_EQ(after(now, longest - 1h - 1ns), end_of_time - 1ns);
    EXPECT_EQ(after(now, longest - 1h + 1ns), end_of_time);
    EXPECT_EQ(after(now, longest), end_of_time);
    EXPECT_EQ(after(end_of_time, longest), end_of_time);
}
