// SPDX-License-Identifier: MIT
// `||` and `&&` of operations. Whichever ends first, each party has one item: its partner's or its
// own.
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
#include <thread>
#include <tuple>
#include <utility>
#include <variant>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test::net::experimental::awaitable_operators;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::asio::wait;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::composition_test;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep;
using tryst::test::keep_on;
using tryst::test::keep_with_a_token;
using tryst::test::result;
using tryst::test::step;
using tryst::test::throws_after_a_failure;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;

// ---- `||` with a timer

class AsioOr : public composition_test {};

TEST_F(AsioOr, EndsWithTheTimerAndWithdrawsTheOfferOfAWait) {
    std::size_t winner = 0;
    auto work = [&]() -> net::awaitable<void> {
        const auto which =
            co_await (wait(ex.exchange(item(1))) || past.async_wait(net::use_awaitable));
        winner = which.index();
    };
    start(work);
    expect_success();
    EXPECT_EQ(winner, 1U);
    EXPECT_FALSE(meet(ex, 2, 1));
    EXPECT_EQ(items.alive.load(), 0); // `||` drops the item of the slower operation
}

TEST_F(AsioOr, EndsWithTheTimerOnTheRightOfAWait) {
    auto work = [&]() -> net::awaitable<void> {
        co_await (past.async_wait(net::use_awaitable) || keep(ex, item(1), first));
    };
    start(work);
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
    EXPECT_FALSE(meet(ex, 2, 1));
}

TEST_F(AsioOr, EndsWithAWaitAndCancelsTheTimer) {
    auto work = [&]() -> net::awaitable<void> {
        auto which = co_await (wait(ex.exchange(item(1))) || never.async_wait(net::use_awaitable));
        EXPECT_EQ(which.index(), 0U);
        first.emplace(std::get<0>(std::move(which)));
    };
    start(work);
    EXPECT_TRUE(meet(ex, 2, 1));
    step(io);
    expect_success();
    expect_got(first, 2);
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsioOr, EndsWithAWaitThatFails) {
    auto work = [&]() -> net::awaitable<void> {
        auto which =
            co_await (wait(ex.exchange(item(1), 0s)) || never.async_wait(net::use_awaitable));
        first.emplace(std::get<0>(std::move(which)));
        auto next = co_await (never.async_wait(net::use_awaitable) || wait(ex.exchange(item(2))));
        second.emplace(std::get<1>(std::move(next)));
    };
    start(work);
    expect_failed(first, exchange_errc::timed_out, 1);
    ex.close();
    step(io);
    expect_success();
    expect_failed(second, exchange_errc::closed, 2);
    EXPECT_EQ(items.alive.load(), 2);
}

/// An operation that fails is no failure to `||`, which ends with it and keeps its item.
TEST_F(AsioOr, EndsWithAnExchangeThatFails) {
    auto work = [&]() -> net::awaitable<void> {
        auto which = co_await (async_wait(ex.exchange(item(1)), net::use_awaitable) ||
                               never.async_wait(net::use_awaitable));
        first.emplace(std::get<0>(std::move(which)));
    };
    auto tuples = [&]() -> net::awaitable<void> {
        auto which = co_await (async_wait(ex.exchange(item(2)), as_tuple(net::use_awaitable)) ||
                               never.async_wait(as_tuple(net::use_awaitable)));
        auto [mine] = std::get<0>(std::move(which));
        second.emplace(std::move(mine));
    };
    start(work);
    ex.close();
    step(io);
    expect_success();
    expect_failed(first, exchange_errc::closed, 1);
    start(tuples);
    expect_success();
    expect_failed(second, exchange_errc::closed, 2);
    EXPECT_EQ(items.alive.load(), 2);
}

/// A coroutine that throws makes the failure of its operation one of `||`, which waits for a
/// success.
TEST_F(AsioOr, WaitsForTheOtherAfterACoroutineThatThrows) {
    auto work = [&]() -> net::awaitable<void> {
        auto which =
            co_await (throws_after_a_failure(ex, item(1)) || wait(other.exchange(item(2))));
        EXPECT_EQ(which.index(), 1U);
        EXPECT_EQ(std::get<1>(which)->id(), 3);
        EXPECT_EQ(items.alive.load(), 1);
    };
    start(work);
    ex.close();
    step(io);
    EXPECT_FALSE(done);
    EXPECT_TRUE(meet(other, 3, 2));
    step(io);
    expect_success();
}

