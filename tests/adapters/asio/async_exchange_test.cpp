// SPDX-License-Identifier: MIT
// How exchanges end, and on which executor.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::async_exchange;
using tryst::asio::async_exchange_for;
using tryst::asio::async_exchange_until;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::error_code;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep_in;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::until_someone_waits;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;
using steady = std::chrono::steady_clock;

// ---- Outcomes

TEST(AsyncExchange, SwapsTheItemsOfTwoCallbacks) {
    net::io_context io;
    exchanger ex;
    completed<int> first;
    completed<int> second;
    async_exchange(ex, 1, keep_on(io, first));
    async_exchange(ex, 2, keep_on(io, second));
    io.run();
    expect_got(first, 2);
    expect_got(second, 1);
}

TEST(AsyncExchange, OffersInTheOrderOfInitiation) {
    net::io_context io;
    exchanger ex;
    std::vector<completed<int>> got(4);
    for (int i = 0; i != 4; ++i) {
        async_exchange(ex, i, keep_on(io, got[static_cast<std::size_t>(i)]));
    }
    io.run();
    for (int i = 0; i != 4; ++i) {
        expect_got(got[static_cast<std::size_t>(i)], i ^ 1);
    }
}

TEST(AsyncExchange, GivesTheItemBackAtOnceIfItsTimeIsOver) {
    net::io_context io;
    exchanger ex;
    completed<int> after;
    completed<int> at;
    async_exchange_for(ex, 1, 0s, keep_on(io, after));
    async_exchange_until(ex, 2, steady::now() - 1s, keep_on(io, at));
    EXPECT_FALSE(waits_in_list(ex));
    step(io);
    expect_failed(after, exchange_errc::timed_out, 1);
    expect_failed(at, exchange_errc::timed_out, 2);
}

TEST(AsyncExchange, TakesAPartnerEvenIfItsTimeIsOver) {
    net::io_context io;
    exchanger ex;
    completed<int> waiting;
    completed<int> late;
    async_exchange(ex, 1, keep_on(io, waiting));
    async_exchange_for(ex, 2, -1s, keep_on(io, late));
    io.run();
    expect_got(waiting, 2);
    expect_got(late, 1);
}

TEST(AsyncExchange, GivesTheItemBackAtItsDeadlineAndNotBefore) {
    net::io_context io;
    exchanger ex;
    completed<int> after;
    const auto start = steady::now();
    async_exchange_for(ex, 1, 2ms, keep_on(io, after));
    io.run();
    EXPECT_GE(steady::now() - start, 2ms);
    expect_failed(after, exchange_errc::timed_out, 1);

    completed<int> at;
    const auto deadline = steady::now() + 2ms;
    io.restart();
    async_exchange_until(ex, 2, deadline, keep_on(io, at));
    io.run();
    EXPECT_GE(steady::now(), deadline);
    expect_failed(at, exchange_errc::timed_out, 2);
}

TEST(AsyncExchange, GivesTheItemBackIfTheExchangerIsOrWillBeClosed) {
    net::io_context io;
    completed<int> waiting;
    completed<int> late;
    completed<int> orphan;
    {
        exchanger ex;
        async_exchange(ex, 1, keep_on(io, waiting));
        step(io);
        ex.close();
        async_exchange_for(ex, 2, 1h, keep_on(io, late));
        step(io);
        expect_failed(waiting, exchange_errc::closed, 1);
        expect_failed(late, exchange_errc::closed, 2);
    }
    {
        exchanger ex;
        async_exchange_for(ex, 3, 1h, keep_on(io, orphan));
        step(io);
    }
    EXPECT_FALSE(orphan);
    step(io);
    expect_failed(orphan, exchange_errc::closed, 3);
}

