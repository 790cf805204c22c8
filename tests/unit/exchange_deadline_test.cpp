// SPDX-License-Identifier: MIT
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/joined_coroutine.hpp"
#include "support/long_past.hpp"
#include "support/manual_clock.hpp"
#include "support/parties.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <stop_token>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using tryst::exchange_errc;
using tryst::test::bare_coroutine;
using tryst::test::bare_party;
using tryst::test::grow;
using tryst::test::joined_coroutine;
using tryst::test::long_past;
using tryst::test::party;
using tryst::test::received;
using tryst::test::timed_loop;
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

TEST(ExchangeFor, EndsExactlyWhenItsPatienceIsOver) {
    exchanger ex;
    timed_loop loop;
    received<int> got;
    loop->spawn(party(got, [&] { return ex.exchange(1, 5ms); }));
    loop.advance(0ms);
    loop.advance(5ms - 1ns);
    EXPECT_FALSE(got);
    EXPECT_TRUE(waits_in_list(ex));
    loop.advance(1ns);
    expect_failed(got, exchange_errc::timed_out, 1);
    EXPECT_FALSE(waits_in_list(ex));
}

TEST(ExchangeFor, CountsFromTheStartOfTheOperationNotFromItsMaking) {
    exchanger ex;
    timed_loop loop;
    received<int> got;
    loop->spawn(party(got, [&] { return ex.exchange(1, 5ms); }));
    loop.advance(1h); // starts it
    loop.advance(5ms - 1ns);
    EXPECT_FALSE(got);
    loop.advance(1ns);
    EXPECT_TRUE(got);
}

TEST(ExchangeFor, IsPromptInAGrownArena) {
    exchanger ex(4);
    timed_loop loop;
    grow(ex, 4);
    received<int> got;
    loop->spawn(party(got, [&] { return ex.exchange(1, 5ms); }));
    loop.advance(0ms);
    loop.advance(5ms - 1ns);
    EXPECT_FALSE(got);
    loop.advance(1ns);
    expect_failed(got, exchange_errc::timed_out, 1);
}

TEST(ExchangeFor, SwapsWithAPartnerWhoComesInTime) {
    exchanger ex;
    timed_loop loop;
    received<int> waiting;
    received<int> late;
    loop->spawn(party(waiting, [&] { return ex.exchange(1, 5ms); }));
    loop.advance(4ms);
    loop->spawn(party(late, [&] { return ex.exchange(2, 5ms); }));
    loop.advance(0ms);
    expect_got(waiting, 2);
    expect_got(late, 1);
    loop.advance(1h); // the timers are gone
    expect_got(waiting, 2);
}

TEST(ExchangeFor, LosesToAMatchThatHappenedBeforeTheDeadlineFired) {
    exchanger ex;
    timed_loop loop;
    received<int> waiting;
    loop->spawn(party(waiting, [&] { return ex.exchange(1, 5ms); }));
    loop.advance(0ms);
    const auto got = ex.try_exchange(2); // its resumption is queued
    ASSERT_TRUE(got);
    loop.advance(1h);
    expect_got(waiting, 2);
}

TEST(ExchangeUntil, EndsExactlyAtItsDeadline) {
    exchanger ex;
    timed_loop loop;
    received<int> got;
    const auto deadline = loop.now() + 7ms;
    loop->spawn(party(got, [&] { return ex.exchange(1, deadline); }));
    loop.advance(7ms - 1ns);
    EXPECT_FALSE(got);
    loop.advance(1ns);
    expect_failed(got, exchange_errc::timed_out, 1);
}

