// SPDX-License-Identifier: MIT
#include <tryst/detail/run/parker.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#ifdef TRYST_NO_FUTEX
static_assert(TRYST_HAS_FUTEX == 0);
#endif

namespace tryst::test {
namespace {

using detail::clock;
using detail::parker;
using namespace std::chrono_literals;

TEST(Parker, ATokenThatCameFirstEndsTheParkAtOnce) {
    parker bed;
    bed.unpark();
    bed.park();
    bed.unpark();
    EXPECT_TRUE(bed.park_until(clock::now() + 1h));
}

TEST(Parker, AParkTakesItsTokenAway) {
    parker bed;
    bed.unpark();
    bed.park();
    EXPECT_FALSE(bed.park_until(clock::now()));
}

TEST(Parker, GivesUpAtTheDeadlineAndNotBefore) {
    parker bed;
    const auto deadline = clock::now() + 3ms;
    EXPECT_FALSE(bed.park_until(deadline));
    EXPECT_GE(clock::now(), deadline);
}

TEST(Parker, ATokenIsTakenEvenIfTheDeadlineHasPassed) {
    parker bed;
    bed.unpark();
    EXPECT_TRUE(bed.park_until(clock::now() - 1h));
    EXPECT_FALSE(bed.park_until(clock::time_point{})) << "the epoch is not a time without end";
    EXPECT_FALSE(bed.park_until(clock::time_point::min()));
}

TEST(Parker, SleepsUntilAnotherThreadUnparksItAndSeesWhatThatThreadDid) {
    constexpr int rounds = 2'000;
    parker ping;
    parker pong;
    int ball = 0; // not atomic: the parkers must order the two threads
    std::thread other([&] {
        for (int i = 0; i != rounds; ++i) {
            ping.park();
            ++ball;
            pong.unpark();
        }
    });
    for (int i = 0; i != rounds; ++i) {
        ++ball;
        ping.unpark();
        if (i % 2 == 0) {
            pong.park();
        } else {
            ASSERT_TRUE(pong.park_until(clock::time_point::max()));
        }
        ASSERT_EQ(ball, 2 * (i + 1));
    }
    other.join();
}

TEST(Parker, MayBeDestroyedByTheSleeperAsSoonAsItIsAwake) {
    constexpr int rounds = 5'000;
    std::atomic<parker*> current{nullptr};
    std::thread waker([&current] {
        for (int i = 0; i != rounds; ++i) {
            parker* bed = nullptr;
            while ((bed = current.exchange(nullptr, std::memory_order_acquire)) == nullptr) {
                std::this_thread::yield();
            }
            bed->unpark();
        }
    });
    for (int i = 0; i != rounds; ++i) {
        const auto bed = std::make_unique<parker>();
        current.store(bed.get(), std::memory_order_release);
        switch (i % 3) {
        case 0:
            bed->park();
            break;
        case 1:
            ASSERT_TRUE(bed->park_until(clock::time_point::max()));
            break;
        default:
            // Awake all the time: finds the token while the waker is still about to wake it.
            while (!bed->park_until(clock::time_point())) {
            }
        }
    }
    waker.join();
}

} // namespace
} // namespace tryst::test
