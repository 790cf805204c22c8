// SPDX-License-Identifier: MIT
// Selections with completion tokens.
#include "adapters/asio/counting_allocator.hpp"
#include "adapters/asio/selecting.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <new>
#include <optional>
#include <stop_token>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::select_npos;
using tryst::asio::async_wait;
using tryst::test::as_tuple;
using tryst::test::census;
using tryst::test::deferred;
using tryst::test::expect_none;
using tryst::test::expect_selected;
using tryst::test::meet;
using tryst::test::mourned;
using tryst::test::selected;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using channel = tryst::synchronous_channel<tracked>;

class AsioAsyncSelect : public tryst::test::selecting_test {
protected:
    /// A handler, which runs on the context.
    auto keep() {
        return net::bind_executor(io, [this](selected result) {
            EXPECT_FALSE(got) << "a handler was called twice";
            got.emplace(std::move(result));
        });
    }
    net::awaitable<void> offer(channel& to, long id) {
        static_cast<void>(co_await tryst::asio::wait(to.send(item(id))));
    }
    auto keep_cancellable() { return net::bind_cancellation_slot(signal.slot(), keep()); }
};

TEST_F(AsioAsyncSelect, CallsTheHandlerWithTheResultOfTheCaseThatTookPlace) {
    for (const std::size_t number : {0U, 1U, 2U}) {
        got.reset();
        async_wait(all(), keep());
        EXPECT_TRUE(waits_in_list(at.swaps)); // the offers are made in the call
        EXPECT_TRUE(meet(at, number, items));
        EXPECT_FALSE(got);
        step(io);
        expect_selected(got, number);
        expect_nobody_waits();
    }
}

TEST_F(AsioAsyncSelect, DoesNotCallTheHandlerWithinTheCall) {
    std::optional<selected> first;
    async_wait(all(),
               net::bind_executor(io, [&](selected result) { first.emplace(std::move(result)); }));
    async_wait(tryst::select(at.sink.receive()), net::bind_executor(io, [](auto result) {
                   EXPECT_EQ(result.index(), 0U);
                   EXPECT_EQ((*std::move(result).template get<0>()).id(), tryst::test::sent);
               }));
    EXPECT_FALSE(first);
    EXPECT_EQ(io.poll(), 2U);
    expect_selected(first, 2);
}

TEST_F(AsioAsyncSelect, TakesTheSelectionOver) {
    {
        auto selection = all();
        async_wait(std::move(selection), keep());
    }
    EXPECT_TRUE(meet(at, 1, items));
    step(io);
    expect_selected(got, 1);
    EXPECT_EQ(items.created.load(), 3); // no copies
}

TEST_F(AsioAsyncSelect, MayPreferItsFirstCase) {
    for (int round = 0; round != 20; ++round) {
        channel other;
        got.reset();
        net::co_spawn(io, offer(at.source, 5), net::detached);
        net::co_spawn(io, offer(other, 6), net::detached);
        step(io);
        std::optional<std::size_t> first;
        async_wait(tryst::select_biased(at.source.receive(), other.receive()),
                   net::bind_executor(io, [&](auto result) { first = result.index(); }));
        other.close();
        step(io);
        EXPECT_EQ(first, 0U);
    }
}

TEST_F(AsioAsyncSelect, GivesEachItemBackAfterEachKindOfFailure) {
    async_wait(all(1ms), keep());
    io.run();
    expect_none(got, exchange_errc::timed_out);

    got.reset();
    async_wait(all(0ms), keep());
    step(io);
    expect_none(got, exchange_errc::timed_out);

    got.reset();
    std::stop_source stop;
    async_wait(all(stop.get_token()), keep());
    step(io);
    stop.request_stop();
    step(io);
    expect_none(got, exchange_errc::cancelled);

    got.reset();
    async_wait(all(), keep_cancellable());
    signal.emit(net::cancellation_type::partial);
    EXPECT_FALSE(got);
    step(io);
    expect_none(got, exchange_errc::cancelled);
    expect_nobody_waits();
}