TEST_F(AsioOr, ThrowsIfBothCoroutinesThrow) {
    auto work = [&]() -> net::awaitable<void> {
        co_await (throws_after_a_failure(ex, item(1)) || throws_after_a_failure(other, item(2)));
    };
    start(work);
    ex.close();
    other.close();
    step(io);
    EXPECT_TRUE(done);
    EXPECT_THROW(std::rethrow_exception(thrown), net::multiple_exceptions);
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsioOr, EndsWithAnExchangeThatFindsAPartnerAtOnce) {
    auto work = [&]() -> net::awaitable<void> {
        auto which = co_await (wait(ex.exchange(item(1))) || never.async_wait(net::use_awaitable));
        first.emplace(std::get<0>(std::move(which)));
    };
    completed<tracked> partner;
    async_wait(ex.exchange(item(2)), keep_on(io, partner));
    start(work);
    expect_success();
    expect_got(first, 2);
    expect_got(partner, 1);
}

/// `||` starts both operands before it cancels one.
TEST_F(AsioOr, EndsWithAnOperandThatDoesNotSuspend) {
    auto at_once = []() -> net::awaitable<void> { co_return; };
    auto on_the_left = [&]() -> net::awaitable<void> {
        co_await (at_once() || keep(ex, item(1), first));
    };
    auto on_the_right = [&]() -> net::awaitable<void> {
        co_await (keep(ex, item(2), second) || at_once());
    };
    start(on_the_left);
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
    start(on_the_right);
    expect_success();
    expect_failed(second, exchange_errc::cancelled, 2);
}

// ---- `||` of two operations of tryst

TEST_F(AsioOr, WaitsForOneOfTwoChannels) {
    channel left;
    channel right;
    auto waits = [&]() -> net::awaitable<void> {
        const auto which = co_await (wait(left.receive()) || wait(right.receive()));
        EXPECT_EQ(std::get<0>(which)->id(), 1);
    };
    start(waits);
    EXPECT_TRUE(left.try_send(item(1)));
    step(io);
    expect_success();
    EXPECT_FALSE(left.try_send(item(2)));
    EXPECT_FALSE(right.try_send(item(2)));
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsioOr, SendsToOneOfTwoChannels) {
    channel left;
    channel right;
    completed<void, tracked> kept;
    completed<void, tracked> sent;
    auto send = [](channel& at, tracked mine, auto& out) -> net::awaitable<void> {
        out.emplace(co_await wait(at.send(std::move(mine))));
    };
    auto work = [&]() -> net::awaitable<void> {
        co_await (send(left, item(1), kept) || send(right, item(2), sent));
    };
    start(work);
    EXPECT_EQ(right.try_receive()->id(), 2);
    step(io);
    expect_success();
    EXPECT_FALSE(left.try_receive());
    expect_failed(kept, exchange_errc::cancelled, 1);
    ASSERT_TRUE(sent);
    EXPECT_TRUE(*sent);
}

