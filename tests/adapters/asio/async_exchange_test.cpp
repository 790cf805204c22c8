// SPDX-License-Identifier: MIT
// The behaviour of async_exchange only. See sides_test.cpp for that of all initiating functions.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
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
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;
using steady = std::chrono::steady_clock;

TEST(AsyncExchange, OffersInTheOrderOfInitiationAndConservesEveryItem) {
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
        for (std::size_t i = 0; i != 100; ++i) {
            expect_got(got[i], static_cast<long>(i ^ 1U));
        }
        expect_failed(got.back(), exchange_errc::closed, 100);
    }
    EXPECT_EQ(items.alive.load(), 0);
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

template <class Function, class... Arguments>
concept takes = requires(const Function& function, Arguments&&... arguments) {
    function(std::forward<Arguments>(arguments)...);
};
struct ignored {
    void operator()(auto&&...) const {}
};
#ifdef TRYST_BOOST_ASIO
namespace named = tryst::asio::boost_asio;
#else
namespace named = tryst::asio::standalone_asio;
#endif

TEST(AsyncExchange, TakesAnItemAndALimitThatConvert) {
    struct derived : tryst::exchanger<std::string> {};
    net::io_context io;
    const auto executor = io.get_executor();
    derived ex;
    std::vector<completed<std::string>> got(4);
    std::vector<completed<std::string>> late(3);
    async_exchange(ex, "a literal", keep_on(io, got[0]));
    async_exchange_for(executor, ex, {'x', 'y'}, 1h, keep_in(got[1]));
    named::async_exchange(executor, ex, {}, keep_in(got[2]));
    named::async_exchange_until(ex, "b", std::chrono::steady_clock::time_point::max(),
                                keep_on(io, got[3]));
    async_exchange_for(ex, "c", std::chrono::duration<double>(0), keep_on(io, late[0]));
    async_exchange_until(executor, ex, "d", time_point_cast<std::chrono::hours>(steady::now() - 1h),
                         keep_in(late[1]));
    named::async_exchange_for(ex, "e", std::chrono::hours(-1), keep_on(io, late[2]));
    io.run();
    ASSERT_TRUE(got[0] && got[1] && got[2] && got[3]);
    EXPECT_EQ(got[0]->item, "xy");
    EXPECT_EQ(got[1]->item, "a literal");
    EXPECT_EQ(got[2]->item, "b");
    EXPECT_EQ(got[3]->item, "");
    for (const auto& each : late) {
        ASSERT_TRUE(each);
        EXPECT_EQ(each->error, make_error_code(exchange_errc::timed_out));
    }
}

TEST(AsyncExchange, RefusesOtherArgumentsWhereARequiresExpressionSeesIt) {
    using function = decltype(async_exchange);
    using function_for = decltype(async_exchange_for);
    using function_until = decltype(async_exchange_until);
    using io = net::io_context::executor_type;
    static_assert(takes<function, exchanger&, int, ignored>);
    static_assert(takes<function, io, exchanger&, int, ignored>);
    static_assert(!takes<function, exchanger&, std::string, ignored>);
    static_assert(!takes<function, const exchanger&, int, ignored>);
    static_assert(!takes<function, exchanger, int, ignored>);
    static_assert(!takes<function, exchanger&, ignored>);
    static_assert(!takes<function, net::io_context&, exchanger&, int, ignored>);
    static_assert(!takes<function, exchanger&, int, std::chrono::hours, ignored>);
    static_assert(takes<function_for, exchanger&, int, std::chrono::hours, ignored>);
    static_assert(!takes<function_for, exchanger&, int, int, ignored>);
    static_assert(!takes<function_for, exchanger&, int, steady::time_point, ignored>);
    static_assert(takes<function_until, exchanger&, int, steady::time_point, ignored>);
    static_assert(
        !takes<function_until, exchanger&, int, std::chrono::system_clock::time_point, ignored>);
    static_assert(!takes<function_until, exchanger&, int, std::chrono::hours, ignored>);
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

/// A handler of a pool or a callback of tryst may wait for the partner that it has completed.
TEST(AsyncExchange, LetsAHandlerWaitForThePartnerThatItCompleted) {
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
        async_exchange(
            ex, 1, net::bind_executor(pool, [&](error_code, int item) { theirs.set_value(item); }));
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
    async_exchange(first, 5, net::bind_executor(pool, [&](error_code, int) {
                       meet();
                       called.set_value();
                   }));
    EXPECT_EQ(*first.try_exchange(6), 5);
    called.get_future().wait();
    pool.join();
}

TEST(AsyncExchange, CompletesThePartnerInANestedRunOfTheContext) {
    net::io_context io;
    exchanger ex;
    completed<int> got;
    async_exchange(ex, 1, keep_on(io, got));
    net::post(io, [&] {
        EXPECT_TRUE(ex.try_exchange(2));
        io.poll();
        expect_got(got, 2);
    });
    io.run();
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
