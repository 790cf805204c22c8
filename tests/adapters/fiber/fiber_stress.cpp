// SPDX-License-Identifier: MIT
// Fibers that stay on their threads exchange with coroutines and plain threads. Waits end in every
// way. The recorded history must be possible, and every path must have been taken.
#include "adapters/fiber/fiber_scene.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

/// Runs the fibers on `threads` threads, each with fibers of its own.
void play_at_home(std::size_t threads, std::size_t fibers, company others, tally& all) {
    play<scene>(others, all, threads * fibers, [&](scene& s) {
        std::vector<std::jthread> running;
        for (std::size_t i = 0; i != threads; ++i) {
            running.emplace_back([&s, first = i * fibers, fibers] {
                std::vector<boost::fibers::fiber> mine;
                for (std::size_t j = first; j != first + fibers; ++j) {
                    mine.emplace_back([&s, j] { fiber_party(s, j); });
                }
                for (auto& each : mine) {
                    each.join();
                }
            });
        }
    });
}

TEST(FiberStress, ConservesEveryItemHoweverTheWaitsEnd) {
    play_until_all_is_seen([](tally& all) {
        play_at_home(2, 8, {}, all);
        play_at_home(2, 1, {}, all);
        play_at_home(1, 3, {.coroutines = 3, .bare = 1, .threads = 2}, all);
        play_at_home(2, 2, {.coroutines = 2}, all);
    });
}

} // namespace
} // namespace tryst::test
