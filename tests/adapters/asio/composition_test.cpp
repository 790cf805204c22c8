// SPDX-License-Identifier: MIT
// Compositions of operations by Asio: `||`, `&&`, cancellation states. Whichever operation ends
// first, each party has one item: its partner's or its own.
#include "adapters/asio/composition.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <variant>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test::net::experimental::awaitable_operators;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::asio::bind_stop_token;
using tryst::asio::wait;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::composition_test;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep;
using tryst::test::keep_with_a_token;
using tryst::test::result;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;

class AsioComposition : public composition_test {};

/// The partners come after so many handlers each. Both exchanges may take place before either
/// coroutine is resumed, or after the other has been cancelled.
TEST_F(AsioComposition, LosesNoStoredResultWhereverThePartnersCome) {
    auto work = [&]() -> net::awaitable<void> {
        co_await (keep(ex, item(1), first) || keep(other, item(2), second));
    };
    const auto run_some = [this](int handlers) {
        for (int i = 0; i != handlers; ++i) {
            io.poll_one();
        }
    };
    const auto expect = [](const result& out, bool met, long theirs, long own) {
        if (met) {
            expect_got(out, theirs);
        } else {
            expect_failed(out, exchange_errc::cancelled, own);
        }
    };
    int both = 0;
    int one = 0;
    for (int before = 0; before != 12; ++before) {
        for (int between = 0; between != 12; ++between) {
            first.reset();
            second.reset();
            done = false;
            io.restart();
            net::co_spawn(io, work(), [this](std::exception_ptr error) {
                EXPECT_FALSE(error);
                done = true;
            });
            run_some(before);
            bool met_first = meet(ex, 3, 1);
            run_some(between);
            const bool met_second = meet(other, 4, 2);
            io.poll();
            if (!met_first && !met_second) {
                ASSERT_FALSE(done);
                met_first = meet(ex, 3, 1);
                ASSERT_TRUE(met_first);
                io.poll();
            }
            expect_success();
            expect(first, met_first, 3, 1);
            expect(second, met_second, 4, 2);
            ASSERT_EQ(items.alive.load(), 2);
            ++(met_first && met_second ? both : one);
        }
    }
    EXPECT_GT(both, 0);
    EXPECT_GT(one, 0);
}

TEST_F(AsioComposition, IsCancelledAsAWhole) {
    auto work = [&]() -> net::awaitable<void> {
        co_await net::this_coro::throw_if_cancelled(false);
        co_await (keep(ex, item(1), first) || keep(other, item(2), second));
    };
    start(work);
    EXPECT_TRUE(waits_in_list(ex));
    EXPECT_TRUE(waits_in_list(other));
    emit();
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
    expect_failed(second, exchange_errc::cancelled, 2);
}

/// Turns a failure into an exception, and so drops the item.
net::awaitable<void> throws_after_a_failure(tryst::exchanger<tracked>& at, tracked mine) {
    const auto got = co_await wait(at.exchange(std::move(mine)));
    static_cast<void>(got.value());
}

TEST_F(AsioComposition, AndEndsTheWaitBesideACoroutineThatThrows) {
    auto work = [&]() -> net::awaitable<void> {
        co_await (keep(other, item(2), second) && throws_after_a_failure(ex, item(1)));
    };
    start(work);
    ex.close();
    step(io);
    EXPECT_TRUE(done);
    EXPECT_THROW(std::rethrow_exception(thrown), std::system_error);
    expect_failed(second, exchange_errc::cancelled, 2);
    EXPECT_EQ(items.alive.load(), 1);
}

// ---- The cancellation state of a coroutine

class AsioCancellationState : public composition_test {};

TEST_F(AsioCancellationState, ThatIsDisabledProtectsAWait) {
    auto work = [&]() -> net::awaitable<void> {
        co_await net::this_coro::reset_cancellation_state(net::disable_cancellation());
        co_await keep(ex, item(1), first);
        co_await net::this_coro::reset_cancellation_state(net::enable_terminal_cancellation());
        co_await keep(ex, item(2), second);
    };
    start(work);
    emit();
    EXPECT_TRUE(meet(ex, 3, 1));
    step(io);
    expect_got(first, 3);
    ASSERT_TRUE(waits_in_list(ex));
    emit();
    expect_success();
    expect_failed(second, exchange_errc::cancelled, 2);
}

TEST_F(AsioCancellationState, OfAnEarlierCancellationThrowsBeforeTheWait) {
    auto work = [&]() -> net::awaitable<void> {
        co_await keep(ex, item(1), first);
        co_await keep(ex, item(2), second);
    };
    start(work);
    emit();
    expect_error(net::error::operation_aborted);
    expect_failed(first, exchange_errc::cancelled, 1);
    EXPECT_FALSE(second);
    EXPECT_EQ(items.alive.load(), 1); // item 2 was destroyed with the coroutine that had it
}

