// SPDX-License-Identifier: MIT
// Compositions of operations by Asio: `||`, `&&`, parallel groups, cancellation states. Whichever
// operation ends first, each party has one item: its partner's or its own.
#include "adapters/asio/composition.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <future>
#include <optional>
#include <stop_token>
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
using tryst::test::deferred;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep;
using tryst::test::keep_with_a_token;
using tryst::test::result;
using tryst::test::step;
using tryst::test::throws_after_a_failure;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;

class AsioComposition : public composition_test {};

/// The contexts of the events of a selection: its timers are those of the context.
template <class Context>
void end_selections_by_their_events(Context& context) {
    tryst::synchronous_channel<int> ch;
    std::stop_source source;
    std::promise<void> timed;
    std::promise<void> sent;
    std::promise<void> stopped;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            auto first = co_await wait(tryst::select(ch.receive(), tryst::sleep_for(2ms), 1h));
            EXPECT_EQ(first.index(), 1U);
            timed.set_value();
            auto second = co_await wait(tryst::select(tryst::sleep_for(1h), ch.receive()));
            EXPECT_EQ(second.template get<1>(), 7);
            sent.set_value();
            auto third =
                co_await wait(tryst::select(ch.receive(), tryst::stopped(source.get_token())));
            EXPECT_EQ(third.index(), 1U);
            stopped.set_value();
        },
        net::detached);
    timed.get_future().wait();
    EXPECT_TRUE(tryst::sync_wait(ch.send(7)));
    sent.get_future().wait();
    source.request_stop();
    stopped.get_future().wait();
}

TEST(AsioSelection, EndsByItsEvents) {
    net::io_context context;
    auto work = net::make_work_guard(context);
    std::thread runner([&] { context.run(); });
    end_selections_by_their_events(context);
    work.reset();
    runner.join();
    net::thread_pool pool(2);
    end_selections_by_their_events(pool);
    pool.join();
}

/// A context may end while a selection waits for its events.
TEST(AsioSelection, MayEndWithItsContext) {
    tryst::synchronous_channel<int> ch;
    std::stop_source source;
    {
        net::io_context context;
        net::co_spawn(
            context,
            [&]() -> net::awaitable<void> {
                const auto got = co_await wait(tryst::select(ch.receive(), tryst::sleep_for(1h),
                                                             tryst::stopped(source.get_token())));
                ADD_FAILURE() << got.index();
            },
            net::detached);
        context.poll();
    }
    source.request_stop();
    EXPECT_FALSE(ch.try_send(1));
}

/// A set is awaited on one context after another, the first of which ends while it waits.
TEST(AsioSelection, AwaitsASet) {
    using numbers = tryst::synchronous_channel<int>;
    numbers ch;
    tryst::case_set<int, tryst::receive_case<numbers>> set;
    set.add(ch.receive(), 7);
    {
        net::io_context context;
        net::co_spawn(
            context,
            [&]() -> net::awaitable<void> {
                const auto got = co_await wait(set.next());
                ADD_FAILURE() << got.token();
            },
            net::detached);
        context.poll();
    }
    EXPECT_FALSE(ch.try_send(1));
    net::io_context context;
    int sum = 0;
    net::co_spawn(
        context,
        [&]() -> net::awaitable<void> {
            while (auto got = co_await wait(set.next(1h))) {
                if (!got.get()) {
                    co_return;
                }
                sum += *got.get();
            }
        },
        net::detached);
    std::thread sender([&] {
        for (int i = 0; i != 100; ++i) {
            EXPECT_TRUE(tryst::sync_wait(ch.send(1)));
        }
        ch.close();
    });
    context.run();
    sender.join();
    EXPECT_EQ(sum, 100);
}

TEST_F(AsioComposition, OrEndsWithAWaitAndCancelsTheTimer) {
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

TEST_F(AsioParallelGroup, HandsAllItemsBackIfItIsCancelled) {
    run(ex, other, net::experimental::wait_for_all());
    emit();
    expect_success();
    expect_failed(left, exchange_errc::cancelled, 1);
    expect_failed(right, exchange_errc::cancelled, 2);
    EXPECT_EQ(items.alive.load(), 2);
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

// ---- Executors

class AsioExecutorType : public composition_test {
protected:
    template <class Executor>
    net::awaitable<void, Executor> party(result& out, timer& limit) {
        constexpr net::use_awaitable_t<Executor> token;
        co_await (keep<Executor>(ex, item(1), out) || limit.async_wait(token));
    }

    template <class Executor>
    void exchange_on(const Executor& executor) {
        first.reset();
        second.reset();
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

TEST_F(AsioExecutorType, MayBeAny) {
    exchange_on(io.get_executor());
    exchange_on(net::make_strand(io));
    exchange_on(net::any_io_executor(io.get_executor()));
    exchange_on(net::any_io_executor(net::make_strand(io)));
}

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
