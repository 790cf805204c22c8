// SPDX-License-Identifier: MIT
#include <tryst/tryst.hpp>

#include "support/bare_coroutine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stop_token>
#include <thread>

namespace tryst::test {
namespace {

using detached = detached_coroutine;

/// Exchanges twice: the second wait shows where the first one resumed it.
detached twice(exchanger<int>& ex, std::array<int, 2>& got) {
    for (int i = 0; i != 2; ++i) {
        auto result = co_await ex.exchange(10 + i);
        got[static_cast<std::size_t>(i)] = result ? *result : -result.error().value();
    }
}

task<int> once(exchanger<int>& ex, int mine) {
    auto got = co_await ex.exchange(mine);
    co_return *got;
}

constexpr int closed = -static_cast<int>(exchange_errc::closed);

TEST(BareCoroutine, DoesNotStayOnThePrivateLoopOfSyncWait) {
    exchanger<int> ex;
    std::array<int, 2> got{};
    twice(ex, got);
    EXPECT_EQ(sync_wait(once(ex, 1)), 10);
    std::thread([&] { EXPECT_EQ(sync_wait(once(ex, 2)), 11); }).join();
    EXPECT_EQ(got, (std::array{1, 2}));
}

TEST(BareCoroutine, DoesNotStayOnTheLoopOfAPartner) {
    exchanger<int> ex;
    std::array<int, 2> got{};
    twice(ex, got);
    {
        const auto loop = std::make_unique<run_loop>();
        loop->spawn([](exchanger<int>& ex) -> task<> { co_await once(ex, 1); }(ex));
        loop->run_until_idle();
    }
    ex.close();
    EXPECT_EQ(got, (std::array{1, closed}));
}

TEST(BareCoroutine, DoesNotStayOnTheLoopThatCloses) {
    exchanger<int> ex;
    exchanger<int> second;
    int got = 0;
    [](exchanger<int>& ex, exchanger<int>& second, int& got) -> detached {
        static_cast<void>(co_await ex.exchange(1));
        auto result = co_await second.exchange(2);
        got = *result;
    }(ex, second, got);
    {
        run_loop loop;
        loop.spawn([](exchanger<int>& ex) -> task<> {
            ex.close();
            co_return;
        }(ex));
        loop.run_until_idle();
    }
    EXPECT_TRUE(second.try_exchange(3));
    EXPECT_EQ(got, 3);
}

TEST(BareCoroutine, DoesNotStayOnTheLoopThatRequestsItsStop) {
    exchanger<int> ex;
    std::stop_source stop;
    int got = 0;
    [](exchanger<int>& ex, std::stop_token stop, int& got) -> detached {
        static_cast<void>(co_await ex.exchange(1, std::move(stop)));
        auto result = co_await ex.exchange(2);
        got = *result;
    }(ex, stop.get_token(), got);
    {
        run_loop loop;
        loop.spawn([](std::stop_source& stop) -> task<> {
            stop.request_stop();
            co_return;
        }(stop));
        loop.run_until_idle();
    }
    EXPECT_TRUE(ex.try_exchange(3));
    EXPECT_EQ(got, 3);
}

TEST(BareCoroutine, StartedInsideSyncWaitOutlivesIt) {
    exchanger<int> ex;
    int got = 0;
    const auto background = [](exchanger<int>& ex, int& got) -> detached {
        auto result = co_await ex.exchange(1);
        got = result ? *result : -1;
    };
    sync_wait([](auto background, exchanger<int>& ex, int& got) -> task<> {
        background(ex, got);
        co_return;
    }(background, ex, got));
    EXPECT_TRUE(ex.try_exchange(2));
    EXPECT_EQ(got, 2);
}

TEST(BareCoroutine, StartedOnARunLoopIsResumedThere) {
    run_loop loop;
    exchanger<int> ex;
    bool on_loop = false;
    loop.spawn([](run_loop& loop, exchanger<int>& ex, bool& on_loop) -> task<> {
        [](run_loop& loop, exchanger<int>& ex, bool& on_loop) -> detached {
            static_cast<void>(co_await ex.exchange(1));
            on_loop = loop.running_here();
        }(loop, ex, on_loop);
        co_return;
    }(loop, ex, on_loop));
    loop.run_until_idle();
    EXPECT_TRUE(ex.try_exchange(2));
    EXPECT_FALSE(on_loop);
    loop.run_until_idle();
    EXPECT_TRUE(on_loop);
}

TEST(BareCoroutine, HasNoExecutorWhenItIsResumedInline) {
    run_loop loop;
    exchanger<int> ex;
    bool any = true;
    bool restored = false;
    [](exchanger<int>& ex, bool& any) -> detached {
        static_cast<void>(co_await ex.exchange(1));
        any = static_cast<bool>(current_executor());
    }(ex, any);
    loop.spawn([](run_loop& loop, exchanger<int>& ex, bool& restored) -> task<> {
        static_cast<void>(co_await ex.exchange(2));
        restored = current_executor() == loop.executor();
    }(loop, ex, restored));
    loop.run_until_idle();
    EXPECT_FALSE(any);
    EXPECT_TRUE(restored);
}

TEST(BareCoroutine, DoesNotAdoptTheLoopToWhichATaskItAwaitsHasMoved) {
    exchanger<int> ex;
    run_loop loop;
    int got = 0;
    [](run_loop& loop, exchanger<int>& ex, int& got) -> detached {
        co_await [](run_loop& to) -> task<> { co_await to.schedule(); }(loop);
        auto result = co_await ex.exchange(1);
        got = *result;
    }(loop, ex, got);
    loop.run_until_idle();
    EXPECT_TRUE(ex.try_exchange(2));
    EXPECT_EQ(got, 2) << "resumed inline, without another turn of the loop";
}

#ifndef NDEBUG
TEST(BareCoroutineDeathTest, CatchesABlockingWaitInsideOfAPartnersLoop) {
    const auto block_a_loop = [] {
        exchanger<int> ex;
        run_loop loop;
        [](exchanger<int>& ex) -> detached {
            static_cast<void>(co_await ex.exchange(1));
            static_cast<void>(sync_wait(ex.exchange(2)));
        }(ex);
        loop.spawn(
            [](exchanger<int>& ex) -> task<> { static_cast<void>(co_await ex.exchange(3)); }(ex));
        loop.run_until_idle();
    };
    EXPECT_DEATH(block_a_loop(), "must not block");
}
#endif

} // namespace
} // namespace tryst::test
