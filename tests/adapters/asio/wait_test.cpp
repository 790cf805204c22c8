// SPDX-License-Identifier: MIT
// Operations of tryst in awaitables.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/long_past.hpp"
#include "support/loop_thread.hpp"
#include "support/parties.hpp"
#include "support/tracked.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::wait;
using tryst::test::census;
using tryst::test::grow;
using tryst::test::loop_thread;
using tryst::test::received;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_arena;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<tracked>;

void expect_got(const received<tracked>& got, long item) {
    ASSERT_TRUE(got);
    ASSERT_TRUE(*got);
    EXPECT_EQ((**got).id(), item);
}

void expect_failed(const received<tracked>& got, exchange_errc why, long own) {
    ASSERT_TRUE(got);
    ASSERT_FALSE(*got);
    EXPECT_EQ(got->error(), why);
    EXPECT_EQ(got->returned().id(), own);
}

/// Awaits the operation that `make` makes.
template <class Make>
net::awaitable<void> awaiting(received<tracked>& got, Make make) {
    got.emplace(co_await wait(make()));
}

class AsioWait : public ::testing::Test {
protected:
    template <class Coroutine, class Token = net::detached_t>
    void start(Coroutine coroutine, Token token = {}) {
        net::co_spawn(io, std::move(coroutine), std::move(token));
        step(io);
    }
    tracked item(long id) { return {items, id}; }

    census items;
    net::io_context io;
    exchanger ex{1};
    received<tracked> got;
};

TEST_F(AsioWait, GivesThePartnersItem) {
    start(awaiting(got, [&] { return ex.exchange(item(1)); }));
    ASSERT_TRUE(waits_in_list(ex));
    EXPECT_EQ((*ex.try_exchange(item(2))).id(), 1);
    EXPECT_FALSE(got);
    step(io);
    expect_got(got, 2);
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsioWait, DoesNotSuspendIfAPartnerIsWaiting) {
    start(awaiting(got, [&] { return ex.exchange(item(1)); }));
    received<tracked> second;
    bool other_ran = false;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            net::post(io, [&] { other_ran = true; });
            second.emplace(co_await wait(ex.exchange(item(2))));
            EXPECT_FALSE(other_ran);
        },
        net::detached);
    step(io);
    EXPECT_TRUE(other_ran);
    expect_got(got, 2);
    expect_got(second, 1);
}

TEST_F(AsioWait, LetsOtherHandlersRunIfAPartnerIsWaitingEachTime) {
    tryst::synchronous_channel<int> channel;
    const tryst::test::waiting_partners partners(channel);
    int done = 0;
    int seen = -1;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            net::post(io, [&] { seen = done; });
            while (done != tryst::test::waiting_partners::count) {
                auto sent = co_await wait(channel.send(done));
                EXPECT_TRUE(sent);
                ++done;
            }
        },
        net::detached);
    step(io);
    EXPECT_EQ(done, tryst::test::waiting_partners::count);
    EXPECT_LE(seen, tryst::test::budget + 1);
}

TEST_F(AsioWait, GivesTheItemBackAfterEachKindOfFailure) {
    std::stop_source stop;
    start(awaiting(got, [&] { return ex.exchange(item(1), 1h, stop.get_token()); }));
    stop.request_stop();
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);

    start(awaiting(got, [&] { return ex.exchange(item(2), 1ms); }));
    io.run();
    expect_failed(got, exchange_errc::timed_out, 2);

    start(awaiting(got, [&] { return ex.exchange(item(3), 0s); }));
    expect_failed(got, exchange_errc::timed_out, 3);
    for (const auto deadline : tryst::test::long_past) {
        start(awaiting(got, [&] { return ex.exchange(item(3), deadline); }));
        expect_failed(got, exchange_errc::timed_out, 3);
    }

    start(awaiting(got, [&] { return ex.exchange(item(4)); }));
    ex.close();
    step(io);
    expect_failed(got, exchange_errc::closed, 4);
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsioWait, MatchesInTheArenaWithinATurn) {
    grow(ex);
    received<tracked> second;
    net::co_spawn(io, awaiting(got, [&] { return ex.exchange(item(1)); }), net::detached);
    net::co_spawn(io, awaiting(second, [&] { return ex.exchange(item(2)); }), net::detached);
    step(io);
    expect_got(got, 2);
    expect_got(second, 1);
}

TEST_F(AsioWait, MovesToTheWaitListAfterATurnInTheArena) {
    grow(ex);
    start(awaiting(got, [&] { return ex.exchange(item(1)); }));
    EXPECT_FALSE(waits_in_arena(ex));
    EXPECT_TRUE(waits_in_list(ex));
    ex.close();
    step(io);
    expect_failed(got, exchange_errc::closed, 1);
}

TEST_F(AsioWait, FollowsTheCancellationOfItsCoroutine) {
    net::cancellation_signal signal;
    start(awaiting(got, [&] { return ex.exchange(item(1)); }),
          net::bind_cancellation_slot(signal.slot(), net::detached));
    ASSERT_TRUE(waits_in_list(ex));
    signal.emit(net::cancellation_type::terminal);
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST_F(AsioWait, FollowsTheCancellationOfItsCoroutineUntilAMatch) {
    net::cancellation_signal signal;
    start(awaiting(got, [&] { return ex.exchange(item(1), 1h); }),
          net::bind_cancellation_slot(signal.slot(), net::detached));
    EXPECT_EQ((*ex.try_exchange(item(2))).id(), 1);
    signal.emit(net::cancellation_type::terminal);
    step(io);
    expect_got(got, 2);
}

TEST_F(AsioWait, FollowsTheCancellationInItsTurnInTheArena) {
    grow(ex);
    net::cancellation_signal signal;
    net::co_spawn(io, awaiting(got, [&] { return ex.exchange(item(1)); }),
                  net::bind_cancellation_slot(signal.slot(), net::detached));
    while (!waits_in_arena(ex)) {
        ASSERT_EQ(io.poll_one(), 1U);
    }
    signal.emit(net::cancellation_type::terminal);
    signal.emit(net::cancellation_type::terminal);
    EXPECT_FALSE(got);
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);
    EXPECT_FALSE(waits_in_list(ex));
}

