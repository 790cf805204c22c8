// SPDX-License-Identifier: MIT
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/joined_coroutine.hpp"
#include "support/manual_clock.hpp"
#include "support/parties.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::test::bare_party;
using tryst::test::grow;
using tryst::test::joined_coroutine;
using tryst::test::party;
using tryst::test::received;
using tryst::test::timed_loop;
using tryst::test::tracked;
using tryst::test::until_someone_waits;
using tryst::test::waits_in_arena;
using tryst::test::waits_in_list;
using exchanger = tryst::exchanger<int>;

void expect_failed(const received<int>& got, exchange_errc why, int own) {
    ASSERT_TRUE(got);
    ASSERT_FALSE(*got);
    EXPECT_EQ(got->error(), why);
    EXPECT_EQ(got->returned(), own);
}

void expect_got(const received<int>& got, int item) {
    ASSERT_TRUE(got);
    ASSERT_TRUE(*got);
    EXPECT_EQ(**got, item);
}

tryst::task<> request(std::stop_source stop) {
    stop.request_stop();
    co_return;
}

// What is no token is none, and no error.
static_assert(tryst::stoppable_token<std::stop_token>);
static_assert(!tryst::stoppable_token<std::stop_source>);
static_assert(!tryst::stoppable_token<int>);

TEST(ExchangeStop, RequestedBeforeTheStartCancelsAtOnce) {
    exchanger ex;
    std::stop_source stop;
    stop.request_stop();
    tryst::run_loop loop;
    received<int> on_loop;
    received<int> timed;
    received<int> bare;
    loop.spawn(party(on_loop, [&] { return ex.exchange(1, stop.get_token()); }));
    loop.spawn(party(timed, [&] { return ex.exchange(2, 1h, stop.get_token()); }));
    EXPECT_EQ(loop.run_until_idle(), 2U); // neither was suspended
    const auto ended = bare_party(bare, [&] { return ex.exchange(3, stop.get_token()); });
    expect_failed(on_loop, exchange_errc::cancelled, 1);
    expect_failed(timed, exchange_errc::cancelled, 2);
    expect_failed(bare, exchange_errc::cancelled, 3);
    auto on_thread = tryst::sync_wait(ex.exchange(4, stop.get_token()));
    EXPECT_EQ(on_thread.error(), exchange_errc::cancelled);
    EXPECT_EQ(on_thread.returned(), 4);
}

TEST(ExchangeStop, RequestedBeforeTheStartCancelsEvenIfAPartnerWaits) {
    exchanger ex;
    std::stop_source stop;
    stop.request_stop();
    received<int> waiting;
    const auto waiter = bare_party(waiting, [&] { return ex.exchange(1); });
    auto got = tryst::sync_wait(ex.exchange(2, stop.get_token()));
    EXPECT_EQ(got.error(), exchange_errc::cancelled);
    auto timed = tryst::sync_wait(ex.exchange(3, 0s, stop.get_token()));
    EXPECT_EQ(timed.error(), exchange_errc::cancelled);
    EXPECT_FALSE(waiting);
    ex.close();
}

TEST(ExchangeStop, WhileParkedCancelsOnTheOwnExecutor) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    received<int> got;
    loop.spawn(party(got, [&] { return ex.exchange(1, stop.get_token()); }));
    loop.run_until_idle();
    ASSERT_TRUE(waits_in_list(ex));
    stop.request_stop();
    EXPECT_FALSE(got); // its resumption is queued
    EXPECT_FALSE(waits_in_list(ex));
    loop.run_until_idle();
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST(ExchangeStop, WhileParkedResumesABareCoroutineInline) {
    exchanger ex;
    std::stop_source stop;
    received<int> got;
    const auto waiter = bare_party(got, [&] { return ex.exchange(1, stop.get_token()); });
    EXPECT_FALSE(got);
    stop.request_stop();
    expect_failed(got, exchange_errc::cancelled, 1);
    EXPECT_TRUE(waiter.done());
}

