// SPDX-License-Identifier: MIT
// Cancellation by the handler's slot. See sides_test.cpp for the behaviour of all initiating
// functions, and composition_cancellation_test.cpp for compositions.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <stop_token>
#include <utility>

namespace {

using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::test::as_tuple;
using tryst::test::completed;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::grow;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::waits_in_arena;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

class AsioCancellation : public ::testing::Test {
protected:
    auto handler() { return net::bind_cancellation_slot(signal.slot(), keep_on(io, got)); }
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

TEST_F(AsioCancellation, OfTypeNoneIsIgnored) {
    async_wait(ex.exchange(1), handler());
    step(io);
    emit(net::cancellation_type::none);
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    EXPECT_EQ(*ex.try_exchange(2), 1);
    step(io);
    expect_got(got, 2);
}

TEST_F(AsioCancellation, InTheTurnOfTheInitiation) {
    for (const int slots : {0, 1}) {
        grow(ex, slots);
        got.reset();
        async_wait(ex.exchange(1), handler());
        EXPECT_EQ(waits_in_arena(ex), slots == 1);
        emit();
        step(io);
        expect_failed(got, exchange_errc::cancelled, 1);
        EXPECT_FALSE(waits_in_list(ex));
        EXPECT_FALSE(waits_in_arena(ex));
    }
}

TEST_F(AsioCancellation, AfterAMatchInTheInitiationIsTooLate) {
    completed<int> partner;
    async_wait(ex.exchange(2), keep_on(io, partner));
    async_wait(ex.exchange(1), handler());
    emit();
    step(io);
    expect_got(got, 2);
    expect_got(partner, 1);
}

TEST_F(AsioCancellation, TwiceIsAsGoodAsOnce) {
    async_wait(ex.exchange(1), handler());
    step(io);
    emit();
    emit(net::cancellation_type::total);
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST_F(AsioCancellation, AfterTheCompletionFindsAnEmptySlot) {
    async_wait(ex.exchange(1), handler());
    step(io);
    ex.close();
    step(io);
    expect_failed(got, exchange_errc::closed, 1);
    EXPECT_FALSE(signal.slot().has_handler());
    emit();
    step(io);
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

TEST_F(AsioCancellation, CancelsTheUseOfAnAwaitable) {
    completed<int> kept;
    net::co_spawn(
        io,
        [this, &kept]() -> net::awaitable<void> {
            auto [end] = co_await async_wait(ex.exchange(1), as_tuple(net::use_awaitable));
            kept.emplace(end);
        },
        net::bind_cancellation_slot(signal.slot(), net::detached));
    step(io);
    emit();
    step(io);
    expect_failed(kept, exchange_errc::cancelled, 1);
}

} // namespace
