// SPDX-License-Identifier: MIT
// The waiter goes first: a frame that is destroyed at any point takes its offer and its item with
// it.
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/loop_thread.hpp"
#include "support/parties.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::test::bare_coroutine;
using tryst::test::grow;
using tryst::test::party;
using tryst::test::received;
using tryst::test::tracked;
using tryst::test::waits_in_arena;
using tryst::test::waits_in_list;
using exchanger = tryst::exchanger<tracked>;

enum class limit : std::uint8_t { none, stop, deadline, both };

/// Starts at once, on the executor of its caller.
bare_coroutine wait(exchanger& ex, tracked mine, limit how, std::stop_token stop,
                    received<tracked>& got) {
    switch (how) {
    case limit::none:
        got.emplace(co_await ex.exchange(std::move(mine)));
        break;
    case limit::stop:
        got.emplace(co_await ex.exchange(std::move(mine), std::move(stop)));
        break;
    case limit::deadline:
        got.emplace(co_await ex.exchange(std::move(mine), 1h));
        break;
    case limit::both:
        got.emplace(co_await ex.exchange(std::move(mine), 1h, std::move(stop)));
        break;
    }
}

/// Whether two new parties meet each other.
void expect_that_others_meet(exchanger& ex, tryst::test::census& census) {
    EXPECT_FALSE(waits_in_list(ex));
    EXPECT_FALSE(waits_in_arena(ex));
    EXPECT_EQ(ex.try_exchange(tracked(census, 98)).error(), exchange_errc::no_partner);
    tryst::run_loop loop;
    received<tracked> waiting;
    loop.spawn(party(waiting, [&] { return ex.exchange(tracked(census, 99)); }));
    loop.run_until_idle();
    const auto got = ex.try_exchange(tracked(census, 100));
    loop.run_until_idle();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->id(), 99);
    ASSERT_TRUE(waiting && *waiting);
    EXPECT_EQ((**waiting).id(), 100);
}

using situation = std::tuple<limit, int>;

struct Frame : testing::TestWithParam<situation> {
    Frame() : ex(1) { grow(ex, std::get<1>(GetParam())); }

    bare_coroutine start() {
        return wait(ex, tracked(census, 1), std::get<0>(GetParam()), stop.get_token(), got);
    }

    void expect_gone() {
        stop.request_stop(); // without effect: the operation has ended
        loop.run_until_idle();
        EXPECT_FALSE(got);
        EXPECT_EQ(census.alive, 0);
        expect_that_others_meet(ex, census);
        EXPECT_EQ(census.alive, 0);
    }

    tryst::test::census census;
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    received<tracked> got;
};

template <class Body>
tryst::task<> on_the_loop(Body body) {
    body();
    co_return;
}

TEST_P(Frame, DestroyedInItsFirstTurnWithdrawsItsOffer) {
    loop.spawn(on_the_loop([this] {
        auto waiter = start();
        EXPECT_TRUE(waits_in_list(ex) || waits_in_arena(ex));
        waiter.destroy();
        EXPECT_FALSE(waits_in_list(ex) || waits_in_arena(ex));
    }));
    loop.run_until_idle();
    expect_gone();
}

TEST_P(Frame, DestroyedWhileParkedAtHomeWithdrawsItsOffer) {
    std::optional<bare_coroutine> waiter;
    loop.spawn(on_the_loop([&] { waiter.emplace(start()); }));
    loop.run_until_idle();
    ASSERT_TRUE(waits_in_list(ex));
    loop.spawn(on_the_loop([&] { waiter->destroy(); }));
    loop.run_until_idle();
    expect_gone();
}

TEST_P(Frame, DestroyedAfterItWasClaimedInItsFirstTurnLosesThePartnersItemAlone) {
    std::optional<exchanger::value_type> partners;
    loop.spawn(on_the_loop([&] {
        auto waiter = start();
        auto taken = ex.try_exchange(tracked(census, 2));
        ASSERT_TRUE(taken);
        EXPECT_EQ(taken->id(), 1);
        EXPECT_EQ(census.alive, 2);
        waiter.destroy();
        EXPECT_EQ(census.alive, 1); // 2 died with the frame that had received it
    }));
    loop.run_until_idle();
    expect_gone();
}

TEST_P(Frame, DestroyedAfterItWasClaimedAtHomeIsNotResumed) {
    std::optional<bare_coroutine> waiter;
    loop.spawn(on_the_loop([&] { waiter.emplace(start()); }));
    loop.run_until_idle();
    loop.spawn(on_the_loop([&] {
        ASSERT_TRUE(ex.try_exchange(tracked(census, 2)));
        waiter->destroy();
    }));
    loop.run_until_idle();
    expect_gone();
}

