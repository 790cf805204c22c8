// SPDX-License-Identifier: MIT
// Selections in awaitables.
#include "adapters/asio/selecting.hpp"
#include "support/long_past.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::select_npos;
using tryst::asio::wait;
using tryst::test::census;
using tryst::test::expect_none;
using tryst::test::expect_selected;
using tryst::test::meet;
using tryst::test::selected;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using channel = tryst::synchronous_channel<tracked>;

/// Awaits the selection that `make` makes.
template <class Result, class Make>
net::awaitable<void> awaiting(std::optional<Result>& got, Make make) {
    got.emplace(co_await wait(make()));
}

class AsioSelect : public tryst::test::selecting_test {
protected:
    template <class Make>
    void start(Make make) {
        got.reset();
        net::co_spawn(io, awaiting(got, std::move(make)),
                      net::bind_cancellation_slot(signal.slot(), net::detached));
        step(io);
    }
    /// Runs the context until the selection waits.
    void until_it_waits() {
        io.restart();
        while (!waits_in_list(at.swaps)) {
            ASSERT_EQ(io.poll_one(), 1U);
        }
    }
    void cancel() {
        signal.emit(net::cancellation_type::terminal);
        step(io);
    }
};

TEST_F(AsioSelect, GivesTheResultOfTheCaseWhosePartnerComes) {
    for (const std::size_t number : {0U, 1U, 2U}) {
        start([&] { return all(); });
        ASSERT_TRUE(waits_in_list(at.swaps));
        EXPECT_TRUE(meet(at, number, items));
        EXPECT_FALSE(got);
        step(io);
        expect_selected(got, number);
        expect_nobody_waits();
    }
}

TEST_F(AsioSelect, DoesNotSuspendIfAPartnerIsWaiting) {
    std::optional<tryst::exchange_result<void, tracked>> sender;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            sender.emplace(co_await wait(at.source.send(item(tryst::test::theirs))));
        },
        net::detached);
    step(io);
    bool other_ran = false;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            net::post(io, [&] { other_ran = true; });
            got.emplace(co_await wait(all()));
            EXPECT_FALSE(other_ran);
        },
        net::detached);
    step(io);
    EXPECT_TRUE(other_ran);
    ASSERT_TRUE(sender);
    EXPECT_TRUE(*sender);
    expect_selected(got, 1);
}

TEST_F(AsioSelect, SelectsACaseWhoseExchangerIsClosed) {
    start([&] { return all(); });
    at.source.close();
    step(io);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 1U);
    EXPECT_EQ(got->get<1>().error(), exchange_errc::closed);
    EXPECT_EQ(got->get<0>().returned().id(), tryst::test::swapped);
    EXPECT_EQ(got->get<2>().returned().id(), tryst::test::sent);
}

TEST_F(AsioSelect, GivesEachItemBackAfterADeadline) {
    start([&] { return all(1ms); });
    io.run();
    expect_none(got, exchange_errc::timed_out);
    start([&] { return all(0s); });
    expect_none(got, exchange_errc::timed_out);
    for (const auto deadline : tryst::test::long_past) {
        start([&] { return all(deadline); });
        expect_none(got, exchange_errc::timed_out);
    }
    expect_nobody_waits();
}

TEST_F(AsioSelect, LeavesNoTimerBehindAMatch) {
    start([&] { return all(1h); });
    EXPECT_TRUE(meet(at, 2, items));
    io.restart();
    io.run(); // no work is left
    expect_selected(got, 2);
}

TEST_F(AsioSelect, GivesEachItemBackAfterAStop) {
    std::stop_source stop;
    const auto stoppable = [&] {
        return tryst::select(at.swaps.exchange(item(tryst::test::swapped)), at.source.receive(),
                             at.sink.send(item(tryst::test::sent)), stop.get_token());
    };
    start(stoppable);
    ASSERT_TRUE(waits_in_list(at.swaps));
    stop.request_stop();
    step(io);
    expect_none(got, exchange_errc::cancelled);
    start(stoppable);
    expect_none(got, exchange_errc::cancelled);
    expect_nobody_waits();
}

