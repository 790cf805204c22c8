// SPDX-License-Identifier: MIT
// Whole runs: the same seed gives the same run, and another seed another.
#include "sim/play.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>
#include <vector>

namespace tryst::sim {
namespace {

constexpr std::uint64_t some_seeds = 100;

TEST(SimPlay, ASeedRepeatsItselfWhateverRanBefore) {
    std::vector<std::uint64_t> digests;
    for (std::uint64_t seed = 0; seed != some_seeds; ++seed) {
        const report told = play(random(seed));
        ASSERT_EQ(told.failure, "") << "seed " << seed;
        digests.push_back(told.digest);
    }
    for (std::uint64_t seed = some_seeds; seed-- != 0;) {
        EXPECT_EQ(play(random(seed)).digest, digests[seed]) << "seed " << seed;
    }
}

TEST(SimPlay, SeedsDiffer) {
    std::set<std::uint64_t> digests;
    for (std::uint64_t seed = 0; seed != some_seeds; ++seed) {
        digests.insert(play(random(seed)).digest);
    }
    EXPECT_EQ(digests.size(), some_seeds);
}

TEST(SimPlay, TheSameBytesMakeTheSameRun) {
    constexpr std::array<std::uint8_t, 6> bytes{7, 77, 177, 99, 9, 200};
    const report told = play(random(bytes), -1, crowd::medium);
    EXPECT_EQ(told.failure, "");
    EXPECT_EQ(play(random(bytes), -1, crowd::medium).digest, told.digest);
}

TEST(SimPlay, AnAllocationThatFailsIsAnotherRun) {
    const report whole = play(random(1), 0);
    const report poor = play(random(1), 1);
    EXPECT_EQ(whole.failure, "");
    EXPECT_EQ(poor.failure, "");
    EXPECT_FALSE(whole.allocation_failed);
    EXPECT_TRUE(poor.allocation_failed);
    EXPECT_NE(whole.digest, poor.digest);
}

} // namespace
} // namespace tryst::sim
