// SPDX-License-Identifier: MIT
// Every completion token: the usual ones with each function, the rest with async_exchange.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "adapters/asio/sides.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/append.hpp>
#include <boost/asio/experimental/co_spawn.hpp>
#include <boost/asio/experimental/coro.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/experimental/promise.hpp>
#include <boost/asio/experimental/use_promise.hpp>
#include <boost/asio/prepend.hpp>
#include <boost/asio/steady_timer.hpp>
#else
#include <asio/experimental/co_spawn.hpp>
#include <asio/experimental/coro.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/experimental/promise.hpp>
#include <asio/steady_timer.hpp>
#if ASIO_VERSION >= 102400
#include <asio/append.hpp>
#include <asio/prepend.hpp>
#else
#include <asio/experimental/append.hpp>
#include <asio/experimental/prepend.hpp>
#endif
#if ASIO_VERSION >= 102600
#include <asio/experimental/use_promise.hpp>
#else
#include <asio/experimental/use_coro.hpp>
#endif
#endif

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <utility>

namespace {

using tryst::exchange_errc;
using tryst::asio::async_exchange;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::completion;
using tryst::test::deferred;
using tryst::test::ended;
using tryst::test::error_code;
using tryst::test::expect_back;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::expect_met;
using tryst::test::item_of;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::system_error;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102400
using net::append;
using net::prepend;
#else
using net::experimental::append;
using net::experimental::prepend;
#endif
using exchanger = tryst::exchanger<tracked>; // move-only, and not default constructible

// ---- With each function

/// A party offers item 1 on `io`. The test meets it with item 2, or closes the place.
template <class Side>
class TokenOfEachSide : public tryst::test::side_test<Side> {
protected:
    void come() {
        step(this->io);
        this->meet(2, 1);
        step(this->io);
    }
    void close() {
        step(this->io);
        this->at->close();
        step(this->io);
    }

    template <class Token, class... Io>
    auto party(Token&& token, const Io&... io) {
        return Side::start(*this->at, this->items, 1, std::forward<Token>(token), io...);
    }
    /// `work` must outlive the coroutine.
    template <class Work>
    void run(Work& work) {
        net::co_spawn(this->io, work(), net::detached);
    }
    /// Enters the end of an operation, whose items must be the only ones alive.
    template <class Item>
    void enter(error_code error, const Item& item) {
        end = ended{error, item_of(item)};
        EXPECT_EQ(this->items.alive.load(), end->item ? 1 : 0);
    }

    std::optional<ended> end;
};
TYPED_TEST_SUITE(TokenOfEachSide, tryst::test::fifo_sides, tryst::test::side_names);

TYPED_TEST(TokenOfEachSide, UseAwaitableGivesTheItem) {
    auto work = [this]() -> net::awaitable<void> {
        const auto got = co_await this->party(net::use_awaitable);
        this->enter(error_code(), got);
    };
    this->run(work);
    this->come();
    expect_met<TypeParam>(this->end, 2);
}

TYPED_TEST(TokenOfEachSide, UseAwaitableThrowsTheErrorAndDropsTheItem) {
    std::optional<error_code> thrown;
    auto work = [&]() -> net::awaitable<void> {
        try {
            static_cast<void>(co_await this->party(net::use_awaitable));
        } catch (const system_error& error) {
            thrown = error.code();
        }
    };
    this->run(work);
    this->close();
    EXPECT_EQ(thrown, error_code(make_error_code(exchange_errc::closed)));
    EXPECT_EQ(this->items.alive.load(), 0);
}

TYPED_TEST(TokenOfEachSide, AsTupleKeepsTheItemOfAFailure) {
    auto work = [this]() -> net::awaitable<void> {
        const auto [error, item] = co_await this->party(as_tuple(net::use_awaitable));
        this->enter(error, item);
    };
    this->run(work);
    this->close();
    expect_back<TypeParam>(this->end, exchange_errc::closed, 1);
}

TYPED_TEST(TokenOfEachSide, RedirectErrorKeepsTheItemOfAFailure) {
    auto work = [this]() -> net::awaitable<void> {
        error_code error;
        const auto item = co_await this->party(net::redirect_error(net::use_awaitable, error));
        this->enter(error, item);
    };
    this->run(work);
    this->close();
    expect_back<TypeParam>(this->end, exchange_errc::closed, 1);
}

TYPED_TEST(TokenOfEachSide, UseFutureGivesTheItem) {
    auto later = this->party(net::use_future, this->io.get_executor());
    this->come();
    EXPECT_EQ(item_of(later.get()), TypeParam::gets ? std::optional<long>(2) : std::nullopt);
    this->until_the_items_are_gone();
}

TYPED_TEST(TokenOfEachSide, UseFutureThrowsTheErrorAndDropsTheItem) {
    auto later = this->party(net::use_future, this->io.get_executor());
    this->close();
    auto late = this->party(net::use_future, this->io.get_executor());
    EXPECT_THROW(static_cast<void>(later.get()), system_error);
    EXPECT_THROW(static_cast<void>(late.get()), system_error);
    this->until_the_items_are_gone();
}

TYPED_TEST(TokenOfEachSide, DeferredOffersNothingBeforeItIsCalled) {
    {
        auto operation = this->party(deferred);
        this->expect_nobody_waits();
        EXPECT_EQ(this->items.alive.load(), TypeParam::brings ? 1 : 0);
        std::move(operation)(this->keep(this->end));
    }
    this->come();
    expect_met<TypeParam>(this->end, 2);
    static_cast<void>(this->party(deferred)); // never called
    EXPECT_EQ(this->items.alive.load(), 0);
}

TYPED_TEST(TokenOfEachSide, DetachedGivesTheItemAwayAndDropsTheOther) {
    this->party(net::detached, this->io.get_executor());
    this->come();
    EXPECT_EQ(this->items.alive.load(), 0);
    EXPECT_TRUE(this->io.stopped());
}

// ---- With async_exchange

/// A party offers item 1 on `io`. The test meets it with item 2, or closes the exchanger.
class CompletionToken : public ::testing::Test {
protected:
    tracked item(long id) { return {items, id}; }

