// SPDX-License-Identifier: MIT
#include <tryst/statistics.hpp>

#include "support/bare_coroutine.hpp"
#include "support/loop_thread.hpp"
#include "support/manual_clock.hpp"
#include "support/queue_executor.hpp"

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

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::counted;
using tryst::counters;
using tryst::exchange_errc;
using tryst::order;
using tryst::run_loop;
using tryst::statistics;
using tryst::sync_wait;
using tryst::task;
using tryst::test::bare_coroutine;

using counted_exchanger = tryst::exchanger<int, counted>;

/// Each equation that a snapshot of finished work fulfils.
void expect_consistent(const statistics& seen, std::uint64_t waiting = 0) {
    EXPECT_EQ(seen.arrivals, 2 * seen.exchanges + seen.ended() + waiting);
    EXPECT_EQ(seen.waiting, waiting);
    EXPECT_LE(seen.growths, seen.collisions + seen.exchanges);
    EXPECT_GE(seen.growths, seen.shrinkages);
}

/// Waits at `at`.
template <class Exchanger, class... Limit>
task<> offer(Exchanger& at, Limit... limit) {
    (void)co_await at.exchange(1, limit...);
}
template <class Exchanger>
bare_coroutine offer_at_once(Exchanger& at) {
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
    const bare_coroutine bare = offer_at_once(partners);
    std::stop_source stop;
    {
        tryst::test::timed_loop loop;
        loop->spawn(offer(stops, stop.get_token()));
        loop->spawn(offer(deadlines, 5ms));
        loop->spawn(offer(closes));
        loop->spawn(offer(destructions));
        loop->run_until_idle();
        for (const auto* each : {&stops, &deadlines, &closes, &destructions, &partners}) {
            EXPECT_EQ(each->stats().longest_wait, 0ns);
            expect_consistent(each->stats(), 1);
        }
        EXPECT_TRUE(partners.try_exchange(2));
        stop.request_stop();
        closes.close();
        loop.advance(5ms);
    }
    EXPECT_EQ(partners.stats().exchanges, 1U);
    EXPECT_EQ(stops.stats().cancellations, 1U);
    EXPECT_EQ(deadlines.stats().timeouts, 1U);
    EXPECT_EQ(closes.stats().closed, 1U);
    EXPECT_EQ(destructions.stats().cancellations, 1U);
    for (const auto* each : {&stops, &deadlines, &closes, &destructions, &partners}) {
        expect_consistent(each->stats());
    }
}

