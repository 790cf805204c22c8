// SPDX-License-Identifier: MIT
#include <tryst/when_any.hpp>

#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sleep.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>

#include "support/bare_coroutine.hpp"
#include "support/joined_coroutine.hpp"
#include "support/manual_clock.hpp"
#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>

namespace {

using tryst::exchange_errc;
using tryst::exchanger;
using tryst::inplace_stop_callback;
using tryst::inplace_stop_source;
using tryst::inplace_stop_token;
using tryst::run_loop;
using tryst::sleep_for;
using tryst::sync_wait;
using tryst::task;
using tryst::when_any;
using tryst::when_any_npos;
using tryst::test::census;
using tryst::test::detached_coroutine;
using tryst::test::joined_coroutine;
using tryst::test::timed_loop;
using tryst::test::tracked;
using namespace std::chrono_literals;

task<int> give(int value) {
    co_return value;
}

} // namespace

// ---- when_any

TEST(WhenAny, ReturnsAllResultsAndTheIndexOfTheFirst) {
    timed_loop loop;
    int done = 0;
    loop->spawn([](int& done) -> task<> {
        exchanger<int> ex;
        auto got = co_await when_any([&](auto stop) { return ex.exchange(1, stop); },
                                     [&](auto stop) { return sleep_for(10ns, stop); });
        EXPECT_EQ(got.index(), 1U);
        auto swapped = got.get<0>();
        EXPECT_EQ(swapped.error(), exchange_errc::cancelled);
        EXPECT_EQ(swapped.returned(), 1);
        EXPECT_TRUE(got.get<1>());
        ++done;
    }(done));
    loop->run_until_idle();
    EXPECT_EQ(done, 0);
    loop.advance(10ns);
    EXPECT_EQ(done, 1);
}

TEST(WhenAny, StopsTheOthersWhenAPartnerCame) {
    timed_loop loop;
    exchanger<int> ex;
    int done = 0;
    loop->spawn([](exchanger<int>& ex, int& done) -> task<> {
        auto got = co_await when_any([&](auto stop) { return ex.exchange(1, stop); },
                                     [&](auto stop) { return sleep_for(1h, stop); });
        EXPECT_EQ(got.index(), 0U);
        EXPECT_EQ(*got.get<0>(), 2);
        EXPECT_FALSE(got.get<1>()) << "the sleep was stopped";
        ++done;
    }(ex, done));
    loop->run_until_idle();
    EXPECT_EQ(*ex.try_exchange(2), 1);
    loop->run_until_idle();
    EXPECT_EQ(done, 1);
}

