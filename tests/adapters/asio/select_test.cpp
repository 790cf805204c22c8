// SPDX-License-Identifier: MIT
// Selections among several cases. See waiting_test.cpp for what they have in common with exchanges.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <future>
#include <optional>
#include <stop_token>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::select_npos;
using tryst::asio::async_wait;
using tryst::asio::wait;
using tryst::test::census;
using tryst::test::deferred;
using tryst::test::step;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using channel = tryst::synchronous_channel<tracked>;

using selected = tryst::select_result<exchange_result<tracked>, exchange_result<tracked, void>,
                                      exchange_result<void, tracked>>;

/// The ids of the items that a party offers. The partner's item has the id `theirs`.
constexpr long swapped = 1;
constexpr long sent = 2;
constexpr long theirs = 7;

/// Awaits the selection that `make` makes.
template <class Result, class Make>
net::awaitable<void> awaiting(std::optional<Result>& got, Make make) {
    got.emplace(co_await wait(make()));
}

/// An exchange is case 0 of the selections, a receive case 1, a send case 2.
class AsioSelect : public ::testing::Test {
protected:
    void TearDown() override {
        got.reset();
        EXPECT_EQ(items.alive.load(), 0);
    }

    tracked item(long id) { return {items, id}; }
    auto all(auto... limit) {
        return tryst::select(swaps.exchange(item(swapped)), source.receive(), sink.send(item(sent)),
                             limit...);
    }
    auto keep() {
        return net::bind_executor(io, [this](selected result) {
            EXPECT_FALSE(got) << "a handler was called twice";
            got.emplace(std::move(result));
        });
    }
    /// Starts an awaitable, or a wait with a handler.
    template <class Make>
    void start(bool awaits, Make make) {
        got.reset();
        io.restart();
        if (awaits) {
            net::co_spawn(io, awaiting(got, make),
                          net::bind_cancellation_slot(signal.slot(), net::detached));
        } else {
            async_wait(make(), net::bind_cancellation_slot(signal.slot(), keep()));
        }
    }
    /// Comes as the partner of case `number`. @returns whether the case was there.
    bool meet(std::size_t number) {
        if (number == 0) {
            const auto met = swaps.try_exchange(item(theirs));
            EXPECT_TRUE(!met || met->id() == swapped);
            return static_cast<bool>(met);
        }
        if (number == 1) {
            return static_cast<bool>(source.try_send(item(theirs)));
        }
        const auto met = sink.try_receive();
        EXPECT_TRUE(!met || met->id() == sent);
        return static_cast<bool>(met);
    }
    void expect_nobody_waits() {
        for (const std::size_t number : {0U, 1U, 2U}) {
            EXPECT_FALSE(meet(number)) << "case " << number;
        }
        EXPECT_FALSE(waits_in_list(swaps));
    }

    /// Expects the case `number` to have taken place, and all other items to be back.
    void expect_selected(std::size_t number) {
        ASSERT_TRUE(got);
        ASSERT_EQ(got->index(), number);
        const auto lost = exchange_errc::not_selected;
        if (number == 0) {
            EXPECT_EQ((*got->get<0>()).id(), theirs);
        } else {
            EXPECT_EQ(got->get<0>().error(), lost);
            EXPECT_EQ(got->get<0>().returned().id(), swapped);
        }
        if (number == 1) {
            EXPECT_EQ((*got->get<1>()).id(), theirs);
        } else {
            EXPECT_EQ(got->get<1>().error(), lost);
        }
        if (number == 2) {
            EXPECT_TRUE(got->get<2>());
        } else {
            EXPECT_EQ(got->get<2>().error(), lost);
            EXPECT_EQ(got->get<2>().returned().id(), sent);
        }
    }

    /// Expects no case to have taken place, and all items to be back.
    void expect_none(exchange_errc why) {
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), select_npos);
        EXPECT_EQ(got->get<0>().error(), why);
        EXPECT_EQ(got->get<0>().returned().id(), swapped);
        EXPECT_EQ(got->get<1>().error(), why);
        EXPECT_EQ(got->get<2>().error(), why);
        EXPECT_EQ(got->get<2>().returned().id(), sent);
    }

    census items;
    tryst::exchanger<tracked> swaps{1};
    channel source;
    channel sink;
    net::io_context io;
    net::cancellation_signal signal;
    std::optional<selected> got;
};

TEST_F(AsioSelect, GivesTheResultOfTheCaseWhosePartnerComes) {
    for (const bool awaits : {false, true}) {
        for (const bool is_over : {false, true}) { // the first turn
            for (const std::size_t number : {0U, 1U, 2U}) {
                start(awaits, [&] { return all(1h); });
                EXPECT_EQ(waits_in_list(swaps), !awaits); // a handler's offers are made at once
                while (!waits_in_list(swaps)) {
                    ASSERT_EQ(io.poll_one(), 1U);
                }
                if (is_over) {
                    step(io);
                }
                EXPECT_TRUE(meet(number));
                signal.emit(net::cancellation_type::terminal); // too late
                EXPECT_FALSE(got);
                io.restart();
                io.run(); // no work is left
                expect_selected(number);
                expect_nobody_waits();
            }
        }
    }
}

TEST_F(AsioSelect, SelectsACaseWhoseExchangerIsClosed) {
    for (const bool awaits : {false, true}) {
        start(awaits, [&] { return all(); });
        step(io);
        source.close();
        step(io);
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), 1U);
        EXPECT_EQ(got->get<1>().error(), exchange_errc::closed);
        EXPECT_EQ(got->get<0>().returned().id(), swapped);
        EXPECT_EQ(got->get<2>().returned().id(), sent);
    }
}

