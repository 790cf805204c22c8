// SPDX-License-Identifier: MIT
// Every kind of waiter and every way to end a wait, against each other, for as long as
// TRYST_STRESS_SECONDS says (default 5). What they did must have been possible, and every path
// taken.
#include "stress/play.hpp"
#include "stress/step_counts.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <tuple>

namespace tryst::test {
namespace {

TEST(MixedWaitersStress, ConservesEveryItemHoweverTheWaitsEnd) {
    using detail::step;
    constexpr std::array steps{
        step::claim_in_wait_list,  step::claim_in_arena, step::offer_in_arena,
        step::completion_in_place, step::expiry,         step::growth,
        step::shrinkage,           step::stop,           step::own_stop};
    forget_steps();
    tally all;
    const stress_time time;
    while (time.goes_on([&] {
        return !all.is_complete() || std::apply([](auto... s) { return missing(s...); }, steps);
    }) && !::testing::Test::HasFailure()) {
        play<scene>({.loops = 2, .coroutines = 8}, all);
        play<scene>({.loops = 2, .coroutines = 3, .bare = 3, .threads = 2}, all);
        play<scene>({.loops = 1, .coroutines = 2, .bare = 1, .threads = 1}, all);
        play<scene>({.loops = 0, .bare = 2, .threads = 3}, all);
    }
    expect_exchanges_and_all_failures(all);
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace
} // namespace tryst::test