TEST(WhenAny, LosesNoItemIfBothTakePlace) {
    // Both partners come before the loop runs: a `select` would take only one of them.
    census kept;
    {
        run_loop loop;
        exchanger<tracked> first;
        exchanger<tracked> second;
        bool done = false;
        loop.spawn([](exchanger<tracked>& first, exchanger<tracked>& second, census& kept,
                      bool& done) -> task<> {
            tracked one(kept, 1);
            tracked two(kept, 2);
            auto got =
                co_await when_any([&](auto stop) { return first.exchange(std::move(one), stop); },
                                  [&](auto stop) { return second.exchange(std::move(two), stop); });
            auto a = got.get<0>();
            auto b = got.get<1>();
            EXPECT_EQ(a->id(), 3);
            EXPECT_EQ(b->id(), 4);
            done = true;
        }(first, second, kept, done));
        loop.run_until_idle();
        EXPECT_EQ(first.try_exchange(tracked(kept, 3))->id(), 1);
        EXPECT_EQ(second.try_exchange(tracked(kept, 4))->id(), 2);
        loop.run_until_idle();
        EXPECT_TRUE(done);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(WhenAny, ConservesItemsWhilePartnersOnOtherThreadsRace) {
    exchanger<int> first;
    exchanger<int> second;
    for (int i = 0; i != 500; ++i) {
        int given = 0;
        std::thread partner([&] {
            for (exchanger<int>* each : {&first, &second}) {
                given += each->try_exchange(1) ? 1 : 0;
            }
        });
        int got = 0;
        sync_wait([](exchanger<int>& first, exchanger<int>& second, int& got) -> task<> {
            auto both =
                co_await when_any([&](auto stop) { return first.exchange(2, stop); },
                                  [&](auto stop) { return second.exchange(2, stop); }, 100us);
            got += both.get<0>() ? 1 : 0;
            got += both.get<1>() ? 1 : 0;
        }(first, second, got));
        partner.join();
        EXPECT_EQ(got, given);
    }
}

TEST(WhenAny, CallsAllFunctionsThoughTheFirstEndsAtOnce) {
    sync_wait([]() -> task<> {
        exchanger<int> ex;
        auto got = co_await when_any([](auto) { return give(7); },
                                     [&](auto stop) { return ex.exchange(1, stop); });
        EXPECT_EQ(got.index(), 0U);
        EXPECT_EQ(got.get<0>(), 7);
        auto other = got.get<1>();
        EXPECT_EQ(other.error(), exchange_errc::cancelled);
        EXPECT_EQ(other.returned(), 1);
    }());
}

TEST(WhenAny, TakesTasksAndResultsOfAllKinds) {
    sync_wait([]() -> task<> {
        const auto wait = [](std::stop_token stop) -> task<> {
            const bool passed = co_await sleep_for(24h, stop);
            EXPECT_FALSE(passed);
        };
        auto got = co_await when_any(
            [&](std::stop_token stop) { return wait(stop); },
            [](auto) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); });
        EXPECT_EQ(got.index(), 1U);
        got.get<0>();
        EXPECT_EQ(*got.get<1>(), 7);
    }());
}

TEST(WhenAny, ThrowsTheExceptionOfOneWithoutLosingTheOthers) {
    sync_wait([]() -> task<> {
        exchanger<int> ex;
        auto got = co_await when_any([&](auto stop) { return ex.exchange(1, stop); },
                                     [](auto) -> task<int> {
                                         throw std::runtime_error("thrown inside");
                                         co_return 0;
                                     });
        EXPECT_EQ(got.index(), 1U);
        EXPECT_THROW(static_cast<void>(got.get<1>()), std::runtime_error);
        EXPECT_EQ(got.get<0>().returned(), 1);
    }());
}

TEST(WhenAny, CatchesTheExceptionOfAFunction) {
    sync_wait([]() -> task<> {
        const auto refuse = [](auto) -> task<int> { throw std::runtime_error("no task"); };
        auto got = co_await when_any(refuse, [](auto) { return give(1); });
        EXPECT_EQ(got.index(), 0U);
        EXPECT_THROW(static_cast<void>(got.get<0>()), std::runtime_error);
        EXPECT_EQ(got.get<1>(), 1);
    }());
}

TEST(WhenAny, PassesAnOuterStopOn) {
    timed_loop loop;
    std::stop_source stop;
    int done = 0;
    loop->spawn([](std::stop_token outer, int& done) -> task<> {
        exchanger<int> ex;
        for (int i = 0; i != 2; ++i) { // while it waits, and before
            auto got = co_await when_any([&](auto stop) { return ex.exchange(1, stop); },
                                         [&](auto stop) { return sleep_for(1h, stop); }, outer);
            EXPECT_EQ(got.get<0>().error(), exchange_errc::cancelled);
            EXPECT_FALSE(got.get<1>());
            ++done;
        }
    }(stop.get_token(), done));
    loop->run_until_idle();
    EXPECT_EQ(done, 0);
    stop.request_stop();
    EXPECT_EQ(done, 0) << "it was resumed inside request_stop";
    loop->run_until_idle();
    EXPECT_EQ(done, 2);
}