TEST(AsyncExchange, ReportsErrorsThatCompareAsAllOthers) {
    net::io_context io;
    exchanger ex;
    completed<int> late;
    completed<int> stopped;
    completed<int> closed;
    net::cancellation_signal signal;
    async_exchange_for(ex, 1, 0s, keep_on(io, late));
    async_exchange(ex, 1, net::bind_cancellation_slot(signal.slot(), keep_on(io, stopped)));
    step(io);
    signal.emit(net::cancellation_type::terminal);
    step(io);
    ex.close();
    async_exchange(ex, 1, keep_on(io, closed));
    step(io);
    ASSERT_TRUE(late && stopped && closed);
    EXPECT_TRUE(late->error == exchange_errc::timed_out);
    EXPECT_TRUE(late->error == std::errc::timed_out);
    EXPECT_TRUE(stopped->error == exchange_errc::cancelled);
    EXPECT_TRUE(stopped->error == std::errc::operation_canceled);
    EXPECT_TRUE(closed->error == exchange_errc::closed);
    EXPECT_FALSE(closed->error == std::errc::operation_canceled);
    EXPECT_EQ(closed->error.message(), make_error_code(exchange_errc::closed).message());
}

TEST(AsyncExchange, ConservesEveryItem) {
    census items;
    {
        net::io_context io;
        tryst::exchanger<tracked> ex;
        std::vector<completed<tracked>> got(101);
        for (std::size_t i = 0; i != got.size(); ++i) {
            async_exchange(ex, tracked(items, static_cast<long>(i)), keep_on(io, got[i]));
        }
        ex.close();
        io.run();
        EXPECT_EQ(items.alive.load(), 101);
        EXPECT_EQ(items.created.load(), 101);
        expect_failed(got.back(), exchange_errc::closed, 100);
    }
    EXPECT_EQ(items.alive.load(), 0);
}

// ---- Executors

/// Every way to complete at once.
const std::vector<
    std::function<void(exchanger&, std::function<void(error_code, int)>, net::io_context&)>>
    at_once{
        [](exchanger& ex, auto handler, net::io_context& io) {
            async_exchange(ex, 0, net::bind_executor(io, [](error_code, int) {}));
            async_exchange(ex, 1, net::bind_executor(io, handler));
        },
        [](exchanger& ex, auto handler, net::io_context& io) {
            ex.close();
            async_exchange(ex, 1, net::bind_executor(io, handler));
        },
        [](exchanger& ex, auto handler, net::io_context& io) {
            async_exchange_for(ex, 1, 0s, net::bind_executor(io, handler));
        },
        [](exchanger& ex, auto handler, net::io_context& io) {
            async_exchange_until(ex, 1, exchanger::time_point(), net::bind_executor(io, handler));
        },
        [](exchanger& ex, auto handler, net::io_context& io) {
            async_exchange_until(ex, 1, exchanger::time_point::min(),
                                 net::bind_executor(io, handler));
        },
    };

TEST(AsyncExchange, NeverCallsTheHandlerWithinTheInitiation) {
    for (const auto& start : at_once) {
        for (const bool on_the_executor : {false, true}) {
            net::io_context io;
            exchanger ex;
            bool initiating = false;
            int calls = 0;
            const auto initiate = [&] {
                initiating = true;
                start(
                    ex,
                    [&](error_code, int) {
                        EXPECT_FALSE(initiating);
                        EXPECT_TRUE(io.get_executor().running_in_this_thread());
                        ++calls;
                    },
                    io);
                initiating = false;
            };
            on_the_executor ? net::post(io, initiate) : initiate();
            EXPECT_EQ(calls, 0);
            io.run();
            EXPECT_EQ(calls, 1);
        }
    }
}

TEST(AsyncExchange, RunsTheHandlerOnTheThreadOfItsContext) {
    net::io_context io;
    exchanger ex;
    std::thread::id ran;
    async_exchange(ex, 1, net::bind_executor(io, [&](error_code error, int got) {
                       EXPECT_FALSE(error);
                       EXPECT_EQ(got, 2);
                       ran = std::this_thread::get_id();
                   }));
    std::thread context([&] { io.run(); });
    const auto id = context.get_id();
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    context.join();
    EXPECT_EQ(ran, id);
}

TEST(AsyncExchange, RunsTheHandlerInItsStrand) {
    net::thread_pool pool(2);
    const auto strand = net::make_strand(pool);
    exchanger ex;
    std::promise<bool> in_strand;
    async_exchange(ex, 1, net::bind_executor(strand, [&](error_code, int) {
                       in_strand.set_value(strand.running_in_this_thread());
                   }));
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    EXPECT_TRUE(in_strand.get_future().get());
    pool.join();
}

