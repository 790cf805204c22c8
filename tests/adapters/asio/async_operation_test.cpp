// SPDX-License-Identifier: MIT
// Exchanges, sends and receives with async_wait: what waiting_test.cpp does not say of all forms.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/shared_numbers.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::tracked;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;
using steady = std::chrono::steady_clock;

TEST(AsyncOperation, OffersInTheOrderOfInitiationAndConservesEveryItem) {
    census items;
    {
        net::io_context io;
        tryst::exchanger<tracked> ex;
        std::vector<completed<tracked>> got(101);
        for (std::size_t i = 0; i != got.size(); ++i) {
            async_wait(ex.exchange(tracked(items, static_cast<long>(i))), keep_on(io, got[i]));
        }
        ex.close();
        io.run();
        EXPECT_EQ(items.alive.load(), 101);
        EXPECT_EQ(items.created.load(), 101);
        for (std::size_t i = 0; i != 100; ++i) {
            expect_got(got[i], static_cast<long>(i ^ 1U));
        }
        expect_failed(got.back(), exchange_errc::closed, 100);
    }
    EXPECT_EQ(items.alive.load(), 0);
}

TEST(AsyncOperation, ReportsErrorsThatCompareAsAllOthers) {
    net::io_context io;
    exchanger ex;
    completed<int> late;
    completed<int> stopped;
    completed<int> closed;
    net::cancellation_signal signal;
    async_wait(ex.exchange(1, 0s), keep_on(io, late));
    async_wait(ex.exchange(1), net::bind_cancellation_slot(signal.slot(), keep_on(io, stopped)));
    step(io);
    signal.emit(net::cancellation_type::terminal);
    step(io);
    ex.close();
    async_wait(ex.exchange(1), keep_on(io, closed));
    step(io);
    ASSERT_TRUE(late && stopped && closed);
    EXPECT_TRUE(late->error() == exchange_errc::timed_out);
    EXPECT_TRUE(late->error() == std::errc::timed_out);
    EXPECT_TRUE(stopped->error() == exchange_errc::cancelled);
    EXPECT_TRUE(stopped->error() == std::errc::operation_canceled);
    EXPECT_TRUE(closed->error() == exchange_errc::closed);
    EXPECT_FALSE(closed->error() == std::errc::operation_canceled);
    EXPECT_EQ(closed->error().message(), make_error_code(exchange_errc::closed).message());
}

#ifdef TRYST_BOOST_ASIO
namespace named = tryst::asio::boost_asio;
#else
namespace named = tryst::asio::standalone_asio;
#endif

TEST(AsyncOperation, HasTheItemsAndTheLimitsOfTheMemberFunction) {
    struct derived : tryst::exchanger<std::string> {};
    net::io_context io;
    const auto executor = io.get_executor();
    derived ex;
    std::vector<completed<std::string>> got(4);
    std::vector<completed<std::string>> late(3);
    const std::stop_source stop;
    async_wait(ex.exchange("a literal"), keep_on(io, got[0]));
    async_wait(ex.exchange({'x', 'y'}, 1h), keep_on(executor, got[1]));
    named::async_wait(ex.exchange({}, stop.get_token(), 1h), keep_on(executor, got[2]));
    named::async_wait(ex.exchange("b", steady::time_point::max()), keep_on(io, got[3]));
    async_wait(ex.exchange("c", std::chrono::duration<double>(0)), keep_on(io, late[0]));
    async_wait(ex.exchange("d", time_point_cast<std::chrono::hours>(steady::now() - 1h)),
               keep_on(executor, late[1]));
    named::async_wait(ex.exchange("e", std::chrono::hours(-1)), keep_on(io, late[2]));
    io.run();
    ASSERT_TRUE(got[0] && got[1] && got[2] && got[3]);
    EXPECT_EQ(*got[0], "xy");
    EXPECT_EQ(*got[1], "a literal");
    EXPECT_EQ(*got[2], "b");
    EXPECT_EQ(*got[3], "");
    for (const auto& each : late) {
        ASSERT_TRUE(each);
        EXPECT_EQ(each->error(), make_error_code(exchange_errc::timed_out));
    }
}

TEST(AsyncOperation, OfOneTypeGivesTheResultOfEachColour) {
    census items;
    net::io_context io;
    tryst::red_blue_exchanger<tracked, tracked, tryst::order::lifo> room;
    completed<tracked> red;
    completed<tracked> blue;
    async_wait(room.red(tracked(items, 1)), keep_on(io, red));
    async_wait(room.blue(tracked(items, 2)), keep_on(io, blue));
    step(io);
    expect_got(red, 2);
    expect_got(blue, 1);
}

