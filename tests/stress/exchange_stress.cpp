// SPDX-License-Identifier: MIT
// Every kind of party and every way to end a wait, against each other: where pairs swap, where
// colours meet in each order, and where parties select among all that; for as long as
// TRYST_STRESS_SECONDS says (default 5). What they did must have been possible, no item may be
// lost, no party may wait forever, and every path must be taken.
#include "stress/choices.hpp"
#include "stress/play.hpp"
#include "stress/step_counts.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace tryst::test {
namespace {

template <class Venue>
class ExchangeStress : public ::testing::Test {};
using venues = ::testing::Types<pairs, fifo_colours, short_fifo_colours, lifo_colours, selections>;
TYPED_TEST_SUITE(ExchangeStress, venues, venue_names);

TYPED_TEST(ExchangeStress, ConservesEveryItemHoweverTheWaitsEnd) {
    using scene_type = meeting<TypeParam>;
    forget_steps();
    scene_type::selections_begun = scene_type::cases_begun = scene_type::events = 0;
    tally all;
    const stress_time time;
    const auto some_are_missing = [&] {
        return !all.is_complete() ||
               std::ranges::any_of(TypeParam::steps, [](step s) { return count_of(s) == 0; }) ||
               (TypeParam::choices == choice::selections &&
                (all.not_selected == 0 || scene_type::events == 0));
    };
    while (time.goes_on(some_are_missing) && !::testing::Test::HasFailure()) {
        play<scene_type>({.loops = 2, .coroutines = 8}, all);
        play<scene_type>({.loops = 2, .coroutines = 3, .bare = 3, .threads = 2}, all);
        play<scene_type>({.loops = 1, .coroutines = 2, .bare = 1, .threads = 1}, all);
        play<scene_type>({.loops = 0, .bare = 2, .threads = 3}, all);
        if constexpr (TypeParam::choices == choice::colours) {
            play<scene_type>({.loops = 2, .coroutines = 150, .threads = 1}, all);
        }
    }
    expect_exchanges_and_all_failures(all);
    for (const auto taken : TypeParam::steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
    if constexpr (TypeParam::choices == choice::selections) {
        EXPECT_GT(all.not_selected, 0U);
        EXPECT_GT(scene_type::events, 0);
        // Each case waits in one list, where it is claimed at most once: so there is no livelock in
        // which parties hand a case back and claim it again. And each selection is decided once.
        EXPECT_LE(count_of(step::stale_claim), scene_type::cases_begun);
        EXPECT_LE(count_of(step::commit), scene_type::selections_begun);
    }
}

} // namespace
} // namespace tryst::test
