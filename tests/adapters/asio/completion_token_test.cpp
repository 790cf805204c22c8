// SPDX-License-Identifier: MIT
// Every completion token: the usual ones with each side, the rest with an exchange.
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
#include <boost/asio/prepend.hpp>
#include <boost/asio/steady_timer.hpp>
#else
#include <asio/experimental/co_spawn.hpp>
#include <asio/experimental/coro.hpp>
#include <asio/experimental/parallel_group.hpp>
#include <asio/steady_timer.hpp>
#if ASIO_VERSION >= 102400
#include <asio/append.hpp>
#include <asio/prepend.hpp>
#else
#include <asio/experimental/append.hpp>
#include <asio/experimental/prepend.hpp>
#include <asio/experimental/promise.hpp>
#endif
#if ASIO_VERSION < 102600
#include <asio/experimental/use_coro.hpp>
#endif
#endif

#include <gtest/gtest.h>

#include <chrono>
#include <exception>
#include <future>
#include <optional>
#include <tuple>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::asio::async_wait;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::completed;
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

// ---- With each side

/// How an operation ends.
enum class ending { match, time_out, cancellation, close };

/// A party offers item 1 on `io`. Its partner brings item 2.
template <class Side>
class TokenOfEachSide : public tryst::test::side_test<Side> {
protected:
    /// Ends an operation in every way, and expects its result and its items.
    /// @param start  `start(operation, slot)` begins an operation that `slot` cancels, and passes
    ///   its result to `enter`, or returns a function that does so after the end.
    template <class Start>
    void expect_conserved(Start start) {
        for (const auto how :
             {ending::match, ending::time_out, ending::cancellation, ending::close}) {
            SCOPED_TRACE(static_cast<int>(how));
            net::cancellation_signal signal;
            end.reset();
            auto finish = start(make(how == ending::time_out ? 1ms : 1h), signal.slot());
            step(this->io);
            if (how == ending::match) {
                this->meet(2, 1);
            } else if (how == ending::cancellation) {
                signal.emit(net::cancellation_type::terminal);
            } else if (how == ending::close) {
                this->at->close();
            }
            this->io.restart();
            this->io.run();
            finish();
            expect_end(how);
            this->at = std::make_unique<typename Side::place>(); // may have kept an item
            EXPECT_EQ(this->items.alive.load(), 0);
        }
    }

    auto make(std::chrono::nanoseconds patience) {
        if constexpr (Side::brings) {
            return Side::make(*this->at, {this->items, 1}, patience);
        } else {
            return Side::make(*this->at, patience);
        }
    }

    /// Enters the end of an operation, whose items must be the only ones alive.
    template <class Result>
    void enter(const Result& result) {
        EXPECT_FALSE(end) << "ended twice";
        end = ended{result.error(), item_in(result)};
        EXPECT_EQ(this->items.alive.load(), end->item ? 1 : 0);
    }

    auto entering() {
        return net::bind_executor(this->io, [this](const auto& result) { this->enter(result); });
    }

    /// Enters what an awaitable returns.
    template <class Awaitable>
    void run(Awaitable awaitable, net::cancellation_slot slot) {
        const auto await = [](TokenOfEachSide& self, Awaitable inner) -> net::awaitable<void> {
            auto result = co_await std::move(inner);
            if constexpr (requires { std::get<0>(result); }) {
                self.enter(std::get<0>(result));
            } else {
                self.enter(result);
            }
        };
        net::co_spawn(this->io, await(*this, std::move(awaitable)),
                      net::bind_cancellation_slot(slot, net::detached));
    }

    static constexpr auto nothing = [] {};
    std::optional<ended> end;

private:
    template <class Result>
    std::optional<long> item_in(const Result& result) {
        if constexpr (requires { this->at->received; }) {
            return result ? std::optional(this->at->received.at(0).id()) : std::nullopt;
        } else {
            return item_of(result);
        }
    }

    void expect_end(ending how) {
        switch (how) {
        case ending::match:
            return expect_met<Side>(end, 2);
        case ending::time_out:
            return expect_back<Side>(end, exchange_errc::timed_out, 1);
        case ending::cancellation:
            return expect_back<Side>(end, exchange_errc::cancelled, 1);
        case ending::close:
            return expect_back<Side>(end, exchange_errc::closed, 1);
        }
    }
};
TYPED_TEST_SUITE(TokenOfEachSide, tryst::test::fifo_sides, tryst::test::side_names);

