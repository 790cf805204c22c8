// SPDX-License-Identifier: MIT
/// @file
/// A stress scene with fibers, and the paths that a stress test of fibers must take.
#pragma once

#include "stress/play.hpp"
#include "stress/step_counts.hpp"

#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <boost/fiber/fiber.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

namespace tryst::test {

inline void fiber_party(scene& s, std::size_t number) {
    blocking_party(s, number, [](auto&& operation) { return fiber::wait(operation); });
}

/// Plays `scenes` for as long as TRYST_STRESS_SECONDS says, and until every path was taken.
template <class Scenes>
void play_until_all_is_seen(Scenes scenes) {
    using detail::step;
    constexpr std::array steps{step::claim_in_wait_list,
                               step::claim_in_arena,
                               step::offer_in_arena,
                               step::expiry,
                               step::growth,
                               step::shrinkage,
                               step::stop,
                               step::own_stop};
    forget_steps();
    tally all;
    const stress_time time;
    while (time.goes_on([&] {
        return !all.is_complete() || std::apply([](auto... s) { return missing(s...); }, steps);
    }) && !::testing::Test::HasFailure()) {
        scenes(all);
    }
    expect_exchanges_and_all_failures(all);
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace tryst::test
