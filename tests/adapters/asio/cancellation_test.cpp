// SPDX-License-Identifier: MIT Cancellation by the handler's slot, and exchanges beside `||`. See
// sides_test.cpp for the behaviour of all initiating functions.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#else
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/steady_timer.hpp>
#endif

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::asio::async_exchange;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
using tryst::test::error_code;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::grow;
using tryst::test::keep_on;
using tryst::test::step;
using tryst::test::tracked;
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
    void operator()(const error_code&, int) const noexcept {}
    int* left;
};

TEST_F(AsioCancellation, FindsAnEmptySlotAfterAHandlersMoveThrew) {
    for (int nth = 1, left = 0; left <= 0; ++nth) {
        left = nth;
        bool offered = false;
        try {
            async_exchange(ex, 1,
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
    async_exchange(ex, 1, handler());
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
        async_exchange(ex, 1, handler());
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
    async_exchange(ex, 2, keep_on(io, partner));
    async_exchange(ex, 1, handler());
    emit();
    step(io);
    expect_got(got, 2);
    expect_got(partner, 1);
}

TEST_F(AsioCancellation, TwiceIsAsGoodAsOnce) {
    async_exchange(ex, 1, handler());
    step(io);
    emit();
    emit(net::cancellation_type::total);
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST_F(AsioCancellation, AfterTheCompletionFindsAnEmptySlot) {
    async_exchange(ex, 1, handler());
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
    async_exchange(
        ex, 1,
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, [&](error_code, int) {
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
    async_exchange(
        ex, 1,
        net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, [&](error_code, int) {
                                        async_exchange(ex, 3,
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
            auto [error, item] = co_await async_exchange(ex, 1, as_tuple(net::use_awaitable));
            kept.emplace(error, item);
        },
        net::bind_cancellation_slot(signal.slot(), net::detached));
    step(io);
    emit();
    step(io);
    expect_failed(kept, exchange_errc::cancelled, 1);
}

// ---- Beside others

using result = std::optional<exchange_result<tracked>>;
using timer = net::steady_timer;

net::awaitable<void> keep(tryst::exchanger<tracked>& ex, tracked item, result& out) {
    out.emplace(co_await tryst::asio::wait(ex.exchange(std::move(item))));
}

net::awaitable<void> keep_completion(tryst::exchanger<tracked>& ex, tracked item, result& out) {
    auto [error, kept] = co_await async_exchange(ex, std::move(item), as_tuple(net::use_awaitable));
    if (error) {
        out.emplace(error == exchange_errc::cancelled ? exchange_errc::cancelled
                                                      : exchange_errc::closed,
                    std::move(kept));
    } else {
        out.emplace(std::move(kept));
    }
}

using keeper = net::awaitable<void> (*)(tryst::exchanger<tracked>&, tracked, result&);

/// `keep(...) || timer`. Its `out` is there when `winner` is: the branch that has ended first.
net::awaitable<void> keep_or_time_out(keeper how, tryst::exchanger<tracked>& ex, tracked item,
                                      timer& limit, result& out,
                                      std::optional<std::size_t>& winner) {
    using namespace net::experimental::awaitable_operators;
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
    for (int handlers = 0; handlers != 20; ++handlers) {
        start(-1s);
        for (int i = 0; i != handlers; ++i) {
            io.poll_one();
        }
        const bool exchanged = meet();
        io.run();
        ASSERT_TRUE(winner);
        expect(exchanged);
        ++(exchanged ? met : timed_out);
    }
    EXPECT_GT(met, 0);
    EXPECT_GT(timed_out, 0);
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

INSTANTIATE_TEST_SUITE_P(, AwaitableOr, ::testing::Values(keep, keep_completion),
                         [](const auto& which) { return which.index == 0 ? "Wait" : "AsTuple"; });

} // namespace