TEST(AsyncOperation, SharesAChannelWithThreads) {
    for (const std::size_t limit : tryst::test::shared_numbers::limits) {
        tryst::test::shared_numbers shared(2, limit);
        net::io_context io;
        const auto send = [&]() -> net::awaitable<void> {
            const int first = shared.begin();
            for (int i = first; i != first + shared.each; ++i) {
                const auto sent = co_await async_wait(shared.numbers.send(i), net::use_awaitable);
                EXPECT_TRUE(sent);
            }
            shared.end();
        };
        const auto receive = [&]() -> net::awaitable<void> {
            while (true) {
                const auto got = co_await async_wait(shared.numbers.receive(), net::use_awaitable);
                if (!got) {
                    break;
                }
                shared.received(*got);
            }
        };
        net::co_spawn(io, send(), net::detached);
        net::co_spawn(io, receive(), net::detached);
        std::thread sender(
            [&] { shared.send_by([](auto op) { return tryst::sync_wait(std::move(op)); }); });
        std::thread receiver(
            [&] { shared.receive_by([](auto op) { return tryst::sync_wait(std::move(op)); }); });
        io.run();
        sender.join();
        receiver.join();
        shared.expect_each_once();
    }
}

TEST(AsyncOperation, IsOutstandingWorkUntilTheHandlerHasRun) {
    net::io_context io;
    exchanger ex;
    completed<int> second;
    async_wait(ex.exchange(1), net::bind_executor(io, [&](const auto&) {
                   async_wait(ex.exchange(3), keep_on(io, second)); // keeps `run` from returning
               }));
    std::thread partner([&] {
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(4)), 3);
    });
    io.run();
    partner.join();
    expect_got(second, 4);
}

TEST(AsyncOperation, AllowsTheHandlerToBlockTheThread) {
    net::io_context io;
    exchanger ex;
    exchanger other;
    int got = 0;
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(other.exchange(3)), 4); });
    async_wait(ex.exchange(1, 0s), net::bind_executor(io, [&](const auto&) {
                   got = *tryst::sync_wait(other.exchange(4)); // asserts that no executor runs
               }));
    io.run();
    partner.join();
    EXPECT_EQ(got, 3);
}

/// A handler of a pool or a callback of tryst may wait for the partner that it has completed.
TEST(AsyncOperation, LetsAHandlerWaitForThePartnerThatItCompleted) {
    net::thread_pool pool(2);
    exchanger ex;
    exchanger first;
    std::promise<int> theirs;
    const auto meet = [&] {
        EXPECT_EQ(*ex.try_exchange(2), 1);
        EXPECT_EQ(theirs.get_future().get(), 2);
        theirs = std::promise<int>();
    };
    const auto wait_in_pool = [&] {
        async_wait(ex.exchange(1),
                   net::bind_executor(pool, [&](auto item) { theirs.set_value(*item); }));
    };
    wait_in_pool();
    std::promise<void> posted;
    net::post(pool, [&] {
        meet();
        posted.set_value();
    });
    posted.get_future().wait();

    wait_in_pool();
    std::promise<void> called;
    async_wait(first.exchange(5), net::bind_executor(pool, [&](const auto&) {
                   meet();
                   called.set_value();
               }));
    EXPECT_EQ(*first.try_exchange(6), 5);
    called.get_future().wait();
    pool.join();
}

TEST(AsyncOperation, CompletesThePartnerInANestedRunOfTheContext) {
    net::io_context io;
    exchanger ex;
    completed<int> got;
    async_wait(ex.exchange(1), keep_on(io, got));
    net::post(io, [&] {
        EXPECT_TRUE(ex.try_exchange(2));
        io.poll();
        expect_got(got, 2);
    });
    io.run();
}

TEST(AsyncOperation, MayBeInitiatedInATaskOfALoop) {
    net::io_context io;
    tryst::run_loop loop;
    exchanger ex;
    completed<int> got;
    loop.spawn(
        [](exchanger& room, net::io_context& context, completed<int>& theirs) -> tryst::task<> {
            async_wait(room.exchange(1), keep_on(context, theirs));
            const auto mine = co_await room.exchange(2);
            EXPECT_EQ(*mine, 1);
        }(ex, io, got));
    loop.run_until_idle();
    EXPECT_FALSE(got);
    io.run();
    expect_got(got, 2);
}

} // namespace
