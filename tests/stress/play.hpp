// SPDX-License-Identifier: MIT
/// @file
/// Runs the participants of a stress scene: coroutines on loops and without executors, and threads.
#pragma once

#include "stress/scene.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace tryst::test {

/// How many of each kind take part.
struct company {
    std::size_t loops = 1;
    std::size_t coroutines = 0; ///< On each loop.
    std::size_t bare = 0; ///< Coroutines without an executor.
    std::size_t threads = 0;
};

/// The sums over all scenes of a test.
struct tally {
    std::array<std::size_t, 5> failures{}; ///< By exchange_errc.
    std::size_t exchanges = 0;
    std::size_t not_selected = 0; ///< Cases of selections.

    /// Whether enough operations have ended, and in every way. Until then a test goes on.
    bool is_complete() const {
        return exchanges > enough && std::ranges::all_of(all_errors, [&](exchange_errc why) {
                   return failures.at(static_cast<std::size_t>(why)) != 0;
               });
    }

    static constexpr std::size_t enough = 100; // a busy machine may play no more in a minute
};

inline void thread_party(scene& s, std::size_t number) {
    blocking_party(s, number, [](auto&& operation) { return sync_wait(operation); });
}

/// Lets everybody exchange for a moment, closes the exchanger, and checks the history.
/// @param others       how many more participants there are: those with the first numbers.
/// @param run_others   `run_others(scene)` runs them until they end, on a thread of its own.
template <class Scene, class RunOthers>
void play(const company& who, tally& all, std::size_t others, RunOthers run_others) {
    const std::size_t participants = others + who.loops * who.coroutines + who.bare + who.threads;
    Scene s(participants);
    std::size_t number = others;
    {
        std::vector<std::unique_ptr<run_loop>> loops;
        std::vector<std::jthread> running;
        // First: bare coroutines may keep this thread busy with each other until the close.
        running.emplace_back([&s, &log = s.record[participants]] { press_and_close(s, log); });
        if (others != 0) {
            running.emplace_back([&s, &run_others] { run_others(s); });
        }
        for (std::size_t i = 0; i != who.loops; ++i) {
            run_loop& loop = *loops.emplace_back(std::make_unique<run_loop>());
            for (std::size_t j = 0; j != who.coroutines; ++j) {
                loop.spawn(coroutine_party<task<>>(s, number++));
            }
            running.emplace_back([&loop] { loop.run(); });
        }
        for (std::size_t i = 0; i != who.bare; ++i) {
            coroutine_party<detached_coroutine>(s, number++);
        }
        for (std::size_t i = 0; i != who.threads; ++i) {
            running.emplace_back([&s, mine = number++] { thread_party(s, mine); });
        }
        s.left.wait();
        for (auto& loop : loops) {
            loop->stop();
        }
        running.clear();
    }
    EXPECT_EQ(s.record.violations_at_rest(), "");
    EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    all.exchanges += s.record.exchanged() / 2;
    all.not_selected += s.record.failed(exchange_errc::not_selected);
    for (const auto why : all_errors) {
        all.failures.at(static_cast<std::size_t>(why)) += s.record.failed(why);
    }
}

template <class Scene>
void play(const company& who, tally& all) {
    play<Scene>(who, all, 0, [](Scene&) {});
}

inline void expect_exchanges_and_all_failures(const tally& all) {
    EXPECT_GT(all.exchanges, tally::enough);
    for (const auto why : all_errors) {
        EXPECT_GT(all.failures.at(static_cast<std::size_t>(why)), 0U)
            << make_error_code(why).message();
    }
}

} // namespace tryst::test
