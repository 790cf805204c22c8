// SPDX-License-Identifier: MIT
// Real loops and threads on simulated cores, of which each has slept often.
#include "machine.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace tryst::scale {

void step_taken(unsigned /*step*/) noexcept {}

namespace {

constexpr picoseconds us = 1'000'000;
constexpr picoseconds ms = 1'000 * us;

constexpr costs prices{.load = 500,
                       .store = 500,
                       .update = 5'000,
                       .read_line = 50'000,
                       .take_line = 50'000,
                       .upgrade_line = 50'000,
                       .request = 20'000,
                       .read_service = 10'000,
                       .turn = 10'000,
                       .pause = 25'000,
                       .yield = 450'000,
                       .wake_call = 3 * us,
                       .wake = 35 * us};

// Each party first makes its partner wait for this long, this often.
constexpr int delays = 12;
constexpr picoseconds delay = 1 * ms;
// Then they meet this often.
constexpr int exchanges = 1'000;
// Before each, one party works, for longer than a loop polls if that is usually in vain.
constexpr picoseconds work = 1 * us;

int wrong = 0; ///< How many exchanges gave another item than the partner's.

/// What a party does before its exchange number `i`.
void before_exchange(int i, bool is_first, picoseconds& began) {
    machine& here = machine::here();
    if (i < 2 * delays && (i < delays) == is_first) {
        here.idle_until(here.now() + delay);
    }
    if (i == 2 * delays) {
        began = here.now();
    }
    if (!is_first) {
        here.spend(work);
    }
}

task<> party(exchanger<int>& at, run_loop& on, bool is_first, picoseconds& took) {
    picoseconds began = 0;
    for (int i = 0; i != 2 * delays + exchanges; ++i) {
        before_exchange(i, is_first, began);
        auto got = co_await at.exchange(i);
        wrong += got == i ? 0 : 1;
    }
    took = machine::here().now() - began;
    on.stop();
}

void party_on_thread(exchanger<int>& at, picoseconds& took) {
    picoseconds began = 0;
    for (int i = 0; i != 2 * delays + exchanges; ++i) {
        before_exchange(i, false, began);
        wrong += sync_wait(at.exchange(i)) == i ? 0 : 1;
    }
    took = machine::here().now() - began;
}

/// @returns the time of the exchanges of a loop and another loop, or a thread.
picoseconds time_of_exchanges(bool with_thread) {
    picoseconds took = 0;
    wrong = 0;
    {
        machine cores(2, 1, prices, 1, 0);
        const auto at = std::make_unique<exchanger<int>>();
        const auto first = std::make_unique<run_loop>();
        const auto second = std::make_unique<run_loop>();
        picoseconds unused = 0;
        first->spawn(party(*at, *first, true, unused));
        cores.add(0, [&] { first->run(); });
        if (with_thread) {
            cores.add(0, [&] { party_on_thread(*at, took); });
        } else {
            second->spawn(party(*at, *second, false, took));
            cores.add(0, [&] { second->run(); });
        }
        cores.run(100'000'000);
    }
    EXPECT_EQ(wrong, 0);
    return took;
}

// Some wake-ups at first, then exchanges of a few microseconds.
constexpr picoseconds most = 10 * prices.wake + exchanges * 5 * us;

} // namespace

TEST(TwoLoops, StopWakingEachOtherForEachExchange) {
    EXPECT_LE(time_of_exchanges(false), most);
}

TEST(ALoopAndAThread, StopWakingEachOtherForEachExchange) {
    EXPECT_LE(time_of_exchanges(true), most);
}

} // namespace tryst::scale