TEST_F(AsioSelect, FollowsTheCancellationOfItsCoroutine) {
    start([&] { return all(); });
    ASSERT_TRUE(waits_in_list(at.swaps));
    signal.emit(net::cancellation_type::terminal);
    signal.emit(net::cancellation_type::terminal);
    EXPECT_FALSE(got);
    step(io);
    expect_none(got, exchange_errc::cancelled);
    expect_nobody_waits();
}

TEST_F(AsioSelect, FollowsTheCancellationWithLimitsOfItsOwn) {
    std::stop_source stop;
    for (const bool after_its_turn : {false, true}) {
        got.reset();
        net::co_spawn(io, awaiting(got, [&] { return all(1h, stop.get_token()); }),
                      net::bind_cancellation_slot(signal.slot(), net::detached));
        until_it_waits();
        if (after_its_turn) {
            step(io);
        }
        signal.emit(net::cancellation_type::terminal);
        EXPECT_FALSE(got);
        step(io);
        expect_none(got, exchange_errc::cancelled);
        io.restart();
        io.run(); // no work is left
        expect_nobody_waits();
    }
}

TEST_F(AsioSelect, MatchesInSpiteOfALaterCancellation) {
    for (const bool in_its_first_turn : {false, true}) {
        for (const std::size_t number : {0U, 1U, 2U}) {
            got.reset();
            net::co_spawn(io, awaiting(got, [&] { return all(1h); }),
                          net::bind_cancellation_slot(signal.slot(), net::detached));
            until_it_waits();
            if (!in_its_first_turn) {
                step(io);
            }
            EXPECT_TRUE(meet(at, number, items));
            cancel();
            expect_selected(got, number);
        }
    }
}

TEST_F(AsioSelect, LeavesTheCancellationToTheNextOperation) {
    std::optional<selected> second;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            got.emplace(co_await wait(all()));
            second.emplace(co_await wait(all()));
        },
        net::bind_cancellation_slot(signal.slot(), net::detached));
    step(io);
    EXPECT_TRUE(meet(at, 1, items));
    step(io);
    expect_selected(got, 1);
    cancel();
    expect_none(second, exchange_errc::cancelled);
}

TEST_F(AsioSelect, MeetsAnotherSelection) {
    std::optional<tryst::select_result<tryst::exchange_result<tracked>,
                                       tryst::exchange_result<void, tracked>>>
        partner;
    start([&] { return all(); });
    net::co_spawn(io,
                  awaiting(partner,
                           [&] {
                               return tryst::select_biased(
                                   at.swaps.exchange(item(tryst::test::theirs)),
                                   at.source.send(item(tryst::test::theirs)));
                           }),
                  net::detached);
    step(io);
    expect_selected(got, 0);
    ASSERT_TRUE(partner);
    EXPECT_EQ(partner->index(), 0U);
    EXPECT_EQ((*partner->get<0>()).id(), tryst::test::swapped);
    EXPECT_EQ(partner->get<1>().returned().id(), tryst::test::theirs);
}

TEST_F(AsioSelect, WorksInAwaitablesOfAnyExecutorType) {
    const auto run = [&](const auto& executor) {
        using executor_type = std::decay_t<decltype(executor)>;
        got.reset();
        net::co_spawn(
            executor,
            [&]() -> net::awaitable<void, executor_type> {
                got.emplace(co_await wait<executor_type>(all()));
            },
            net::detached);
        step(io);
        EXPECT_TRUE(meet(at, 0, items));
        step(io);
        expect_selected(got, 0);
    };
    run(io.get_executor());
    run(net::make_strand(io.get_executor()));
}