TEST_F(AsioAsyncSelect, IsCancelledInItsFirstTurnAtTheEndOfIt) {
    async_wait(all(1h), keep_cancellable());
    signal.emit(net::cancellation_type::terminal);
    signal.emit(net::cancellation_type::total);
    EXPECT_FALSE(got);
    io.run(); // no work is left
    expect_none(got, exchange_errc::cancelled);
    EXPECT_FALSE(signal.slot().has_handler());
}

TEST_F(AsioAsyncSelect, MatchesInSpiteOfALaterCancellation) {
    for (const bool timed : {false, true}) {
        got.reset();
        if (timed) {
            async_wait(all(1h), keep_cancellable());
        } else {
            async_wait(all(), keep_cancellable());
        }
        EXPECT_TRUE(meet(at, 2, items));
        signal.emit(net::cancellation_type::terminal);
        step(io);
        expect_selected(got, 2);
        EXPECT_FALSE(signal.slot().has_handler());
        signal.emit(net::cancellation_type::terminal);
    }
}

TEST_F(AsioAsyncSelect, CompletesWithACaseWhoseExchangerIsClosed) {
    async_wait(all(), keep());
    at.sink.close();
    step(io);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 2U);
    EXPECT_EQ(got->get<2>().error(), exchange_errc::closed);
    EXPECT_EQ(got->get<2>().returned().id(), tryst::test::sent);
    EXPECT_EQ(got->get<0>().returned().id(), tryst::test::swapped);
}

// ---- Completion tokens

TEST_F(AsioAsyncSelect, ReturnsTheResultInAnAwaitableAndKeepsTheItemsOfAFailure) {
    const auto run = [&] {
        net::co_spawn(
            io,
            [&]() -> net::awaitable<void> {
                got.emplace(co_await async_wait(all(), net::use_awaitable));
            },
            net::bind_cancellation_slot(signal.slot(), net::detached));
        step(io);
    };
    run();
    EXPECT_TRUE(meet(at, 0, items));
    step(io);
    expect_selected(got, 0);
    got.reset();
    run();
    signal.emit(net::cancellation_type::terminal);
    step(io);
    expect_none(got, exchange_errc::cancelled);
}

TEST_F(AsioAsyncSelect, ReturnsATupleWithAsTuple) {
    channel other;
    bool ended = false;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            EXPECT_TRUE(co_await tryst::asio::wait(other.send(item(3))));
        },
        net::detached);
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            auto [suspended] = co_await async_wait(all(), as_tuple(net::use_awaitable));
            got.emplace(std::move(suspended));
            auto [at_once] =
                co_await async_wait(tryst::select(other.receive()), as_tuple(net::use_awaitable));
            EXPECT_EQ((*std::move(at_once).get<0>()).id(), 3);
            ended = true;
        },
        net::detached);
    step(io);
    EXPECT_TRUE(meet(at, 2, items));
    step(io);
    expect_selected(got, 2);
    EXPECT_TRUE(ended);
}

TEST_F(AsioAsyncSelect, FulfilsAFuture) {
    std::future<selected> result = async_wait(all(), net::use_future);
    EXPECT_TRUE(meet(at, 1, items));
    got.emplace(result.get());
    expect_selected(got, 1);
}

TEST_F(AsioAsyncSelect, BeginsADeferredOperationWhenThatIsCalled) {
    auto operation = async_wait(all(), deferred);
    EXPECT_FALSE(waits_in_list(at.swaps));
    std::move(operation)(keep());
    EXPECT_TRUE(waits_in_list(at.swaps));
    EXPECT_TRUE(meet(at, 0, items));
    step(io);
    expect_selected(got, 0);
}