    /// Comes as the partner.
    void meet() {
        step(io);
        ASSERT_TRUE(waits_in_list(ex));
        const auto theirs = ex.try_exchange(item(2));
        ASSERT_TRUE(theirs);
        EXPECT_EQ(theirs->id(), 1);
        step(io);
    }
    void close() {
        step(io);
        ASSERT_TRUE(waits_in_list(ex));
        ex.close();
        step(io);
    }

    census items;
    net::io_context io;
    exchanger ex;
    completed<tracked> got;
};

TEST_F(CompletionToken, UseFutureWithAFunctionKeepsTheItemOfAFailedExchange) {
    auto later = async_exchange(io.get_executor(), ex, item(1),
                                net::use_future([](error_code error, tracked back) {
                                    return completion<tracked>{error, std::move(back)};
                                }));
    close();
    got = later.get();
    expect_failed(got, exchange_errc::closed, 1);
}

TEST_F(CompletionToken, UseFutureIsBrokenIfItsContextEnds) {
    std::future<tracked> later;
    {
        net::io_context context;
        later = async_exchange(ex, item(1), net::bind_executor(context, net::use_future));
        context.poll();
    }
    EXPECT_FALSE(waits_in_list(ex));
    EXPECT_THROW(later.get(), std::future_error);
}

TEST_F(CompletionToken, DeferredOffersACopyEachTimeItIsCalled) {
    tryst::exchanger<int> room;
    completed<int> first;
    completed<int> second;
    const auto operation = async_exchange(room, 7, deferred);
    operation(keep_on(io, first));
    operation(keep_on(io, second));
    step(io);
    expect_got(first, 7);
    expect_got(second, 7);
}

/// The second exchange passes on what the first has brought.
TEST_F(CompletionToken, DeferredMakesASequenceOfExchanges) {
    exchanger next;
    const auto io_executor = io.get_executor();
    async_exchange(io_executor, ex, item(1),
                   deferred([&next, io_executor](error_code, tracked theirs) {
                       return async_exchange(io_executor, next, std::move(theirs), deferred);
                   }))(keep_on(io, got));
    meet();
    ASSERT_TRUE(waits_in_list(next));
    const auto theirs = next.try_exchange(item(3));
    EXPECT_EQ(theirs->id(), 2);
    step(io);
    expect_got(got, 3);
    EXPECT_EQ(items.alive.load(), 2);
}

TEST_F(CompletionToken, AppendAndPrependAddToTheItem) {
    long sum = 0;
    const auto add = [&sum](error_code, const tracked& theirs, long more) {
        sum = theirs.id() + more;
    };
    async_exchange(ex, item(1), append(net::bind_executor(io, add), 10));
    meet();
    EXPECT_EQ(sum, 12);
    const auto add_first = [&sum](long more, error_code, const tracked& theirs) {
        sum = theirs.id() + more;
    };
    async_exchange(ex, item(1), prepend(net::bind_executor(io, add_first), 20));
    meet();
    EXPECT_EQ(sum, 22);
}

TEST_F(CompletionToken, AppendAddsToATuple) {
    auto work = [this]() -> net::awaitable<void> {
        auto token = append(as_tuple(net::use_awaitable), 7);
        auto [error, kept, more] = co_await async_exchange(ex, item(1), std::move(token));
        got.emplace(error, std::move(kept));
        EXPECT_EQ(more, 7);
    };
    net::co_spawn(io, work(), net::detached);
    close();
    expect_failed(got, exchange_errc::closed, 1);
}

/// The slot that is bound replaces that of the coroutine.
TEST_F(CompletionToken, BindCancellationSlotReplacesTheSlotOfAnAwaitable) {
    net::cancellation_signal outside;
    net::cancellation_signal inside;
    auto work = [&]() -> net::awaitable<void> {
        auto token = net::bind_cancellation_slot(inside.slot(), as_tuple(net::use_awaitable));
        auto [error, kept] = co_await async_exchange(ex, item(1), std::move(token));
        got.emplace(error, std::move(kept));
    };
    net::co_spawn(io, work(), net::bind_cancellation_slot(outside.slot(), net::detached));
    step(io);
    outside.emit(net::cancellation_type::terminal);
    step(io);
    EXPECT_FALSE(got);
    inside.emit(net::cancellation_type::terminal);
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST_F(CompletionToken, UsePromiseWithdrawsTheOfferWhenItIsDestroyed) {
    tryst::exchanger<int> room;
    {
        const auto promise =
            async_exchange(io.get_executor(), room, 1, net::experimental::use_promise);
        step(io);
        EXPECT_TRUE(waits_in_list(room));
    }
    step(io);
    EXPECT_FALSE(waits_in_list(room));
    EXPECT_TRUE(io.stopped());
}

TEST_F(CompletionToken, UsePromiseKeepsTheItemOfAFailedExchange) {
    tryst::exchanger<int> room; // Boost's promise wants items that are default constructible
    completed<int> kept;
    auto promise = async_exchange(io.get_executor(), room, 1, net::experimental::use_promise);
    step(io);
    room.close();
    step(io);
#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102600
    promise(keep_on(io, kept));
#else
    promise.async_wait(keep_on(io, kept));
#endif
    step(io);
    expect_failed(kept, exchange_errc::closed, 1);
}

/// The group's own handlers have no executor.
TEST_F(CompletionToken, DeferredInAParallelGroupKeepsTheItemWhoeverIsFirst) {
    for (const bool meets : {true, false}) {
        got.reset();
        net::steady_timer limit(io, meets ? std::chrono::hours(1) : std::chrono::hours(-1));
        const auto keep = [this](auto /*order*/, error_code error, tracked mine, error_code) {
            got.emplace(error, std::move(mine));
        };
        net::experimental::make_parallel_group(
            async_exchange(io.get_executor(), ex, item(1), deferred), limit.async_wait(deferred))
            .async_wait(net::experimental::wait_for_one(), net::bind_executor(io, keep));
        if (meets) {
            meet();
            expect_got(got, 2);
        } else {
            step(io);
            expect_failed(got, exchange_errc::cancelled, 1);
        }
    }
}

// In Asio 1.22, a `coro` awaits an exchange with `use_coro`, and cannot await `deferred`. In
// Boost.Asio 1.81 it can. There `use_coro` does not compile for signatures with an error and a
// value, because it awaits the operation with a signature that has lost the value.
#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102600
constexpr auto in_coro = deferred;
#else
constexpr net::experimental::use_coro_t<> in_coro;
#endif

net::experimental::coro<void, void> coro_party(net::io_context& io, exchanger& ex, tracked mine,
                                               completed<tracked>& got) {
    tracked theirs = co_await async_exchange(io.get_executor(), ex, std::move(mine), in_coro);
    got.emplace(error_code(), std::move(theirs));
}

class AsioCoro : public CompletionToken {
protected:
    void start() {
        net::experimental::co_spawn(
            coro_party(io, ex, item(1), got),
            net::bind_cancellation_slot(
                signal.slot(), [this](std::exception_ptr error) { thrown = std::move(error); }));
    }
    net::cancellation_signal signal;
    std::exception_ptr thrown;
};

TEST_F(AsioCoro, GetsThePartnersItem) {
    start();
    meet();
    EXPECT_FALSE(thrown);
    expect_got(got, 2);
}

TEST_F(AsioCoro, ThrowsTheErrorAndDropsTheItem) {
    start();
    close();
    EXPECT_TRUE(thrown);
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsioCoro, CanBeCancelled) {
    start();
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    signal.emit(net::cancellation_type::terminal);
    step(io);
    EXPECT_TRUE(thrown);
    EXPECT_FALSE(waits_in_list(ex));
    EXPECT_EQ(items.alive.load(), 0);
}

} // namespace