TYPED_TEST(TokenOfEachSide, ACallbackWithATupleConservesTheItems) {
    this->expect_conserved([this](auto&& operation, net::cancellation_slot slot) {
        async_wait(std::move(operation),
                   net::bind_cancellation_slot(
                       slot, net::bind_executor(this->io, as_tuple([this](auto tuple) {
                                                    this->enter(std::get<0>(tuple));
                                                }))));
        return this->nothing;
    });
}

/// A token that throws an error would drop the item.
TYPED_TEST(TokenOfEachSide, UseFutureConservesTheItems) {
    this->expect_conserved([this](auto&& operation, net::cancellation_slot slot) {
        auto later = async_wait(
            std::move(operation),
            net::bind_cancellation_slot(slot, net::bind_executor(this->io, net::use_future)));
        return [this, later = std::move(later)]() mutable { this->enter(later.get()); };
    });
}

TYPED_TEST(TokenOfEachSide, UseAwaitableConservesTheItems) {
    this->expect_conserved([this](auto&& operation, net::cancellation_slot slot) {
        this->run(async_wait(std::move(operation), net::use_awaitable), slot);
        return this->nothing;
    });
}

TYPED_TEST(TokenOfEachSide, UseAwaitableWithATupleConservesTheItems) {
    this->expect_conserved([this](auto&& operation, net::cancellation_slot slot) {
        this->run(async_wait(std::move(operation), as_tuple(net::use_awaitable)), slot);
        return this->nothing;
    });
}

/// So it is not one of the awaitables that need no handler.
TYPED_TEST(TokenOfEachSide, UseAwaitableInAnotherTokenConservesTheItems) {
    this->expect_conserved([this](auto&& operation, net::cancellation_slot slot) {
        this->run(
            async_wait(std::move(operation), net::bind_executor(this->io, net::use_awaitable)),
            slot);
        return this->nothing;
    });
}

TYPED_TEST(TokenOfEachSide, DeferredConservesTheItems) {
    this->expect_conserved([this](auto&& operation, net::cancellation_slot slot) {
        auto lazy = async_wait(std::move(operation), deferred);
        this->expect_nobody_waits();
        EXPECT_EQ(this->items.alive.load(), TypeParam::brings ? 1 : 0);
        std::move(lazy)(net::bind_cancellation_slot(slot, this->entering()));
        return this->nothing;
    });
    static_cast<void>(async_wait(this->make(1h), deferred)); // never called
    this->at.reset();
    EXPECT_EQ(this->items.alive.load(), 0);
}

TYPED_TEST(TokenOfEachSide, DetachedGivesTheItemAwayAndDropsTheOther) {
    async_wait(this->make(1h), net::bind_executor(this->io, net::detached));
    step(this->io);
    this->meet(2, 1);
    step(this->io);
    this->at.reset();
    EXPECT_EQ(this->items.alive.load(), 0);
    EXPECT_TRUE(this->io.stopped());
}

// ---- With an exchange

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

TEST_F(CompletionToken, UseFutureIsBrokenIfItsContextEnds) {
    std::future<exchange_result<tracked>> later;
    {
        net::io_context context;
        later = async_wait(ex.exchange(item(1)), net::bind_executor(context, net::use_future));
        context.poll();
    }
    EXPECT_FALSE(waits_in_list(ex));
    EXPECT_THROW(static_cast<void>(later.get()), std::future_error);
}

TEST_F(CompletionToken, DeferredOffersACopyEachTimeItIsCalled) {
    tryst::exchanger<int> room;
    completed<int> first;
    completed<int> second;
    const auto operation = async_wait(room.exchange(7), deferred);
    operation(keep_on(io, first));
    operation(keep_on(io, second));
    step(io);
    expect_got(first, 7);
    expect_got(second, 7);
}

/// The second exchange passes on what the first has brought.
TEST_F(CompletionToken, DeferredMakesASequenceOfExchanges) {
    exchanger next;
    const auto pass_on = [&next](exchange_result<tracked> theirs) {
        return async_wait(next.exchange(*std::move(theirs)), deferred);
    };
    async_wait(ex.exchange(item(1)), deferred(pass_on))(keep_on(io, got));
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
    const auto add = [&sum](const exchange_result<tracked>& theirs, long more) {
        sum = theirs->id() + more;
    };
    async_wait(ex.exchange(item(1)), append(net::bind_executor(io, add), 10));
    meet();
    EXPECT_EQ(sum, 12);
    const auto add_first = [&sum](long more, const exchange_result<tracked>& theirs) {
        sum = theirs->id() + more;
    };
    async_wait(ex.exchange(item(1)), prepend(net::bind_executor(io, add_first), 20));
    meet();
    EXPECT_EQ(sum, 22);
}

