// SPDX-License-Identifier: MIT
// Cancellation of composed operations: parallel groups, deadlines by hand, cancellation states and
// stop tokens. See composition_test.cpp for `||` and `&&`.
#include "adapters/asio/composition.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <exception>
#include <optional>
#include <stop_token>
#include <utility>
#include <variant>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test::net::experimental::awaitable_operators;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::asio::bind_stop_token;
using tryst::test::as_tuple;
using tryst::test::completed;
using tryst::test::composition_test;
using tryst::test::deferred;
using tryst::test::error_code;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;

// ---- Parallel groups

/// A party offers item 1 at `ex` and item 2 at `other`.
class AsioParallelGroup : public composition_test {
protected:
    auto end() {
        return [this](std::array<std::size_t, 2> order, exchange_result left_end,
                      exchange_result right_end) {
            done = true;
            faster = order[0];
            left.emplace(std::move(left_end));
            right.emplace(std::move(right_end));
        };
    }

    using exchange_result = tryst::exchange_result<tracked>;

    /// The executor is bound because the handlers of the group have none.
    template <class Condition>
    void run(exchanger& left_at, exchanger& right_at, Condition condition) {
        done = false;
        net::experimental::make_parallel_group(
            async_wait(left_at.exchange(item(1)), net::bind_executor(io, deferred)),
            async_wait(right_at.exchange(item(2)), net::bind_executor(io, deferred)))
            .async_wait(condition,
                        net::bind_cancellation_slot(outside.slot(), net::bind_executor(io, end())));
        step(io);
    }

    std::size_t faster = 9;
    completed<tracked> left;
    completed<tracked> right;
};

TEST_F(AsioParallelGroup, ForOneCancelsTheOther) {
    run(ex, other, net::experimental::wait_for_one());
    EXPECT_TRUE(meet(other, 3, 2));
    step(io);
    expect_success();
    EXPECT_EQ(faster, 1U);
    expect_failed(left, exchange_errc::cancelled, 1);
    expect_got(right, 3);
}

TEST_F(AsioParallelGroup, ForOneKeepsTheItemsIfBothExchanged) {
    run(ex, other, net::experimental::wait_for_one());
    EXPECT_TRUE(meet(other, 4, 2));
    EXPECT_TRUE(meet(ex, 3, 1));
    step(io);
    expect_success();
    expect_got(left, 3);
    expect_got(right, 4);
    EXPECT_EQ(items.alive.load(), 2);
}

TEST_F(AsioParallelGroup, ForAllHasBothItems) {
    run(ex, other, net::experimental::wait_for_all());
    EXPECT_TRUE(meet(other, 4, 2));
    step(io);
    EXPECT_FALSE(done);
    EXPECT_TRUE(meet(ex, 3, 1));
    step(io);
    expect_success();
    EXPECT_EQ(faster, 1U);
    expect_got(left, 3);
    expect_got(right, 4);
}

/// The error is in the result, which the group does not look at.
TEST_F(AsioParallelGroup, ForOneSuccessEndsWithAFailure) {
    run(ex, other, net::experimental::wait_for_one_success());
    ex.close();
    step(io);
    expect_success();
    expect_failed(left, exchange_errc::closed, 1);
    expect_failed(right, exchange_errc::cancelled, 2);
}

TEST_F(AsioParallelGroup, WithOneselfSwapsTheItems) {
    run(ex, ex, net::experimental::wait_for_one());
    expect_success();
    expect_got(left, 2);
    expect_got(right, 1);
}

TEST_F(AsioParallelGroup, HandsAllItemsBackIfItIsCancelled) {
    run(ex, other, net::experimental::wait_for_all());
    emit();
    expect_success();
    expect_failed(left, exchange_errc::cancelled, 1);
    expect_failed(right, exchange_errc::cancelled, 2);
    EXPECT_EQ(items.alive.load(), 2);
}

// ---- A timer that emits a cancellation signal

class AsioDeadlineByHand : public composition_test {
protected:
    /// @param limit  is set to expire.
    void watch(timer& limit) {
        limit.async_wait([this](error_code error) {
            if (!error) {
                outside.emit(net::cancellation_type::terminal);
            }
        });
    }
};

TEST_F(AsioDeadlineByHand, EndsAnExchange) {
    completed<tracked> got;
    async_wait(ex.exchange(item(1)), net::bind_cancellation_slot(outside.slot(), keep_on(io, got)));
    watch(past);
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);
    EXPECT_FALSE(meet(ex, 2, 1));
}

TEST_F(AsioDeadlineByHand, EndsAWait) {
    auto work = [&]() -> net::awaitable<void> {
        watch(past);
        co_await keep(ex, item(1), first);
    };
    start(work);
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
    EXPECT_FALSE(meet(ex, 2, 1));
}

