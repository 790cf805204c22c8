// SPDX-License-Identifier: MIT
// How a loop's thread sleeps and is woken, which depends on the platform; the rest is in
// run_loop_test.cpp.
#include <tryst/run_loop.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/sync_wait.hpp>

#include "support/loop_thread.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <thread>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

task<> ping_pong(run_loop& a, run_loop& b, int rounds, int& hops) {
    for (int i = 0; i != rounds; ++i) {
        co_await b.schedule();
        hops += b.running_here() ? 1 : 0;
        co_await a.schedule();
        hops += a.running_here() ? 1 : 0;
    }
    b.stop();
    a.stop();
}

TEST(RunLoopWakeUp, PassesATaskBackAndForthBetweenLoopsThatSleepAtOnceOrSpinFirst) {
    constexpr int rounds = 3'000;
    for (const run_loop_options options : {sleep_at_once, run_loop_options{}}) {
        run_loop a(options);
        run_loop b(options);
        int hops = 0; // not atomic: posting must order the two threads
        a.spawn(ping_pong(a, b, rounds, hops));
        std::thread other([&b] { b.run(); });
        a.run();
        other.join();
        EXPECT_EQ(hops, 2 * rounds);
    }
}

TEST(RunLoopWakeUp, LosesNoTaskOfManyThatSpawnAtOnce) {
    constexpr int spawners = 3;
    constexpr int each = 1'000;
    std::vector<int> log; // only the loop's thread writes it
    loop_thread thread(sleep_at_once);
    std::vector<std::thread> threads;
    for (int i = 0; i != spawners; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n != each; ++n) {
                thread->spawn(append(log, n));
            }
        });
    }
    for (std::thread& spawner : threads) {
        spawner.join();
    }
    thread.join();
    EXPECT_EQ(log.size(), std::size_t{spawners * each});
}

TEST(RunLoopWakeUp, WakesForMailThoughItSleepsOnADeadline) {
    constexpr int rounds = 200;
    loop_thread thread(sleep_at_once);
    exchanger<int> ex;
    int matched = 0;
    const auto meet = [&]() -> task<> {
        for (int i = 0; i != rounds; ++i) {
            auto got = co_await ex.exchange(1, 24h);
            matched += got ? 1 : 0;
        }
    };
    thread->spawn(meet());
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(*sync_wait(ex.exchange(2)), 1);
    }
    thread.join();
    EXPECT_EQ(matched, rounds);
}

TEST(RunLoopWakeUp, WakesForADeadlineButNeverBeforeIt) {
    for (const run_loop_options options : {sleep_at_once, run_loop_options{}}) {
        run_loop loop(options);
        exchanger<int> ex;
        bool timed_out = false;
        const auto time_out = [&]() -> task<> {
            for (const auto patience : {1us, 300us, 3000us}) {
                const auto start = std::chrono::steady_clock::now();
                auto got = co_await ex.exchange(1, patience);
                timed_out = got.error() == exchange_errc::timed_out;
                EXPECT_GE(std::chrono::steady_clock::now() - start, patience);
            }
        };
        loop.run(time_out());
        EXPECT_TRUE(timed_out);
    }
}

TEST(RunLoopStop, LetsTheLoopBeDestroyedAsSoonAsRunHasReturned) {
    constexpr int rounds = 5'000;
    for (const run_loop_options options : {sleep_at_once, run_loop_options{}}) {
        std::atomic<run_loop*> current{nullptr};
        std::thread stopper([&current] {
            for (int i = 0; i != rounds; ++i) {
                run_loop* loop = nullptr;
                while ((loop = current.exchange(nullptr, std::memory_order_acquire)) == nullptr) {
                    std::this_thread::yield();
                }
                loop->stop();
            }
        });
        for (int i = 0; i != rounds; ++i) {
            const auto loop = std::make_unique<run_loop>(options);
            current.store(loop.get(), std::memory_order_release);
            loop->run();
        }
        stopper.join();
    }
}

} // namespace
} // namespace tryst::test
