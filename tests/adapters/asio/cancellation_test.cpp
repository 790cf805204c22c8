// SPDX-License-Identifier: MIT
// What only a cancellation slot can do. See waiting_test.cpp for the cancellation of all forms.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::asio::wait;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

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

class AsioCancellation : public ::testing::Test {
protected:
    auto handler() { return net::bind_cancellation_slot(signal.slot(), keep_on(io, got)); }
    net::awaitable<void> exchange_at_once(counted_token token) {
        got.emplace(co_await wait(ex.exchange(1, 0s, std::move(token))));
    }
    void emit(net::cancellation_type type = net::cancellation_type::terminal) { signal.emit(type); }

    net::io_context io;
    exchanger ex{1};
    net::cancellation_signal signal;
    completed<int> got;
};

/// A handler that throws when it is moved for the `nth` time.
struct throws_when_moved {
    explicit throws_when_moved(int& nth) noexcept : left(&nth) {}
    throws_when_moved(throws_when_moved&& other) : left(other.left) {
        if (--*left == 0) {
            throw 7;
        }
    }
    throws_when_moved& operator=(throws_when_moved&&) = delete;
    ~throws_when_moved() = default;
    void operator()(const tryst::exchange_result<int>&) const noexcept {}
    int* left;
};

TEST_F(AsioCancellation, FindsAnEmptySlotAfterAHandlersMoveThrew) {
    for (int nth = 1, left = 0; left <= 0; ++nth) {
        left = nth;
        bool offered = false;
        try {
            async_wait(ex.exchange(1),
                       net::bind_cancellation_slot(
                           signal.slot(), net::bind_executor(io, throws_when_moved(left))));
            offered = true;
            EXPECT_TRUE(ex.try_exchange(2));
            step(io);
        } catch (int) {
            EXPECT_FALSE(signal.slot().has_handler());
        }
        EXPECT_FALSE(waits_in_list(ex)) << offered;
        emit();
        io.restart();
        io.run(); // no work is left
        ASSERT_LT(nth, 100);
    }
}

TEST_F(AsioCancellation, IsOfAnyTypeExceptNone) {
    async_wait(ex.exchange(1), handler());
    step(io);
    emit(net::cancellation_type::none);
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    EXPECT_EQ(*ex.try_exchange(2), 1);
    step(io);
    expect_got(got, 2);
    for (const auto type : {net::cancellation_type::terminal, net::cancellation_type::partial,
                            net::cancellation_type::total, net::cancellation_type::all}) {
        got.reset();
        async_wait(ex.exchange(1), handler());
        emit(type);
        emit(type); // twice is as good as once
        EXPECT_FALSE(got);
        step(io);
        expect_failed(got, exchange_errc::cancelled, 1);
    }
}

TEST_F(AsioCancellation, LeavesTheSlotToTheHandler) {
    bool emitted = false;
    async_wait(ex.exchange(1),
               net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, [&](const auto&) {
                                               EXPECT_FALSE(signal.slot().has_handler());
                                               signal.slot().assign([&](auto) { emitted = true; });
                                           })));
    step(io);
    ex.close();
    step(io);
    EXPECT_TRUE(signal.slot().has_handler());
    emit();
    EXPECT_TRUE(emitted);
}

TEST_F(AsioCancellation, ServesOneExchangeAfterAnotherInTheSameSlot) {
    completed<int> second;
    async_wait(ex.exchange(1),
               net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, [&](const auto&) {
                                               async_wait(ex.exchange(3),
                                                          net::bind_cancellation_slot(
                                                              signal.slot(), keep_on(io, second)));
                                           })));
    step(io);
    EXPECT_EQ(*ex.try_exchange(2), 1);
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    emit();
    step(io);
    expect_failed(second, exchange_errc::cancelled, 3);
}

/// The operation has nothing to cancel, but its slot is connected until its handler is called.
TEST_F(AsioCancellation, IsIgnoredAfterACompletionInTheInitiation) {
    census tokens;
    for (const bool destroyed : {false, true}) {
        for (int handlers = 0; handlers != 8; ++handlers) {
            got.reset();
            auto context = std::make_unique<net::io_context>();
            net::cancellation_signal early;
            net::co_spawn(*context, exchange_at_once(counted_token{{tokens, 0}}),
                          net::bind_cancellation_slot(early.slot(), net::detached));
            for (int i = 0; i != handlers; ++i) {
                context->poll_one();
            }
            early.emit(net::cancellation_type::terminal);
            if (!destroyed) {
                context->poll();
            }
            context.reset();
            ASSERT_EQ(tokens.alive.load(), 0) << handlers;
        }
        EXPECT_TRUE(got);
    }
}

TEST_F(AsioCancellation, OfACoroutineGoesToTheOperationThatWaits) {
    completed<int> second;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            got.emplace(co_await wait(ex.exchange(1)));
            second.emplace(co_await wait(ex.exchange(2)));
        },
        net::bind_cancellation_slot(signal.slot(), net::detached));
    step(io);
    EXPECT_EQ(*ex.try_exchange(3), 1);
    step(io);
    expect_got(got, 3);
    ASSERT_TRUE(waits_in_list(ex));
    emit();
    step(io);
    expect_failed(second, exchange_errc::cancelled, 2);
}

} // namespace
