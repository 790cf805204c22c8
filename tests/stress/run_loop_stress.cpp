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
        done.store(true, std::memory_order_relaxed);
        loop.stop();
    });
    // Were a stop lost, or what came before it not seen, this would wait for ever.
    do {
        loop.run();
    } while (!done.load(std::memory_order_relaxed));
    stopper.join();
}

} // namespace
} // namespace tryst::test