TEST(WhenAny, EndsWhenItsTimeIsOver) {
    timed_loop loop;
    int done = 0;
    loop->spawn([](int& done) -> task<> {
        exchanger<int> ex;
        auto late = co_await when_any([&](auto stop) { return ex.exchange(1, stop); },
                                      [&](auto stop) { return sleep_for(1h, stop); }, 10ns);
        EXPECT_EQ(late.index(), when_any_npos);
        EXPECT_EQ(late.get<0>().returned(), 1);
        EXPECT_FALSE(late.get<1>());
        ++done;
        auto early = co_await when_any([&](auto stop) { return sleep_for(1ns, stop); }, 10ns);
        EXPECT_EQ(early.index(), 0U);
        ++done;
    }(done));
    loop->run_until_idle();
    loop.advance(9ns);
    EXPECT_EQ(done, 0);
    loop.advance(1ns);
    EXPECT_EQ(done, 1);
    loop.advance(1ns);
    EXPECT_EQ(done, 2);
}

TEST(WhenAny, MeetsAWaitingPartnerThoughItHasNoTime) {
    exchanger<int> ex;
    run_loop loop;
    int theirs = 0;
    loop.spawn([](exchanger<int>& ex, int& theirs) -> task<> {
        const auto got = co_await ex.exchange(1);
        theirs = *got;
    }(ex, theirs));
    loop.spawn([](exchanger<int>& ex) -> task<> {
        auto got = co_await when_any([&](auto stop) { return ex.exchange(2, stop); }, 0s);
        EXPECT_EQ(got.index(), 0U);
        EXPECT_EQ(*got.get<0>(), 1);
    }(ex));
    loop.run_until_idle();
    EXPECT_EQ(theirs, 2);
}

TEST(WhenAny, MeetsWaitingPartnersThoughItHasNoTimeHoweverManyThereAre) {
    tryst::synchronous_channel<int> line;
    run_loop loop;
    constexpr int parties = 200; // more than one turn allows
    for (int i = 0; i != parties; ++i) {
        loop.spawn([](tryst::synchronous_channel<int>& line) -> task<> {
            const auto sent = co_await line.send(1);
            EXPECT_TRUE(sent);
        }(line));
    }
    loop.run_until_idle();
    loop.run([](tryst::synchronous_channel<int>& line) -> task<> {
        for (int i = 0; i != parties; ++i) {
            auto got = co_await when_any([&](auto stop) { return line.receive(stop); }, 0s);
            EXPECT_EQ(got.index(), 0U);
            EXPECT_TRUE(got.get<0>());
        }
    }(line));
}

TEST(WhenAny, MayBeNested) {
    timed_loop loop;
    int done = 0;
    loop->spawn([](int& done) -> task<> {
        exchanger<int> ex;
        auto got = co_await when_any(
            [&](auto stop) {
                return when_any([&](auto inner) { return ex.exchange(1, inner); },
                                [&](auto inner) { return sleep_for(1h, inner); }, stop);
            },
            [&](auto stop) { return sleep_for(10ns, stop); });
        EXPECT_EQ(got.index(), 1U);
        auto nested = got.get<0>();
        EXPECT_EQ(nested.get<0>().returned(), 1);
        EXPECT_FALSE(nested.get<1>());
        ++done;
    }(done));
    loop->run_until_idle();
    loop.advance(10ns);
    EXPECT_EQ(done, 1);
}

TEST(WhenAny, RacesWithAnOuterStopWithAndWithoutAnExecutor) {
    const auto body = [](std::stop_token outer) -> task<> {
        exchanger<int> ex;
        auto got = co_await when_any([&](auto stop) { return ex.exchange(1, stop); }, 50us, outer);
        EXPECT_EQ(got.get<0>().returned(), 1);
        EXPECT_TRUE(got.index() == when_any_npos || outer.stop_requested());
    };
    for (int i = 0; i != 500; ++i) {
        std::stop_source stop;
        std::thread stopper([&stop] { stop.request_stop(); });
        if (i % 2 == 0) {
            sync_wait(body(stop.get_token()));
        } else {
            [](auto body, std::stop_token outer) -> joined_coroutine {
                co_await body(std::move(outer));
            }(body, stop.get_token())
                                                        .join();
        }
        stopper.join();
    }
}

