// SPDX-License-Identifier: MIT
// Every kind of waiter and every way to end a wait, against each other, for as long as
// TRYST_STRESS_SECONDS says (default 5). What they did must have been possible, and every path taken.
#include "stress/scene.hpp"
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <tuple>
#include <vector>

namespace tryst::test {
namespace {

/// Lets everybody exchange for a moment, then closes and checks what has happened.
void play(std::size_t loops, std::size_t coroutines, std::size_t bare, std::size_t threads,
          std::array<std::size_t, 5>& failures, std::size_t& exchanges) {
    const std::size_t participants = loops * coroutines + bare + threads;
    scene s(participants);
    std::size_t number = 0;
    {
        std::vector<std::unique_ptr<run_loop>> all_loops;
        std::vector<std::jthread> running;
        // First: bare coroutines may keep this thread busy with each other until the close.
        running.emplace_back([&s, &log = s.record[participants]] { press_and_close(s, log); });
        for (std::size_t i = 0; i != loops; ++i) {
            run_loop& loop = *all_loops.emplace_back(std::make_unique<run_loop>());
            for (std::size_t j = 0; j != coroutines; ++j) {
                loop.spawn(coroutine_party<task<>>(s, number++));
            }
            running.emplace_back([&loop] { loop.run(); });
        }
        for (std::size_t i = 0; i != bare; ++i) {
            coroutine_party<detached_coroutine>(s, number++);
        }
        for (std::size_t i = 0; i != threads; ++i) {
            running.emplace_back([&s, mine = number++] {
                blocking_party(s, mine, [](auto&& operation) { return sync_wait(operation); });
            });
        }
        s.left.wait();
        for (auto& loop : all_loops) {
            loop->stop();
        }
        running.clear();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    exchanges += s.record.exchanged() / 2;
    for (const auto why : all_errors) {
        failures.at(static_cast<std::size_t>(why)) += s.record.failed(why);
    }
}

TEST(MixedWaitersStress, ConservesEveryItemHoweverTheWaitsEnd) {
    using detail::step;
    constexpr std::array steps{
        step::claim_in_wait_list,  step::claim_in_arena, step::offer_in_arena,
        step::completion_in_place, step::expiry,         step::growth,
        step::shrinkage,           step::stop,           step::own_stop};
    forget_steps();
    std::array<std::size_t, 5> failures{};
    std::size_t exchanges = 0;
    const stress_time time;
    while (time.goes_on([&] {
        return std::apply([](auto... s) { return missing(s...); }, steps);
    }) && !::testing::Test::HasFailure()) {
        play(2, 8, 0, 0, failures, exchanges);
        play(2, 3, 3, 2, failures, exchanges);
        play(1, 2, 1, 1, failures, exchanges);
        play(0, 0, 2, 3, failures, exchanges);
    }
    EXPECT_GT(exchanges, 1000U);
    for (const auto why : all_errors) {
        EXPECT_GT(failures.at(static_cast<std::size_t>(why)), 0U) << make_error_code(why).message();
    }
    for (const auto taken : steps) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

} // namespace
} // namespace tryst::test
