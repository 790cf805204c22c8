// SPDX-License-Identifier: MIT
#include <tryst/statistics.hpp>

#include "support/bare_coroutine.hpp"
#include "support/logged_span.hpp"
#include "support/loop_thread.hpp"
#include "support/queue_executor.hpp"
#include "support/started.hpp"

#include <tryst/case_set.hpp>
#include <tryst/channel.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/executor.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>
#include <tryst/when_all.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using counted_exchanger = exchanger<int, counted>;

/// Each equation that a snapshot of finished work fulfils.
void expect_consistent(const statistics& seen, std::uint64_t waiting = 0) {
    EXPECT_EQ(seen.arrivals, 2 * seen.exchanges + seen.ended() + waiting);
    EXPECT_EQ(seen.waiting, waiting);
    EXPECT_LE(seen.growths, seen.collisions + seen.exchanges);
    EXPECT_GE(seen.growths, seen.shrinkages);
}

/// Waits at `at`.
task<> offer(counted_exchanger& at) {
    (void)co_await at.exchange(1);
}
bare_coroutine offer_at_once(counted_exchanger& at) {
    (void)co_await at.exchange(1);
}

TEST(Statistics, CountHowOperationsEnd) {
    counted_exchanger at;
    std::stop_source stopped;
    stopped.request_stop();
    EXPECT_EQ(at.try_exchange(1).error(), exchange_errc::no_partner);
    EXPECT_EQ(sync_wait(at.exchange(1, 1ms)).error(), exchange_errc::timed_out);
    EXPECT_EQ(sync_wait(at.exchange(1, 0ms)).error(), exchange_errc::timed_out);
    EXPECT_EQ(sync_wait(at.exchange(1, stopped.get_token())).error(), exchange_errc::cancelled);
    at.close();
    EXPECT_EQ(sync_wait(at.exchange(1)).error(), exchange_errc::closed);
    EXPECT_EQ(at.try_exchange(1).error(), exchange_errc::closed);
    const statistics seen = at.stats();
    EXPECT_EQ(seen.no_partner, 1U);
    EXPECT_EQ(seen.timeouts, 2U);
    EXPECT_EQ(seen.cancellations, 1U);
    EXPECT_EQ(seen.closed, 2U);
    EXPECT_EQ(seen.arrivals, 6U);
    expect_consistent(seen);
}

TEST(Statistics, CountWhoWaitsAndHowTheWaitsEnd) {
    counted_exchanger stops;
    counted_exchanger deadlines;
    counted_exchanger closes;
    counted_exchanger destructions;
    counted_exchanger partners;
    const std::array all{&stops, &deadlines, &closes, &destructions, &partners};
    const bare_coroutine bare = offer_at_once(partners);
    std::stop_source stop;
    {
        parties start;
        start([&] { return stops.exchange(1, stop.get_token()); });
        start([&] { return deadlines.exchange(1, 5ms); });
        start([&] { return closes.exchange(1); });
        start([&] { return destructions.exchange(1); });
        for (const auto* each : all) {
            EXPECT_EQ(each->stats().longest_wait, 0ns);
            expect_consistent(each->stats(), 1);
        }
        EXPECT_TRUE(partners.try_exchange(2));
        stop.request_stop();
        closes.close();
        start.loop.advance(5ms);
    }
    EXPECT_EQ(partners.stats().exchanges, 1U);
    EXPECT_EQ(stops.stats().cancellations, 1U);
    EXPECT_EQ(deadlines.stats().timeouts, 1U);
    EXPECT_EQ(closes.stats().closed, 1U);
    EXPECT_EQ(destructions.stats().cancellations, 1U);
    for (const auto* each : all) {
        expect_consistent(each->stats());
    }
}

