// SPDX-License-Identifier: MIT
#include <tryst/execution.hpp>

#include "adapters/execution/recording.hpp"
#include "support/long_past.hpp"
#include "support/shared_numbers.hpp"
#include "support/tracked.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/tryst.hpp>

#include <exec/when_any.hpp>
#include <stdexec/execution.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace ex = stdexec;
using tryst::as_sender;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::exchanger;
using tryst::execution::stopped_if_cancelled;
using tryst::test::census;
using tryst::test::record;
using tryst::test::recorder;
using tryst::test::run;
using tryst::test::tracked;
using tryst::test::with_token;

/// The result of a sender with one value.
template <class Sender>
using value_of = decltype(run(std::declval<Sender>()));

template <class Sender, class Env = ex::env<>>
auto connect_to(record<value_of<Sender>>& to, Sender&& sender, Env env = {}) {
    return ex::connect(std::forward<Sender>(sender),
                       recorder<value_of<Sender>, Env>{&to, std::move(env)});
}

// ---- What completes, and how

TEST(Sender, SwapsWithAnother) {
    exchanger<std::string> ex;
    auto [a, b] =
        ex::sync_wait(ex::when_all(as_sender(ex.exchange("a")), as_sender(ex.exchange("b"))))
            .value();
    EXPECT_EQ(*a, "b");
    EXPECT_EQ(*b, "a");
}

TEST(Sender, SwapsItemsThatCanOnlyBeMoved) {
    exchanger<std::unique_ptr<int>> ex;
    auto [a, b] = ex::sync_wait(ex::when_all(as_sender(ex.exchange(std::make_unique<int>(1))),
                                             as_sender(ex.exchange(std::make_unique<int>(2)))))
                      .value();
    EXPECT_EQ(**a, 2);
    EXPECT_EQ(**b, 1);
}

TEST(Sender, SwapsWithACoroutine) {
    exchanger<int> ex;
    tryst::run_loop loop;
    record<exchange_result<int>> got;
    auto state = connect_to(got, as_sender(ex.exchange(1)));
    ex::start(state);
    int theirs = 0;
    loop.spawn([](exchanger<int>& with, int& to) -> tryst::task<> {
        const auto result = co_await with.exchange(2);
        to = *result;
    }(ex, theirs));
    loop.run_until_idle();
    EXPECT_EQ(theirs, 1);
    EXPECT_EQ(**got.value, 2);
}

TEST(Sender, CompletesInItsStartIfAPartnerWaits) {
    exchanger<int> ex;
    record<exchange_result<int>> first;
    record<exchange_result<int>> second;
    auto one = connect_to(first, as_sender(ex.exchange(1)));
    auto two = connect_to(second, as_sender(ex.exchange(2)));
    ex::start(one);
    EXPECT_EQ(first.calls, 0);
    ex::start(two);
    EXPECT_EQ(**first.value, 2);
    EXPECT_EQ(**second.value, 1);
    EXPECT_EQ(first.calls + second.calls, 2);
}

/// A task that awaits senders, each of which finds a waiting partner.
TEST(Sender, LetsOtherTasksRunIfAPartnerWaitsEachTime) {
    tryst::synchronous_channel<int> channel;
    const tryst::test::waiting_partners partners(channel);
    tryst::run_loop loop;
    int done = 0;
    int seen = -1;
    const auto send = [](tryst::synchronous_channel<int>& to, int& count) -> tryst::task<> {
        while (count != tryst::test::waiting_partners::count) {
            auto sent = co_await tryst::execution::as_awaitable(as_sender(to.send(count)));
            EXPECT_TRUE(sent);
            ++count;
        }
    };
    const auto look = [](const int& count, int& at) -> tryst::task<> {
        at = count;
        co_return;
    };
    loop.spawn(send(channel, done));
    loop.spawn(look(done, seen));
    loop.run_until_idle();
    EXPECT_EQ(done, tryst::test::waiting_partners::count);
    EXPECT_LE(seen, tryst::test::budget + 1);
}

TEST(Sender, HandsTheItemBackAfterItsDeadline) {
    exchanger<int> ex;
    for (const auto past : tryst::test::long_past) {
        EXPECT_EQ(run(as_sender(ex.exchange(1, past))).error(), exchange_errc::timed_out);
    }
    EXPECT_EQ(run(as_sender(ex.exchange(2, 0s))).returned(), 2);
    auto waited = run(as_sender(ex.exchange(3, 1ms)));
    EXPECT_EQ(waited.error(), exchange_errc::timed_out);
    EXPECT_EQ(waited.returned(), 3);
}

