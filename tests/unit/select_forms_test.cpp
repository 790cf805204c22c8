// SPDX-License-Identifier: MIT
// Every form of a case and of a result. Partners, races and fairness: select_test.cpp.
#include <tryst/select.hpp>

#include "support/started.hpp"
#include "support/tracked.hpp"

#include <tryst/channel.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using numbers = synchronous_channel<int>;

// ---- Times.

TEST(SelectOfTimes, TakesPlaceWhenTheTimeHasCome) {
    parties start;
    numbers ch;
    const auto got = start([&] { return select(ch.receive(), sleep_for(5ms)); });
    start.loop.advance(4ms);
    EXPECT_TRUE(got.waits());
    start.loop.advance(1ms);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->index(), 1U);
    EXPECT_TRUE(got->get<1>());
    EXPECT_EQ(got->get<0>().error(), exchange_errc::not_selected);
    EXPECT_FALSE(ch.try_send(1)); // the receive is gone
}

TEST(SelectOfTimes, IsDisarmedIfAPartnerComesFirst) {
    parties start;
    numbers ch;
    for (int i = 0; i != 3; ++i) {
        const auto got = start([&] { return select(sleep_for(5ms), ch.receive()); });
        ASSERT_TRUE(ch.try_send(7));
        start.loop.advance(1h);
        ASSERT_TRUE(got.ok());
        EXPECT_EQ(got->index(), 1U);
        EXPECT_EQ(got->get<1>(), 7);
        EXPECT_EQ(got->get<0>().error(), exchange_errc::not_selected);
    }
}

TEST(SelectOfTimes, TheEarliestOfSeveralTakesPlace) {
    parties start;
    numbers ch;
    const auto soon = start.loop.now() + 3ms;
    const auto got = start([&] {
        return select(sleep_for(5ms), sleep_until(soon), ch.receive(), sleep_for(4ms), 1h);
    });
    start.loop.advance(3ms);
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->index(), 1U);
    const auto limited = start([&] { return select(sleep_for(5ms), ch.receive(), 2ms); });
    start.loop.advance(2ms);
    EXPECT_EQ(limited.error(), exchange_errc::timed_out);
}

TEST(SelectOfTimes, ATimeThatHasPassedComesAfterAPartnerThatWaits) {
    parties start;
    numbers ch;
    for (const bool relative : {true, false}) {
        const auto past = std::chrono::steady_clock::now();
        const auto choose = [&] {
            return relative ? sync_wait(select(sleep_for(0ms), ch.receive()))
                            : sync_wait(select(sleep_until(past), ch.receive()));
        };
        EXPECT_EQ(choose().index(), 0U);
        const auto sent = start([&] { return ch.send(1); });
        EXPECT_EQ(choose().index(), 1U);
        for (int i = 0; i != 20; ++i) { // whatever the order of the poll
            channel<int> full(1);
            EXPECT_TRUE(full.try_send(1));
            EXPECT_EQ(try_select(sleep_until(past), full.receive(), sleep_for(0ms)).index(), 1U);
        }
        EXPECT_EQ(try_select(sleep_until(past), ch.receive()).index(), 0U);
        EXPECT_EQ(try_select(sleep_for(1ms), ch.receive()).error(), exchange_errc::no_partner);
    }
}

TEST(SelectOfTimes, EndsWithTheCoroutineThatWaits) {
    numbers ch;
    {
        parties start;
        start([&] { return select(ch.receive(), sleep_for(5ms), 8ms); });
    }
    EXPECT_FALSE(ch.try_send(1));
}

TEST(SelectOfTimes, WaitsOnAThread) {
    numbers ch;
    const auto began = std::chrono::steady_clock::now();
    auto got = sync_wait(select(ch.receive(), sleep_for(5ms)));
    EXPECT_EQ(got.index(), 1U);
    EXPECT_GE(std::chrono::steady_clock::now() - began, 5ms);
    std::thread sender([&] { EXPECT_TRUE(sync_wait(ch.send(3))); });
    EXPECT_EQ(sync_wait(select(sleep_for(1h), ch.receive())).get<1>(), 3);
    sender.join();
}