TEST(ExchangeUntil, RoundsACoarseDeadlineUp) {
    exchanger ex;
    timed_loop loop;
    received<int> got;
    using picoseconds = std::chrono::duration<long long, std::pico>;
    loop->spawn(party(got, [&] { return ex.exchange(1, picoseconds(1'001)); }));
    loop.advance(0ns);
    loop.advance(1ns);
    EXPECT_FALSE(got);
    loop.advance(1ns);
    expect_failed(got, exchange_errc::timed_out, 1);
}

TEST(ExchangeUntil, EndsManyWaitsInTheOrderOfTheirDeadlines) {
    // One waits at a time; each deadline lets the next one in.
    exchanger ex;
    timed_loop loop;
    received<int> first;
    received<int> second;
    loop->spawn(party(first, [&] { return ex.exchange(1, 3ms); }));
    loop.advance(3ms);
    loop.advance(3ms);
    expect_failed(first, exchange_errc::timed_out, 1);
    loop->spawn(party(second, [&] { return ex.exchange(2, 3ms); }));
    loop.advance(2ms);
    EXPECT_FALSE(second);
    loop.advance(3ms);
    expect_failed(second, exchange_errc::timed_out, 2);
}

// ---- No patience: take a partner that waits, or fail at once.

TEST(ExchangeWithoutPatience, FailsAtOnceIfNobodyWaits) {
    exchanger ex(2);
    timed_loop loop;
    for (const int slots : {0, 1, 2}) {
        grow(ex, slots);
        received<int> zero;
        received<int> negative;
        received<int> least;
        received<int> past;
        received<int> now;
        loop->spawn(party(zero, [&] { return ex.exchange(1, 0s); }));
        loop->spawn(party(negative, [&] { return ex.exchange(2, -1h); }));
        loop->spawn(party(least, [&] { return ex.exchange(3, std::chrono::hours::min()); }));
        loop->spawn(party(past, [&] { return ex.exchange(4, loop.now() - 1ns); }));
        loop->spawn(party(now, [&] { return ex.exchange(5, loop.now()); }));
        loop.advance(0ms);
        expect_failed(zero, exchange_errc::timed_out, 1);
        expect_failed(negative, exchange_errc::timed_out, 2);
        expect_failed(least, exchange_errc::timed_out, 3);
        expect_failed(past, exchange_errc::timed_out, 4);
        expect_failed(now, exchange_errc::timed_out, 5);
        EXPECT_FALSE(waits_in_list(ex));
    }
}

TEST(ExchangeWithoutPatience, TakesAPartnerThatWaitsAtHome) {
    exchanger ex;
    timed_loop loop;
    received<int> waiting;
    received<int> hasty;
    loop->spawn(party(waiting, [&] { return ex.exchange(1); }));
    loop.advance(0ms);
    loop->spawn(party(hasty, [&] { return ex.exchange(2, loop.now() - 1h); }));
    loop.advance(0ms);
    expect_got(waiting, 2);
    expect_got(hasty, 1);
}

TEST(ExchangeWithoutPatience, TakesAPartnerThatWaitsAboveHome) {
    exchanger ex(1);
    timed_loop loop;
    grow(ex);
    received<int> waiting;
    received<int> hasty;
    loop->spawn(party(waiting, [&] { return ex.exchange(1); }));
    loop->spawn(party(hasty, [&] { return ex.exchange(2, 0s); })); // before the other's check
    loop.advance(0ms);
    expect_got(waiting, 2);
    expect_got(hasty, 1);
    EXPECT_EQ(tryst::test::spread_of(ex), 1U);
}

TEST(ExchangeWithoutPatience, WorksOnAThreadAndInABareCoroutine) {
    exchanger ex;
    auto alone = tryst::sync_wait(ex.exchange(1, -1s));
    EXPECT_EQ(alone.error(), exchange_errc::timed_out);
    EXPECT_EQ(alone.returned(), 1);
    received<int> bare;
    const bare_coroutine failing = bare_party(bare, [&] { return ex.exchange(2, 0s); });
    expect_failed(bare, exchange_errc::timed_out, 2);

    received<int> waiting;
    const bare_coroutine waiter = bare_party(waiting, [&] { return ex.exchange(3); });
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(4, 0s)), 3);
    expect_got(waiting, 4);
}

template <class TimePoint>
void expect_over(TimePoint deadline) {
    exchanger ex;
    const auto until = [&](int item) { return ex.exchange(item, deadline); };
    tryst::run_loop loop;
    received<int> on_a_loop;
    loop.spawn(party(on_a_loop, [&] { return until(1); }));
    loop.run_until_idle();
    expect_failed(on_a_loop, exchange_errc::timed_out, 1);
    received<int> on_a_thread(tryst::sync_wait(until(2)));
    expect_failed(on_a_thread, exchange_errc::timed_out, 2);
    received<int> bare;
    const bare_coroutine failing = bare_party(bare, [&] { return until(3); });
    expect_failed(bare, exchange_errc::timed_out, 3);

    received<int> waiting;
    const bare_coroutine waiter = bare_party(waiting, [&] { return ex.exchange(4); });
    loop.spawn(party(on_a_loop, [&] { return until(5); }));
    loop.run_until_idle();
    expect_got(on_a_loop, 4);
    expect_got(waiting, 5);
}

TEST(ExchangeWithoutPatience, IsWhatADeadlineBeforeTheEpochOfTheClockMeans) {
    for (const auto deadline : long_past) {
        expect_over(deadline);
    }
    expect_over(std::chrono::time_point<steady, std::chrono::hours>::min());
}

// ---- Endless patience.

template <class Duration>
void expect_endless(Duration patience) {
    exchanger ex;
    timed_loop loop;
    received<int> waiting;
    loop->spawn(party(waiting, [&] { return ex.exchange(1, patience); }));
    loop.advance(0ms);
    loop.advance(24h * 365);
    ASSERT_FALSE(waiting);
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2, patience)), 1);
    loop.advance(0ms);
    expect_got(waiting, 2);

    received<int> bare;
    const bare_coroutine waiter = bare_party(bare, [&] { return ex.exchange(3, patience); });
    ASSERT_FALSE(bare);
    EXPECT_EQ(*ex.try_exchange(4), 3);
    expect_got(bare, 4);
}