TEST(WhenAny, FreesItsWorkIfItIsDestroyedWhileItWaits) {
    census kept;
    exchanger<tracked> ex;
    std::stop_source stop;
    {
        timed_loop loop;
        loop->spawn([](exchanger<tracked>& ex, census& kept, std::stop_token outer) -> task<> {
            tracked mine(kept, 1);
            auto got = co_await when_any(
                [&](auto stop) { return ex.exchange(std::move(mine), stop); }, 1h, outer);
            ADD_FAILURE() << "resumed: " << got.index();
        }(ex, kept, stop.get_token()));
        loop->run_until_idle();
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
    stop.request_stop();
    EXPECT_EQ(ex.try_exchange(tracked(kept, 2)).error(), exchange_errc::no_partner);
}

// ---- The stop source

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

TEST(InplaceStop, LetsACallbackDestroyItselfAndOthers) {
    inplace_stop_source source;
    int calls = 0;
    struct suicide;
    using callback = inplace_stop_callback<suicide>;
    struct suicide {
        std::unique_ptr<callback>* self;
        std::unique_ptr<callback>* other;
        int* calls;
        void operator()() const {
            ++*calls;
            std::unique_ptr<callback>* const mine = self;
            other->reset();
            mine->reset();
        }
    };
    std::unique_ptr<callback> a;
    std::unique_ptr<callback> b;
    a = std::make_unique<callback>(source.get_token(), suicide{&a, &b, &calls});
    b = std::make_unique<callback>(source.get_token(), suicide{&b, &a, &calls});
    source.request_stop();
    EXPECT_EQ(calls, 1);
    EXPECT_FALSE(a);
    EXPECT_FALSE(b);
}

#ifndef NDEBUG
TEST(InplaceStopDeathTest, CatchesASourceThatItsOwnCallbackDestroys) {
    const auto misuse = [](bool in_a_coroutine) {
        auto source = std::make_unique<inplace_stop_source>();
        exchanger<int> ex;
        const auto wait = [](exchanger<int>& ex,
                             std::unique_ptr<inplace_stop_source>& own) -> detached_coroutine {
            static_cast<void>(co_await ex.exchange(1, own->get_token()));
            own.reset();
        };
        if (in_a_coroutine) {
            wait(ex, source);
        }
        const inplace_stop_callback callback(source->get_token(), [&source] { source.reset(); });
        source->request_stop();
    };
    EXPECT_DEATH(misuse(false), "an inplace_stop_source was destroyed by a callback");
    EXPECT_DEATH(misuse(true), "an inplace_stop_source was destroyed by a callback");
}
#endif

TEST(InplaceStop, WaitsForACallbackThatRunsOnAnotherThread) {
    for (int i = 0; i != 2'000; ++i) {
        inplace_stop_source source;
        std::thread stopper([&source] { source.request_stop(); });
        {
            auto data = std::make_unique<int>(0);
            const inplace_stop_callback callback(source.get_token(), [&data] { ++*data; });
            if (i % 2 == 0) {
                std::this_thread::yield();
            }
        } // destroyed in this order: the callback, what it uses
        stopper.join();
    }
}

TEST(InplaceStop, EndsAnExchange) {
    exchanger<int> ex;
    for (int i = 0; i != 300; ++i) {
        inplace_stop_source source;
        std::thread stopper([&source] { source.request_stop(); });
        auto got = sync_wait(ex.exchange(i, source.get_token()));
        EXPECT_EQ(got.error(), exchange_errc::cancelled);
        EXPECT_EQ(got.returned(), i);
        stopper.join();
    }
}