/// The time comes on the timer thread, which must not use the channel.
TEST(SelectOfTimes, UsesAChannelOfOneThreadOnlyThere) {
    channel<int, single_threaded> ch(1);
    EXPECT_EQ(sync_wait(select(ch.receive(), sleep_for(1ms))).index(), 1U);
    EXPECT_TRUE(ch.try_send(1)); // the receive has left
    EXPECT_EQ(ch.size(), 1U);
}

// ---- Stops.

template <class Source>
class SelectOfStops : public testing::Test {};
using sources = testing::Types<std::stop_source, inplace_stop_source>;
TYPED_TEST_SUITE(SelectOfStops, sources);

TYPED_TEST(SelectOfStops, TakesPlaceWhenAStopIsRequested) {
    parties start;
    numbers ch;
    TypeParam first;
    TypeParam second;
    const auto choose = [&] {
        return select(stopped(first.get_token()), ch.receive(), stopped(second.get_token()));
    };
    const auto got = start(choose);
    EXPECT_TRUE(got.waits());
    second.request_stop();
    start.run();
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->index(), 2U);
    EXPECT_FALSE(got->error());
    EXPECT_EQ(sync_wait(choose()).index(), 2U); // requested before
    EXPECT_EQ(try_select(stopped(first.get_token()), ch.receive()).error(),
              exchange_errc::no_partner);
    EXPECT_EQ(try_select(stopped(second.get_token()), ch.receive()).index(), 0U);
}

TYPED_TEST(SelectOfStops, IsNoLimit) {
    parties start;
    numbers ch;
    TypeParam source;
    TypeParam limit;
    const auto got =
        start([&] { return select(stopped(source.get_token()), ch.receive(), limit.get_token()); });
    limit.request_stop();
    source.request_stop();
    start.run();
    ASSERT_FALSE(got.waits());
    EXPECT_FALSE(*got);
    EXPECT_EQ(got->error(), exchange_errc::cancelled);
}

TYPED_TEST(SelectOfStops, StopsAThread) {
    numbers ch;
    TypeParam source;
    std::thread stopper([&] {
        std::this_thread::sleep_for(5ms);
        source.request_stop();
    });
    EXPECT_EQ(sync_wait(select(ch.receive(), stopped(source.get_token()))).index(), 1U);
    stopper.join();
}

TEST(SelectFromStops, WaitsForTheFirstOfAny) {
    std::deque<std::stop_source> all(20);
    parties start;
    const auto got = start(
        [&] { return select_from(all, [](auto& each) { return stopped(each.get_token()); }); });
    all[17].request_stop();
    start.run();
    ASSERT_TRUE(got.ok());
    EXPECT_EQ(got->index(), 17U);
}

/// A partner, a time and a stop at the same moment: exactly one takes place, and no item is lost.
TEST(SelectOfEvents, RaceWithAPartner) {
    for (int i = 0; i != 3'000; ++i) {
        numbers ch;
        std::stop_source source;
        run_loop loop;
        std::atomic<bool> received{false};
        std::thread other([&] {
            const bool sent = ch.try_send(1).has_value();
            if (i % 3 == 0) {
                source.request_stop();
            }
            const bool later = !sent && sync_wait(ch.send(1, 50us)).has_value();
            received = sent || later;
        });
        std::size_t which = 0;
        loop.run([](auto& from, auto stop, std::size_t& index, int round) -> task<> {
            auto got =
                co_await select(from.receive(), sleep_for((round % 40) * 1us), stopped(stop));
            index = got.index();
        }(ch, source.get_token(), which, i));
        other.join();
        ASSERT_EQ(received, which == 0) << i;
    }
}

// ---- Cases that may be absent.

TEST(CaseIf, TakesPartOnlyIfEnabled) {
    parties start;
    numbers in;
    numbers out;
    for (const bool open : {true, false}) {
        const auto got = start(
            [&] { return select(case_if(open, in.receive()), case_if(!open, out.send(4)), 1ms); });
        EXPECT_EQ(in.try_send(3).has_value(), open);
        EXPECT_EQ(out.try_receive().has_value(), !open);
        start.run();
        ASSERT_TRUE(got.ok());
        EXPECT_EQ(got->index(), open ? 0U : 1U);
    }
    EXPECT_EQ(try_select(case_if(false, in.receive())).error(), exchange_errc::no_partner);
}

