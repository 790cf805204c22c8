// SPDX-License-Identifier: MIT
#include <tryst/sync_wait.hpp>

#include <tryst/exchanger.hpp>

#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <coroutine>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using tryst::current_executor;
using tryst::exchange_errc;
using tryst::exchanger;
using tryst::run_loop;
using tryst::sync_wait;
using tryst::task;
using tryst::test::census;
using tryst::test::loop_thread;
using tryst::test::tracked;
using clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

task<int> swap(exchanger<int>& ex, int item) {
    auto got = co_await ex.exchange(item);
    co_return got ? *got : -1;
}

} // namespace

// ---- An operation

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
        const auto start = clock::now();
        auto got = sync_wait(ex.exchange(tracked(kept, 1), patience));
        EXPECT_GE(clock::now() - start, patience);
        EXPECT_EQ(got.error(), exchange_errc::timed_out);
        EXPECT_EQ(got.returned().id(), 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(SyncWaitForAnExchange, EndsWhenAStopIsRequested) {
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

TEST(SyncWaitForAnExchange, EndsWhenTheExchangerIsClosed) {
    for (int round = 0; round != 500; ++round) {
        exchanger<int> ex;
        std::thread closer([&ex] { ex.close(); });
        auto got = sync_wait(ex.exchange(round, 24h));
        EXPECT_EQ(got.error(), exchange_errc::closed);
        EXPECT_EQ(got.returned(), round);
        closer.join();
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
        const auto start = clock::now();
        auto got = sync_wait(ex.exchange(1, 100us));
        ASSERT_EQ(got.error(), exchange_errc::timed_out);
        ASSERT_GE(clock::now() - start, 100us);
    }
}

// ---- A task

TEST(SyncWaitForATask, ReturnsWhatItReturns) {
    EXPECT_EQ(sync_wait([]() -> task<int> { co_return 5; }()), 5);
    bool ran = false;
    sync_wait([](bool& ran) -> task<> {
        ran = true;
        co_return;
    }(ran));
    EXPECT_TRUE(ran);
}

TEST(SyncWaitForATask, ReturnsAMoveOnlyValue) {
    census kept;
    {
        const tracked got =
            sync_wait([](census& kept) -> task<tracked> { co_return tracked(kept, 1); }(kept));
        EXPECT_EQ(got.id(), 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(SyncWaitForATask, ThrowsWhatItThrows) {
    const auto fail = []() -> task<int> {
        throw std::runtime_error("thrown inside");
        co_return 0;
    };
    try {
        sync_wait(fail());
        ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& thrown) {
        EXPECT_STREQ(thrown.what(), "thrown inside");
    }
}

TEST(SyncWaitForATask, FreesItsFrame) {
    census kept;
    sync_wait([](tracked) -> task<> { co_return; }(tracked(kept, 1)));
    EXPECT_EQ(kept.created, 1);
    EXPECT_EQ(kept.alive, 0);
}

TEST(SyncWaitForATask, IsItsExecutorMeanwhileAndNoLonger) {
    const auto ask = []() -> task<bool> { co_return static_cast<bool>(current_executor()); };
    EXPECT_TRUE(sync_wait(ask()));
    EXPECT_FALSE(current_executor());
}

TEST(SyncWaitForATask, WaitsForWhatTheTaskWaitsFor) {
    constexpr int rounds = 500;
    exchanger<int> ex;
    std::thread partner([&ex] {
        for (int i = 0; i != rounds; ++i) {
            EXPECT_EQ(sync_wait(swap(ex, -i)), i);
        }
    });
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(sync_wait(swap(ex, i)), -i);
    }
    partner.join();
}

TEST(SyncWaitForATask, KeepsTheDeadlinesOfTheTaskAndFiresNoneEarly) {
    exchanger<int> ex;
    const auto wait_twice = [](exchanger<int>& ex) -> task<int> {
        int timeouts = 0;
        for (const auto patience : {50us, 3000us}) {
            const auto start = clock::now();
            auto got = co_await ex.exchange(1, patience);
            EXPECT_GE(clock::now() - start, patience);
            timeouts += got.error() == exchange_errc::timed_out ? 1 : 0;
        }
        co_return timeouts;
    };
    EXPECT_EQ(sync_wait(wait_twice(ex)), 2);
}

TEST(SyncWaitForATask, ReturnsThoughTheTaskEndsOnAnotherLoop) {
    loop_thread other;
    const auto move_there = [](run_loop& there, std::thread::id& where) -> task<int> {
        co_await there.schedule();
        where = std::this_thread::get_id();
        co_return 3;
    };
    for (int round = 0; round != 500; ++round) {
        std::thread::id where;
        EXPECT_EQ(sync_wait(move_there(*other, where)), 3);
        EXPECT_NE(where, std::this_thread::get_id());
    }
}

TEST(SyncWaitForATask, ThrowsThoughTheTaskFailsOnAnotherLoop) {
    loop_thread other;
    const auto fail_there = [](run_loop& there) -> task<> {
        co_await there.schedule();
        throw std::runtime_error("thrown elsewhere");
    };
    EXPECT_THROW(sync_wait(fail_there(*other)), std::runtime_error);
}

// ---- Another awaitable

TEST(SyncWaitForAnAwaitable, ReturnsItsResult) {
    struct ready {
        bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        std::string await_resume() const { return "result"; }
    };
    EXPECT_EQ(sync_wait(ready()), "result");
    ready named;
    EXPECT_EQ(sync_wait(named), "result");
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

TEST(SyncWaitForAnAwaitable, MovesThereByASchedule) {
    loop_thread other;
    sync_wait(other->schedule());
}

#ifndef NDEBUG
TEST(SyncWaitDeathTest, CatchesAWaitForATaskOnALoopsOwnThread) {
    run_loop loop;
    loop.spawn([]() -> task<> {
        sync_wait([]() -> task<> { co_return; }());
        co_return;
    }());
    EXPECT_DEATH(loop.run_until_idle(), "must not block");
}

TEST(SyncWaitDeathTest, CatchesAWaitForAnExchangeOnALoopsOwnThread) {
    run_loop loop;
    exchanger<int> ex;
    loop.spawn([](exchanger<int>& ex) -> task<> {
        static_cast<void>(sync_wait(ex.exchange(1)));
        co_return;
    }(ex));
    EXPECT_DEATH(loop.run_until_idle(), "must not block");
}
#endif