TEST_P(Frame, DestroyedAfterAnotherThreadClaimedItIsNotResumed) {
    std::optional<bare_coroutine> waiter;
    loop.spawn(on_the_loop([&] { waiter.emplace(start()); }));
    loop.run_until_idle();
    loop.spawn(on_the_loop([&] { waiter->destroy(); }));
    std::thread([&] { EXPECT_TRUE(ex.try_exchange(tracked(census, 2))); }).join();
    loop.run_until_idle(); // its resumption is queued behind the task that destroys it
    expect_gone();
}

TEST_P(Frame, DestroyedAfterTheStopIsNotResumed) {
    if (std::get<0>(GetParam()) == limit::none || std::get<0>(GetParam()) == limit::deadline) {
        return; // nothing to stop
    }
    std::optional<bare_coroutine> waiter;
    loop.spawn(on_the_loop([&] { waiter.emplace(start()); }));
    loop.run_until_idle();
    loop.spawn(on_the_loop([&] { waiter->destroy(); }));
    std::thread([&] { stop.request_stop(); }).join();
    EXPECT_FALSE(waits_in_list(ex));
    loop.run_until_idle();
    expect_gone();
}

TEST_P(Frame, DestroyedAfterTheCloseIsNotResumed) {
    std::optional<bare_coroutine> waiter;
    loop.spawn(on_the_loop([&] { waiter.emplace(start()); }));
    loop.run_until_idle();
    loop.spawn(on_the_loop([&] {
        ex.close();
        waiter->destroy();
    }));
    loop.run_until_idle();
    EXPECT_FALSE(got);
    EXPECT_EQ(census.alive, 0);
}

TEST_P(Frame, DestroyedWithItsLoopWhileParkedWithdrawsItsOffer) {
    {
        tryst::run_loop dying;
        dying.spawn(on_the_loop([] {}));
        dying.spawn(party(got, [this] { return ex.exchange(tracked(census, 1)); }));
        dying.run_until_idle();
        EXPECT_EQ(census.alive, 1);
    }
    expect_gone();
}

TEST_P(Frame, DestroyedWithItsLoopInItsFirstTurnWithdrawsItsOffer) {
    {
        tryst::run_loop dying;
        const limit how = std::get<0>(GetParam());
        dying.spawn(how == limit::none
                        ? party(got, [this] { return ex.exchange(tracked(census, 1)); })
                        : party(got, [this] {
                              return ex.exchange(tracked(census, 1), 1h, stop.get_token());
                          }));
        dying.stop();
        dying.run(); // starts the task, then stops before its check
        EXPECT_EQ(census.alive, 1);
        EXPECT_TRUE(waits_in_list(ex) || waits_in_arena(ex));
    }
    expect_gone();
}

TEST_P(Frame, DestroyedWithItsLoopAfterItWasClaimedIsNotResumed) {
    {
        tryst::run_loop dying;
        dying.spawn(party(got, [this] { return ex.exchange(tracked(census, 1)); }));
        dying.run_until_idle();
        ASSERT_TRUE(ex.try_exchange(tracked(census, 2)));
    }
    expect_gone();
}

TEST_P(Frame, WithoutAnExecutorDestroyedWhileParkedWithdrawsItsOffer) {
    auto waiter = start();
    EXPECT_TRUE(waits_in_list(ex));
    waiter.destroy();
    expect_gone();
}

TEST_P(Frame, DestroyedAfterItsExchangeHasNothingLeftToWithdraw) {
    auto waiter = start();
    ASSERT_TRUE(ex.try_exchange(tracked(census, 2)));
    EXPECT_TRUE(waiter.done());
    waiter.destroy();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((**got).id(), 2);
    got.reset();
    expect_gone();
}

std::string name_of(const testing::TestParamInfo<situation>& test) {
    std::string name;
    switch (std::get<0>(test.param)) {
    case limit::none:
        name = "Unlimited";
        break;
    case limit::stop:
        name = "Stoppable";
        break;
    case limit::deadline:
        name = "Timed";
        break;
    case limit::both:
        name = "StoppableAndTimed";
        break;
    }
    return name + (std::get<1>(test.param) == 0 ? "AtHome" : "InTheArena");
}

INSTANTIATE_TEST_SUITE_P(InEveryState, Frame,
                         testing::Combine(testing::Values(limit::none, limit::stop, limit::deadline,
                                                          limit::both),
                                          testing::Values(0, 1)),
                         name_of);

// ---- Operations that never start.