/// Its constructor takes anything, and takes a copy for something else.
struct greedy {
    explicit greedy(int n) noexcept : number(n) {}
    greedy(const greedy&) = default;
    greedy(greedy&&) noexcept = default;
    template <class T>
    explicit greedy(T&& /*anything*/) noexcept : number(-1) {}
    int number;
};

TEST_F(AsioAsyncSelect, CopiesItsItemsWithADeferredOperation) {
    tryst::synchronous_channel<greedy> line;
    const auto first = async_wait(tryst::select(line.send(greedy(1))), deferred);
    auto second = first;
    std::move(second)(net::bind_executor(io, [](const auto& sent) { EXPECT_TRUE(sent); }));
    const auto received = line.try_receive();
    ASSERT_TRUE(received);
    EXPECT_EQ(received->number, 1);
    step(io);
}

TEST_F(AsioAsyncSelect, FollowsABoundStopToken) {
    std::stop_source stop;
    async_wait(all(), tryst::asio::bind_stop_token(stop.get_token(), keep()));
    stop.request_stop();
    EXPECT_FALSE(got);
    step(io);
    expect_none(got, exchange_errc::cancelled);
}

TEST_F(AsioAsyncSelect, IsWorkOfTheHandlersExecutor) {
    async_wait(all(), keep());
    io.poll();
    EXPECT_FALSE(io.stopped()) << "the operation is no work of the context";
    EXPECT_TRUE(meet(at, 1, items));
    EXPECT_FALSE(got);
    io.run();
    expect_selected(got, 1);
}

TEST_F(AsioAsyncSelect, SelectsFromARange) {
    std::deque<channel> rooms(20);
    const auto receive_any = [&] {
        return tryst::select_from(rooms, [](channel& room) { return room.receive(); });
    };
    std::optional<decltype(receive_any().await_resume())> received;
    const auto keep = [&](auto result) { received.emplace(std::move(result)); };
    async_wait(receive_any(), net::bind_executor(io, keep));
    EXPECT_TRUE(rooms[17].try_send(item(5)));
    step(io);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->index(), 17U);
    EXPECT_EQ(received->get()->id(), 5);

    async_wait(receive_any(),
               net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, keep)));
    signal.emit(net::cancellation_type::terminal);
    step(io);
    EXPECT_EQ(received->index(), select_npos);
    EXPECT_EQ((*received)[0].error(), exchange_errc::cancelled);
}

TEST_F(AsioAsyncSelect, IsDestroyedWithItsContext) {
    for (const bool timed : {false, true}) {
        for (const bool matched : {false, true}) {
            census handlers;
            std::optional<net::io_context> context(std::in_place);
            if (timed) {
                async_wait(all(1h), net::bind_executor(*context, mourned(handlers)));
            } else {
                async_wait(all(), net::bind_executor(*context, mourned(handlers)));
            }
            if (matched) {
                EXPECT_TRUE(meet(at, 1, items));
            }
            context.reset();
            EXPECT_EQ(handlers.alive.load(), 0);
            EXPECT_EQ(items.alive.load(), 0);
            expect_nobody_waits();
        }
    }
}

TEST_F(AsioAsyncSelect, TakesOneBlockFromTheHandlersAllocator) {
    tryst::test::memory_account account;
    async_wait(all(), tryst::test::accounted(io, account, [&](selected result) {
                   EXPECT_EQ(account.live(), 0);
                   got.emplace(std::move(result));
               }));
    EXPECT_TRUE(meet(at, 1, items));
    step(io);
    expect_selected(got, 1);
    EXPECT_EQ(account.allocated, 1);
}

TEST_F(AsioAsyncSelect, OffersNothingWithoutMemory) {
    const auto held = std::make_shared<int>();
    EXPECT_THROW(async_wait(all(), net::bind_executor(io, tryst::test::unlucky{held})),
                 std::bad_alloc);
    EXPECT_EQ(held.use_count(), 1);
    expect_nobody_waits();
}

} // namespace
