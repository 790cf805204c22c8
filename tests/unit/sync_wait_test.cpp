// SPDX-License-Identifier: MIT
// How a thread sleeps until its wait ends, which depends on the platform. What it may wait for:
// runs_test.cpp.
#include <tryst/sync_wait.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/inplace_stop_token.hpp>

#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <stop_token>
#include <thread>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using steady_clock = std::chrono::steady_clock;

TEST(SyncWaitForAnExchange, ReturnsThePartnersItem) {
    constexpr int rounds = 2'000;
    exchanger<int> ex;
    std::thread partner([&ex] {
        for (int i = 0; i != rounds; ++i) {
            EXPECT_EQ(*sync_wait(ex.exchange(-i)), i);
        }
    });
    for (int i = 0; i != rounds; ++i) {
        auto got = i % 2 == 0 ? sync_wait(ex.exchange(i)) : sync_wait(ex.exchange(i, 24h));
        EXPECT_EQ(*got, -i);
    }
    partner.join();
}

TEST(SyncWaitForAnExchange, TimesOutWithItsItemAndNeverEarly) {
    census kept;
    exchanger<tracked> ex;
    for (const auto patience : {0us, 20us, 2000us}) {
        const auto start = steady_clock::now();
        auto got = sync_wait(ex.exchange(tracked(kept, 1), patience));
        EXPECT_GE(steady_clock::now() - start, patience);
        EXPECT_EQ(got.error(), exchange_errc::timed_out);
        EXPECT_EQ(got.returned().id(), 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

/// Waits, while `end_wait` is called on another thread.
template <class Operation, class End>
void expect_end_by_a_thread(Operation operation, End end_wait, exchange_errc how) {
    std::thread other(end_wait);
    auto got = sync_wait(operation());
    EXPECT_EQ(got.error(), how);
    EXPECT_EQ(got.returned(), 7);
    other.join();
}

TEST(SyncWaitForAnExchange, EndsByAStopOrACloseOfAnotherThread) {
    for (int round = 0; round != 300; ++round) {
        exchanger<int> ex;
        std::stop_source stop;
        inplace_stop_source in_place;
        expect_end_by_a_thread([&] { return ex.exchange(7, stop.get_token()); },
                               [&] { stop.request_stop(); }, exchange_errc::cancelled);
        expect_end_by_a_thread([&] { return ex.exchange(7, in_place.get_token()); },
                               [&] { in_place.request_stop(); }, exchange_errc::cancelled);
        expect_end_by_a_thread([&] { return ex.exchange(7, 24h); }, [&] { ex.close(); },
                               exchange_errc::closed);
    }
}

TEST(SyncWaitForAnExchange, ServesOneWaitAfterAnotherWhateverEndsThem) {
    // A wake-up left over from one wait would end the next too early.
    constexpr int rounds = 300;
    exchanger<int> ex;
    for (int i = 0; i != rounds; ++i) {
        std::stop_source stop;
        std::thread other([&] {
            if (i % 2 == 0) {
                stop.request_stop();
            } else {
                static_cast<void>(sync_wait(ex.exchange(2, 50us)));
            }
        });
        static_cast<void>(sync_wait(ex.exchange(1, 50us, stop.get_token())));
        other.join();
        const auto start = steady_clock::now();
        auto got = sync_wait(ex.exchange(1, 100us));
        ASSERT_EQ(got.error(), exchange_errc::timed_out);
        ASSERT_GE(steady_clock::now() - start, 100us);
    }
}

TEST(SyncWaitForAnAwaitable, ResumesHereThoughItCompletesOnAnotherThread) {
    struct on_a_thread { // as awaitables of other libraries do
        bool await_ready() const noexcept { return false; }
        void await_suspend(std::coroutine_handle<> coroutine) { thread = std::thread(coroutine); }
        std::thread::id await_resume() const { return std::this_thread::get_id(); }
        std::thread thread;
    };
    on_a_thread work;
    EXPECT_NE(sync_wait(work), std::this_thread::get_id());
    work.thread.join();
}

} // namespace
} // namespace tryst::test