TEST(Statistics, AreSharedByExchangersThatComeAndGo) {
    counters all;
    for (int i = 0; i != 3; ++i) {
        exchanger<int, counted> pairs(0, all);
        red_blue_exchanger<int, char, order::fifo, counted> colours(all);
        red_blue_exchanger<int, char, order::lifo, counted> stack(all);
        synchronous_channel<int, order::fifo, counted> channel(all);
        synchronous_channel<int, order::lifo, counted> latest(4, all);
        EXPECT_FALSE(pairs.try_exchange(1));
        EXPECT_FALSE(colours.try_red(1));
        EXPECT_FALSE(stack.try_blue('a'));
        EXPECT_FALSE(channel.try_send(1));
        EXPECT_FALSE(latest.try_receive());
        EXPECT_EQ(pairs.stats().no_partner, all.stats().no_partner);
    }
    EXPECT_EQ(all.stats().no_partner, 15U);
    expect_consistent(all.stats());
}

template <class Place>
class StatisticsOfColours : public testing::Test {};
using places = testing::Types<red_blue_exchanger<int, int, order::fifo, counted>,
                              red_blue_exchanger<int, int, order::lifo, counted>>;
TYPED_TEST_SUITE(StatisticsOfColours, places);

TYPED_TEST(StatisticsOfColours, CountBoth) {
    TypeParam at;
    parties start;
    std::stop_source stop;
    for (const auto& token : {stop.get_token(), stop.get_token(), std::stop_token(), {}}) {
        start([&] { return at.red(1, token); });
    }
    expect_consistent(at.stats(), 4);
    stop.request_stop();
    start.run();
    EXPECT_TRUE(at.try_blue(2));
    expect_consistent(at.stats(), 1);
    at.close();
    start.run();
    EXPECT_EQ(at.stats().cancellations, 2U);
    EXPECT_EQ(at.stats().exchanges, 1U);
    EXPECT_EQ(at.stats().closed, 1U);
    expect_consistent(at.stats());
}

TEST(Statistics, CountTheCasesOfASelection) {
    counted_exchanger one;
    counted_exchanger other;
    const auto expect_waiting = [&](std::uint64_t waiting) {
        expect_consistent(one.stats(), waiting);
        expect_consistent(other.stats(), waiting);
    };
    const auto choose = [&] { return select(one.exchange(1), other.exchange(2)); };
    parties start;
    start(choose);
    expect_waiting(1);
    EXPECT_TRUE(one.try_exchange(3));
    start.run();
    EXPECT_EQ(one.stats().exchanges, 1U);
    EXPECT_EQ(other.stats().not_selected, 1U);

    // A case that finds its partner at once never waits elsewhere.
    start([&] { return other.exchange(1); });
    start(choose);
    EXPECT_EQ(one.stats().arrivals, 2U);
    EXPECT_EQ(other.stats().exchanges, 1U);

    { // a selection that is destroyed
        parties dying;
        dying(choose);
        expect_waiting(1);
    }
    EXPECT_EQ(one.stats().not_selected, 1U);

    start(choose);
    const std::uint64_t lost = other.stats().not_selected;
    one.close();
    start.run();
    EXPECT_EQ(one.stats().closed, 1U);
    EXPECT_EQ(other.stats().not_selected, lost + 1);
    expect_waiting(0);
}

// ---- The longest wait.

TEST(Statistics, MeasureTheLongestWaitOfAThread) {
    counted_exchanger at;
    const auto before = std::chrono::steady_clock::now();
    EXPECT_FALSE(sync_wait(at.exchange(1, 30ms)));
    EXPECT_GT(at.stats().longest_wait, 0ns); // begins after the spins, long on a busy machine
    EXPECT_LE(at.stats().longest_wait, std::chrono::steady_clock::now() - before);
}

TEST(Statistics, MeasureTheLongestWaitOfACoroutine) {
    counted_exchanger at;
    run_loop loop;
    loop.spawn(offer(at));
    loop.run_until_idle();
    std::this_thread::sleep_for(30ms);
    loop.run(offer(at)); // meets the first
    EXPECT_GE(at.stats().longest_wait, 30ms);
}

/// Expects that the longest wait at `at` is part of the time that `wait` takes, not of the time
/// between two calls.
template <class Wait>
void expect_no_time_between(const counted_exchanger& at, Wait wait) {
    std::chrono::nanoseconds spent{0};
    for (int i = 0; i != 2; ++i) {
        const auto before = std::chrono::steady_clock::now();
        wait();
        spent += std::chrono::steady_clock::now() - before;
        std::this_thread::sleep_for(50ms);
    }
    EXPECT_LE(at.stats().longest_wait, spent);
}