TEST(Statistics, AreSharedByExchangersThatComeAndGo) {
    counters all;
    for (int i = 0; i != 3; ++i) {
        tryst::exchanger<int, counted> pairs(0, all);
        tryst::red_blue_exchanger<int, char, order::fifo, counted> colours(all);
        tryst::red_blue_exchanger<int, char, order::lifo, counted> stack(all);
        tryst::synchronous_channel<int, order::fifo, counted> channel(all);
        tryst::synchronous_channel<int, order::lifo, counted> latest(4, all);
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

template <order Order>
void expect_both_colours_counted() {
    tryst::red_blue_exchanger<int, int, Order, counted> at;
    run_loop loop;
    std::stop_source stop;
    const auto red = [](auto& x, std::stop_token token) -> task<> {
        (void)co_await x.red(1, token);
    };
    for (const auto& token : {stop.get_token(), stop.get_token(), std::stop_token(), {}}) {
        loop.spawn(red(at, token));
    }
    loop.run_until_idle();
    expect_consistent(at.stats(), 4);
    stop.request_stop();
    loop.run_until_idle();
    EXPECT_TRUE(at.try_blue(2));
    expect_consistent(at.stats(), 1);
    at.close();
    loop.run_until_idle();
    EXPECT_EQ(at.stats().cancellations, 2U);
    EXPECT_EQ(at.stats().exchanges, 1U);
    EXPECT_EQ(at.stats().closed, 1U);
    expect_consistent(at.stats());
}

TEST(Statistics, CountBothColours) {
    expect_both_colours_counted<order::fifo>();
    expect_both_colours_counted<order::lifo>();
}

task<> select_both(auto& one, auto& other) {
    (void)co_await tryst::select(one.exchange(1), other.exchange(2));
}

TEST(Statistics, CountTheCasesOfASelection) {
    counted_exchanger one;
    counted_exchanger other;
    const auto expect_waiting = [&](std::uint64_t waiting) {
        expect_consistent(one.stats(), waiting);
        expect_consistent(other.stats(), waiting);
    };
    run_loop loop;
    loop.spawn(select_both(one, other));
    loop.run_until_idle();
    expect_waiting(1);
    EXPECT_TRUE(one.try_exchange(3));
    loop.run_until_idle();
    EXPECT_EQ(one.stats().exchanges, 1U);
    EXPECT_EQ(other.stats().not_selected, 1U);

    // A case that finds its partner at once never waits elsewhere.
    loop.spawn(offer(other));
    loop.run_until_idle();
    loop.run(select_both(one, other));
    EXPECT_EQ(one.stats().arrivals, 2U);
    EXPECT_EQ(other.stats().exchanges, 1U);

    { // a selection that is destroyed
        run_loop dying;
        dying.spawn(select_both(one, other));
        dying.run_until_idle();
        expect_waiting(1);
    }
    EXPECT_EQ(one.stats().not_selected, 1U);

    loop.spawn(select_both(one, other));
    loop.run_until_idle();
    const std::uint64_t lost = other.stats().not_selected;
    one.close();
    loop.run_until_idle();
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
    loop.run(offer(at, 30ms)); // meets nobody but the first
    EXPECT_EQ(at.stats().exchanges, 1U);
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
    expect_no_time_between(at, [&] { loop.run(tryst::when_all(offer(at), offer(at))); });
}

// The author of such an executor runs all nodes in one `executor_scope`, however long it lasts.
TEST(Statistics, MeasureWaitsInAScopeThatHasNoBatches) {
    counted_exchanger at;
    tryst::test::queue_executor queue;
    const tryst::executor_scope here(queue.ref());
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
    tryst::red_blue_exchanger<int, int, order::lifo, counted> at(all); // nobody is left over
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
    tryst::test::loop_thread loop;
    for (int i = 0; i != 200; ++i) {
        auto at = std::make_unique<tryst::exchanger<int, counted>>(all);
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

struct logged_span {
    explicit logged_span(const char* name) noexcept : name_(name) { ++alive; }
    logged_span(const logged_span&) = delete;
    logged_span& operator=(const logged_span&) = delete;
    ~logged_span() { --alive; }
    void end(std::error_code error) noexcept {
        lines.push_back(name_ + ": " + (error ? error.message() : "exchanged"));
    }

    static inline std::vector<std::string> lines;
    static inline int alive = 0;

private:
    std::string name_;
};

class Spans : public testing::Test {
protected:
    void SetUp() override { logged_span::lines.clear(); }
    void TearDown() override { EXPECT_EQ(logged_span::alive, 0); }

    static void expect_lines(const std::vector<std::string>& lines) {
        EXPECT_EQ(logged_span::lines, lines);
    }
};

using traced_exchanger = tryst::exchanger<int, tryst::traced<logged_span>>;

TEST_F(Spans, CoverTheWaitNotTheArrivalThatEndsIt) {
    traced_exchanger at;
    EXPECT_STREQ(at.name(), "");
    at.set_name("pairs");
    EXPECT_STREQ(at.name(), "pairs");
    run_loop loop;
    loop.spawn(offer(at));
    loop.run_until_idle();
    EXPECT_EQ(logged_span::alive, 1);
    EXPECT_TRUE(at.try_exchange(2));
    expect_lines({}); // it ends where the waiting party runs
    loop.run_until_idle();
    expect_lines({"pairs: exchanged"});
}

template <class Channel>
void expect_no_span_of_an_arrival_that_finds_its_partner(Channel& at) {
    at.set_name("at");
    constexpr auto send = [](Channel& to) -> task<> {
        auto sent = co_await to.send(1);
        static_cast<void>(sent);
    };
    constexpr auto receive = [](Channel& from) -> task<> {
        auto got = co_await from.receive();
        static_cast<void>(got);
    };
    run_loop loop;
    loop.spawn(receive(at));
    loop.run_until_idle();
    loop.run(send(at));
    loop.run_until_idle();
    EXPECT_EQ(logged_span::lines, std::vector<std::string>{"at: exchanged"});
    EXPECT_EQ(at.stats().arrivals, 2U);
    logged_span::lines.clear();
    expect_consistent(at.stats());
}

TEST_F(Spans, DoNotExistWhereNothingWaits) {
    using traced = tryst::traced<logged_span>;
    tryst::synchronous_channel<int, order::fifo, counted, traced> oldest;
    expect_no_span_of_an_arrival_that_finds_its_partner(oldest);
    tryst::synchronous_channel<int, order::lifo, counted, traced> latest;
    expect_no_span_of_an_arrival_that_finds_its_partner(latest);
    tryst::channel<int, counted, traced> unbuffered(0);
    expect_no_span_of_an_arrival_that_finds_its_partner(unbuffered);
    tryst::channel<int, counted, traced> buffered(1);
    expect_no_span_of_an_arrival_that_finds_its_partner(buffered);
    tryst::channel<int, counted, traced, tryst::single_threaded> alone(1);
    expect_no_span_of_an_arrival_that_finds_its_partner(alone);
}

TEST(Statistics, AddUpForACaseOfASetThatWaitsAgain) {
    tryst::synchronous_channel<int, order::fifo, counted> at;
    {
        tryst::case_set<int, tryst::receive_case<decltype(at)>> set;
        set.add(at.receive(), 1);
        EXPECT_FALSE(set.try_next());
        expect_consistent(at.stats(), 1);
        EXPECT_FALSE(at.try_send(1)); // hands the case back
        expect_consistent(at.stats());
        run_loop loop;
        loop.spawn([](auto& to) -> task<> { (void)co_await to.send(2); }(at));
        loop.run_until_idle();
        EXPECT_TRUE(set.try_next()); // the case claims the sender, and does not wait
        loop.run_until_idle();
        EXPECT_EQ(at.stats().exchanges, 1U);
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
        run_loop loop;
        loop.spawn(offer(closes));
        loop.run_until_idle();
        closes.close();
        loop.run_until_idle();
        loop.spawn(offer(dies));
        loop.run_until_idle();
    }
    expect_lines({"late: the deadline passed", "closes: the exchanger or channel is closed",
                  "dies: a stop was requested"});
}

TEST_F(Spans, OfASelectionEndTogether) {
    traced_exchanger one;
    one.set_name("one");
    tryst::red_blue_exchanger<int, int, order::fifo, counted, tryst::traced<logged_span>> other;
    other.set_name("other");
    constexpr auto select_colours = [](auto& x, auto& y) -> task<> {
        (void)co_await tryst::select(x.exchange(1), y.red(2));
    };
    run_loop loop;
    loop.spawn(select_colours(one, other));
    loop.run_until_idle();
    EXPECT_EQ(logged_span::alive, 2);
    EXPECT_TRUE(other.try_blue(3));
    loop.run_until_idle();
    expect_lines({"one: another case of the selection took place", "other: exchanged"});
    EXPECT_EQ(other.stats().exchanges, 1U);
}

// ---- What the policies cost.

TEST(Statistics, CostNothingWhenOff) {
    using plain = decltype(std::declval<tryst::exchanger<int>&>().exchange(1));
    using observed = decltype(std::declval<counted_exchanger&>().exchange(1));
    EXPECT_EQ(sizeof(tryst::detail::side<tryst::detail::single_slot, int>::waiter),
              sizeof(tryst::detail::waiter) + 8);
    EXPECT_LE(sizeof(observed), sizeof(plain) + 8);
    EXPECT_EQ(sizeof(tryst::detail::protocol<tryst::detail::single_slot>),
              tryst::detail::line_pair);
    EXPECT_EQ(
        sizeof(
            tryst::detail::protocol<tryst::detail::single_slot, tryst::detail::observer<counted>>),
        tryst::detail::line_pair);
}

} // namespace
