// SPDX-License-Identifier: MIT
// A loop that others post to and stop while it runs.
#include "stress/step_counts.hpp"

#include <tryst/run_loop.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace tryst::test {
namespace {

TEST(RunLoopStress, MayBeStoppedAgainAndAgainFromAnotherThread) {
    constexpr int stops = 100'000;
    run_loop loop;
    std::atomic<bool> done{false};
    std::thread stopper([&] {
        for (int i = 0; i != stops; ++i) {
            loop.stop();
        }
        done.store(true, std::memory_order_release);
        loop.stop();
    });
    long returns = 0;
    while (!done.load(std::memory_order_acquire)) {
        loop.run();
        ++returns;
    }
    stopper.join();
    EXPECT_GT(returns, 0);
}

} // namespace
} // namespace tryst::test
