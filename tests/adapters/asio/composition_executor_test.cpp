// SPDX-License-Identifier: MIT
// Composed operations on executors of all types, on strands and on the threads of a pool.
#include "adapters/asio/composition.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <future>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test::net::experimental::awaitable_operators;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::asio::wait;
using tryst::test::census;
using tryst::test::composition_test;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep;
using tryst::test::result;
using tryst::test::step;
using tryst::test::tracked;
namespace net = tryst::test::net;

// ---- On one thread

class AsioExecutorType : public composition_test {
protected:
    template <class Executor>
    net::awaitable<void, Executor> party(result& out, timer& limit) {
        constexpr net::use_awaitable_t<Executor> token;
        co_await (keep<Executor>(ex, item(1), out) || limit.async_wait(token));
    }

    template <class Executor>
    void exchange_on(const Executor& executor) {
        net::co_spawn(executor, party<Executor>(first, past), net::detached);
        step(io);
        expect_failed(first, exchange_errc::cancelled, 1);
        net::co_spawn(executor, party<Executor>(second, never), net::detached);
        step(io);
        EXPECT_TRUE(meet(ex, 2, 1));
        step(io);
        expect_got(second, 2);
        EXPECT_TRUE(io.stopped());
    }
};

TEST_F(AsioExecutorType, MayBeThatOfTheContext) {
    exchange_on(io.get_executor());
}

TEST_F(AsioExecutorType, MayBeAStrand) {
    exchange_on(net::make_strand(io));
}

TEST_F(AsioExecutorType, MayBeErased) {
    exchange_on(net::any_io_executor(io.get_executor()));
    exchange_on(net::any_io_executor(net::make_strand(io)));
}

// ---- On a pool of two threads

class AsioPool : public ::testing::Test {
protected:
    void TearDown() override {
        pool.join();
        EXPECT_EQ(items.alive.load(), 0);
    }

    census items;
    tryst::exchanger<tracked> ex;
    net::thread_pool pool{2};
};

/// Offers an item again and again, for a short time each.
net::awaitable<void> try_often(tryst::exchanger<tracked>& ex, census& items, int times,
                               std::chrono::microseconds patience, int& met) {
    net::steady_timer limit(co_await net::this_coro::executor);
    for (int i = 0; i != times; ++i) {
        result out;
        limit.expires_after(patience * (i % 5));
        co_await (keep(ex, tracked(items, i), out) || limit.async_wait(net::use_awaitable));
        EXPECT_TRUE(out) << "an item was lost";
        EXPECT_TRUE(*out || out->error() == exchange_errc::cancelled);
        met += *out ? 1 : 0;
    }
}

TEST_F(AsioPool, LosesNoItemToTimersOnTwoStrands) {
    constexpr int times = 500;
    int met = 0;
    int met_too = 0;
    net::co_spawn(net::make_strand(pool), try_often(ex, items, times, 20us, met), net::detached);
    net::co_spawn(net::make_strand(pool), try_often(ex, items, times, 20us, met_too),
                  net::detached);
    pool.join();
    EXPECT_EQ(met, met_too);
    EXPECT_EQ(items.created.load(), 2 * times);
}

TEST_F(AsioPool, LosesNoItemToASignalOnTheStrand) {
    const auto strand = net::make_strand(pool);
    std::deque<net::cancellation_signal> signals; // alive until the last coroutine has gone
    for (int round = 0; round != 300; ++round) {
        auto& signal = signals.emplace_back();
        result out;
        auto end = net::co_spawn(strand, keep(ex, tracked(items, 1), out),
                                 net::bind_cancellation_slot(signal.slot(), net::use_future));
        net::post(strand, [&] { signal.emit(net::cancellation_type::terminal); });
        const auto theirs = ex.try_exchange(tracked(items, 2));
        end.get();
        ASSERT_TRUE(out) << "an item was lost";
        ASSERT_EQ(static_cast<bool>(theirs), static_cast<bool>(*out));
        ASSERT_EQ(items.alive.load(), 2);
    }
    pool.join();
}

/// Without a strand, as nothing is cancelled.
TEST_F(AsioPool, ExchangesWithOneselfOnTwoThreads) {
    auto work = [&]() -> net::awaitable<void> {
        for (int i = 0; i != 300; ++i) {
            const auto [left, right] = co_await (wait(ex.exchange(tracked(items, 1))) &&
                                                 wait(ex.exchange(tracked(items, 2))));
            EXPECT_EQ(left->id(), 2);
            EXPECT_EQ(right->id(), 1);
        }
    };
    net::co_spawn(pool, work(), net::detached);
    pool.join();
}

TEST_F(AsioPool, CancelsAFutureOnItsStrand) {
    const auto strand = net::make_strand(pool);
    net::cancellation_signal signal;
    auto later = async_wait(
        ex.exchange(tracked(items, 1)),
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(strand, net::use_future)));
    net::post(strand, [&] { signal.emit(net::cancellation_type::terminal); });
    const auto end = later.get();
    EXPECT_EQ(end.error(), exchange_errc::cancelled);
    EXPECT_EQ(end.returned().id(), 1);
    EXPECT_FALSE(ex.try_exchange(tracked(items, 2)));
}

} // namespace