TEST_F(AsioDeadlineByHand, IsTooLateAfterAMatch) {
    completed<tracked> got;
    async_wait(ex.exchange(item(1)), net::bind_cancellation_slot(outside.slot(), keep_on(io, got)));
    EXPECT_TRUE(meet(ex, 2, 1));
    watch(past);
    step(io);
    expect_got(got, 2);

    auto work = [&]() -> net::awaitable<void> { co_await keep(ex, item(3), first); };
    start(work);
    EXPECT_TRUE(meet(ex, 4, 3));
    outside.emit(net::cancellation_type::terminal); // before the coroutine has been resumed
    step(io);
    expect_success();
    expect_got(first, 4);
}

/// One signal for a coroutine that makes one exchange after another.
TEST_F(AsioDeadlineByHand, EndsTheExchangeThatIsWaiting) {
    auto work = [&]() -> net::awaitable<void> {
        co_await keep(ex, item(1), first);
        watch(past);
        co_await keep(ex, item(2), second);
    };
    start(work);
    EXPECT_TRUE(meet(ex, 3, 1));
    step(io);
    expect_success();
    expect_got(first, 3);
    expect_failed(second, exchange_errc::cancelled, 2);
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

/// The other operand then waits for the exchange, too.
TEST_F(AsioCancellationState, ThatIsDisabledProtectsAWaitBesideATimer) {
    auto shielded = [&]() -> net::awaitable<void> {
        co_await net::this_coro::reset_cancellation_state(net::disable_cancellation());
        co_await keep(ex, item(1), first);
    };
    auto work = [&]() -> net::awaitable<void> {
        const auto which = co_await (shielded() || past.async_wait(net::use_awaitable));
        EXPECT_EQ(which.index(), 1U);
    };
    start(work);
    EXPECT_FALSE(done);
    EXPECT_TRUE(meet(ex, 2, 1));
    step(io);
    expect_success();
    expect_got(first, 2);
}

TEST_F(AsioCancellationState, ForwardsOnlyTerminalCancellationByDefault) {
    auto work = [&]() -> net::awaitable<void> { co_await keep(ex, item(1), first); };
    start(work);
    emit(net::cancellation_type::total);
    emit(net::cancellation_type::partial);
    EXPECT_FALSE(done);
    emit(net::cancellation_type::terminal);
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
}

TEST_F(AsioCancellationState, ForwardsTotalCancellationIfEnabled) {
    auto work = [&]() -> net::awaitable<void> {
        co_await net::this_coro::reset_cancellation_state(net::enable_total_cancellation());
        co_await keep(ex, item(1), first);
    };
    start(work);
    emit(net::cancellation_type::total);
    expect_success();
    expect_failed(first, exchange_errc::cancelled, 1);
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

TEST_F(AsioCancellationState, IsAsGoodAsNewAfterAReset) {
    auto work = [&]() -> net::awaitable<void> {
        co_await keep(ex, item(1), first);
        co_await net::this_coro::reset_cancellation_state();
        co_await keep(ex, item(2), second);
    };
    start(work);
    emit();
    expect_failed(first, exchange_errc::cancelled, 1);
    EXPECT_TRUE(meet(ex, 3, 2));
    step(io);
    expect_success();
    expect_got(second, 3);
}

// ---- Stop tokens

/// A party offers item 1 beside a timer.
class AsioStopTokenBeside : public composition_test {
protected:
    net::awaitable<void> party(timer& limit) {
        auto which =
            co_await (async_wait(ex.exchange(item(1)),
                                 bind_stop_token(stop.get_token(), as_tuple(net::use_awaitable))) ||
                      limit.async_wait(net::use_awaitable));
        winner = which.index();
        if (winner == 0) {
            auto [mine] = std::get<0>(std::move(which));
            got.emplace(std::move(mine));
        }
    }

    std::stop_source stop;
    std::size_t winner = 9;
    completed<tracked> got;
};

TEST_F(AsioStopTokenBeside, ATimerEndsTheExchange) {
    auto work = [this] { return party(never); };
    start(work);
    stop.request_stop();
    step(io);
    expect_success();
    EXPECT_EQ(winner, 0U);
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST_F(AsioStopTokenBeside, ATimerLeavesItToTheTimerToEndTheExchange) {
    auto work = [this] { return party(past); };
    start(work);
    expect_success();
    EXPECT_EQ(winner, 1U);
    EXPECT_FALSE(meet(ex, 2, 1));
    EXPECT_EQ(items.alive.load(), 0); // `||` drops the item of the slower operation
}

/// A stopped timer that throws would be a failure of `||`, which would go on waiting.
TEST_F(AsioStopTokenBeside, AWaitStopsTheTimerAndSoTheWait) {
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

} // namespace