TEST(Sender, HandsTheItemBackIfTheExchangerIsClosed) {
    auto ex = std::make_unique<exchanger<int>>();
    record<exchange_result<int>> got;
    auto state = connect_to(got, as_sender(ex->exchange(1)));
    ex::start(state);
    ex.reset();
    EXPECT_EQ(got.value->error(), exchange_errc::closed);
    EXPECT_EQ(got.value->returned(), 1);
}

TEST(Sender, TakesColoursAndChannels) {
    tryst::red_blue_exchanger<int, std::string> ex;
    auto [red, blue] =
        ex::sync_wait(ex::when_all(as_sender(ex.red(1)), as_sender(ex.blue("blue")))).value();
    EXPECT_EQ(*red, "blue");
    EXPECT_EQ(*blue, 1);

    tryst::synchronous_channel<int> channel;
    auto [received, sent] =
        ex::sync_wait(ex::when_all(as_sender(channel.receive()), as_sender(channel.send(5))))
            .value();
    EXPECT_EQ(*received, 5);
    EXPECT_TRUE(sent);
}

TEST(Sender, SharesAChannelWithThreads) {
    for (const std::size_t limit : tryst::test::shared_numbers::limits) {
        tryst::test::shared_numbers shared(2, limit);
        const auto wait = [](auto op) {
            auto [result] = ex::sync_wait(as_sender(std::move(op))).value();
            return std::move(result);
        };
        std::thread sender([&] { shared.send_by(wait); });
        std::thread receiver([&] { shared.receive_by(wait); });
        shared.send_by([](auto op) { return tryst::sync_wait(std::move(op)); });
        sender.join();
        receiver.join();
        shared.expect_each_once();
    }
}

TEST(Sender, TakesASelection) {
    exchanger<int> swaps;
    tryst::synchronous_channel<std::string> channel;
    auto [selected, sent] =
        ex::sync_wait(ex::when_all(as_sender(tryst::select(swaps.exchange(1), channel.receive())),
                                   as_sender(channel.send("message"))))
            .value();
    ASSERT_EQ(selected.index(), 1);
    EXPECT_EQ(*selected.get<1>(), "message");
    EXPECT_EQ(selected.get<0>().returned(), 1);
    EXPECT_TRUE(sent);
}

TEST(Sender, TakesASelectionWithLimits) {
    exchanger<int> a;
    exchanger<std::unique_ptr<int>> b;
    auto timed =
        run(as_sender(tryst::select(a.exchange(1), b.exchange(std::make_unique<int>(2)), 1ms)));
    EXPECT_FALSE(timed);
    EXPECT_EQ(timed.get<0>().error(), exchange_errc::timed_out);
    EXPECT_EQ(*timed.get<1>().returned(), 2);

    std::stop_source stop;
    stop.request_stop();
    auto cancelled = run(as_sender(tryst::select(a.exchange(1), stop.get_token())));
    EXPECT_EQ(cancelled.get<0>().error(), exchange_errc::cancelled);
}

TEST(Sender, TakesASelectionFromARange) {
    std::array<exchanger<int>, 3> rooms;
    record<exchange_result<int>> partner;
    auto other = connect_to(partner, as_sender(rooms[2].exchange(7)));
    ex::start(other);
    auto selected =
        run(as_sender(tryst::select_from(rooms, [](auto& room) { return room.exchange(1); })));
    EXPECT_EQ(selected.index(), 2);
    EXPECT_EQ(*selected.get(), 7);
    EXPECT_EQ(selected[0].returned(), 1);
    EXPECT_EQ(**partner.value, 1);
}

TEST(Sender, CanBeConnectedAgainIfItsItemCanBeCopied) {
    exchanger<std::string> ex;
    const auto sender = as_sender(ex.exchange("item"));
    auto [a, b] = ex::sync_wait(ex::when_all(sender, sender)).value();
    EXPECT_EQ(*a, "item");
    EXPECT_EQ(*b, "item");
    auto [c, d] = ex::sync_wait(ex::when_all(sender, as_sender(ex.exchange("other")))).value();
    EXPECT_EQ(*c, "other");
    EXPECT_EQ(*d, "item");

    exchanger<int> second;
    const auto selecting = as_sender(tryst::select(ex.exchange("copied"), second.exchange(1)));
    auto [e, f, g] =
        ex::sync_wait(ex::when_all(selecting, as_sender(ex.exchange("x")), ex::just(0))).value();
    EXPECT_EQ(*e.get<0>(), "x");
    EXPECT_EQ(*f, "copied");
    EXPECT_EQ(g, 0);
}