TEST(Statistics, DoNotCountTheTimeBetweenExchangesAsAWait) {
    counted_exchanger at;
    run_loop loop;
    expect_no_time_between(at, [&] { loop.run(when_all(offer(at), offer(at))); });
}

// The author of such an executor runs all nodes in one `executor_scope`, however long it lasts.
TEST(Statistics, MeasureWaitsInAScopeThatHasNoBatches) {
    counted_exchanger at;
    queue_executor queue;
    const executor_scope here(queue.ref());
    expect_no_time_between(at, [&] {
        const bare_coroutine waiting = offer_at_once(at);
        std::thread([&at] { EXPECT_TRUE(at.try_exchange(2)); }).join();
        while (!waiting.done()) {
            queue.run_one();
        }
    });
}

// ---- Many threads.

TEST(Statistics, AddUpWhenThreadsComeAndGo) {
    counters all;
    red_blue_exchanger<int, int, order::lifo, counted> at(all); // nobody is left over
    constexpr int rounds = 8;
    constexpr int pairs = 20; // more threads than cells of their own
    for (int round = 0; round != rounds; ++round) {
        std::vector<std::thread> threads;
        for (int i = 0; i != 2 * pairs; ++i) {
            threads.emplace_back([&at, is_red = i % 2 == 0] {
                for (int k = 0; k != 25; ++k) {
                    (void)(is_red ? sync_wait(at.red(k)) : sync_wait(at.blue(k)));
                }
            });
        }
        // Snapshots while others count.
        statistics before = all.stats();
        for (int k = 0; k != 100; ++k) {
            const statistics seen = all.stats();
            EXPECT_LE(before.exchanges, seen.exchanges);
            ASSERT_LE(before.arrivals, seen.arrivals);
            // If this thread loses its processor during the call, many may arrive meanwhile.
            EXPECT_LE(seen.waiting, 2U * pairs + (seen.arrivals - before.arrivals));
            before = seen;
        }
        for (std::thread& each : threads) {
            each.join();
        }
    }
    EXPECT_EQ(all.stats().exchanges, std::uint64_t{rounds} * pairs * 25);
    expect_consistent(all.stats());
}

TEST(Statistics, CountInTheDestructorsOfThreadLocals) {
    counted_exchanger at;
    struct last_try {
        counted_exchanger* where = nullptr;
        ~last_try() {
            if (where != nullptr) {
                (void)where->try_exchange(1);
            }
        }
    };
    std::thread([&] {
        thread_local last_try mine; // destroyed after the thread has given its number back
        mine.where = &at;
        (void)at.try_exchange(1);
    }).join();
    EXPECT_EQ(at.stats().no_partner, 2U);
    expect_consistent(at.stats());
}

TEST(Statistics, SurviveTheirExchangerWhileAPartnerResumes) {
    counters all;
    loop_thread loop;
    for (int i = 0; i != 200; ++i) {
        auto at = std::make_unique<exchanger<int, counted>>(all);
        std::latch resumed(1);
        constexpr auto wait = [](auto& where, std::latch& done) -> task<> {
            (void)co_await where.exchange(1);
            done.count_down();
        };
        loop->spawn(wait(*at, resumed));
        (void)sync_wait(at->exchange(2));
        at.reset(); // the partner may not have resumed yet
        resumed.wait();
    }
    EXPECT_EQ(all.stats().exchanges, 200U);
    expect_consistent(all.stats());
}

// ---- Names and spans.

class Spans : public testing::Test {
protected:
    void SetUp() override { logged_span::lines.clear(); }
    void TearDown() override { EXPECT_EQ(logged_span::alive, 0); }

    static void expect_lines(const std::vector<std::string>& lines) {
        EXPECT_EQ(logged_span::lines, lines);
    }
};

using traced_exchanger = exchanger<int, traced<logged_span>>;