TEST(ExchangeForLong, DoesNotOverflow) {
    expect_endless(std::chrono::nanoseconds::max());
    expect_endless(std::chrono::nanoseconds::max() - 1ns);
    expect_endless(std::chrono::milliseconds::max());
    expect_endless(std::chrono::hours::max());
    expect_endless(steady::duration::max());
}

TEST(ExchangeForLong, DoesNotOverflowInFloatingPoint) {
    expect_endless(std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
    expect_endless(std::chrono::duration<double>(1e300));
    expect_endless(std::chrono::duration<float>(std::numeric_limits<float>::max()));
}

TEST(ExchangeForLong, DoesNotOverflowWhereAFloatIsRoundedUpToTheEndOfTime) {
    // The greatest of their type below the clock's maximum of some 292 years.
    expect_endless(std::chrono::duration<double>(9'223'372'036.854774));
    expect_endless(std::chrono::duration<float>(9'223'371'776.0F));
}

TEST(ExchangeForLong, TakesNotANumberForNoPatience) {
    exchanger ex;
    const std::chrono::duration<double> unknown(std::numeric_limits<double>::quiet_NaN());
    auto got = tryst::sync_wait(ex.exchange(1, unknown));
    EXPECT_EQ(got.error(), exchange_errc::timed_out);
}

TEST(ExchangeUntilFar, DoesNotOverflow) {
    exchanger ex;
    timed_loop loop;
    received<int> waiting;
    loop->spawn(party(waiting, [&] { return ex.exchange(1, steady::time_point::max()); }));
    loop.advance(24h * 365);
    EXPECT_FALSE(waiting);
    EXPECT_EQ(*tryst::sync_wait(ex.exchange(2, steady::time_point::max())), 1);
    loop.advance(0ms);
    expect_got(waiting, 2);
    auto past = tryst::sync_wait(ex.exchange(3, steady::time_point::min()));
    EXPECT_EQ(past.error(), exchange_errc::timed_out);
}

// ---- On the real clock: never early.

TEST(ExchangeDeadline, IsNeverEarlyOnAThread) {
    for (const int slots : {0, 2}) {
        exchanger ex(2);
        grow(ex, slots);
        const auto start = steady::now();
        auto got = tryst::sync_wait(ex.exchange(1, 3ms));
        EXPECT_GE(steady::now() - start, 3ms);
        EXPECT_EQ(got.error(), exchange_errc::timed_out);
        EXPECT_EQ(got.returned(), 1);
        EXPECT_FALSE(waits_in_list(ex));

        const auto deadline = steady::now() + 2ms;
        auto again = tryst::sync_wait(ex.exchange(2, deadline, std::stop_source().get_token()));
        EXPECT_GE(steady::now(), deadline);
        EXPECT_EQ(again.error(), exchange_errc::timed_out);
    }
}

tryst::task<> time_it(exchanger& ex, steady::duration& taken, tryst::executor_ref& resumed_on) {
    const auto start = steady::now();
    auto got = co_await ex.exchange(1, 3ms);
    taken = steady::now() - start;
    resumed_on = tryst::current_executor();
    EXPECT_EQ(got.error(), exchange_errc::timed_out);
}

tryst::task<> time_it_and_stop(exchanger& ex, steady::duration& taken,
                               tryst::executor_ref& resumed_on, tryst::run_loop& loop) {
    co_await time_it(ex, taken, resumed_on);
    loop.stop();
}

TEST(ExchangeDeadline, IsNeverEarlyOnALoop) {
    for (const int slots : {0, 2}) {
        exchanger ex(2);
        grow(ex, slots);
        tryst::run_loop loop;
        steady::duration taken{};
        tryst::executor_ref resumed_on;
        loop.spawn(time_it_and_stop(ex, taken, resumed_on, loop));
        loop.run();
        EXPECT_GE(taken, 3ms);
        EXPECT_EQ(resumed_on, loop.executor());
    }
}

joined_coroutine time_it_bare(exchanger& ex, steady::duration patience, steady::duration& taken,
                              std::thread::id& thread) {
    const auto start = steady::now();
    auto got = co_await ex.exchange(1, patience);
    taken = steady::now() - start;
    thread = std::this_thread::get_id();
    EXPECT_EQ(got.error(), exchange_errc::timed_out);
    EXPECT_EQ(got.returned(), 1);
}

TEST(ExchangeDeadline, IsNeverEarlyInABareCoroutine) {
    exchanger ex;
    steady::duration patience = 3ms;
    std::thread::id thread;
    do { // on a busy machine the deadline may pass before the coroutine has suspended
        steady::duration taken{};
        const auto waiting = time_it_bare(ex, patience, taken, thread);
        waiting.join();
        EXPECT_GE(taken, patience);
        patience *= 2;
    } while (thread == std::this_thread::get_id()); // not the timer thread's
    EXPECT_FALSE(waits_in_list(ex));
}

// ---- A deadline that fires while the offer is in the arena.

tryst::task<> move_clock(tryst::test::manual_clock::dial& dial, steady::duration by) {
    dial.time += by;
    co_return;
}

tryst::task<> nothing() {
    co_return;
}

TEST(ExchangeDeadline, PassedDuringTheFirstTurnEndsTheWaitRightAfterIt) {
    for (const int slots : {0, 1}) {
        exchanger ex(1);
        tryst::test::manual_clock::dial dial;
        tryst::test::manual_loop loop({}, tryst::test::manual_clock(dial));
        grow(ex, slots);
        received<int> got;
        loop.spawn(party(got, [&, limit = dial.time + 5ms] { return ex.exchange(1, limit); }));
        loop.spawn(move_clock(dial, 5ms));
        for (int i = 0; i != 200; ++i) { // the loop polls its timers before it comes to the check
            loop.spawn(nothing());
        }
        loop.run_until_idle();
        expect_failed(got, exchange_errc::timed_out, 1);
        EXPECT_FALSE(waits_in_list(ex));
    }
}

} // namespace
