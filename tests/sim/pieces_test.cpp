// SPDX-License-Identifier: MIT
// What no run of the simulation would miss, if it did not happen: that threads interleave, how runs
// end, spurious wake-ups, stops, addresses; and that a seed repeats itself.
#include "sim/memory.hpp"
#include "sim/platform.hpp"
#include "sim/play.hpp"
#include "sim/scheduler.hpp"
#include "sim/stop_token.hpp"

#include <tryst/run_loop.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tryst::sim {
namespace {

using namespace std::chrono_literals;
using sim_clock = detail::clock;

constexpr std::uint64_t some_seeds = 200;

pace every_access() {
    pace how;
    how.mean_turn = 1;
    return how;
}

/// @returns the failure.
std::string run_once(const std::function<void()>& play, std::uint64_t seed = 1,
                     const pace& how = every_access()) {
    return run(random(seed), how, play, 100'000).failure;
}

void join_all(std::initializer_list<thread_id> threads) {
    for (const thread_id each : threads) {
        join(each);
    }
}

TEST(SimRandom, TakesOneByteForAChoiceAndGoesOnAsSeedZero) {
    constexpr std::array<std::uint8_t, 2> bytes{0, 255};
    for (const std::size_t n : {2U, 3U, 256U, 1'000'000U}) {
        random choices{bytes};
        EXPECT_EQ(choices.below(n), 0U);
        EXPECT_EQ(choices.below(n), n - 1);
        EXPECT_EQ(choices.next(), random(0).next());
    }
}

TEST(SimScheduler, InterleavesThreadsBetweenTwoAccesses) {
    std::uint64_t lost = 0;
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        int sum = 0;
        const auto play = [&] {
            atomic<int> counter;
            const auto increment = [&] {
                const int seen = counter.load(std::memory_order_relaxed);
                counter.store(seen + 1, std::memory_order_relaxed);
            };
            join_all({start("first", increment), start("second", increment)});
            sum = counter.peek();
        };
        ASSERT_EQ(run_once(play, seed), "");
        lost += sum == 1 ? 1 : 0;
    }
    EXPECT_GT(lost, some_seeds / 10);
    EXPECT_LT(lost, some_seeds * 9 / 10);
}

TEST(SimScheduler, SaysWhyARunFailsAndGoesOnWithTheNext) {
    const auto spin = [] { detail::yield_until([] { return false; }); };
    int* lost = nullptr;
    const auto fail_beside_another = [&] {
        start("other", spin);
        detail::yield_thread();
        fail("on purpose");
    };
    const auto sleep_for_ever = [] {
        detail::sleep_word bed;
        bed.sleep(0);
    };
    EXPECT_EQ(run_once(fail_beside_another), "on purpose");
    EXPECT_EQ(run_once(sleep_for_ever), "a deadlock: no thread is left to wake main");
    EXPECT_EQ(run_once(spin), "this does not end");
    EXPECT_TRUE(run_once([&] { lost = new int(0); }).starts_with("1 blocks of memory were not"));
    EXPECT_NE(lost, nullptr);
    EXPECT_EQ(run_once([] {}), "");
}

TEST(SimClock, WakesAllWhoseDeadlinesAreTheSame) {
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        std::vector<sim_clock::time_point> woken;
        const auto play = [&] {
            detail::sleep_word bed;
            const auto deadline = sim_clock::now() + 1s;
            const auto nap = [&, deadline] {
                bed.sleep_until(0, deadline);
                const memory::outside real;
                woken.emplace_back(now());
            };
            join_all({start("first", nap), start("second", nap)});
        };
        ASSERT_EQ(run_once(play, seed), "");
        ASSERT_EQ(woken.size(), 2);
        ASSERT_EQ(woken[0], woken[1]);
    }
}

/// The loop's clock. Each look at it is interrupted for a minute.
struct interrupting_clock {
    static sim_clock::time_point now() noexcept {
        const auto time = sim_clock::now();
        detail::sleep_word bed;
        bed.sleep_until(0, time + 60s);
        return time;
    }
};

