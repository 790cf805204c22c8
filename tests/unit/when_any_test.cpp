// SPDX-License-Identifier: MIT
// Where its awaiter goes on: runs_test.cpp.
#include <tryst/when_any.hpp>

#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/when_all.hpp>

#include "support/bare_coroutine.hpp"
#include "support/joined_coroutine.hpp"
#include "support/started.hpp"
#include "support/works.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

class WhenAny : public ::testing::Test {
protected:
    auto exchanging() {
        return [this](auto stop) { return ex.exchange(1, stop); };
    }
    template <class Duration>
    static auto sleeping(Duration patience) {
        return [patience](auto stop) { return sleep_for(patience, stop); };
    }

    exchanger<int> ex;
    std::stop_source outer;
    parties start;
};

// ---- when_any

TEST_F(WhenAny, ReturnsAllResultsAndTheIndexOfTheFirst) {
    const auto got = start([&] { return when_any(exchanging(), sleeping(10ns)); });
    EXPECT_TRUE(got.waits());
    start.loop.advance(10ns);
    ASSERT_FALSE(got.waits());
    EXPECT_EQ(got->index(), 1U);
    auto swapped = got->get<0>();
    EXPECT_EQ(swapped.error(), exchange_errc::cancelled);
    EXPECT_EQ(swapped.returned(), 1);
    EXPECT_TRUE(got->get<1>());
}

