// SPDX-License-Identifier: MIT
// When a deadline ends a wait: to the nanosecond on a clock that is moved by hand, never early on
// the real one, and without overflow. What else may end the wait is in end_of_wait_test.cpp.
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

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

void expect_timed_out(const received<int>& got, int own) {
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), exchange_errc::timed_out);
    EXPECT_EQ(got->returned(), own);
}

class ExchangeDeadline : public testing::Test {
protected:
    /// A task on the loop.
    template <class Limit>
    void start(Limit limit) {
        loop->spawn(party(got, [=, this] { return ex.exchange(1, limit); }));
        loop.advance(0ms);
    }

    exchanger<int> ex{4};
    timed_loop loop;
    received<int> got;
};

TEST_F(ExchangeDeadline, EndsTheWaitExactly) {
    for (const int slots : {0, 4}) {
        for (const bool relative : {false, true}) {
            SCOPED_TRACE(slots);
            SCOPED_TRACE(relative ? "patience" : "time");
            grow(ex, slots);
            got.reset();
            relative ? start(5ms) : start(loop.now() + 5ms);
            loop.advance(5ms - 1ns);
            EXPECT_FALSE(got);
            EXPECT_TRUE(waits_in_list(ex));
            loop.advance(1ns);
            expect_timed_out(got, 1);
            EXPECT_FALSE(waits_in_list(ex));
        }
    }
}

TEST_F(ExchangeDeadline, CountsFromTheStartOfTheOperationNotFromItsMaking) {
    loop->spawn(party(got, [&] { return ex.exchange(1, 5ms); }));
    loop.advance(1h); // starts it
    loop.advance(5ms - 1ns);
    EXPECT_FALSE(got);
    loop.advance(1ns);
    EXPECT_TRUE(got);
}