// Of the library: there is no other clock that stands still between two looks.
TEST(RunLoopSleep, DoesNotLastLongerForAnInterruptionBetweenTwoLooksAtTheClock) {
    sim_clock::duration late{};
    const auto play = [&] {
        struct alarm : timer_node, executor_node {
            basic_run_loop<interrupting_clock> loop{{.max_spins = 0}};
        } timer;
        timer.deadline = sim_clock::now() + 100s;
        timer.fire = [](timer_node* node) noexcept { static_cast<alarm*>(node)->loop.stop(); };
        timer.run = [](executor_node* node) noexcept {
            auto& self = *static_cast<alarm*>(node);
            self.loop.executor().arm(&self);
        };
        timer.loop.post(&timer);
        timer.loop.run();
        late = sim_clock::now() - timer.deadline;
    };
    EXPECT_EQ(run_once(play), "");
    // It wakes up for its deadline, and looks at the clock once more.
    EXPECT_LT(late, 100s);
}

TEST(SimSleepWord, WakesSpuriouslyIfThePaceSaysSo) {
    pace restless = every_access();
    restless.spurious = 2;
    const auto play = [] {
        detail::sleep_word bed;
        const thread_id other = start("other", [&] { bed.sleep(0); });
        while (!has_ended(other)) {
            detail::spin_pause();
        }
    };
    EXPECT_EQ(run_once(play, 1, restless), "");
}

using callback = stop_callback<std::function<void()>>;

TEST(SimStopCallback, DoesNotDieWhileItRunsOnAnotherThread) {
    int met = 0;
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        const auto play = [&] {
            stop_source source;
            bool running = false;
            const auto take_long = [&] {
                running = true;
                for (int i = 0; i != 5; ++i) {
                    detail::spin_pause();
                }
                running = false;
            };
            std::optional<callback> registered;
            registered.emplace(stop_token(source), take_long);
            const thread_id other = start("requester", [&] { source.request_stop(); });
            for (std::size_t i = choices().below(5); i != 0; --i) {
                detail::spin_pause();
            }
            met += running ? 1 : 0;
            registered.reset();
            if (running) {
                fail("the callback is still running");
            }
            join(other);
        };
        ASSERT_EQ(run_once(play, seed), "");
    }
    EXPECT_GT(met, 0);
}

TEST(SimMemory, UsesAnAddressAgainAtOnceLaterOrNever) {
    for (const auto how : {memory::reuse::at_once, memory::reuse::late, memory::reuse::never}) {
        std::uintptr_t places[3] = {};
        pace same = every_access();
        same.addresses = how;
        const auto play = [&] {
            const auto address = [](const auto& of) {
                return reinterpret_cast<std::uintptr_t>(of.get());
            };
            auto first = std::make_unique<int>(0);
            auto second = std::make_unique<int>(0);
            places[0] = address(first);
            places[1] = address(second);
            first.reset();
            second.reset();
            places[2] = address(std::make_unique<int>(0));
        };
        ASSERT_EQ(run_once(play, 1, same), "");
        EXPECT_EQ(places[2] == places[0], how == memory::reuse::late);
        EXPECT_EQ(places[2] == places[1], how == memory::reuse::at_once);
    }
}

TEST(SimPlay, ASeedRepeatsItselfWhateverRanBefore) {
    constexpr std::uint64_t seeds = 100;
    std::vector<std::uint64_t> digests;
    for (std::uint64_t seed = 0; seed != seeds; ++seed) {
        const report told = play(random(seed));
        ASSERT_EQ(told.failure, "") << "seed " << seed;
        digests.push_back(told.digest);
    }
    for (std::uint64_t seed = seeds; seed-- != 0;) {
        EXPECT_EQ(play(random(seed)).digest, digests[seed]) << "seed " << seed;
    }
    EXPECT_EQ(std::set(digests.begin(), digests.end()).size(), seeds);
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