template <class Operation>
using sender_of = decltype(as_sender(std::declval<Operation>()));
template <class T>
using exchange_of = sender_of<decltype(std::declval<exchanger<T>&>().exchange(std::declval<T>()))>;

static_assert(std::copyable<exchange_of<int>>);
static_assert(ex::sender<exchange_of<int>&>);
static_assert(!std::is_copy_constructible_v<exchange_of<std::unique_ptr<int>>>);
static_assert(ex::sender<exchange_of<std::unique_ptr<int>>>);
static_assert(!ex::sender<exchange_of<std::unique_ptr<int>>&>);
static_assert(std::is_nothrow_move_constructible_v<exchange_of<std::unique_ptr<int>>>);

// ---- Stop tokens

TEST(SenderStop, BeforeTheStartPreventsTheExchange) {
    exchanger<int> ex;
    record<exchange_result<int>> partner;
    auto waiting = connect_to(partner, as_sender(ex.exchange(7)));
    ex::start(waiting);
    ex::inplace_stop_source stop;
    stop.request_stop();
    record<exchange_result<int>> got;
    auto state = connect_to(got, as_sender(ex.exchange(1)), with_token{stop.get_token()});
    ex::start(state);
    EXPECT_EQ(got.value->error(), exchange_errc::cancelled);
    EXPECT_EQ(got.value->returned(), 1);
    EXPECT_EQ(partner.calls, 0);
    EXPECT_EQ(*run(as_sender(ex.exchange(2))), 7);
}

TEST(SenderStop, WhileItWaitsHandsTheItemBack) {
    exchanger<int> ex;
    ex::inplace_stop_source stop;
    record<exchange_result<int>> got;
    auto state = connect_to(got, as_sender(ex.exchange(1)), with_token{stop.get_token()});
    ex::start(state);
    EXPECT_EQ(got.calls, 0);
    stop.request_stop();
    EXPECT_EQ(got.calls, 1);
    EXPECT_EQ(got.value->error(), exchange_errc::cancelled);
    EXPECT_EQ(got.value->returned(), 1);
}

TEST(SenderStop, AfterTheExchangeChangesNothing) {
    exchanger<int> ex;
    ex::inplace_stop_source stop;
    record<exchange_result<int>> got;
    auto state = connect_to(got, as_sender(ex.exchange(1)), with_token{stop.get_token()});
    ex::start(state);
    EXPECT_EQ(*run(as_sender(ex.exchange(2))), 1);
    stop.request_stop();
    EXPECT_EQ(got.calls, 1);
    EXPECT_EQ(**got.value, 2);
}

TEST(SenderStop, ComesFromTheTokenOfTheOperationToo) {
    exchanger<int> ex;
    for (const bool own : {false, true}) {
        std::stop_source operations;
        ex::inplace_stop_source receivers;
        record<exchange_result<int>> got;
        auto state = connect_to(got, as_sender(ex.exchange(1, operations.get_token())),
                                with_token{receivers.get_token()});
        ex::start(state);
        EXPECT_EQ(got.calls, 0);
        own ? operations.request_stop() : receivers.request_stop();
        EXPECT_EQ(got.calls, 1);
        own ? receivers.request_stop() : operations.request_stop();
        EXPECT_EQ(got.calls, 1);
        EXPECT_EQ(got.value->error(), exchange_errc::cancelled);
    }
    std::stop_source stop; // alone
    record<exchange_result<int>> got;
    auto state = connect_to(got, as_sender(ex.exchange(1, 24h, stop.get_token())));
    ex::start(state);
    stop.request_stop();
    EXPECT_EQ(got.value->error(), exchange_errc::cancelled);
}

TEST(SenderStop, ComesFromTheStandardToken) {
    exchanger<int> ex;
    std::stop_source stop;
    record<exchange_result<int>> got;
    auto state = connect_to(got, as_sender(ex.exchange(1)), with_token{stop.get_token()});
    ex::start(state);
    stop.request_stop();
    EXPECT_EQ(got.value->error(), exchange_errc::cancelled);
}