/// The slot that is bound replaces that of the coroutine.
TEST_F(CompletionToken, BindCancellationSlotReplacesTheSlotOfAnAwaitable) {
    net::cancellation_signal outside;
    net::cancellation_signal inside;
    auto work = [&]() -> net::awaitable<void> {
        auto token = net::bind_cancellation_slot(inside.slot(), as_tuple(net::use_awaitable));
        auto [kept] = co_await async_wait(ex.exchange(item(1)), std::move(token));
        got.emplace(std::move(kept));
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

#if !defined(TRYST_BOOST_ASIO) && ASIO_VERSION < 102400 // later ones need a default result

TEST_F(CompletionToken, UsePromiseKeepsTheResultOrWithdrawsTheOffer) {
    const auto promise = [this] {
        return async_wait(ex.exchange(item(1)),
                          net::bind_executor(io, net::experimental::use_promise));
    };
    {
        const auto dropped = promise();
        step(io);
        EXPECT_TRUE(waits_in_list(ex));
    }
    step(io);
    EXPECT_FALSE(waits_in_list(ex));
    auto kept = promise();
    close();
    kept.async_wait(keep_on(io, got));
    step(io);
    expect_failed(got, exchange_errc::closed, 1);
}

#endif

/// The group's own handlers have no executor.
TEST_F(CompletionToken, DeferredInAParallelGroupKeepsTheItemHoweverTheGroupEnds) {
    for (const auto how : {ending::match, ending::time_out, ending::cancellation}) {
        net::cancellation_signal signal;
        got.reset();
        net::steady_timer limit(io, std::chrono::hours(how == ending::time_out ? -1 : 1));
        const auto keep = [this](auto /*order*/, exchange_result<tracked> mine, error_code) {
            got.emplace(std::move(mine));
        };
        net::experimental::make_parallel_group(
            async_wait(ex.exchange(item(1)), net::bind_executor(io, deferred)),
            limit.async_wait(deferred))
            .async_wait(net::experimental::wait_for_one(),
                        net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, keep)));
        if (how == ending::match) {
            meet();
            expect_got(got, 2);
        } else {
            step(io);
            signal.emit(net::cancellation_type::terminal);
            step(io);
            expect_failed(got, exchange_errc::cancelled, 1);
        }
    }
}

// In Asio 1.22, a `coro` awaits an exchange with `use_coro`, and cannot await `deferred`. Later it
// can, and 1.26 has no `use_coro` any more.
#if defined(TRYST_BOOST_ASIO) || ASIO_VERSION >= 102600
constexpr auto in_coro = deferred;
#else
constexpr net::experimental::use_coro_t<> in_coro;
#endif

net::experimental::coro<void, void> coro_party(net::io_context& io, exchanger& ex, tracked mine,
                                               completed<tracked>& got) {
    auto theirs =
        co_await async_wait(ex.exchange(std::move(mine)), net::bind_executor(io, in_coro));
    got.emplace(std::move(theirs));
}

TEST_F(CompletionToken, AnAsioCoroHasAnItemHoweverItsWaitEnds) {
    for (const auto how : {ending::match, ending::cancellation, ending::close}) {
        net::cancellation_signal signal;
        got.reset();
        net::experimental::co_spawn(
            coro_party(io, ex, item(1), got),
            net::bind_cancellation_slot(
                signal.slot(), [](const std::exception_ptr& error) { EXPECT_FALSE(error); }));
        if (how == ending::match) {
            meet();
            expect_got(got, 2);
        } else if (how == ending::close) {
            close();
            expect_failed(got, exchange_errc::closed, 1);
        } else {
            step(io);
            ASSERT_TRUE(waits_in_list(ex));
            signal.emit(net::cancellation_type::terminal);
            step(io);
            EXPECT_FALSE(waits_in_list(ex));
            expect_failed(got, exchange_errc::cancelled, 1);
        }
    }
}

} // namespace