TEST_F(AsioCancellationState, OfAnEarlierCancellationDoesNotEndAWaitIfItDoesNotThrow) {
    auto work = [&]() -> net::awaitable<void> {
        co_await net::this_coro::throw_if_cancelled(false);
        co_await keep(ex, item(1), first);
        co_await keep(ex, item(2), second);
        second.reset();
        co_await keep(ex, item(3), second);
    };
    start(work);
    emit();
    expect_failed(first, exchange_errc::cancelled, 1);
    EXPECT_TRUE(meet(ex, 4, 2));
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    emit();
    expect_success();
    expect_failed(second, exchange_errc::cancelled, 3);
}

TEST_F(AsioCancellationState, IsThatOfABoundStopToken) {
    std::stop_source stop;
    auto work = [&]() -> net::awaitable<void> {
        auto token = bind_stop_token(stop.get_token(), as_tuple(net::use_awaitable));
        co_await (keep(ex, item(1), first) || never.async_wait(std::move(token)));
    };
    start(work);
    stop.request_stop();
    step(io);
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
}

// ---- `||` with a timer, whenever the partner comes

using timer = net::steady_timer;
using keeper = net::awaitable<void> (*)(tryst::exchanger<tracked>&, tracked, result&);

/// `keep(...) || timer`. Its `out` is there when `winner` is: the branch that has ended first.
net::awaitable<void> keep_or_time_out(keeper how, tryst::exchanger<tracked>& ex, tracked item,
                                      timer& limit, result& out,
                                      std::optional<std::size_t>& winner) {
    const auto which =
        co_await (how(ex, std::move(item), out) || limit.async_wait(net::use_awaitable));
    winner = which.index();
}

class AwaitableOr : public ::testing::TestWithParam<keeper> {
protected:
    void start(timer::duration patience) {
        out.reset();
        winner.reset();
        limit.expires_after(patience);
        io.restart();
        net::co_spawn(io, keep_or_time_out(GetParam(), ex, tracked(items, 1), limit, out, winner),
                      net::detached);
    }
    /// @returns whether a party waited. Then `out` must have the partner's item, otherwise its own.
    bool meet() {
        const auto theirs = ex.try_exchange(tracked(items, 2));
        EXPECT_TRUE(!theirs || theirs->id() == 1);
        return static_cast<bool>(theirs);
    }
    void expect(bool met) {
        ASSERT_TRUE(out) << "the item was lost";
        ASSERT_EQ(static_cast<bool>(*out), met);
        EXPECT_EQ(met ? (**out).id() : out->returned().id(), met ? 2 : 1);
        EXPECT_TRUE(met || out->error() == exchange_errc::cancelled);
        EXPECT_EQ(items.alive.load(), 1);
    }

    census items;
    net::io_context io;
    tryst::exchanger<tracked> ex;
    timer limit{io};
    result out;
    std::optional<std::size_t> winner;
};

TEST_P(AwaitableOr, HasThePartnersItemIfTheExchangeWasFirst) {
    start(1h);
    io.poll();
    EXPECT_TRUE(meet());
    io.run();
    EXPECT_EQ(winner, 0U);
    expect(true);
}

TEST_P(AwaitableOr, HasTheOwnItemBackIfTheTimerWasFirst) {
    start(-1s);
    io.run();
    EXPECT_EQ(winner, 1U);
    expect(false);
}

TEST_P(AwaitableOr, LosesNoItemWhereverThePartnerComesBetweenTwoHandlers) {
    int met = 0;
    int timed_out = 0;
    int both = 0;
    for (int handlers = 0; handlers != 20; ++handlers) {
        start(-1s);
        for (int i = 0; i != handlers; ++i) {
            net::post(io, [] {}); // so that the expired timer may have to wait for its turn
            io.poll_one();
        }
        const bool exchanged = meet();
        io.run();
        ASSERT_TRUE(winner);
        expect(exchanged);
        ++(exchanged ? met : timed_out);
        both += exchanged && winner == 1U ? 1 : 0;
    }
    EXPECT_GT(met, 0);
    EXPECT_GT(timed_out, 0);
    EXPECT_GT(both, 0) << "the exchange has never ended after the timer, and yet taken place";
}

TEST_P(AwaitableOr, LosesNoItemToAnotherThread) {
    for (int round = 0; round != 300; ++round) {
        start(std::chrono::microseconds(round % 60));
        std::atomic<bool> over{false};
        bool exchanged = false;
        std::thread partner([&] {
            while (!exchanged && !over.load()) {
                exchanged = meet();
            }
        });
        io.run();
        over = true;
        partner.join();
        expect(exchanged);
    }
}

INSTANTIATE_TEST_SUITE_P(, AwaitableOr, ::testing::Values(keep<>, keep_with_a_token),
                         [](const auto& which) { return which.index == 0 ? "Wait" : "AsTuple"; });

} // namespace
