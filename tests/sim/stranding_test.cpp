// SPDX-License-Identifier: MIT
// Four parties with three items each, and no deadlines. Where any two may meet, three can finish
// with each other and leave the fourth alone (Scherer, Lea and Scott, 2005, section 4.4); reds and
// blues cannot.
#include "sim/scheduler.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tryst::sim {
namespace {

constexpr std::uint64_t some_seeds = 300;
constexpr int items = 3;

/// Lets four threads exchange three times each at an `Exchanger`, by `once`. @returns what went
/// wrong.
template <class Exchanger, class Once>
std::string four_parties(std::uint64_t seed, Once once) {
    pace how;
    how.turns = seed % 2 == 0 ? pace::policy::fair : pace::policy::ranked;
    how.mean_turn = 1 + seed % 5;
    const verdict ended = run(random(seed), how, [&] {
        Exchanger ex;
        std::array<thread_id, 4> parties{};
        for (int i = 0; i != 4; ++i) {
            parties.at(static_cast<std::size_t>(i)) = start("party-" + std::to_string(i), [&, i] {
                for (int n = 0; n != items; ++n) {
                    if (!once(ex, i)) {
                        fail("an exchange has failed");
                    }
                }
            });
        }
        for (const thread_id party : parties) {
            join(party);
        }
    });
    return ended.failure;
}

TEST(SimStranding, HappensWhereAnyTwoMayMeet) {
    std::uint64_t stranded = 0;
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        const std::string failure = four_parties<exchanger<int>>(
            seed, [](exchanger<int>& ex, int i) { return sync_wait(ex.exchange(i)).has_value(); });
        ASSERT_TRUE(failure.empty() || failure.starts_with("a deadlock")) << failure;
        stranded += failure.empty() ? 0U : 1U;
    }
    EXPECT_GT(stranded, 0U);
    EXPECT_LT(stranded, some_seeds - 1);
}

template <order Order>
void expect_that_all_finish() {
    using meeting = red_blue_exchanger<int, int, Order>;
    using channel = synchronous_channel<int, Order>;
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        EXPECT_EQ(four_parties<meeting>(seed,
                                        [](meeting& ex, int i) {
                                            return i % 2 == 0 ? sync_wait(ex.red(i)).has_value()
                                                              : sync_wait(ex.blue(i)).has_value();
                                        }),
                  "")
            << "seed " << seed;
        EXPECT_EQ(four_parties<channel>(seed,
                                        [](channel& ex, int i) {
                                            return i < 2 ? sync_wait(ex.send(i)).has_value()
                                                         : sync_wait(ex.receive()).has_value();
                                        }),
                  "")
            << "seed " << seed;
    }
}

TEST(SimStranding, DoesNotHappenToRedsAndBluesInOrder) {
    expect_that_all_finish<order::fifo>();
}

TEST(SimStranding, DoesNotHappenToRedsAndBluesOnAStack) {
    expect_that_all_finish<order::lifo>();
}

} // namespace
} // namespace tryst::sim
