// SPDX-License-Identifier: MIT
#include <tryst/detail/platform/time.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/synchronous_channel.hpp>

#include "support/manual_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>
#include <string>
#include <thread>
#include <vector>

namespace tryst::test {
namespace {

using detail::after;
using detail::clock;
using detail::nearest;
using detail::saturated;
using detail::until;
using namespace std::chrono_literals;

constexpr clock::duration longest = clock::duration::max();
constexpr clock::duration shortest = clock::duration::min();
constexpr clock::time_point end_of_time = clock::time_point::max();
constexpr clock::time_point start_of_time = clock::time_point::min();

/// What a conversion to the clock's unit must give, by other means: whole numbers of 128 bits.
template <class Rep, class Period>
clock::duration expected(std::chrono::duration<Rep, Period> time) {
    __extension__ using wide = __int128;
    using ratio = std::ratio_divide<Period, std::nano>;
    if constexpr (std::is_floating_point_v<Rep>) {
        const long double ns = static_cast<long double>(time.count()) * ratio::num / ratio::den;
        if (!(ns > static_cast<long double>(shortest.count()))) {
            return shortest;
        }
        if (ns >= static_cast<long double>(longest.count())) {
            return longest;
        }
        return clock::duration(static_cast<clock::rep>(std::ceil(ns)));
    } else {
        const wide ns = static_cast<wide>(time.count()) * ratio::num;
        const wide up = ns / ratio::den + (ns % ratio::den > 0 ? 1 : 0);
        return up > longest.count()    ? longest
               : up < shortest.count() ? shortest
                                       : clock::duration(static_cast<clock::rep>(up));
    }
}

/// How far a result may be from that: 1,025 ns at the ends of time, and the rounding of the number.
template <class Rep, class Period>
long double allowance(std::chrono::duration<Rep, Period> /*time*/, clock::duration right) {
    const auto size = std::abs(static_cast<long double>(right.count()));
    const bool at_an_end = size > static_cast<long double>(longest.count()) - 1025;
    const long double rounding =
        std::is_floating_point_v<Rep> ? size * std::numeric_limits<double>::epsilon() + 1 : 0;
    return rounding + (at_an_end ? 1025 : 0);
}

template <class Rep>
std::vector<Rep> counts() {
    using limits = std::numeric_limits<Rep>;
    std::vector<Rep> all{limits::lowest(), limits::max(), Rep(0), Rep(1), Rep(2), Rep(100)};
    for (Rep step = 1; step < limits::max() / 7; step = static_cast<Rep>(step * 7)) {
        all.push_back(step);
        all.push_back(static_cast<Rep>(limits::max() - step));
        all.push_back(static_cast<Rep>(limits::lowest() + step));
        if constexpr (std::is_signed_v<Rep>) {
            all.push_back(static_cast<Rep>(-step));
        }
        if (std::is_floating_point_v<Rep> && step > Rep(1e25)) {
            break;
        }
    }
    if constexpr (std::is_floating_point_v<Rep>) {
        all.insert(all.end(),
                   {Rep(0.1), Rep(-0.1), Rep(1.5), Rep(-1.5), Rep(9.2233715e9), Rep(9.223372e18),
                    limits::min(), limits::denorm_min(), limits::infinity(), -limits::infinity()});
    }
    return all;
}

template <class Rep, class Period>
void check_unit(const std::string& name) {
    for (const Rep count : counts<Rep>()) {
        const std::chrono::duration<Rep, Period> time(count);
        const clock::duration right = expected(time);
        const clock::duration got = nearest(time);
        const auto off = std::abs(static_cast<long double>(got.count()) -
                                  static_cast<long double>(right.count()));
        EXPECT_LE(off, allowance(time, right)) << name << ' ' << +count << ": " << got.count();
        EXPECT_EQ(nearest(std::chrono::time_point<clock, std::chrono::duration<Rep, Period>>(time)),
                  clock::time_point(got));
        const clock::duration patience = saturated(time);
        EXPECT_EQ(patience, got < 0ns                       ? 0ns
                            : got < std::chrono::years(100) ? got
                                                            : longest)
            << name << ' ' << +count;
        for (const clock::time_point now :
             {start_of_time, start_of_time + 1ns, clock::time_point(-1h), clock::time_point(),
              clock::time_point(1h), end_of_time - 1ns, end_of_time}) {
            const clock::time_point deadline = after(now, patience);
            EXPECT_GE(deadline, now);
            EXPECT_LE(until(now, deadline), patience);
            if (deadline != end_of_time) {
                EXPECT_EQ(until(now, deadline), patience);
            }
            EXPECT_EQ(until(deadline, now), 0ns);
        }
    }
}

template <class Rep>
void check_number(const std::string& name) {
    check_unit<Rep, std::ratio<3600>>(name + " hours");
    check_unit<Rep, std::chrono::years::period>(name + " years");
    check_unit<Rep, std::ratio<1>>(name + " seconds");
    check_unit<Rep, std::ratio<1, 60>>(name + " of 60 Hz");
    check_unit<Rep, std::ratio<1, 44'100>>(name + " of 44.1 kHz");
    check_unit<Rep, std::ratio<1001, 30'000>>(name + " of NTSC");
    check_unit<Rep, std::milli>(name + " milliseconds");
    check_unit<Rep, std::nano>(name + " nanoseconds");
    check_unit<Rep, std::ratio<3, 1'000'000'000>>(name + " of 3 ns");
    check_unit<Rep, std::ratio<1, 3'000'000'000>>(name + " of a third of a nanosecond");
    check_unit<Rep, std::pico>(name + " picoseconds");
}

/// What a loop measures in the turn in which a clock shows `start`, and 10 ms later.
struct outcomes {
    int slept = 0;
    int timed_out = 0;
    bool operator==(const outcomes&) const = default;
};

template <class Sleep>
task<> nap(Sleep sleep, outcomes& all) {
    const bool passed = co_await sleep;
    all.slept += passed ? 1 : 0;
}

template <class Limit>
task<> offer(Limit limit, exchanger<int>& ex, outcomes& all) {
    const auto got = co_await limit(ex);
    all.timed_out += got.error() == exchange_errc::timed_out ? 1 : 0;
}

task<> choose(clock::time_point end, synchronous_channel<int>& channel, outcomes& all) {
    const auto none = co_await select(channel.receive(), end);
    all.timed_out += none.get<0>().error() == exchange_errc::timed_out ? 1 : 0;
}

/// What the table of numbers and units below cannot show exactly, or not at all.
TEST(SaturatedDuration, IsExactAtItsEndsAndRoundsUpSoThatNoWaitEndsEarly) {
    using seconds = std::chrono::duration<double>;
    using picoseconds = std::chrono::duration<std::int64_t, std::pico>;
    EXPECT_EQ(saturated(std::chrono::years(99) + 1ns), std::chrono::years(99) + 1ns);
    EXPECT_EQ(saturated(std::chrono::years(100)), longest) << "a century is for ever";
    EXPECT_EQ(saturated(longest), longest);
    EXPECT_EQ(saturated(std::chrono::hours::max()), longest);
    EXPECT_EQ(saturated(seconds(1e300)), longest);
    EXPECT_EQ(saturated(picoseconds(1)), 1ns);
    EXPECT_EQ(saturated(picoseconds(1000)), 1ns);
    EXPECT_EQ(saturated(picoseconds(1001)), 2ns);
    EXPECT_EQ(saturated(std::chrono::duration<double, std::nano>(0.5)), 1ns);
    EXPECT_EQ(saturated(std::chrono::hours::min()), 0ns);
    EXPECT_EQ(saturated(seconds(-0.5)), 0ns);
    EXPECT_EQ(saturated(seconds(std::numeric_limits<double>::quiet_NaN())), 0ns);
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
    EXPECT_EQ(after(clock::time_point(-1h), 5ms), clock::time_point(5ms - 1h));
    EXPECT_EQ(after(start_of_time, 5ms), start_of_time + 5ms);
    EXPECT_EQ(after(start_of_time, longest), clock::time_point(-1ns));
}

TEST(TimeUntil, IsNeitherNegativeNorTooLongToCount) {
    EXPECT_EQ(until(clock::time_point(-1h), clock::time_point(1h)), 2h);
    EXPECT_EQ(until(clock::time_point(1h), clock::time_point(-1h)), 0ns);
    EXPECT_EQ(until(start_of_time, end_of_time), longest);
    EXPECT_EQ(until(end_of_time, start_of_time), 0ns);
    EXPECT_EQ(until(clock::time_point(-1ns), end_of_time), longest);
    EXPECT_EQ(until(clock::time_point(), end_of_time), longest);
    EXPECT_EQ(until(start_of_time, clock::time_point(-1ns)), longest);
}

TEST(TimeConversions, AreRightForEachNumberAndUnit) {
    check_number<std::int8_t>("int8");
    check_number<std::uint8_t>("uint8");
    check_number<std::int16_t>("int16");
    check_number<std::int32_t>("int32");
    check_number<std::uint32_t>("uint32");
    check_number<std::int64_t>("int64");
    check_number<std::uint64_t>("uint64");
    check_number<float>("float");
    check_number<double>("double");
    check_number<long double>("long double");
}

TEST(TimeOfALoop, MayBeginAnywhere) {
    using seconds = std::chrono::duration<double>;
    for (const clock::time_point start :
         {start_of_time, start_of_time + 1ns, clock::time_point(-std::chrono::years(200)),
          clock::time_point(-1s), clock::time_point(-10ms), clock::time_point(-1ns),
          clock::time_point(), clock::time_point(1s), clock::time_point(std::chrono::years(200)),
          end_of_time - 1s}) {
        manual_clock::dial dial{start};
        manual_loop loop({}, manual_clock(dial));
        exchanger<int> one;
        exchanger<int> two;
        synchronous_channel<int> three;
        outcomes all;
        loop.spawn(nap(sleep_for(10ms), all));
        loop.spawn(nap(sleep_for(seconds(0.01)), all));
        loop.spawn(nap(sleep_until(start + 10ms), all));
        loop.spawn(offer([](auto& ex) { return ex.exchange(1, 10ms); }, one, all));
        loop.spawn(offer([start](auto& ex) { return ex.exchange(1, start + 10ms); }, two, all));
        loop.spawn(choose(start + 10ms, three, all));
        loop.spawn(choose(start_of_time, three, all)); // which has passed, or passes now
        loop.run_until_idle();
        EXPECT_EQ(all, (outcomes{0, 1})) << start.time_since_epoch().count();
        dial.time += 10ms - 1ns;
        loop.run_until_idle();
        EXPECT_EQ(all, (outcomes{0, 1})) << start.time_since_epoch().count();
        dial.time += 1ns;
        loop.run_until_idle();
        EXPECT_EQ(all, (outcomes{3, 4})) << start.time_since_epoch().count();
    }
}

/// A loop sleeps on the platform's clock for the time that its own clock lacks.
TEST(TimeOfALoop, MayBeFarFromItsDeadlines) {
    for (const clock::time_point start :
         {start_of_time, clock::time_point(-1s), end_of_time - 1s}) {
        manual_clock::dial dial{start};
        manual_loop loop({.max_spins = 0}, manual_clock(dial));
        bool stopped = false;
        const auto sleep_for_ever = [&]() -> task<> {
            stopped = co_await sleep_until(end_of_time);
        };
        loop.spawn(sleep_for_ever());
        loop.run_until_idle();
        loop.stop();
        loop.run();
        std::thread stopper([&loop] { loop.stop(); });
        loop.run();
        stopper.join();
        EXPECT_FALSE(stopped);
    }
}

} // namespace
} // namespace tryst::test