TEST(CaseIf, HandsTheItemOfAnAbsentCaseBack) {
    parties start;
    census items;
    synchronous_channel<tracked> out;
    numbers in;
    const auto got = start(
        [&] { return select(case_if(false, out.send(tracked(items, 1))), in.receive(), 1ms); });
    start.loop.advance(1ms);
    ASSERT_FALSE(got.waits());
    EXPECT_FALSE(*got);
    EXPECT_EQ(got->get<0>().error(), exchange_errc::timed_out);
    EXPECT_EQ(got->get<0>().returned().id(), 1);
}

TEST(CaseIf, MayLeaveNoCase) {
    parties start;
    numbers ch;
    const auto got = start(
        [&] { return select(case_if(false, ch.receive()), case_if(false, ch.send(1)), 5ms); });
    EXPECT_TRUE(got.waits());
    start.loop.advance(5ms);
    EXPECT_EQ(got.error(), exchange_errc::timed_out);
}

TEST(CaseIf, WorksForCasesKnownAtRunTime) {
    std::deque<channel<int>> all;
    for (int i = 0; i != 20; ++i) {
        all.emplace_back(1);
        EXPECT_TRUE(all.back().try_send(i));
    }
    for (int i = 0; i != 20; ++i) {
        auto got = sync_wait(select_from(all, [&](auto& each) {
            return case_if(&each == &all[static_cast<std::size_t>(i)], each.receive());
        }));
        EXPECT_EQ(got.get(), i);
    }
}

/// The partner, on another thread, must not use the other case's channel.
TEST(SelectOfChannelsOfOneThread, MayMeetAnotherThreadElsewhere) {
    for (int i = 0; i != 20; ++i) {
        channel<int, single_threaded> own(0);
        numbers shared;
        run_loop loop;
        std::thread other([&] { EXPECT_TRUE(sync_wait(shared.send(1))); });
        loop.run([](auto& mine, auto& theirs) -> task<> {
            auto got = co_await select(mine.receive(), theirs.receive());
            EXPECT_EQ(got.index(), 1U);
            EXPECT_FALSE(mine.try_send(2)); // the receive has left
        }(own, shared));
        other.join();
    }
}

// ---- Results.

TEST(SelectResult, HasAnErrorOfItsOwn) {
    numbers a;
    channel<int> b(1);
    auto none = try_select(a.receive(), b.receive());
    EXPECT_EQ(none.error(), exchange_errc::no_partner);
    EXPECT_EQ(none.error(), std::errc::operation_would_block);
    EXPECT_TRUE(b.try_send(1));
    auto one = try_select(a.receive(), b.receive());
    EXPECT_FALSE(one.error());
    EXPECT_EQ(one.get(one.index()), 1);
    EXPECT_EQ(std::as_const(one).get(1), 1);
    EXPECT_EQ(std::move(one).get(0).error(), exchange_errc::not_selected);
    a.close();
    EXPECT_EQ(sync_wait(select(a.receive(), b.receive())).error(), exchange_errc::closed);
    std::vector<numbers*> from{&a};
    EXPECT_EQ(sync_wait(select_from(from, [](auto* each) { return each->receive(); })).error(),
              exchange_errc::closed);
    numbers c;
    from = {&c, &c};
    EXPECT_EQ(sync_wait(select_from(
                            from, [](auto* each) { return each->receive(); }, 1ms))
                  .error(),
              exchange_errc::timed_out);
}

TEST(SelectResult, CanBeTakenApart) {
    channel<std::string> a(1);
    numbers b;
    EXPECT_TRUE(a.try_send("x"));
    auto [word, number] = sync_wait(select(a.receive(), b.receive()));
    EXPECT_EQ(word, "x");
    EXPECT_EQ(number.error(), exchange_errc::not_selected);
}

} // namespace
} // namespace tryst::test
