// SPDX-License-Identifier: MIT
/// @file
/// A stress scene with fibers, and the paths that a stress test of fibers must take.
#pragma once

#include "stress/scene.hpp"
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <boost/fiber/fiber.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace tryst::test {

/// The other participants; the coroutines share a loop.
struct company {
    std::size_t coroutines = 0;
    std::size_t bare = 0;
    std::size_t threads = 0;
};

/// The sums over all scenes of a test.
struct tally {
    std::array<std::size_t, 5> failures{};
    std::size_t exchanges = 0;
};

inline void fiber_party(scene& s, std::size_t number) {
    blocking_party(s, number, [](auto&& operation) { return fiber::wait(operation); });
}

/// Lets all participants exchange for a moment, then closes and checks the history.
/// `run_fibers(scene)` runs the first `fibers` participants to their end.
template <class RunFibers>
void play(std::size_t fibers, company others, tally& all, RunFibers run_fibers) {
    const std::size_t participants = fibers + others.coroutines + others.bare + others.threads;
    scene s(participants);
    std::size_t number = fibers;
    {
        run_loop loop;
        std::vector<std::jthread> running;
        // First: bare coroutines may keep this thread busy with each other until the close.
        running.emplace_back([&s, &log = s.record[participants]] { press_and_close(s, log); });
        running.emplace_back([&s, &run_fibers] { run_fibers(s); });
        for (std::size_t i = 0; i != others.coroutines; ++i) {
            loop.spawn(coroutine_party<task<>>(s, number++));
        }
        running.emplace_back([&loop] { loop.run(); });
        for (std::size_t i = 0; i != others.bare; ++i) {
            coroutine_party<detached_coroutine>(s, number++);
        }
        for (std::size_t i = 0; i != others.threads; ++i) {
            running.emplace_back([&s, mine = number++] {
                blocking_party(s, mine, [](auto&& operation) { return sync_wait(operation); });
            });
        }
        s.left.wait();
        loop.stop();
        running.clear();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    all.exchanges += s.record.exchanged() / 2;
    for (const auto why : all_errors) {
        all.failures.at(static_cast<std::size_t>(why)) += s.record.failed(why);
    }
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
        return std::apply([](auto... s) { return missing(s...); }, steps);
    }) && !::testing::Test::HasFailure()) {
        scenes(all);
    }
    EXPECT_GT(all.exchanges, 1000U);
    for (const auto why : all_errors) {
        EXPECT_GT(all.failures.at(static_cast<std::size_t>(why)), 0U)
            << make_error_code(why).message();
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace tryst::test
