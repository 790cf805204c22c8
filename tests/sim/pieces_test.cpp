// SPDX-License-Identifier: MIT
// The parts of the simulation: choices, threads, clock, sleep, stops and memory.
#include "sim/memory.hpp"
#include "sim/platform.hpp"
#include "sim/scheduler.hpp"
#include "sim/stop_token.hpp"

#include <tryst/run_loop.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
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

verdict run_once(const std::function<void()>& play, std::uint64_t seed = 1) {
    return run(random(seed), every_access(), play, 100'000);
}

// ---- Choices.

TEST(SimRandom, TakesOneByteForAChoiceAndGoesOnAsSeedZero) {
    constexpr std::array<std::uint8_t, 4> bytes{0, 1, 200, 255};
    random choices{bytes};
    for (const std::uint8_t byte : bytes) {
        EXPECT_EQ(choices.below(256), byte);
    }
    EXPECT_EQ(choices.next(), random(0).next());
}

TEST(SimRandom, ReachesTheFirstAndTheLastChoiceWithBytes) {
    constexpr std::array<std::uint8_t, 2> bytes{0, 255};
    for (const std::size_t n : std::array<std::size_t, 5>{2, 3, 100, 1'000, 1'000'000}) {
        random choices{bytes};
        EXPECT_EQ(choices.below(n), 0U);
        EXPECT_EQ(choices.below(n), n - 1);
    }
}

// ---- Threads.

TEST(SimScheduler, InterleavesThreadsBetweenTwoAccesses) {
    std::uint64_t lost = 0;
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        int sum = 0;
        const verdict ended = run_once(
            [&] {
                atomic<int> counter;
                const auto increment = [&] {
                    const int seen = counter.load(std::memory_order_relaxed);
                    counter.store(seen + 1, std::memory_order_relaxed);
                };
                const thread_id first = start("first", increment);
                const thread_id second = start("second", increment);
                join(first);
                join(second);
                sum = counter.peek();
            },
            seed);
        ASSERT_EQ(ended.failure, "");
        lost += sum == 1 ? 1 : 0;
    }
    EXPECT_GT(lost, some_seeds / 10);
    EXPECT_LT(lost, some_seeds * 9 / 10);
}

TEST(SimScheduler, ReportsADeadlock) {
    const verdict ended = run_once([] {
        detail::sleep_word bed;
        bed.sleep(0);
    });
    EXPECT_EQ(ended.failure, "a deadlock: no thread is left to wake main");
}

TEST(SimScheduler, ReportsALivelock) {
    const verdict ended = run_once([] { detail::yield_until([] { return false; }); });
    EXPECT_EQ(ended.failure, "this does not end");
}

TEST(SimScheduler, GoesOnWithTheNextRunAfterAFailure) {
    const verdict failed = run_once([] {
        start("other", [] { detail::yield_until([] { return false; }); });
        detail::yield_thread();
        fail("on purpose");
    });
    EXPECT_EQ(failed.failure, "on purpose");
    EXPECT_EQ(run_once([] {}).failure, "");
}

TEST(SimScheduler, GivesEachThreadItsOwnThreadLocals) {
    std::vector<int> values;
    const verdict ended = run_once([&] {
        const auto count = [&] {
            const int value = ++detail::per_thread<int>();
            const memory::outside real;
            values.push_back(value);
        };
        count();
        count();
        join(start("other", count));
    });
    EXPECT_EQ(ended.failure, "");
    EXPECT_EQ(values, (std::vector{1, 2, 1}));
}

TEST(SimScheduler, WaitsUntilNobodyElseCanGoOn) {
    bool other_ran = false;
    const verdict ended = run_once([&] {
        detail::sleep_word bed;
        const thread_id other = start("other", [&] {
            bed.sleep_until(0, sim_clock::now() + 1s);
            other_ran = true;
            bed.sleep(0);
        });
        until_quiet();
        if (!other_ran) {
            fail("the other could have gone on");
        }
        bed.store_and_wake(1);
        join(other);
    });
    EXPECT_EQ(ended.failure, "");
}

// ---- Time.

TEST(SimClock, MovesToTheNextDeadlineWhenAllSleep) {
    sim_clock::duration slept{};
    const verdict ended = run_once([&] {
        const auto begin = sim_clock::now();
        detail::sleep_word bed;
        bed.sleep_until(0, begin + 3s);
        slept = sim_clock::now() - begin;
    });
    EXPECT_EQ(ended.failure, "");
    EXPECT_GE(slept, 3s);
    EXPECT_LT(slept, 4s);
}

TEST(SimClock, WakesAllWhoseDeadlinesAreTheSame) {
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        std::vector<sim_clock::time_point> woken;
        const verdict ended = run_once(
            [&] {
                detail::sleep_word bed;
                const auto deadline = sim_clock::now() + 1s;
                const auto nap = [&, deadline] {
                    bed.sleep_until(0, deadline);
                    const memory::outside real;
                    woken.emplace_back(now());
                };
                const thread_id first = start("first", nap);
                const thread_id second = start("second", nap);
                join(first);
                join(second);
            },
            seed);
        ASSERT_EQ(ended.failure, "");
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

TEST(RunLoopSleep, DoesNotLastLongerForAnInterruptionBetweenTwoLooksAtTheClock) {
    sim_clock::duration late{};
    const verdict ended = run_once([&] {
        struct alarm : timer_node {
            basic_run_loop<interrupting_clock>* loop;
        } timer{{}, nullptr};
        basic_run_loop<interrupting_clock> loop({.max_spins = 0});
        timer.loop = &loop;
        timer.deadline = sim_clock::now() + 100s;
        timer.fire = [](timer_node* node) noexcept { static_cast<alarm*>(node)->loop->stop(); };
        struct start : executor_node {
            alarm* timer;
        } begin{{}, &timer};
        begin.run = [](executor_node* node) noexcept {
            alarm& armed = *static_cast<start*>(node)->timer;
            armed.loop->executor().arm(&armed);
        };
        loop.post(&begin);
        loop.run();
        late = sim_clock::now() - timer.deadline;
    });
    EXPECT_EQ(ended.failure, "");
    // It wakes up for its deadline, and looks at the clock once more.
    EXPECT_LT(late, 100s);
}

// ---- Sleep.

TEST(SimSleepWord, DoesNotSleepIfTheWordHasChanged) {
    const verdict ended = run_once([] {
        detail::sleep_word bed;
        bed.store_and_wake(1);
        bed.sleep(0);
    });
    EXPECT_EQ(ended.failure, "");
}

TEST(SimSleepWord, WakesSpuriouslyIfThePaceSaysSo) {
    pace restless = every_access();
    restless.spurious = 2;
    const verdict ended = run(random(1), restless, [] {
        detail::sleep_word bed;
        const thread_id other = start("other", [&] { bed.sleep(0); });
        while (true) {
            detail::spin_pause();
            if (has_ended(other)) {
                break;
            }
        }
    });
    EXPECT_EQ(ended.failure, "");
}

// ---- Stops.

TEST(SimStopCallback, RunsOnTheThreadThatRequests) {
    thread_id ran_on = max_threads;
    const verdict ended = run_once([&] {
        const stop_source source;
        const stop_callback<std::function<void()>> callback(source.get_token(),
                                                            [&] { ran_on = current_thread(); });
        join(start("requester", [&] { source.request_stop(); }));
    });
    EXPECT_EQ(ended.failure, "");
    EXPECT_EQ(ran_on, 1);
}

TEST(SimStopCallback, RunsAtOnceIfTheStopWasRequestedBefore) {
    bool ran = false;
    const verdict ended = run_once([&] {
        const stop_source source;
        source.request_stop();
        const stop_callback<std::function<void()>> callback(source.get_token(),
                                                            [&] { ran = true; });
    });
    EXPECT_EQ(ended.failure, "");
    EXPECT_TRUE(ran);
}

TEST(SimStopCallback, DoesNotDieWhileItRunsOnAnotherThread) {
    int met = 0;
    for (std::uint64_t seed = 1; seed != some_seeds; ++seed) {
        const verdict ended = run_once(
            [&] {
                const stop_source source;
                bool running = false;
                const auto callback = [&] {
                    running = true;
                    for (int i = 0; i != 5; ++i) {
                        detail::spin_pause();
                    }
                    running = false;
                };
                std::optional<stop_callback<std::function<void()>>> registered;
                registered.emplace(source.get_token(), callback);
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
            },
            seed);
        ASSERT_EQ(ended.failure, "");
    }
    EXPECT_GT(met, 0);
}

TEST(SimStopCallback, MayDieInItself) {
    const verdict ended = run_once([] {
        const stop_source source;
        std::optional<stop_callback<std::function<void()>>> registered;
        registered.emplace(source.get_token(), [&] { registered.reset(); });
        source.request_stop();
    });
    EXPECT_EQ(ended.failure, "");
}

// ---- Memory.

TEST(SimMemory, FailsAtTheChosenAllocation) {
    int made = 0;
    const verdict ended = run_once([&] {
        memory::fail_at(3);
        try {
            for (; made != 5; ++made) {
                // Called by name, because compilers may leave out new-expressions.
                ::operator delete(::operator new(1));
            }
        } catch (const std::bad_alloc&) {
            memory::fail_at(0);
        }
    });
    EXPECT_EQ(ended.failure, "");
    EXPECT_EQ(made, 2);
}

TEST(SimMemory, ReportsALeak) {
    int* lost = nullptr;
    const verdict ended = run_once([&] { lost = new int(0); });
    EXPECT_NE(ended.failure.find("1 blocks of memory were not freed"), std::string::npos);
    EXPECT_NE(lost, nullptr);
}

TEST(SimMemory, UsesAnAddressAgainAtOnceLaterOrNever) {
    for (const auto how : {memory::reuse::at_once, memory::reuse::late, memory::reuse::never}) {
        std::vector<std::uintptr_t> places;
        pace same = every_access();
        same.addresses = how;
        const verdict ended = run(random(1), same, [&] {
            auto first = std::make_unique<int>(0);
            auto second = std::make_unique<int>(0);
            const auto of_first = reinterpret_cast<std::uintptr_t>(first.get());
            const auto of_second = reinterpret_cast<std::uintptr_t>(second.get());
            first.reset();
            second.reset();
            const auto third = std::make_unique<int>(0);
            const memory::outside real;
            places = {of_first, of_second, reinterpret_cast<std::uintptr_t>(third.get())};
        });
        ASSERT_EQ(ended.failure, "");
        ASSERT_EQ(places.size(), 3);
        EXPECT_EQ(places[2] == places[0], how == memory::reuse::late);
        EXPECT_EQ(places[2] == places[1], how == memory::reuse::at_once);
    }
}

} // namespace
} // namespace tryst::sim