TEST_F(Spans, CoverTheWaitNotTheArrivalThatEndsIt) {
    traced_exchanger at;
    EXPECT_STREQ(at.name(), "");
    at.set_name("pairs");
    EXPECT_STREQ(at.name(), "pairs");
    parties start;
    start([&] { return at.exchange(1); });
    EXPECT_EQ(logged_span::alive, 1);
    EXPECT_TRUE(at.try_exchange(2));
    expect_lines({}); // it ends where the waiting party runs
    start.run();
    expect_lines({"pairs: exchanged"});
}

TEST_F(Spans, DoNotExistWhereNothingWaits) {
    using traced = tryst::traced<logged_span>;
    const auto check = [](auto& at) {
        logged_span::lines.clear();
        at.set_name("at");
        parties start;
        start([&] { return at.receive(); });
        start([&] { return at.send(1); });
        expect_lines({"at: exchanged"});
        EXPECT_EQ(at.stats().arrivals, 2U);
        expect_consistent(at.stats());
    };
    synchronous_channel<int, order::fifo, counted, traced> oldest;
    check(oldest);
    synchronous_channel<int, order::lifo, counted, traced> latest;
    check(latest);
    channel<int, counted, traced> unbuffered(0);
    check(unbuffered);
    channel<int, counted, traced> buffered(1);
    check(buffered);
    channel<int, counted, traced, single_threaded> alone(1);
    check(alone);
}

TEST(Statistics, AddUpForACaseOfASetThatWaitsAgain) {
    synchronous_channel<int, order::fifo, counted> at;
    {
        case_set<int, receive_case<decltype(at)>> set;
        set.add(at.receive(), 1);
        EXPECT_FALSE(set.try_next());
        expect_consistent(at.stats(), 1);
        EXPECT_FALSE(at.try_send(1)); // hands the case back
        EXPECT_EQ(at.stats().not_selected, 1U);
        expect_consistent(at.stats());
        parties start;
        start([&] { return set.next(); });
        EXPECT_TRUE(at.try_send(2));
        start.run();
        start([&] { return at.send(3); });
        EXPECT_TRUE(set.try_next()); // the case claims the sender, and does not wait
        start.run();
        EXPECT_EQ(at.stats().exchanges, 2U);
        expect_consistent(at.stats());
    }
    expect_consistent(at.stats());
}

TEST_F(Spans, EndWithTheReason) {
    traced_exchanger late;
    late.set_name("late");
    EXPECT_FALSE(sync_wait(late.exchange(1, 1ms)));
    EXPECT_FALSE(sync_wait(late.exchange(1, 0ms))); // does not wait
    traced_exchanger closes;
    closes.set_name("closes");
    traced_exchanger dies;
    dies.set_name("dies");
    {
        parties start;
        start([&] { return closes.exchange(1); });
        closes.close();
        start.run();
        start([&] { return dies.exchange(1); });
    }
    expect_lines({"late: the deadline passed", "closes: the exchanger, channel or future is closed",
                  "dies: a stop was requested"});
}

TEST_F(Spans, OfASelectionEndTogether) {
    traced_exchanger one;
    one.set_name("one");
    red_blue_exchanger<int, int, order::fifo, counted, traced<logged_span>> other;
    other.set_name("other");
    parties start;
    start([&] { return select(one.exchange(1), other.red(2)); });
    EXPECT_EQ(logged_span::alive, 2);
    EXPECT_TRUE(other.try_blue(3));
    start.run();
    expect_lines({"one: another case of the selection took place", "other: exchanged"});
    EXPECT_EQ(other.stats().exchanges, 1U);
}

// ---- What the policies cost.

TEST(Statistics, CostNothingWhenOff) {
    using plain = decltype(std::declval<exchanger<int>&>().exchange(1));
    using observed = decltype(std::declval<counted_exchanger&>().exchange(1));
    EXPECT_EQ(sizeof(detail::side<detail::single_slot, int>::waiter), sizeof(detail::waiter) + 8);
    EXPECT_LE(sizeof(observed), sizeof(plain) + 8);
    EXPECT_EQ(sizeof(detail::protocol<detail::single_slot>), detail::line_pair);
    EXPECT_EQ(sizeof(detail::protocol<detail::single_slot, detail::observer<counted>>),
              detail::line_pair);
}

} // namespace
} // namespace tryst::test