TEST_F(AsioSelect, GivesEachItemBackAfterEachKindOfFailure) {
    for (const bool awaits : {false, true}) {
        start(awaits, [&] { return all(1ms); });
        io.run();
        expect_none(exchange_errc::timed_out);
        start(awaits, [&] { return all(0s); });
        step(io);
        expect_none(exchange_errc::timed_out);
        start(awaits, [&] { return all(); });
        step(io);
        signal.emit(net::cancellation_type::terminal);
        EXPECT_FALSE(got);
        step(io);
        expect_none(exchange_errc::cancelled);
        expect_nobody_waits();
    }
}

TEST_F(AsioSelect, MeetsAnotherSelection) {
    std::optional<tryst::select_result<tryst::exchange_result<tracked>,
                                       tryst::exchange_result<void, tracked>>>
        partner;
    start(true, [&] { return all(); });
    net::co_spawn(io,
                  awaiting(partner,
                           [&] {
                               return tryst::select_biased(swaps.exchange(item(theirs)),
                                                           source.send(item(theirs)));
                           }),
                  net::detached);
    step(io);
    expect_selected(0);
    ASSERT_TRUE(partner);
    EXPECT_EQ(partner->index(), 0U);
    EXPECT_EQ((*partner->get<0>()).id(), swapped);
    EXPECT_EQ(partner->get<1>().returned().id(), theirs);
}

TEST_F(AsioSelect, MayPreferItsFirstCase) {
    for (int round = 0; round != 20; ++round) {
        channel other;
        for (channel* const at : {&source, &other}) {
            async_wait(at->send(item(5)), net::bind_executor(io, [](const auto&) {}));
        }
        std::optional<std::size_t> first;
        async_wait(tryst::select_biased(source.receive(), other.receive()),
                   net::bind_executor(io, [&](auto result) { first = result.index(); }));
        other.close();
        step(io);
        EXPECT_EQ(first, 0U);
    }
}

TEST_F(AsioSelect, TakesTheSelectionOver) {
    {
        auto selection = all();
        async_wait(std::move(selection), keep());
    }
    EXPECT_TRUE(meet(1));
    step(io);
    expect_selected(1);
    EXPECT_EQ(items.created.load(), 3); // no copies
}

TEST_F(AsioSelect, FulfilsAFuture) {
    std::future<selected> result = async_wait(all(), net::use_future);
    EXPECT_TRUE(meet(1));
    got.emplace(result.get());
    expect_selected(1);
}

TEST_F(AsioSelect, BeginsADeferredOperationWhenThatIsCalled) {
    auto operation = async_wait(all(), deferred);
    EXPECT_FALSE(waits_in_list(swaps));
    std::move(operation)(keep());
    EXPECT_TRUE(waits_in_list(swaps));
    EXPECT_TRUE(meet(0));
    step(io);
    expect_selected(0);
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

TEST_F(AsioSelect, CopiesItsItemsWithADeferredOperation) {
    tryst::synchronous_channel<greedy> line;
    const auto first = async_wait(tryst::select(line.send(greedy(1))), deferred);
    auto second = first;
    std::move(second)(net::bind_executor(io, [](const auto& end) { EXPECT_TRUE(end); }));
    const auto received = line.try_receive();
    ASSERT_TRUE(received);
    EXPECT_EQ(received->number, 1);
    step(io);
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

TEST_F(AsioSelectFrom, CallsAHandler) {
    const auto keep = [this](auto result) { got.emplace(std::move(result)); };
    async_wait(receive_any(), net::bind_executor(io, keep));
    EXPECT_TRUE(rooms[17].try_send(tracked(items, 5)));
    step(io);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 17U);
    EXPECT_EQ(got->get()->id(), 5);

    async_wait(receive_any(),
               net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, keep)));
    signal.emit(net::cancellation_type::terminal);
    step(io);
    EXPECT_EQ(got->index(), select_npos);
    EXPECT_EQ((*got)[0].error(), exchange_errc::cancelled);
}

// ---- Events and sets

TEST(AsioSelectEvents, EndASelectionUnlessItsContextEndsBefore) {
    tryst::synchronous_channel<int> ch;
    std::stop_source source;
    std::optional<net::io_context> context(std::in_place);
    std::vector<std::size_t> ended;
    net::co_spawn(
        *context,
        [&]() -> net::awaitable<void> {
            while (ended.size() < 3) {
                const std::chrono::nanoseconds time = ended.empty() ? 2ms : 1h;
                const auto got = co_await wait(tryst::select(ch.receive(), tryst::sleep_for(time),
                                                             tryst::stopped(source.get_token())));
                ended.push_back(got.index());
            }
            std::ignore = co_await wait(tryst::select(ch.receive(), tryst::sleep_for(1h)));
            ADD_FAILURE() << "went on";
        },
        net::detached);
    context->poll();
    while (ended.empty()) {
        context->run_one();
    }
    EXPECT_TRUE(ch.try_send(7));
    while (ended.size() < 2) {
        context->run_one();
    }
    source.request_stop();
    while (ended.size() < 3) {
        context->run_one();
    }
    EXPECT_EQ(ended, (std::vector<std::size_t>{1, 0, 2}));
    context.reset();
    EXPECT_FALSE(ch.try_send(1));
}

/// The first of them ends while it waits.
TEST(AsioSelectSet, IsAwaitedOnOneContextAfterAnother) {
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

} // namespace
