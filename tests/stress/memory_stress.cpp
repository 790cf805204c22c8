// SPDX-License-Identifier: MIT
// Waits that end without a partner leave no memory behind: as many timeouts as
// TRYST_STRESS_TIMEOUTS says (default 300,000), of which a hundred overlap, behind one waiter
// without a deadline. Memory is what `operator new` gave.
#include "support/counted_memory.hpp"
#include "support/manual_clock.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t overlapping = 100;

std::size_t timeouts_wanted() {
    const char* const wanted = std::getenv("TRYST_STRESS_TIMEOUTS");
    return wanted == nullptr ? 300'000 : std::strtoull(wanted, nullptr, 10);
}

struct counts {
    std::atomic<std::size_t> timeouts{0};
    int met = 0;
};

template <class Exchanger>
task<> wait_for_ever(Exchanger& ex, counts& all) {
    all.met = *co_await ex.red(-1);
}

/// Times out over and over, unless it is met. Now and then somebody is patient, and keeps what is
/// around its place.
template <class Exchanger, class Tick>
task<> wait_in_vain(Exchanger& ex, counts& all, const std::atomic<bool>& enough, Tick tick,
                    unsigned seed) {
    std::minstd_rand random(seed);
    while (!enough.load(std::memory_order_relaxed)) {
        const long patience = random() % 50 == 0 ? 500 : 1 + static_cast<long>(random() % 9);
        const auto got = co_await ex.red(0, patience * tick);
        if (got.error() == exchange_errc::timed_out) {
            all.timeouts.fetch_add(1, std::memory_order_relaxed);
        }
    }
}

using channel = synchronous_channel<int, order::fifo>;

task<> send_to_the_end(channel& ch) {
    while (true) {
        const auto sent = co_await ch.send(1);
        if (!sent) {
            EXPECT_EQ(sent.error(), exchange_errc::closed);
            co_return;
        }
    }
}

task<> receive_to_the_end(channel& ch, std::atomic<std::size_t>& met) {
    while (true) {
        const auto got = co_await ch.receive();
        if (!got) {
            EXPECT_EQ(got.error(), exchange_errc::closed);
            co_return;
        }
        met.fetch_add(1, std::memory_order_relaxed);
    }
}

template <class Order>
class MemoryStress : public ::testing::Test {};
using orders = ::testing::Types<std::integral_constant<order, order::fifo>,
                                std::integral_constant<order, order::lifo>>;
TYPED_TEST_SUITE(MemoryStress, orders);

TYPED_TEST(MemoryStress, StaysAsItIsHoweverManyTimeOut) {
    const std::size_t wanted = timeouts_wanted();
    counts all;
    std::atomic<bool> enough{false};
    red_blue_exchanger<int, int, TypeParam::value> ex;
    timed_loop loop;
    loop->spawn(wait_for_ever(ex, all));
    loop->run_until_idle();
    for (unsigned i = 0; i != overlapping; ++i) {
        loop->spawn(wait_in_vain(ex, all, enough, 1ms, i + 1));
    }
    const auto until = [&](std::size_t timeouts) {
        while (all.timeouts < timeouts) {
            loop.advance(1ms);
        }
    };
    until(wanted / 10);
    const std::size_t warm = allocated_bytes;
    until(wanted);
    EXPECT_EQ(allocated_bytes, warm);

    enough = true;
    loop.advance(1s);
    const auto met = ex.try_blue(7);
    loop->run_until_idle();
    EXPECT_EQ(met ? *met : 0, -1);
    EXPECT_EQ(all.met, 7);
}

TYPED_TEST(MemoryStress, StaysAsItIsHoweverManyMeet) {
    const std::size_t wanted = timeouts_wanted();
    counts all;
    std::atomic<bool> enough{false};
    red_blue_exchanger<int, int, TypeParam::value> ex;
    timed_loop loop;
    for (unsigned i = 0; i != overlapping; ++i) {
        loop->spawn(wait_in_vain(ex, all, enough, 1ms, i + 1));
    }
    std::size_t met = 0;
    const auto until = [&](std::size_t exchanges) {
        while (met < exchanges) {
            loop.advance(1ms);
            for (int i = 0; i != 10; ++i) {
                met += ex.try_blue(1) ? 1U : 0U;
            }
        }
    };
    until(wanted / 10);
    const std::size_t warm = allocated_bytes;
    until(wanted);
    EXPECT_EQ(allocated_bytes, warm);
    enough = true;
    ex.close();
    loop->run_until_idle();
}

TYPED_TEST(MemoryStress, StaysAsItIsWhenSomeAreMetOnOtherThreads) {
    const std::size_t wanted = timeouts_wanted() / 3;
    counts all;
    std::atomic<bool> enough{false};
    red_blue_exchanger<int, int, TypeParam::value> ex;
    std::array<run_loop, 2> loops;
    for (unsigned i = 0; i != overlapping; ++i) {
        loops.at(i % 2).spawn(wait_in_vain(ex, all, enough, 20us, i + 1));
    }
    std::vector<std::jthread> threads;
    threads.reserve(loops.size());
    for (run_loop& loop : loops) {
        threads.emplace_back([&loop] { loop.run(); });
    }
    const auto until = [&](std::size_t timeouts) {
        while (all.timeouts.load(std::memory_order_relaxed) < timeouts) {
            const auto met = ex.try_blue(1);
            EXPECT_TRUE(met || met.error() == exchange_errc::no_partner);
            std::this_thread::yield();
        }
    };
    until(wanted / 3);
    const std::size_t warm = allocated_bytes;
    until(wanted);
    // Who keeps what is a matter of chance here: each that overlaps a segment of 640 bytes at
    // worst, of a list that doubles before it is swept, from a pool that doubles. What is lost once
    // in a hundred waits would show.
    EXPECT_LE(allocated_bytes - warm, 4 * overlapping * 640);
    enough = true;
    ex.close();
    for (run_loop& loop : loops) {
        loop.stop();
    }
}

#ifdef __linux__
// Many loops share one processor, so that most of them have lost it, wherever they may be.
TEST(MemoryStressOfOneProcessor, DoesNotGrowWhenLoopsWaitForIt) {
    cpu_set_t all_processors;
    ASSERT_EQ(sched_getaffinity(0, sizeof all_processors, &all_processors), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0); // threads inherit it

    constexpr std::size_t loops = 32;
    channel ch;
    std::atomic<std::size_t> met{0};
    std::vector<std::jthread> threads;
    threads.reserve(loops);
    for (std::size_t i = 0; i != loops; ++i) {
        threads.emplace_back([&] {
            run_loop loop;
            loop.spawn(send_to_the_end(ch));
            loop.run(receive_to_the_end(ch, met));
        });
    }
    const auto until = [&](std::size_t wanted) {
        while (met.load(std::memory_order_relaxed) < wanted) {
            std::this_thread::sleep_for(1ms);
        }
    };
    until(timeouts_wanted());
    const std::size_t warm = allocated_bytes;
    until(20 * timeouts_wanted());
    // Some segments for each, from a pool that doubles.
    EXPECT_LE(allocated_bytes - warm, 8 * loops * 640);
    ch.close();
    threads.clear();
    ASSERT_EQ(sched_setaffinity(0, sizeof all_processors, &all_processors), 0);
}
#endif

} // namespace
} // namespace tryst::test
