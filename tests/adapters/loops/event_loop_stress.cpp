// SPDX-License-Identifier: MIT
// Executors that are destroyed while other threads complete, stop and post.
#include "adapters/loops/host_thread.hpp"
#include "adapters/loops/hosts.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::test::tracked;

std::chrono::duration<double> length() {
    const char* const seconds = std::getenv("TRYST_STRESS_SECONDS");
    return std::chrono::duration<double>(seconds == nullptr ? 2.0 : std::atof(seconds)) / 4;
}

template <class Host>
class EventLoopStress : public ::testing::Test {};
TYPED_TEST_SUITE(EventLoopStress, tryst::test::hosts, tryst::test::host_names);

struct counts {
    std::atomic<long> met{0};
    std::atomic<long> timed_out{0};
    std::atomic<long> cancelled{0};
};

template <class Condition>
void until(Condition holds) {
    while (!holds()) {
        std::this_thread::yield();
    }
}

tryst::task<> offer(tryst::exchanger<tracked>& ex, tryst::test::census& census,
                    std::chrono::nanoseconds patience, std::stop_token stop, counts& ends) {
    for (;;) {
        tracked mine(census, 1);
        const auto got = co_await ex.exchange(std::move(mine), patience, stop);
        if (got) {
            ++ends.met;
        } else if (got.error() == tryst::exchange_errc::timed_out) {
            ++ends.timed_out;
        } else {
            ++ends.cancelled;
            co_return;
        }
    }
}

TYPED_TEST(EventLoopStress, ConservesItemsThroughTheDestructionOfTheExecutor) {
    tryst::test::census census;
    tryst::exchanger<tracked> ex;
    tryst::exchanger<tracked> lonely;
    counts ends;
    std::atomic<bool> end{false};
    std::vector<std::jthread> partners;
    for (int i = 0; i != 2; ++i) {
        partners.emplace_back([&] {
            while (!end) {
                tracked mine(census, 2);
                const auto got = tryst::sync_wait(ex.exchange(std::move(mine), 20us));
            }
        });
    }
    const auto start = std::chrono::steady_clock::now();
    for (int round = 0; std::chrono::steady_clock::now() - start < length(); ++round) {
        // Its destructor spawns the last task, perhaps while a partner wakes the loop.
        tryst::test::host_thread<TypeParam> on;
        std::stop_source stop;
        on->spawn(offer(lonely, census, 1us, stop.get_token(), ends));
        for (const auto patience : {1us, 30us, 1'000'000us}) {
            on->spawn(offer(ex, census, patience, stop.get_token(), ends));
        }
        until([&] { return ends.met >= 20L * round && ends.timed_out > round; });
        if (round % 2 == 0) {
            const long before = ends.cancelled;
            stop.request_stop();
            until([&] { return ends.cancelled > before; }); // the others perhaps not yet
        }
    }
    end = true;
    partners.clear();
    EXPECT_EQ(census.alive, 0);
    EXPECT_GT(ends.timed_out, 0);
    EXPECT_GT(ends.cancelled, 0);
}

} // namespace