TEST_F(AsioWait, MatchesInTheArenaInSpiteOfALaterCancellation) {
    grow(ex);
    net::cancellation_signal signal;
    net::co_spawn(io, awaiting(got, [&] { return ex.exchange(item(1)); }),
                  net::bind_cancellation_slot(signal.slot(), net::detached));
    while (!waits_in_arena(ex)) {
        ASSERT_EQ(io.poll_one(), 1U);
    }
    EXPECT_EQ((*ex.try_exchange(item(2))).id(), 1);
    signal.emit(net::cancellation_type::terminal);
    step(io);
    expect_got(got, 2);
}

/// A token that never stops, and that is counted.
struct counted_token {
    template <class Callback>
    struct callback_type {
        callback_type(counted_token /*token*/, Callback /*callback*/) noexcept {}
    };
    bool stop_requested() const noexcept { return false; }
    bool stop_possible() const noexcept { return false; }

    tracked life;
};

/// The operation has nothing to cancel, but its slot is connected until its handler is called.
TEST_F(AsioWait, IgnoresACancellationAfterACompletionInTheInitiation) {
    census tokens;
    for (const bool destroyed : {false, true}) {
        for (int handlers = 0; handlers != 8; ++handlers) {
            got.reset();
            auto context = std::make_unique<net::io_context>();
            net::cancellation_signal signal;
            net::co_spawn(
                *context,
                awaiting(got, [&] { return ex.exchange(item(1), 0s, counted_token{{tokens, 0}}); }),
                net::bind_cancellation_slot(signal.slot(), net::detached));
            for (int i = 0; i != handlers; ++i) {
                context->poll_one();
            }
            signal.emit(net::cancellation_type::terminal);
            if (!destroyed) {
                context->poll();
            }
            context.reset();
            ASSERT_EQ(tokens.alive.load(), 0) << handlers;
            ASSERT_EQ(items.alive.load(), got ? 1 : 0) << handlers;
        }
        EXPECT_TRUE(got);
    }
}

TEST_F(AsioWait, LeavesTheCancellationToTheNextOperation) {
    net::cancellation_signal signal;
    received<tracked> second;
    start(
        [&]() -> net::awaitable<void> {
            got.emplace(co_await wait(ex.exchange(item(1))));
            second.emplace(co_await wait(ex.exchange(item(2))));
        },
        net::bind_cancellation_slot(signal.slot(), net::detached));
    EXPECT_EQ((*ex.try_exchange(item(3))).id(), 1);
    step(io);
    expect_got(got, 3);
    ASSERT_TRUE(waits_in_list(ex));
    signal.emit(net::cancellation_type::terminal);
    step(io);
    expect_failed(second, exchange_errc::cancelled, 2);
}

template <class Executor>
net::awaitable<void, Executor> awaiting_on(exchanger& ex, tracked mine, received<tracked>& got) {
    got.emplace(co_await wait<Executor>(ex.exchange(std::move(mine))));
}
template <class Executor>
void exchange_on(net::io_context& io, const Executor& executor, census& items) {
    exchanger ex;
    received<tracked> first;
    received<tracked> second;
    net::co_spawn(executor, awaiting_on<Executor>(ex, tracked(items, 1), first), net::detached);
    step(io);
    EXPECT_TRUE(waits_in_list(ex));
    net::co_spawn(executor, awaiting_on<Executor>(ex, tracked(items, 2), second), net::detached);
    step(io);
    expect_got(first, 2);
    expect_got(second, 1);

    net::cancellation_signal signal;
    second.reset();
    net::co_spawn(executor, awaiting_on<Executor>(ex, tracked(items, 3), second),
                  net::bind_cancellation_slot(signal.slot(), net::detached));
    step(io);
    signal.emit(net::cancellation_type::terminal);
    step(io);
    expect_failed(second, exchange_errc::cancelled, 3);
}

TEST_F(AsioWait, WorksInAwaitablesOfAnyExecutorType) {
    exchange_on(io, io.get_executor(), items);
    exchange_on(io, net::make_strand(io.get_executor()), items);
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsioWait, GoesOnInItsStrandAfterAMatchOnAnotherThread) {
    net::thread_pool pool(2);
    const auto strand = net::make_strand(pool);
    constexpr int rounds = 500;
    net::co_spawn(
        strand,
        [&]() -> net::awaitable<void> {
            for (int i = 0; i != rounds; ++i) {
                const auto theirs = co_await wait(ex.exchange(item(i)));
                EXPECT_EQ(theirs->id(), -i);
                EXPECT_TRUE(strand.running_in_this_thread());
            }
        },
        net::detached);
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(tryst::sync_wait(ex.exchange(item(-i)))->id(), i);
    }
    pool.join();
    EXPECT_EQ(items.alive.load(), 0);
}

} // namespace
