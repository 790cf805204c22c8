// SPDX-License-Identifier: MIT
// What async_red and async_blue complete with, and every way to be told of it. See also two_sides_test.cpp.
#include <tryst/asio/async_red_blue.hpp>

#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "adapters/asio/sides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <future>
#include <optional>
#include <thread>
#include <utility>

namespace {

using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::order;
using tryst::asio::async_blue;
using tryst::asio::async_red;
using tryst::test::answer;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::deferred;
using tryst::test::error_code;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep_in;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::system_error;
using tryst::test::tracked;
namespace net = tryst::test::net;
using exchanger =
    tryst::red_blue_exchanger<tracked, answer>; // move-only, not default constructible
using red_end = exchange_result<answer, tracked>;
using blue_end = exchange_result<tracked, answer>;

/// One that asks question 1, for the test to answer with 2, or to close on.
class AsyncRedBlue : public ::testing::Test {
protected:
    tracked question() { return {items, 1}; }

    void meet() {
        step(io);
        const auto theirs = ex.try_blue(answer(items, 2));
        ASSERT_TRUE(theirs);
        EXPECT_EQ(theirs->id(), 1);
        step(io);
    }
    void close() {
        step(io);
        ex.close();
        step(io);
    }
    void expect_answer() {
        ASSERT_TRUE(got);
        EXPECT_FALSE(got->error);
        ASSERT_TRUE(got->item);
        EXPECT_EQ(got->item->id(), 2);
    }
    void expect_question_back() {
        ASSERT_TRUE(got);
        EXPECT_EQ(got->error, make_error_code(exchange_errc::closed));
        ASSERT_FALSE(got->item);
        EXPECT_EQ(got->item.error(), exchange_errc::closed);
        EXPECT_EQ(got->item.returned().id(), 1);
    }

    template <class Coroutine>
    void start(Coroutine coroutine) {
        net::co_spawn(io, std::move(coroutine), net::detached);
    }

    census items;
    net::io_context io;
    exchanger ex;
    completed<red_end> got;
};

// ---- Unlike types: a result

TEST_F(AsyncRedBlue, GivesACallbackTheResult) {
    async_red(ex, question(), keep_on(io, got));
    meet();
    expect_answer();
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsyncRedBlue, GivesACallbackTheQuestionBack) {
    async_red(ex, question(), keep_on(io, got));
    close();
    expect_question_back();
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsyncRedBlue, OfBothColoursMeet) {
    completed<blue_end> asked;
    async_red(ex, question(), keep_on(io, got));
    async_blue(ex, answer(items, 2), keep_on(io, asked));
    step(io);
    expect_answer();
    ASSERT_TRUE(asked && asked->item);
    EXPECT_EQ(asked->item->id(), 1);
}

TEST_F(AsyncRedBlue, OfOneColourWaitForTheOther) {
    completed<red_end> second;
    async_red(ex, question(), keep_on(io, got));
    async_red(ex, tracked(items, 3), keep_on(io, second));
    step(io);
    EXPECT_FALSE(got || second);
    meet();
    expect_answer();
    EXPECT_FALSE(second);
}

TEST_F(AsyncRedBlue, UseAwaitableGivesTheResult) {
    start([this]() -> net::awaitable<void> {
        answer reply = *co_await async_red(ex, question(), net::use_awaitable);
        got.emplace(error_code(), red_end(std::move(reply)));
    });
    meet();
    expect_answer();
}

TEST_F(AsyncRedBlue, UseAwaitableThrowsTheError) {
    std::optional<error_code> thrown;
    start([this, &thrown]() -> net::awaitable<void> {
        try {
            static_cast<void>(co_await async_red(ex, question(), net::use_awaitable));
        } catch (const system_error& error) {
            thrown = error.code();
        }
    });
    close();
    ASSERT_TRUE(thrown);
    EXPECT_EQ(*thrown, make_error_code(exchange_errc::closed));
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsyncRedBlue, AsTupleKeepsTheQuestion) {
    start([this]() -> net::awaitable<void> {
        auto [error, end] = co_await async_red(ex, question(), as_tuple(net::use_awaitable));
        got.emplace(error, std::move(end));
    });
    close();
    expect_question_back();
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsyncRedBlue, RedirectErrorKeepsTheQuestion) {
    start([this]() -> net::awaitable<void> {
        error_code error;
        red_end end =
            co_await async_red(ex, question(), net::redirect_error(net::use_awaitable, error));
        got.emplace(error, std::move(end));
    });
    close();
    expect_question_back();
}

TEST_F(AsyncRedBlue, UseFutureGivesTheResult) {
    std::future<red_end> later = async_red(io.get_executor(), ex, question(), net::use_future);
    meet();
    EXPECT_EQ(later.get()->id(), 2);
}

TEST_F(AsyncRedBlue, UseFutureThrowsTheError) {
    tryst::red_blue_exchanger<int, char> room; // of items that may outlive the test
    auto red = async_red(io.get_executor(), room, 1, net::use_future);
    room.close();
    auto blue = async_blue(io.get_executor(), room, 'b', net::use_future);
    step(io);
    EXPECT_THROW(static_cast<void>(red.get()), system_error);
    EXPECT_THROW(static_cast<void>(blue.get()), system_error);
}

TEST_F(AsyncRedBlue, DeferredOffersNothingBeforeItIsCalled) {
    {
        auto operation = async_red(ex, question(), deferred);
        EXPECT_EQ(ex.try_blue(answer(items, 2)).error(), exchange_errc::no_partner);
        EXPECT_EQ(items.alive.load(), 1);
        std::move(operation)(keep_on(io, got));
    }
    meet();
    expect_answer();
    static_cast<void>(async_red(ex, tracked(items, 3), deferred)); // never called
    EXPECT_EQ(items.alive.load(), 1);
}

TEST_F(AsyncRedBlue, DetachedGivesTheItemAwayAndDropsTheOther) {
    async_red(io.get_executor(), ex, question(), net::detached);
    meet();
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsyncRedBlue, RunsAHandlerWithoutExecutorOnTheSystemExecutor) {
    tryst::red_blue_exchanger<int, char> room;
    std::promise<std::thread::id> ran;
    async_red(room, 1, [&](error_code, exchange_result<char, int> end) {
        EXPECT_EQ(*end, 'b');
        ran.set_value(std::this_thread::get_id());
    });
    EXPECT_TRUE(room.try_blue('b'));
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
}

// ---- Like types: the item

TEST_F(AsyncRedBlue, OfOneTypeCompletesWithTheItem) {
    tryst::red_blue_exchanger<tracked, tracked, order::lifo> room;
    completed<tracked> red;
    completed<tracked> blue;
    async_red(room, question(), keep_on(io, red));
    async_blue(io.get_executor(), room, tracked(items, 2), keep_in(blue));
    step(io);
    expect_got(red, 2);
    expect_got(blue, 1);
}

TEST_F(AsyncRedBlue, OfOneTypeHandsTheItemBack) {
    tryst::red_blue_exchanger<tracked> room;
    completed<tracked> red;
    async_red(room, question(), keep_on(io, red));
    room.close();
    step(io);
    expect_failed(red, exchange_errc::closed, 1);
    std::future<tracked> late =
        async_blue(io.get_executor(), room, tracked(items, 2), net::use_future);
    step(io);
    EXPECT_THROW(late.get(), system_error);
    while (items.alive.load() != 1) { // the future's thread drops what the future does not want
        std::this_thread::yield();
    }
}

} // namespace