TEST(ExchangeStop, FromAnotherThreadWakesAThread) {
    for (const bool timed : {false, true}) {
        exchanger ex(2);
        grow(ex, timed ? 2 : 0);
        std::stop_source stop;
        std::thread waiter([&] {
            auto got = timed ? tryst::sync_wait(ex.exchange(1, 1h, stop.get_token()))
                             : tryst::sync_wait(ex.exchange(1, stop.get_token()));
            EXPECT_EQ(got.error(), exchange_errc::cancelled);
            EXPECT_EQ(got.returned(), 1);
        });
        until_someone_waits(ex);
        stop.request_stop();
        waiter.join();
        EXPECT_FALSE(waits_in_list(ex));
    }
}

TEST(ExchangeStop, FromAnotherThreadWakesALoop) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    received<int> got;
    std::thread stopper([&] {
        until_someone_waits(ex);
        stop.request_stop();
        loop.stop();
    });
    loop.spawn(party(got, [&] { return ex.exchange(1, stop.get_token()); }));
    loop.run();
    stopper.join();
    loop.run_until_idle();
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST(ExchangeStop, DuringTheFirstTurnIsServedAtItsEnd) {
    for (const int slots : {0, 1}) {
        exchanger ex(1);
        std::stop_source stop;
        tryst::run_loop loop;
        grow(ex, slots);
        received<int> got;
        loop.spawn(party(got, [&] { return ex.exchange(1, stop.get_token()); }));
        loop.spawn(request(stop));
        loop.run_until_idle();
        expect_failed(got, exchange_errc::cancelled, 1);
        EXPECT_FALSE(waits_in_list(ex));
        EXPECT_FALSE(waits_in_arena(ex));
    }
}

TEST(ExchangeStop, FromACoroutineOfTheSameLoopCancelsAParkedOne) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    received<int> got;
    loop.spawn(party(got, [&] { return ex.exchange(1, stop.get_token()); }));
    loop.run_until_idle();
    loop.spawn(request(stop));
    loop.run_until_idle();
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST(ExchangeStop, AfterTheMatchChangesNothing) {
    for (const int slots : {0, 1}) {
        exchanger ex(1);
        std::stop_source stop;
        tryst::run_loop loop;
        grow(ex, slots);
        received<int> got;
        loop.spawn(party(got, [&] { return ex.exchange(1, stop.get_token()); }));
        loop.run_until_idle();
        ASSERT_TRUE(ex.try_exchange(2));
        stop.request_stop(); // before the winner runs
        loop.run_until_idle();
        expect_got(got, 2);
    }
}

tryst::task<> try_then_request(exchanger& ex, received<int>& got, std::stop_source stop) {
    got.emplace(ex.try_exchange(2));
    stop.request_stop();
    co_return;
}

TEST(ExchangeStop, AfterAMatchInTheFirstTurnChangesNothing) {
    for (const int slots : {0, 1}) {
        exchanger ex(1);
        std::stop_source stop;
        tryst::run_loop loop;
        grow(ex, slots);
        received<int> got;
        received<int> tried;
        loop.spawn(party(got, [&] { return ex.exchange(1, stop.get_token()); }));
        loop.spawn(try_then_request(ex, tried, stop));
        loop.run_until_idle();
        expect_got(tried, 1);
        expect_got(got, 2);
    }
}

TEST(ExchangeStop, LeavesNothingBehindForTheNext) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    received<int> stopped;
    loop.spawn(party(stopped, [&] { return ex.exchange(1, stop.get_token()); }));
    loop.run_until_idle();
    stop.request_stop();
    received<int> next;
    loop.spawn(party(next, [&] { return ex.exchange(2); }));
    loop.run_until_idle();
    EXPECT_FALSE(next);
    EXPECT_EQ(*ex.try_exchange(3), 2);
    loop.run_until_idle();
    expect_got(next, 3);
}