TEST_F(ExchangeDeadline, IsRoundedUp) {
    start(std::chrono::duration<long long, std::pico>(1'001));
    loop.advance(1ns);
    EXPECT_FALSE(got);
    loop.advance(1ns);
    expect_timed_out(got, 1);
}

// ---- No patience: take a partner that waits, or fail at once.

task<> leave_slot(exchanger<int>& ex) {
    move_to_empty_slot(ex);
    co_return;
}

/// The limit has passed, whatever the clock.
template <class Limit>
void expect_over(Limit limit) {
    timed_loop loop;
    for (const int slots : {0, 1, 2}) {
        exchanger<int> ex(2);
        grow(ex, slots);
        const auto hurry = [&](int item) { return ex.exchange(item, limit); };
        received<int> on_loop;
        loop->spawn(party(on_loop, [&] { return hurry(1); }));
        loop.advance(0ms);
        expect_timed_out(on_loop, 1);
        const received<int> on_thread(sync_wait(hurry(2)));
        expect_timed_out(on_thread, 2);
        received<int> bare;
        const auto failing = bare_party(bare, [&] { return hurry(3); });
        expect_timed_out(bare, 3);
        EXPECT_FALSE(waits_in_list(ex) || waits_in_arena(ex));

        // With an arena, the hasty party comes while the offer is there: in its own slot, or in
        // another.
        received<int> waiting;
        loop->spawn(party(waiting, [&] { return ex.exchange(4); }));
        if (slots == 2) {
            loop->spawn(leave_slot(ex));
        }
        loop->spawn(party(on_loop, [&] { return hurry(5); }));
        loop.advance(0ms);
        EXPECT_EQ(on_loop, 4);
        EXPECT_EQ(waiting, 5);
        EXPECT_EQ(spread_of(ex), static_cast<unsigned>(slots)) << "the offer did not expire";
    }
    exchanger<int> ex;
    received<int> waiting;
    const auto waiter = bare_party(waiting, [&] { return ex.exchange(6); });
    EXPECT_EQ(sync_wait(ex.exchange(7, limit)), 6);
    EXPECT_EQ(waiting, 7);
}

TEST(ExchangeWithoutPatience, FailsAtOnceOrTakesAPartnerThatWaits) {
    expect_over(0s);
    expect_over(-1h);
    expect_over(std::chrono::hours::min());
    expect_over(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN()));
}

TEST_F(ExchangeDeadline, ThatIsNowOrBeforeHasPassed) {
    for (const auto earlier : {0ns, 1ns}) {
        got.reset();
        start(loop.now() - earlier);
        expect_timed_out(got, 1);
    }
}

TEST(ExchangeWithoutPatience, IsWhatADeadlineBeforeTheEpochOfTheClockMeans) {
    for (const auto deadline : long_past) {
        expect_over(deadline);
    }
    expect_over(std::chrono::time_point<steady, std::chrono::hours>::min());
}

// ---- Endless patience.

template <class Limit>
void expect_endless(Limit limit) {
    exchanger<int> ex;
    timed_loop loop;
    received<int> waiting;
    loop->spawn(party(waiting, [&] { return ex.exchange(1, limit); }));
    loop.advance(0ms);
    loop.advance(24h * 365);
    ASSERT_FALSE(waiting);
    EXPECT_EQ(sync_wait(ex.exchange(2, limit)), 1);
    loop.advance(0ms);
    EXPECT_EQ(waiting, 2);

    received<int> bare;
    const bare_coroutine waiter = bare_party(bare, [&] { return ex.exchange(3, limit); });
    ASSERT_FALSE(bare);
    EXPECT_EQ(ex.try_exchange(4), 3);
    EXPECT_EQ(bare, 4);
}

TEST(ExchangeForLong, DoesNotOverflow) {
    expect_endless(std::chrono::nanoseconds::max());
    expect_endless(std::chrono::nanoseconds::max() - 1ns);
    expect_endless(std::chrono::milliseconds::max());
    expect_endless(std::chrono::hours::max());
    expect_endless(steady::duration::max());
    expect_endless(steady::time_point::max());
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

// ---- On the real clock: never early.

class RealDeadline : public testing::TestWithParam<int> {
protected:
    RealDeadline() { grow(ex, GetParam()); }

    template <class Coroutine>
    Coroutine time_it(steady::duration patience) {
        const auto start = steady::now();
        auto got = co_await ex.exchange(1, patience);
        taken = steady::now() - start;
        thread = std::this_thread::get_id();
        EXPECT_EQ(got.error(), exchange_errc::timed_out);
        EXPECT_EQ(got.returned(), 1);
    }
    task<> time_it_and_stop(run_loop& loop) {
        co_await time_it<task<>>(3ms);
        EXPECT_EQ(current_executor(), loop.executor());
        loop.stop();
    }

    exchanger<int> ex{2};
    steady::duration taken{};
    std::thread::id thread;
};

TEST_P(RealDeadline, IsNeverEarlyOnAThread) {
    const auto start = steady::now();
    auto got = sync_wait(ex.exchange(1, 3ms));
    EXPECT_GE(steady::now() - start, 3ms);
    EXPECT_EQ(got.error(), exchange_errc::timed_out);

    const auto deadline = steady::now() + 2ms;
    auto again = sync_wait(ex.exchange(2, deadline, std::stop_source().get_token()));
    EXPECT_GE(steady::now(), deadline);
    EXPECT_EQ(again.error(), exchange_errc::timed_out);
    EXPECT_FALSE(waits_in_list(ex));
}

TEST_P(RealDeadline, IsNeverEarlyOnALoop) {
    run_loop loop;
    loop.spawn(time_it_and_stop(loop));
    loop.run();
    EXPECT_GE(taken, 3ms);
}

TEST_P(RealDeadline, IsNeverEarlyInABareCoroutine) {
    steady::duration patience = 3ms;
    do { // on a busy machine the deadline may pass before the coroutine has suspended
        time_it<joined_coroutine>(patience).join();
        EXPECT_GE(taken, patience);
        patience *= 2;
    } while (thread == std::this_thread::get_id()); // not the timer thread's
    EXPECT_FALSE(waits_in_list(ex));
}

INSTANTIATE_TEST_SUITE_P(WithSlots, RealDeadline, testing::Values(0, 2));

} // namespace
} // namespace tryst::test
