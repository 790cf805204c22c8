// SPDX-License-Identifier: MIT
#ifndef TRYST_NO_FUTEX
#error "this program is about the variant without futexes; compile it with TRYST_NO_FUTEX"
#endif
#include <tryst/detail/run/parker.hpp>

#include <tryst/tryst.hpp>

#include "support/loop_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>

// All that sleeps, on a mutex and a condition variable. A program of its own: the two variants of
// sleep_word must not meet in one.
static_assert(TRYST_HAS_FUTEX == 0);

namespace {

using tryst::exchange_errc;
using tryst::exchanger;
using tryst::run_loop;
using tryst::run_loop_options;
using tryst::sync_wait;
using tryst::task;
using tryst::detail::parker;
using tryst::test::loop_thread;
using clock = tryst::detail::clock;
using namespace std::chrono_literals;

constexpr run_loop_options sleep_at_once{.max_spins = 0};

} // namespace

TEST(PortableParker, ATokenThatCameFirstEndsTheParkAtOnceAndOnlyOnce) {
    parker bed;
    bed.unpark();
    bed.park();
    EXPECT_FALSE(bed.park_until(clock::now()));
    bed.unpark();
    EXPECT_TRUE(bed.park_until(clock::now() - 1h));
}

TEST(PortableParker, GivesUpAtTheDeadlineAndNotBefore) {
    parker bed;
    const auto deadline = clock::now() + 3ms;
    EXPECT_FALSE(bed.park_until(deadline));
    EXPECT_GE(clock::now(), deadline);
    EXPECT_FALSE(bed.park_until(clock::time_point::min()));
}

TEST(PortableParker, SleepsUntilAnotherThreadUnparksItAndSeesWhatThatThreadDid) {
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

TEST(PortableParker, MayBeDestroyedByTheSleeperAsSoonAsItIsAwake) {
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

TEST(PortableSyncWait, SwapsWithAnotherThread) {
    constexpr int rounds = 2'000;
    exchanger<int> ex;
    std::thread partner([&ex] {
        for (int i = 0; i != rounds; ++i) {
            EXPECT_EQ(*sync_wait(ex.exchange(-i)), i);
        }
    });
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(*sync_wait(ex.exchange_for(i, 24h)), -i);
    }
    partner.join();
}

TEST(PortableSyncWait, TimesOutAndNeverEarly) {
    exchanger<int> ex;
    for (const auto patience : {0us, 20us, 2000us}) {
        const auto start = clock::now();
        auto got = sync_wait(ex.exchange_for(1, patience));
        EXPECT_GE(clock::now() - start, patience);
        EXPECT_EQ(got.error(), exchange_errc::timed_out);
        EXPECT_EQ(got.returned(), 1);
    }
}

TEST(PortableSyncWait, EndsWhenAStopIsRequested) {
    exchanger<int> ex;
    for (int round = 0; round != 500; ++round) {
        std::stop_source stop;
        std::thread stopper([&stop] { stop.request_stop(); });
        auto got = sync_wait(ex.exchange(round, stop.get_token()));
        EXPECT_EQ(got.error(), exchange_errc::cancelled);
        EXPECT_EQ(got.returned(), round);
        stopper.join();
    }
}

TEST(PortableSyncWait, ReturnsThoughTheTaskEndsOnAnotherLoop) {
    loop_thread other(sleep_at_once);
    const auto move_there = [](run_loop& there) -> task<int> {
        co_await there.schedule();
        co_return 3;
    };
    for (int round = 0; round != 500; ++round) {
        EXPECT_EQ(sync_wait(move_there(*other)), 3);
    }
}

TEST(PortableRunLoop, WakesForMailAndForDeadlines) {
    constexpr int rounds = 300;
    exchanger<int> ex;
    loop_thread thread(sleep_at_once);
    int matched = 0;
    int timed_out = 0;
    thread->spawn([](exchanger<int>& ex, int& matched, int& timed_out) -> task<> {
        exchanger<int> lonely;
        for (int i = 0; i != rounds; ++i) {
            auto got = co_await ex.exchange_for(1, 24h);
            matched += got ? 1 : 0;
            const auto start = clock::now();
            auto none = co_await lonely.exchange_for(1, 20us);
            EXPECT_GE(clock::now() - start, 20us);
            timed_out += none.error() == exchange_errc::timed_out ? 1 : 0;
        }
        ex.close();
    }(ex, matched, timed_out));
    while (sync_wait(ex.exchange(2))) {
    }
    thread.join();
    EXPECT_EQ(matched, rounds);
    EXPECT_EQ(timed_out, rounds);
}

TEST(PortableRunLoop, MayBeDestroyedAsSoonAsRunHasReturned) {
    constexpr int rounds = 10'000;
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
        const auto loop = std::make_unique<run_loop>(sleep_at_once);
        current.store(loop.get(), std::memory_order_release);
        loop->run();
    }
    stopper.join();
}