TEST(SenderStop, CostsNoMemoryIfThereIsNoToken) {
    using state = ex::connect_result_t<exchange_of<int>, recorder<exchange_result<int>>>;
    using core = std::remove_cvref_t<decltype(tryst::detail::operation_access::of(
        std::declval<decltype(std::declval<exchanger<int>&>().exchange(1))&>()))>;
    static_assert(sizeof(state) <= sizeof(core) + sizeof(recorder<exchange_result<int>>) + 8);
}

TEST(SenderStop, EndsTheLosersOfWhenAnyAndNoItemIsLost) {
    census items;
    {
        exchanger<tracked> ex;
        exchanger<tracked> other;
        auto first = as_sender(ex.exchange(tracked(items, 1)));
        auto second = as_sender(other.exchange(tracked(items, 2)));
        auto won = run(exec::when_any(std::move(first), std::move(second),
                                      ex::just() | ex::then([&items] {
                                          return exchange_result<tracked>(tracked(items, 3));
                                      })));
        EXPECT_EQ(won->id(), 3);
        EXPECT_EQ(items.alive.load(), 1);
    }
    EXPECT_EQ(items.created.load(), 3);
    EXPECT_EQ(items.alive.load(), 0);
}

TEST(SenderStop, BecomesSetStoppedOnRequest) {
    census items;
    exchanger<tracked> ex;
    ex::inplace_stop_source stop;
    using env = with_token<ex::inplace_stop_token>;
    record<exchange_result<tracked>> got;
    auto state = ex::connect(as_sender(ex.exchange(tracked(items, 1))) | stopped_if_cancelled,
                             recorder<exchange_result<tracked>, env>{&got, env{stop.get_token()}});
    ex::start(state);
    stop.request_stop();
    EXPECT_TRUE(got.stopped);
    EXPECT_EQ(got.calls, 1);
    EXPECT_FALSE(got.value);
}

TEST(SenderStop, BecomesSetStoppedOnlyIfItWasCancelled) {
    exchanger<int> ex;
    EXPECT_EQ(run(as_sender(ex.exchange(1, 0s)) | stopped_if_cancelled()).returned(), 1);
    auto [a, b] = ex::sync_wait(ex::when_all(as_sender(ex.exchange(1)) | stopped_if_cancelled,
                                             as_sender(ex.exchange(2)) |
                                                 (stopped_if_cancelled | ex::then([](auto result) {
                                                      return *result + 40;
                                                  }))))
                      .value();
    EXPECT_EQ(*a, 2);
    EXPECT_EQ(b, 41);

    std::stop_source stop;
    stop.request_stop();
    EXPECT_FALSE(ex::sync_wait(as_sender(ex.exchange(1, stop.get_token())) | stopped_if_cancelled));
    EXPECT_FALSE(ex::sync_wait(as_sender(tryst::select(ex.exchange(1), stop.get_token())) |
                               stopped_if_cancelled));
    EXPECT_TRUE(ex::sync_wait(as_sender(tryst::select(ex.exchange(1), 0s)) | stopped_if_cancelled));
}

// ---- Destruction

TEST(SenderDestroy, AnOperationStateThatWasNotStartedReturnsNothing) {
    census items;
    exchanger<tracked> ex;
    {
        record<exchange_result<tracked>> got;
        auto state = connect_to(got, as_sender(ex.exchange(tracked(items, 1))));
        auto dropped = as_sender(ex.exchange(tracked(items, 2)));
        EXPECT_EQ(items.alive.load(), 2);
    }
    EXPECT_EQ(items.alive.load(), 0);
    EXPECT_EQ(ex.try_exchange(tracked(items, 3)).error(), exchange_errc::no_partner);
}

TEST(SenderDestroy, AnOperationStateThatWaitsWithdrawsItsOffer) {
    census items;
    exchanger<tracked> ex;
    ex::inplace_stop_source stop;
    record<exchange_result<tracked>> got;
    {
        auto state = connect_to(got, as_sender(ex.exchange(tracked(items, 1))),
                                with_token{stop.get_token()});
        ex::start(state);
    }
    EXPECT_EQ(items.alive.load(), 0);
    stop.request_stop();
    EXPECT_EQ(got.calls, 0);
    EXPECT_EQ(ex.try_exchange(tracked(items, 2)).error(), exchange_errc::no_partner);
}

} // namespace