TEST(ExchangeOperation, GivesItsItemToDestructionIfItIsNeverAwaited) {
    tryst::test::census census;
    std::stop_source stop;
    exchanger ex;
    {
        auto plain = ex.exchange(tracked(census, 1));
        auto stoppable = ex.exchange(tracked(census, 2), stop.get_token());
        auto timed = ex.exchange(tracked(census, 3), 1h);
        auto both = ex.exchange(tracked(census, 4), std::chrono::steady_clock::now() + 1h,
                                stop.get_token());
        EXPECT_EQ(census.alive, 4);
        EXPECT_FALSE(waits_in_list(ex)); // nothing happens until one is awaited
    }
    EXPECT_EQ(census.alive, 0);
    EXPECT_EQ(census.created, 4);
}

TEST(ExchangeOperation, MayOutliveItsExchangerIfItIsNeverAwaited) {
    tryst::test::census census;
    std::optional<exchanger> ex(std::in_place);
    {
        auto plain = ex->exchange(tracked(census, 1));
        ex.reset();
    }
    EXPECT_EQ(census.alive, 0);
}

TEST(ExchangeOperation, IsNeitherCopiedNorMoved) {
    exchanger ex;
    using operation = decltype(ex.exchange(std::declval<tracked>()));
    EXPECT_FALSE(std::is_copy_constructible_v<operation>);
    EXPECT_FALSE(std::is_move_constructible_v<operation>);
    EXPECT_FALSE(std::is_copy_assignable_v<operation>);
    EXPECT_FALSE(std::is_move_assignable_v<operation>);
}

TEST(FrameOfATask, ThatNeverStartsHoldsItsItemToTheEnd) {
    tryst::test::census census;
    exchanger ex;
    received<tracked> got;
    {
        tryst::run_loop loop;
        auto task = [](exchanger& in, tracked mine, received<tracked>& out) -> tryst::task<> {
            out.emplace(co_await in.exchange(std::move(mine)));
        };
        loop.spawn(task(ex, tracked(census, 1), got));
        EXPECT_EQ(census.alive, 1);
    }
    EXPECT_EQ(census.alive, 0);
    expect_that_others_meet(ex, census);
}

// ---- Against partners, stops and closes on another thread.

TEST(FrameRace, AgainstAPartnerLosesNothingButWhatTheFrameHeld) {
    constexpr int rounds = 3'000;
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        for (const limit how : {limit::none, limit::both}) {
            exchanger ex(1);
            std::stop_source stop;
            std::atomic<bool> over{false};
            long taken = 0;
            std::thread partner([&] {
                while (!over) {
                    auto got = ex.try_exchange(tracked(census, 2));
                    if (got) {
                        EXPECT_EQ(got->id(), 1);
                        ++taken;
                    } else {
                        EXPECT_EQ(got.returned().id(), 2);
                    }
                }
            });
            tryst::run_loop loop;
            received<tracked> got;
            int destroyed = 0;
            for (int i = 0; i != rounds; ++i) {
                grow(ex, slots);
                std::optional<bare_coroutine> waiter;
                loop.spawn(on_the_loop([&] {
                    waiter.emplace(wait(ex, tracked(census, 1), how, stop.get_token(), got));
                    if (i % 2 == 0) {
                        waiter->destroy(); // in its first turn
                    }
                }));
                loop.run_until_idle();
                if (i % 2 != 0) {
                    loop.spawn(on_the_loop([&] { waiter->destroy(); })); // parked, or resumed
                    loop.run_until_idle();
                }
                destroyed += got ? 0 : 1;
                got.reset();
            }
            over = true;
            partner.join();
            EXPECT_GT(destroyed, 0);
            EXPECT_FALSE(waits_in_list(ex) || waits_in_arena(ex));
        }
    }
    EXPECT_EQ(census.alive, 0);
}

TEST(FrameRace, AgainstAStopWaitsForItToLetGo) {
    constexpr int rounds = 2'000;
    tryst::test::census census;
    exchanger ex(1);
    std::vector<std::stop_source> stops(rounds);
    std::atomic<int> reached{0};
    std::thread stopper([&] {
        for (int i = 0; i != rounds; ++i) {
            while (reached <= i) {
                tryst::detail::spin_pause();
            }
            stops[static_cast<std::size_t>(i)].request_stop();
        }
    });
    tryst::run_loop loop;
    for (int i = 0; i != rounds; ++i) {
        received<tracked> got;
        std::optional<bare_coroutine> waiter;
        loop.spawn(on_the_loop([&] {
            waiter.emplace(wait(ex, tracked(census, 1), limit::stop,
                                stops[static_cast<std::size_t>(i)].get_token(), got));
        }));
        loop.run_until_idle();
        reached = i + 1;
        loop.spawn(on_the_loop([&] { waiter->destroy(); }));
        loop.run_until_idle();
        EXPECT_FALSE(waits_in_list(ex));
    }
    stopper.join();
    EXPECT_EQ(census.alive, 0);
}

} // namespace