TEST(ExchangeStop, OfOneTokenCancelsAllItsOperations) {
    exchanger here;
    exchanger there;
    std::stop_source stop;
    tryst::run_loop loop;
    received<int> first;
    received<int> second;
    received<int> bare;
    exchanger elsewhere;
    loop.spawn(party(first, [&] { return here.exchange(1, stop.get_token()); }));
    loop.spawn(party(second, [&] { return there.exchange(2, 1h, stop.get_token()); }));
    const auto waiter = bare_party(bare, [&] { return elsewhere.exchange(3, stop.get_token()); });
    loop.run_until_idle();
    stop.request_stop();
    loop.run_until_idle();
    expect_failed(first, exchange_errc::cancelled, 1);
    expect_failed(second, exchange_errc::cancelled, 2);
    expect_failed(bare, exchange_errc::cancelled, 3);
}

TEST(ExchangeStop, OfOneTokenHeldByBothPartnersLetsThemSwap) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    received<int> first;
    received<int> second;
    loop.spawn(party(first, [&] { return ex.exchange(1, stop.get_token()); }));
    loop.spawn(party(second, [&] { return ex.exchange(2, stop.get_token()); }));
    loop.run_until_idle();
    stop.request_stop();
    expect_got(first, 2);
    expect_got(second, 1);
}

TEST(ExchangeStop, ThatIsImpossibleChangesNothing) {
    exchanger ex;
    tryst::run_loop loop;
    received<int> never;
    received<int> orphaned;
    loop.spawn(party(never, [&] { return ex.exchange(1, std::stop_token()); }));
    loop.run_until_idle();
    EXPECT_FALSE(never);
    std::stop_source gone;
    const std::stop_token orphan = gone.get_token();
    gone = std::stop_source(std::nostopstate);
    loop.spawn(party(orphaned, [&] { return ex.exchange(2, orphan); }));
    loop.run_until_idle();
    expect_got(never, 2);
    expect_got(orphaned, 1);
    EXPECT_EQ(tryst::sync_wait(ex.exchange(3, 1ms, std::stop_token())).error(),
              exchange_errc::timed_out);
}

TEST(ExchangeStop, AndADeadlineEndTheWaitOnceForTheFirstReason) {
    exchanger ex;
    timed_loop loop;
    std::stop_source stop;
    received<int> stopped;
    loop->spawn(party(stopped, [&] { return ex.exchange(1, 5ms, stop.get_token()); }));
    loop.advance(1ms);
    stop.request_stop();
    loop.advance(10ms);
    expect_failed(stopped, exchange_errc::cancelled, 1);

    std::stop_source late;
    received<int> expired;
    loop->spawn(party(expired, [&] { return ex.exchange(2, 5ms, late.get_token()); }));
    loop.advance(0ms);
    loop.advance(5ms);
    late.request_stop();
    expect_failed(expired, exchange_errc::timed_out, 2);
}

TEST(ExchangeStop, InAClosedExchangerIsNotNeeded) {
    exchanger ex;
    std::stop_source stop;
    ex.close();
    EXPECT_EQ(tryst::sync_wait(ex.exchange(1, stop.get_token())).error(), exchange_errc::closed);
}

// ---- A stop, a deadline and a partner at the same time: each round has one outcome, and nothing
// is lost.

struct tally {
    int exchanged = 0;
    int cancelled = 0;
    int timed_out = 0;

    void count(const tryst::exchange_result<tracked>& got, long own, long partners) {
        if (got) {
            ++exchanged;
            EXPECT_EQ(got->id(), partners);
        } else {
            ++(got.error() == exchange_errc::cancelled ? cancelled : timed_out);
            EXPECT_EQ(got.returned().id(), own);
        }
    }
};

