// SPDX-License-Identifier: MIT
// The scenes of fiber_stress.cpp with fibers that any of several threads may resume.
#include "adapters/fiber/fiber_scene.hpp"
#include "adapters/fiber/shared_fibers.hpp"

#include <boost/fiber/algo/shared_work.hpp>

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

void play_shared(unsigned threads, std::size_t fibers, company others, tally& all) {
    play<scene>(others, all, fibers, [&](scene& s) {
        share<boost::fibers::algo::shared_work>(threads, fibers,
                                                [&s](std::size_t i) { fiber_party(s, i); });
    });
}

TEST(MigratingFiberStress, ConservesEveryItemHoweverTheWaitsEnd) {
    play_until_all_is_seen([](tally& all) {
        play_shared(2, 16, {}, all);
        play_shared(3, 3, {}, all);
        play_shared(2, 3, {.coroutines = 3, .bare = 1, .threads = 2}, all);
    });
}

} // namespace
} // namespace tryst::test