TEST_F(WhenAny, LosesNoItemIfBothTakePlace) {
    // Both partners come before the loop runs: a `select` would take only one of them.
    census kept;
    {
        exchanger<tracked> first;
        exchanger<tracked> second;
        const auto got = start([&] {
            return when_any([&](auto stop) { return first.exchange(tracked(kept, 1), stop); },
                            [&](auto stop) { return second.exchange(tracked(kept, 2), stop); });
        });
        EXPECT_EQ(first.try_exchange(tracked(kept, 3))->id(), 1);
        EXPECT_EQ(second.try_exchange(tracked(kept, 4))->id(), 2);
        start.run();
        ASSERT_FALSE(got.waits());
        EXPECT_EQ(got->get<0>()->id(), 3);
        EXPECT_EQ(got->get<1>()->id(), 4);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST_F(WhenAny, CallsAllFunctionsThoughTheFirstEndsAtOnceOrThrows) {
    const auto end_at_once = [](auto) { return give(7); };
    const auto refuse = [](auto) -> task<int> { throw std::runtime_error("no task"); };
    const auto fail_inside = [](auto) { return fail<int>("thrown inside"); };
    // An operation is kept without a coroutine, and its function may throw, too.
    const auto refuse_exchange = [&](auto stop) {
        if (stop.stop_possible()) {
            throw std::runtime_error("no exchange");
        }
        return ex.exchange(3, stop);
    };
    auto got = sync_wait(when_any(end_at_once, exchanging()));
    EXPECT_EQ(got.index(), 0U);
    EXPECT_EQ(got.get<0>(), 7);
    EXPECT_EQ(got.get<1>().returned(), 1);
    const auto expect_thrown = [&](auto throws) {
        auto thrown = sync_wait(when_any(throws, exchanging()));
        EXPECT_EQ(thrown.index(), 0U);
        EXPECT_THROW(static_cast<void>(thrown.template get<0>()), std::runtime_error);
        EXPECT_EQ(thrown.template get<1>().returned(), 1);
    };
    expect_thrown(refuse);
    expect_thrown(refuse_exchange);
    auto failed = sync_wait(when_any(exchanging(), fail_inside));
    EXPECT_EQ(failed.index(), 1U);
    EXPECT_THROW(static_cast<void>(failed.get<1>()), std::runtime_error);
    EXPECT_EQ(failed.get<0>().returned(), 1);
}

TEST_F(WhenAny, TakesTasksAndResultsOfAllKinds) {
    const auto wait = [](std::stop_token stop) -> task<> {
        const bool passed = co_await sleep_for(24h, stop);
        EXPECT_FALSE(passed);
    };
    const auto make = [](auto) -> task<std::unique_ptr<int>> {
        co_return std::make_unique<int>(7);
    };
    auto got = sync_wait(when_any(wait, make));
    EXPECT_EQ(got.index(), 1U);
    got.get<0>();
    EXPECT_EQ(*got.get<1>(), 7);
}

TEST_F(WhenAny, TakesARange) {
    std::vector<exchanger<int>> all(20);
    const auto swap = [](exchanger<int>& each, auto stop) { return each.exchange(1, stop); };
    const auto got = start([&] { return when_any_from(all, swap, 5ns, outer.get_token()); });
    EXPECT_EQ(*all[17].try_exchange(7), 1);
    start.run();
    ASSERT_FALSE(got.waits());
    EXPECT_EQ(got->size(), 20U);
    EXPECT_EQ(got->index(), 17U);
    for (std::size_t i = 0; i != 20; ++i) {
        auto each = got->get(i);
        EXPECT_EQ(each.has_value(), i == 17);
        EXPECT_EQ(each ? *each : each.returned(), i == 17 ? 7 : 1);
    }

    std::vector<int> two{1, 2};
    const auto sleep = [](int by, auto stop) { return sleep_for(by * 3ns, stop); };
    const auto late = start([&] { return when_any_from(std::move(two), sleep, 1ns); });
    start.loop.advance(1ns);
    ASSERT_FALSE(late.waits());
    EXPECT_EQ(late->index(), when_any_npos);
    EXPECT_FALSE(late->get(0) || late->get(1));

    const auto swap_one = [&](int /*one*/, std::stop_token stop) { return ex.exchange(1, stop); };
    const auto stopped =
        start([&] { return when_any_from(std::views::single(1), swap_one, outer.get_token()); });
    EXPECT_TRUE(stopped.waits());
    outer.request_stop();
    start.run();
    ASSERT_FALSE(stopped.waits());
    EXPECT_EQ(stopped->get(0).error(), exchange_errc::cancelled);

    const std::vector<int> none;
    EXPECT_THROW(static_cast<void>(sync_wait(when_any_from(none, sleep))), std::invalid_argument);
}

TEST_F(WhenAny, PassesAnOuterStopOn) {
    const auto any = [&] { return when_any(exchanging(), sleeping(1h), outer.get_token()); };
    const auto waiting = start(any);
    EXPECT_TRUE(waiting.waits());
    outer.request_stop();
    EXPECT_TRUE(waiting.waits()) << "it was resumed inside request_stop";
    start.run();
    for (const auto& got : {waiting, start(any)}) { // while it waits, and before
        ASSERT_FALSE(got.waits());
        EXPECT_EQ(got->get<0>().error(), exchange_errc::cancelled);
        EXPECT_FALSE(got->get<1>());
    }
}

TEST_F(WhenAny, EndsWhenItsTimeIsOver) {
    const auto late = start([&] { return when_any(exchanging(), sleeping(1h), 10ns); });
    const auto early = start([&] { return when_any(sleeping(1ns), 10ns); });
    start.loop.advance(1ns);
    ASSERT_FALSE(early.waits());
    EXPECT_EQ(early->index(), 0U);
    start.loop.advance(8ns);
    EXPECT_TRUE(late.waits());
    start.loop.advance(1ns);
    ASSERT_FALSE(late.waits());
    EXPECT_EQ(late->index(), when_any_npos);
    EXPECT_EQ(late->get<0>().returned(), 1);
    EXPECT_FALSE(late->get<1>());
}

TEST_F(WhenAny, MeetsWaitingPartnersThoughItHasNoTimeHoweverManyThereAre) {
    constexpr int count = 200; // more than one turn allows
    synchronous_channel<int> line;
    const auto receive_all = [&]() -> task<> {
        for (int i = 0; i != count; ++i) {
            auto got = co_await when_any([&](auto stop) { return line.receive(stop); }, 0s);
            EXPECT_EQ(got.index(), 0U);
            EXPECT_TRUE(got.get<0>());
        }
    };
    for (int i = 0; i != count; ++i) {
        start([&] { return line.send(1); });
    }
    start.loop->run(receive_all());
}

TEST_F(WhenAny, MayBeNested) {
    const auto nested = [&](auto stop) { return when_any(exchanging(), sleeping(1h), stop); };
    const auto got = start([&] { return when_any(nested, sleeping(10ns)); });
    start.loop.advance(10ns);
    ASSERT_FALSE(got.waits());
    EXPECT_EQ(got->index(), 1U);
    auto inner = got->get<0>();
    EXPECT_EQ(inner.get<0>().returned(), 1);
    EXPECT_FALSE(inner.get<1>());
}

TEST_F(WhenAny, MayBeDestroyedWhenOneHasEnded) {
    run_loop plain;
    synchronous_channel<std::unique_ptr<int>> open;
    synchronous_channel<std::unique_ptr<int>> other;
    const auto waits = [&]() -> bare_coroutine {
        const auto first = [&](auto stop) { return open.receive(stop); };
        const auto second = [&](auto stop) { return other.receive(stop); };
        auto got = co_await when_any(first, second);
        ADD_FAILURE() << got.index();
    };
    const auto destroys = [&](bool after_its_turn) -> task<> {
        bare_coroutine met = waits();
        if (after_its_turn) {
            co_await plain.schedule(); // the limits are in force
        }
        EXPECT_TRUE(other.try_send(std::make_unique<int>(1)));
        co_await plain.schedule(); // the second has the item; the first is being stopped
        met.destroy();
    };
    const auto ends_at_once = [&]() -> task<> {
        waits().destroy();
        co_return;
    };
    plain.run(destroys(false));
    plain.run(destroys(true));
    other.close();
    plain.run(ends_at_once());
    EXPECT_EQ(open.try_send(nullptr).error(), exchange_errc::no_partner);
}

TEST_F(WhenAny, RacesWithAnOuterStopWithAndWithoutAnExecutor) {
    for (int i = 0; i != 500; ++i) {
        std::stop_source stop;
        const auto body = [&]() -> task<> {
            auto got = co_await when_any(exchanging(), 50us, stop.get_token());
            EXPECT_EQ(got.get<0>().returned(), 1);
            EXPECT_TRUE(got.index() == when_any_npos || stop.stop_requested());
        };
        const auto without = [&]() -> joined_coroutine { co_await body(); };
        std::thread stopper([&stop] { stop.request_stop(); });
        if (i % 2 == 0) {
            sync_wait(body());
        } else {
            without().join();
        }
        stopper.join();
    }
}

// ---- The stop source

TEST(WhenAnyOfThreads, CountsEachItemOnceWhileLimitsAndPartnersEndIt) {
    using channel_type = synchronous_channel<int>;
    channel_type one;
    channel_type other;
    std::atomic<int> sent{0};
    std::atomic<int> received{0};
    std::atomic<bool> over{false};
    const auto receive = [&](channel_type& first, channel_type& second) -> task<> {
        const auto from_first = [&](auto stop) { return first.receive(stop); };
        const auto from_second = [&](auto stop) { return select(second.receive(), stop); };
        while (received < 500) {
            auto got = co_await when_any(from_first, from_second, 100us);
            received += got.get<0>() ? 1 : 0;
            received += got.get<1>().get<0>() ? 1 : 0;
        }
    };
    const auto send = [&](channel_type& to) -> task<> {
        while (!over) {
            const auto how = co_await to.send(1, 50us);
            sent += how ? 1 : 0;
        }
    };
    {
        std::jthread sender([&] { sync_wait(when_all(send(one), send(other))); });
        std::jthread receiver([&] {
            run_loop here;
            here.run(when_all(receive(one, other), receive(other, one)));
        });
        run_loop here;
        here.run(when_all(receive(one, other), receive(other, one)));
        receiver.join();
        over = true;
    }
    EXPECT_EQ(sent, received);
}

TEST(InplaceStop, CallsItsCallbacksOnce) {
    inplace_stop_source source;
    int calls = 0;
    const auto count = [&] { ++calls; };
    {
        const inplace_stop_callback gone(source.get_token(), count);
    }
    const inplace_stop_callback one(source.get_token(), count);
    const inplace_stop_callback two(source.get_token(), count);
    EXPECT_TRUE(source.get_token().stop_possible());
    EXPECT_FALSE(source.get_token().stop_requested());
    EXPECT_TRUE(source.request_stop());
    EXPECT_TRUE(source.get_token().stop_requested());
    EXPECT_EQ(calls, 2);
    EXPECT_FALSE(source.request_stop());
    const inplace_stop_callback late(source.get_token(), count);
    EXPECT_EQ(calls, 3);
    const inplace_stop_callback never(inplace_stop_token(), count);
    EXPECT_FALSE(inplace_stop_token().stop_possible());
    EXPECT_EQ(calls, 3);
}

struct suicide;
using suicidal_callback = inplace_stop_callback<suicide>;
struct suicide {
    std::unique_ptr<suicidal_callback>* self;
    std::unique_ptr<suicidal_callback>* other;
    int* calls;
    void operator()() const {
        ++*calls;
        std::unique_ptr<suicidal_callback>* const mine = self;
        other->reset();
        mine->reset();
    }
};

TEST(InplaceStop, LetsACallbackDestroyItselfAndOthers) {
    inplace_stop_source source;
    int calls = 0;
    std::unique_ptr<suicidal_callback> a;
    std::unique_ptr<suicidal_callback> b;
    a = std::make_unique<suicidal_callback>(source.get_token(), suicide{&a, &b, &calls});
    b = std::make_unique<suicidal_callback>(source.get_token(), suicide{&b, &a, &calls});
    source.request_stop();
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(a);
    EXPECT_FALSE(b);
}

} // namespace
} // namespace tryst::test