TEST(AsyncExchange, RunsAHandlerWithoutExecutorOnTheSystemExecutor) {
    exchanger ex;
    std::promise<std::thread::id> ran;
    async_exchange(ex, 1, [&](error_code, int) { ran.set_value(std::this_thread::get_id()); });
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

TEST(AsyncExchange, RunsAHandlerWithoutExecutorOnTheOneItIsGiven) {
    net::io_context io;
    exchanger ex;
    std::vector<completed<int>> got(3);
    async_exchange(io.get_executor(), ex, 1, keep_in(got[0]));
    async_exchange_for(io.get_executor(), ex, 2, 1h, keep_in(got[1]));
    async_exchange_until(io.get_executor(), ex, 3, exchanger::time_point(), keep_in(got[2]));
    io.run();
    expect_got(got[0], 2);
    expect_got(got[1], 1);
    expect_failed(got[2], exchange_errc::timed_out, 3);
}

TEST(AsyncExchange, RunsAHandlerOnItsOwnExecutorRatherThanTheOneItIsGiven) {
    net::io_context io;
    net::io_context own;
    exchanger ex;
    completed<int> got;
    async_exchange(io.get_executor(), ex, 1, keep_on(own, got));
    EXPECT_EQ(*ex.try_exchange(2), 1);
    io.poll();
    EXPECT_FALSE(got);
    own.poll();
    expect_got(got, 2);
}

TEST(AsyncExchange, IsOutstandingWorkOfBothExecutors) {
    net::io_context io;
    net::io_context own;
    exchanger ex;
    completed<int> got;
    async_exchange(io.get_executor(), ex, 1, keep_on(own, got));
    io.poll();
    own.poll();
    EXPECT_FALSE(io.stopped());
    EXPECT_FALSE(own.stopped());
    EXPECT_EQ(*ex.try_exchange(2), 1);
    io.poll();
    EXPECT_FALSE(own.stopped());
    own.poll();
    expect_got(got, 2);
    EXPECT_TRUE(own.stopped());
    io.poll();
    EXPECT_TRUE(io.stopped());
}

TEST(AsyncExchange, IsOutstandingWorkUntilTheHandlerHasRun) {
    net::io_context io;
    exchanger ex;
    completed<int> second;
    async_exchange(ex, 1, net::bind_executor(io, [&](error_code, int) {
                       async_exchange(ex, 3, keep_on(io, second)); // keeps `run` from returning
                   }));
    std::thread partner([&] {
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(2)), 1);
        EXPECT_EQ(*tryst::sync_wait(ex.exchange(4)), 3);
    });
    io.run();
    partner.join();
    expect_got(second, 4);
}

TEST(AsyncExchange, LetsAnExceptionOfTheHandlerOutOfTheContext) {
    census items;
    {
        net::io_context io;
        tryst::exchanger<tracked> ex;
        async_exchange(ex, tracked(items, 1), net::bind_executor(io, [](error_code, tracked) {
                           throw std::runtime_error("handler");
                       }));
        ex.close();
        EXPECT_THROW(io.run(), std::runtime_error);
        EXPECT_EQ(items.alive.load(), 0);
        io.run();
        EXPECT_TRUE(io.stopped());
    }
}

TEST(AsyncExchange, AllowsTheHandlerToBlockTheThread) {
    net::io_context io;
    exchanger ex;
    exchanger other;
    int got = 0;
    std::thread partner([&] { EXPECT_EQ(*tryst::sync_wait(other.exchange(3)), 4); });
    async_exchange_for(ex, 1, 0s, net::bind_executor(io, [&](error_code, int) {
                           got = *tryst::sync_wait(
                               other.exchange(4)); // asserts that no executor runs
                       }));
    io.run();
    partner.join();
    EXPECT_EQ(got, 3);
}

TEST(AsyncExchange, MayBeInitiatedInATaskOfALoop) {
    net::io_context io;
    tryst::run_loop loop;
    exchanger ex;
    completed<int> got;
    loop.spawn(
        [](exchanger& room, net::io_context& context, completed<int>& theirs) -> tryst::task<> {
            async_exchange(room, 1, keep_on(context, theirs));
            const auto mine = co_await room.exchange(2);
            EXPECT_EQ(*mine, 1);
        }(ex, io, got));
    loop.run_until_idle();
    EXPECT_FALSE(got);
    io.run();
    expect_got(got, 2);
}

} // namespace