TEST_F(AsioSelect, IsAbandonedWithItsContext) {
    const auto make_for = [&] { return all(1h); };
    for (int handlers = 0; handlers != 6; ++handlers) {
        for (const bool timed : {false, true}) {
            std::optional<net::io_context> context(std::in_place);
            if (timed) {
                net::co_spawn(*context, awaiting(got, make_for), net::detached);
            } else {
                net::co_spawn(*context, awaiting(got, [&] { return all(); }), net::detached);
            }
            for (int i = 0; i != handlers; ++i) {
                context->poll_one();
            }
            EXPECT_FALSE(got);
            context.reset();
            EXPECT_FALSE(waits_in_list(at.swaps));
            EXPECT_EQ(items.alive.load(), 0);
        }
    }
    expect_nobody_waits();
}

// ---- A number of cases that is known at run time

constexpr auto receive_from = [](channel& room) { return room.receive(); };

class AsioSelectFrom : public ::testing::Test {
protected:
    static constexpr std::size_t most = 40; // more than are registered in one go

    auto receive_any() { return tryst::select_from(rooms, receive_from); }
    using received = std::optional<decltype(tryst::select_from(std::declval<std::deque<channel>&>(),
                                                               receive_from)
                                                .await_resume())>;

    void start() {
        got.reset();
        net::co_spawn(io, awaiting(got, [&] { return receive_any(); }),
                      net::bind_cancellation_slot(signal.slot(), net::detached));
        step(io);
    }

    census items;
    std::deque<channel> rooms{most};
    net::io_context io;
    net::cancellation_signal signal;
    received got;
};

TEST_F(AsioSelectFrom, GivesTheResultOfTheCaseWhosePartnerComes) {
    for (std::size_t i = 0; i != most; ++i) {
        start();
        EXPECT_TRUE(rooms[i].try_send(tracked(items, 1)));
        step(io);
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), i);
        EXPECT_EQ(got->get()->id(), 1);
        for (channel& room : rooms) {
            EXPECT_FALSE(room.try_send(tracked(items, 2)));
        }
    }
    got.reset();
    EXPECT_EQ(items.alive.load(), 0);
}

TEST_F(AsioSelectFrom, FollowsTheCancellationOfItsCoroutine) {
    start();
    signal.emit(net::cancellation_type::terminal);
    step(io);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), select_npos);
    EXPECT_EQ(got->size(), most);
    for (std::size_t i = 0; i != most; ++i) {
        EXPECT_EQ((*got)[i].error(), exchange_errc::cancelled);
        EXPECT_FALSE(rooms[i].try_send(tracked(items, 2)));
    }
}

TEST_F(AsioSelectFrom, IsAbandonedWithItsContext) {
    std::optional<net::io_context> context(std::in_place);
    net::co_spawn(*context, awaiting(got, [&] { return receive_any(); }), net::detached);
    context->poll();
    EXPECT_TRUE(rooms[most - 1].try_send(tracked(items, 1))); // its turn is queued
    net::co_spawn(*context, awaiting(got, [&] { return receive_any(); }), net::detached);
    context.reset();
    EXPECT_FALSE(got);
    for (channel& room : rooms) {
        EXPECT_FALSE(room.try_send(tracked(items, 2)));
    }
    EXPECT_EQ(items.alive.load(), 0);
}

// ---- Several threads

TEST_F(AsioSelect, GoesOnInItsStrandAfterAMatchOnAnotherThread) {
    net::thread_pool pool(2);
    const auto strand = net::make_strand(pool);
    constexpr long rounds = 500;
    std::vector<long> received;
    net::co_spawn(
        strand,
        [&]() -> net::awaitable<void> {
            while (received.size() != rounds) {
                auto one = co_await wait(all());
                EXPECT_TRUE(strand.running_in_this_thread());
                EXPECT_EQ(one.index(), 1U);
                received.push_back((*std::move(one).get<1>()).id());
            }
        },
        net::detached);
    std::vector<long> given;
    for (long i = 0; i != rounds; ++i) {
        EXPECT_TRUE(tryst::sync_wait(at.source.send(item(i))));
        given.push_back(i);
    }
    pool.join();
    EXPECT_EQ(received, given);
    expect_nobody_waits();
}

} // namespace