/// The partners come after so many handlers each. Both exchanges may take place before either
/// coroutine is resumed, or after the other has been cancelled.
TEST_F(AsioOr, LosesNoStoredResultWhereverThePartnersCome) {
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

TEST_F(AsioOr, WithOneselfCompletesBoth) {
    auto work = [&]() -> net::awaitable<void> {
        co_await (keep(ex, item(1), first) || keep(ex, item(2), second));
    };
    start(work);
    expect_success();
    expect_got(first, 2);
    expect_got(second, 1);
    EXPECT_EQ(items.alive.load(), 2);
}

TEST_F(AsioOr, WithOneselfGivesTheItemOfTheFaster) {
    auto work = [&]() -> net::awaitable<void> {
        auto which = co_await (wait(ex.exchange(item(1))) || wait(ex.exchange(item(2))));
        const bool left = which.index() == 0;
        EXPECT_EQ(left ? std::get<0>(which)->id() : std::get<1>(which)->id(), left ? 2 : 1);
        EXPECT_EQ(items.alive.load(), 1); // `||` has dropped the other
    };
    start(work);
    expect_success();
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsioOr, CancelsBothIfItIsCancelled) {
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

// ---- Nested

TEST_F(AsioOr, OfTwoWaitsAndATimerEndsWithTheTimer) {
    auto work = [&]() -> net::awaitable<void> {
        const auto which = co_await (keep(ex, item(1), first) || keep(other, item(2), second) ||
                                     past.async_wait(net::use_awaitable));
        EXPECT_EQ(which.index(), 2U);
    };
    start(work);
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
    expect_failed(second, exchange_errc::cancelled, 2);
}

TEST_F(AsioOr, OfTwoWaitsAndATimerEndsWithTheSecondWait) {
    auto work = [&]() -> net::awaitable<void> {
        auto which = co_await (never.async_wait(net::use_awaitable) ||
                               (wait(ex.exchange(item(1))) || wait(other.exchange(item(2)))));
        auto inner = std::get<1>(std::move(which));
        second.emplace(std::get<1>(std::move(inner)));
    };
    start(work);
    EXPECT_TRUE(meet(other, 3, 2));
    step(io);
    expect_success();
    expect_got(second, 3);
    EXPECT_FALSE(meet(ex, 4, 1));
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsioOr, CancelsAnUnfinishedAnd) {
    result last;
    auto work = [&]() -> net::awaitable<void> {
        co_await (keep(ex, item(1), first) ||
                  (keep(other, item(2), second) && keep(third, item(3), last)));
    };
    start(work);
    EXPECT_TRUE(meet(other, 4, 2));
    step(io);
    EXPECT_FALSE(done);
    EXPECT_TRUE(meet(ex, 5, 1));
    step(io);
    expect_success();
    expect_got(first, 5);
    expect_got(second, 4);
    expect_failed(last, exchange_errc::cancelled, 3);
    EXPECT_EQ(items.alive.load(), 3);
}

// ---- `&&`

class AsioAnd : public composition_test {};

TEST_F(AsioAnd, OfTwoWaitsHasBothItems) {
    auto work = [&]() -> net::awaitable<void> {
        auto [left, right] = co_await (wait(ex.exchange(item(1))) && wait(other.exchange(item(2))));
        first.emplace(std::move(left));
        second.emplace(std::move(right));
    };
    start(work);
    EXPECT_TRUE(meet(other, 4, 2));
    step(io);
    EXPECT_FALSE(done);
    EXPECT_TRUE(meet(ex, 3, 1));
    step(io);
    expect_success();
    expect_got(first, 3);
    expect_got(second, 4);
    EXPECT_EQ(items.alive.load(), 2);
}

/// A failed wait is a value, so the other is not cancelled.
TEST_F(AsioAnd, OfTwoWaitsHasAnItemAndAFailure) {
    auto work = [&]() -> net::awaitable<void> {
        auto [left, right] = co_await (wait(ex.exchange(item(1))) && wait(other.exchange(item(2))));
        first.emplace(std::move(left));
        second.emplace(std::move(right));
    };
    start(work);
    ex.close();
    step(io);
    EXPECT_FALSE(done);
    EXPECT_TRUE(meet(other, 4, 2));
    step(io);
    expect_success();
    expect_failed(first, exchange_errc::closed, 1);
    expect_got(second, 4);
}

TEST_F(AsioAnd, EndsAfterATimerAndAWait) {
    auto work = [&]() -> net::awaitable<void> {
        first.emplace(co_await (wait(ex.exchange(item(1))) && past.async_wait(net::use_awaitable)));
    };
    start(work);
    EXPECT_FALSE(done);
    EXPECT_TRUE(meet(ex, 2, 1));
    step(io);
    expect_success();
    expect_got(first, 2);
}

TEST_F(AsioAnd, WithOneselfSwapsTheItems) {
    auto waits = [&]() -> net::awaitable<void> {
        auto [left, right] = co_await (wait(ex.exchange(item(1))) && wait(ex.exchange(item(2))));
        first.emplace(std::move(left));
        second.emplace(std::move(right));
    };
    start(waits);
    expect_success();
    expect_got(first, 2);
    expect_got(second, 1);
    EXPECT_EQ(items.alive.load(), 2);
}

TEST_F(AsioAnd, SendsToItself) {
    channel pipe;
    auto waits = [&]() -> net::awaitable<void> {
        const auto [sent, got] = co_await (wait(pipe.send(item(1))) && wait(pipe.receive()));
        EXPECT_TRUE(sent);
        EXPECT_EQ(got->id(), 1);
    };
    start(waits);
    expect_success();
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsioAnd, EndsTheWaitBesideACoroutineThatThrows) {
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