TEST(ExchangeStopRace, AgainstAPartnerHasOneOutcomeOnThreads) {
    constexpr int rounds = 2'000;
    tryst::test::census census;
    tally waiters;
    {
        tryst::exchanger<tracked> ex(1);
        std::vector<std::stop_source> stops(rounds);
        std::barrier round(3);
        int taken = 0;
        std::thread stopper([&] {
            for (int i = 0; i != rounds; ++i) {
                round.arrive_and_wait();
                stops[static_cast<std::size_t>(i)].request_stop();
                round.arrive_and_wait();
            }
        });
        std::thread partner([&] {
            for (int i = 0; i != rounds; ++i) {
                round.arrive_and_wait();
                auto got = ex.try_exchange(tracked(census, -1 - i));
                if (got) {
                    ++taken;
                    EXPECT_EQ(got->id(), 1 + i);
                }
                round.arrive_and_wait();
            }
        });
        for (int i = 0; i != rounds; ++i) {
            round.arrive_and_wait();
            const auto got = tryst::sync_wait(ex.exchange(
                tracked(census, 1 + i), stops[static_cast<std::size_t>(i)].get_token()));
            waiters.count(got, 1 + i, -1 - i);
            round.arrive_and_wait();
        }
        stopper.join();
        partner.join();
        EXPECT_EQ(waiters.exchanged, taken);
        EXPECT_EQ(waiters.exchanged + waiters.cancelled, rounds);
    }
    EXPECT_EQ(census.alive, 0);
}

tryst::task<> wait_stoppable(tryst::exchanger<tracked>& ex, tryst::test::census& census, int rounds,
                             std::vector<std::stop_source>& stops, std::atomic<int>& started,
                             tally& waiters, tryst::run_loop& loop) {
    for (int i = 0; i != rounds; ++i) {
        started = i + 1;
        auto got = co_await ex.exchange(tracked(census, 1 + i), 1h,
                                        stops[static_cast<std::size_t>(i)].get_token());
        waiters.count(got, 1 + i, got ? got->id() : 0);
    }
    loop.stop();
}

TEST(ExchangeStopRace, AgainstAPartnerHasOneOutcomeOnALoop) {
    constexpr int rounds = 2'000;
    tryst::test::census census;
    {
        tryst::exchanger<tracked> ex(1);
        std::vector<std::stop_source> stops(rounds);
        std::atomic<int> started{0};
        std::atomic<bool> over{false};
        tally waiters;
        tryst::run_loop loop;
        std::thread stopper([&] {
            for (int i = 0; i != rounds; ++i) {
                while (started <= i) {
                    std::this_thread::yield();
                }
                stops[static_cast<std::size_t>(i)].request_stop();
            }
        });
        int taken = 0;
        std::thread partner([&] {
            while (!over) {
                taken += ex.try_exchange(tracked(census, -1)) ? 1 : 0;
                if (taken % 64 == 0) {
                    grow(ex);
                }
            }
        });
        loop.spawn(wait_stoppable(ex, census, rounds, stops, started, waiters, loop));
        loop.run();
        over = true;
        stopper.join();
        partner.join();
        EXPECT_EQ(waiters.exchanged, taken);
        EXPECT_EQ(waiters.exchanged + waiters.cancelled, rounds);
    }
    EXPECT_EQ(census.alive, 0);
}

joined_coroutine wait_briefly(tryst::exchanger<tracked>& ex, tracked mine, std::stop_token stop,
                              received<tracked>& got, std::atomic<int>& ends) {
    got.emplace(co_await ex.exchange(std::move(mine), 50us, std::move(stop)));
    ++ends;
}

TEST(ExchangeStopRace, AgainstADeadlineEndsTheWaitOnceInABareCoroutine) {
    constexpr int rounds = 200;
    for (int i = 0; i != rounds; ++i) {
        tryst::test::census census;
        {
            tryst::exchanger<tracked> ex;
            std::stop_source stop;
            received<tracked> got;
            std::atomic<int> ends{0};
            {
                const auto waiter =
                    wait_briefly(ex, tracked(census, 1), stop.get_token(), got, ends);
                for (int spin = 0; spin != i * 10; ++spin) {
                    tryst::detail::spin_pause();
                }
                stop.request_stop();
            }
            EXPECT_EQ(ends, 1);
            ASSERT_FALSE(*got);
            EXPECT_EQ(got->returned().id(), 1);
        }
        EXPECT_EQ(census.alive, 0);
    }
}

} // namespace
