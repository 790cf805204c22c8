// SPDX-License-Identifier: MIT
#include <tryst/fiber.hpp>

#include "adapters/fiber/shared_fibers.hpp"
#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/long_past.hpp"
#include "support/loop_thread.hpp"
#include "support/parties.hpp"
#include "support/shared_numbers.hpp"
#include "support/tracked.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/tryst.hpp>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using boost::fibers::fiber;
using tryst::exchange_errc;
using tryst::exchanger;
using tryst::run_loop;
using tryst::task;
using tryst::fiber::wait;
using tryst::test::bare_coroutine;
using tryst::test::bare_party;
using tryst::test::census;
using tryst::test::grow;
using tryst::test::loop_thread;
using tryst::test::party;
using tryst::test::received;
using tryst::test::spread_of;
using tryst::test::this_thread;
using tryst::test::tracked;
using tryst::test::waits_in_arena;
using tryst::test::waits_in_list;

/// Runs every fiber of this thread until it suspends. Boost's round robin runs each once per turn,
/// and a wait suspends after three turns.
void let_all_settle() {
    for (int turn = 0; turn != 10; ++turn) {
        boost::this_fiber::yield();
    }
}

/// Starts a fiber that waits for the operation that `make` returns.
template <class T, class Make>
fiber start(received<T>& got, Make make) {
    return fiber(boost::fibers::launch::dispatch,
                 [&got, make = std::move(make)] { got.emplace(wait(make())); });
}

template <class T>
void expect_failed(const received<T>& got, exchange_errc why, const T& own) {
    ASSERT_TRUE(got);
    ASSERT_FALSE(*got);
    EXPECT_EQ(got->error(), why);
    EXPECT_EQ(got->returned(), own);
}

template <class T>
void expect_got(const received<T>& got, const T& item) {
    ASSERT_TRUE(got);
    ASSERT_TRUE(*got);
    EXPECT_EQ(**got, item);
}

// ---- On one thread

TEST(FiberWait, SwapsTheItemsOfTwoFibers) {
    exchanger<int> ex;
    received<int> first;
    received<int> second;
    fiber a = start(first, [&] { return ex.exchange(1); });
    fiber b = start(second, [&] { return ex.exchange(2); });
    a.join();
    b.join();
    expect_got(first, 2);
    expect_got(second, 1);
}

TEST(FiberWait, RunsATask) {
    exchanger<int> ex;
    const auto sum = [&](int more) -> task<int> {
        const auto got = co_await ex.exchange(1);
        if (more < 0) {
            throw std::invalid_argument("less");
        }
        co_return *got + more;
    };
    int got = 0;
    fiber a(boost::fibers::launch::dispatch, [&] { got = wait(sum(10)); });
    fiber b(boost::fibers::launch::dispatch,
            [&] { EXPECT_THROW(wait(sum(-1)), std::invalid_argument); });
    a.join();
    b.join();
    EXPECT_EQ(got, 11);
    const auto end_late = [&]() -> task<> {
        const auto ended = co_await ex.exchange(1, std::chrono::milliseconds(20));
        EXPECT_EQ(ended, exchange_errc::timed_out);
    };
    wait(end_late());
}

TEST(FiberWait, SuspendsItsFiberAndNotTheThread) {
    exchanger<int> ex;
    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(1); });
    let_all_settle();
    ASSERT_TRUE(waits_in_list(ex));
    ASSERT_FALSE(got);
    EXPECT_EQ(*ex.try_exchange(2), 1);
    EXPECT_FALSE(got); // never resumed inside its partner
    waiting.join();
    expect_got(got, 2);
}

TEST(FiberWait, DoesNotSuspendIfAPartnerIsWaiting) {
    exchanger<int> ex;
    received<int> waiting;
    fiber a = start(waiting, [&] { return ex.exchange(1); });
    let_all_settle();
    bool other_ran = false;
    fiber other([&] { other_ran = true; });
    EXPECT_EQ(*wait(ex.exchange(2)), 1);
    EXPECT_FALSE(other_ran);
    a.join();
    other.join();
    expect_got(waiting, 2);
}

TEST(FiberWait, LetsOtherFibersRunIfAPartnerIsWaitingEachTime) {
    tryst::synchronous_channel<int> channel;
    const tryst::test::waiting_partners partners(channel);
    int done = 0;
    int seen = -1;
    fiber sender([&] {
        for (; done != tryst::test::waiting_partners::count; ++done) {
            EXPECT_TRUE(wait(channel.send(done)));
        }
    });
    fiber other([&] { seen = done; });
    sender.join();
    other.join();
    EXPECT_LE(seen, tryst::test::budget + 1);
}

TEST(FiberWait, GivesAPartnerOfTheSameTurnTimeToCome) {
    exchanger<int> ex;
    received<int> first;
    received<int> second;
    std::vector<int> order;
    fiber a([&] {
        first.emplace(wait(ex.exchange(1)));
        order.push_back(1);
    });
    fiber b([&] {
        second.emplace(wait(ex.exchange(2)));
        order.push_back(2);
    });
    fiber c([&] { order.push_back(3); });
    a.join();
    b.join();
    c.join();
    expect_got(first, 2);
    expect_got(second, 1);
    EXPECT_EQ(order, (std::vector{2, 3, 1})); // the first resumes in its next turn
}

TEST(FiberWait, ResumesOnItsOwnFiberAndThread) {
    exchanger<int> ex;
    const auto id_of_partner = [&ex](auto& before, auto& after) {
        return [&] {
            before = {boost::this_fiber::get_id(), this_thread()};
            static_cast<void>(wait(ex.exchange(1)));
            after = {boost::this_fiber::get_id(), this_thread()};
        };
    };
    using place = std::pair<fiber::id, std::thread::id>;
    place before;
    place after;
    fiber waiting(boost::fibers::launch::dispatch, id_of_partner(before, after));
    let_all_settle();
    std::thread([&] { EXPECT_EQ(*ex.try_exchange(2), 1); }).join();
    waiting.join();
    EXPECT_EQ(before, after);
    EXPECT_EQ(after.second, this_thread());
}

TEST(FiberWait, PairsAllButTheOddOneAndConservesEveryItem) {
    constexpr std::size_t count = 101;
    census items;
    {
        exchanger<tracked> ex;
        std::vector<received<tracked>> got(count);
        std::vector<fiber> fibers;
        for (std::size_t i = 0; i != count; ++i) {
            fibers.push_back(start(got[i], [&items, &ex, i] {
                return ex.exchange(tracked(items, static_cast<long>(i)));
            }));
        }
        let_all_settle();
        EXPECT_TRUE(waits_in_list(ex));
        ex.close();
        for (fiber& each : fibers) {
            each.join();
        }
        std::size_t alone = 0;
        for (std::size_t i = 0; i != count; ++i) {
            ASSERT_TRUE(got[i]);
            if (*got[i]) {
                const auto partner = static_cast<std::size_t>((*got[i])->id());
                ASSERT_NE(partner, i);
                ASSERT_TRUE(*got[partner]);
                EXPECT_EQ((*got[partner])->id(), static_cast<long>(i));
            } else {
                ++alone;
                EXPECT_EQ(got[i]->error(), exchange_errc::closed);
                EXPECT_EQ(got[i]->returned().id(), static_cast<long>(i));
            }
        }
        EXPECT_EQ(alone, 1U);
        EXPECT_EQ(items.alive.load(), static_cast<long>(count));
    }
    EXPECT_EQ(items.alive.load(), 0);
}

// ---- Above slot 0

TEST(FiberWait, MatchesInTheArenaWithinItsTurn) {
    exchanger<int> ex(1);
    grow(ex);
    received<int> first;
    received<int> second;
    fiber a = start(first, [&] { return ex.exchange(1); });
    EXPECT_TRUE(waits_in_arena(ex));
    fiber b = start(second, [&] { return ex.exchange(2); });
    expect_got(second, 1);
    a.join();
    b.join();
    expect_got(first, 2);
    EXPECT_EQ(spread_of(ex), 1U);
}

TEST(FiberWait, MovesToTheWaitListIfNoPartnerComesWithinItsTurn) {
    exchanger<int> ex(1);
    grow(ex);
    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(1); });
    EXPECT_TRUE(waits_in_arena(ex));
    boost::this_fiber::yield();
    boost::this_fiber::yield();
    EXPECT_FALSE(waits_in_arena(ex));
    EXPECT_TRUE(waits_in_list(ex));
    EXPECT_EQ(spread_of(ex), 0U);
    let_all_settle();
    EXPECT_EQ(*wait(ex.exchange(2)), 1);
    waiting.join();
    expect_got(got, 2);
}

// ---- Deadlines

TEST(FiberWait, TimesOutWithItsItemAndNeverEarly) {
    for (const int slots : {0, 1}) {
        exchanger<int> ex(1);
        grow(ex, slots);
        for (const auto patience : {1us, 200us, 3000us}) {
            const auto begin = steady::now();
            const auto got = wait(ex.exchange(1, patience));
            EXPECT_GE(steady::now() - begin, patience);
            EXPECT_EQ(got.error(), exchange_errc::timed_out);
            EXPECT_EQ(got.returned(), 1);
            const auto deadline = steady::now() + patience;
            const auto again = wait(ex.exchange(2, deadline, std::stop_source().get_token()));
            EXPECT_GE(steady::now(), deadline);
            EXPECT_EQ(again.error(), exchange_errc::timed_out);
            EXPECT_EQ(again.returned(), 2);
            EXPECT_FALSE(waits_in_list(ex));
        }
    }
}

TEST(FiberWait, LetsOthersRunUntilItsDeadline) {
    exchanger<int> ex;
    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(1, 2ms); });
    long turns = 0;
    while (!got) {
        ++turns;
        boost::this_fiber::yield();
    }
    waiting.join();
    expect_failed(got, exchange_errc::timed_out, 1);
    EXPECT_GT(turns, 10);
}

TEST(FiberWait, EndsWaitsInTheOrderOfTheirDeadlines) {
    std::vector<std::unique_ptr<exchanger<int>>> rooms;
    std::vector<fiber> fibers;
    std::vector<int> order;
    const auto start_time = steady::now();
    for (const int place : {3, 1, 2}) {
        exchanger<int>& ex = *rooms.emplace_back(std::make_unique<exchanger<int>>());
        fibers.emplace_back([&ex, &order, start_time, place] {
            const auto got = wait(ex.exchange(place, start_time + place * 20ms));
            EXPECT_EQ(got.error(), exchange_errc::timed_out);
            order.push_back(place);
        });
    }
    for (fiber& each : fibers) {
        each.join();
    }
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST(FiberWait, MeetsAPartnerBeforeItsDeadline) {
    exchanger<int> ex;
    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(1, 24h); });
    let_all_settle();
    EXPECT_EQ(*wait(ex.exchange(2, steady::time_point::max())), 1);
    waiting.join();
    expect_got(got, 2);
}

TEST(FiberWait, WithoutPatienceTakesAPartnerOrFailsAtOnce) {
    exchanger<int> ex;
    bool other_ran = false;
    fiber other([&] { other_ran = true; });
    EXPECT_EQ(wait(ex.exchange(1, 0s)).error(), exchange_errc::timed_out);
    EXPECT_EQ(wait(ex.exchange(1, steady::now() - 1s)).returned(), 1);
    for (const auto deadline : tryst::test::long_past) {
        EXPECT_EQ(wait(ex.exchange(1, deadline)).error(), exchange_errc::timed_out);
    }
    EXPECT_FALSE(other_ran);
    other.join();
    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(2); });
    let_all_settle();
    EXPECT_EQ(*wait(ex.exchange(3, -1s)), 2);
    waiting.join();
    expect_got(got, 3);
}

// ---- Stops

TEST(FiberWait, IsCancelledAtOnceByAStopThatCameBefore) {
    exchanger<int> ex;
    received<int> partner;
    fiber waiting = start(partner, [&] { return ex.exchange(1); });
    let_all_settle();
    std::stop_source stop;
    stop.request_stop();
    const auto got = wait(ex.exchange(2, stop.get_token()));
    EXPECT_EQ(got.error(), exchange_errc::cancelled);
    EXPECT_EQ(got.returned(), 2);
    EXPECT_TRUE(waits_in_list(ex));
    ex.close();
    waiting.join();
}

TEST(FiberWait, EndsWhenAFiberOfItsThreadRequestsAStop) {
    exchanger<int> ex;
    std::stop_source stop;
    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(1, 24h, stop.get_token()); });
    let_all_settle();
    EXPECT_TRUE(waits_in_list(ex));
    stop.request_stop();
    EXPECT_FALSE(waits_in_list(ex));
    EXPECT_FALSE(got); // not inside the request
    waiting.join();
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST(FiberWait, SeesAfterItsTurnAStopThatCameWithinIt) {
    exchanger<int> ex;
    std::stop_source stop;
    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(1, stop.get_token()); });
    stop.request_stop(); // it has offered, and not parked
    EXPECT_TRUE(waits_in_list(ex));
    waiting.join();
    expect_failed(got, exchange_errc::cancelled, 1);
    EXPECT_FALSE(waits_in_list(ex));
}

TEST(FiberWait, EndsWhenAnotherThreadRequestsAStop) {
    exchanger<int> ex;
    for (int round = 0; round != 500; ++round) {
        std::stop_source stop;
        std::thread stopper([&stop] { stop.request_stop(); });
        const auto got = wait(ex.exchange(round, stop.get_token()));
        EXPECT_EQ(got.error(), exchange_errc::cancelled);
        EXPECT_EQ(got.returned(), round);
        stopper.join();
    }
}

// ---- Closing

TEST(FiberWait, EndsWhenTheExchangerIsClosedOrDestroyed) {
    for (const bool destroyed : {false, true}) {
        auto ex = std::make_unique<exchanger<int>>();
        received<int> got;
        fiber waiting = start(got, [&] { return ex->exchange(1, 24h); });
        let_all_settle();
        destroyed ? ex.reset() : ex->close();
        waiting.join();
        expect_failed(got, exchange_errc::closed, 1);
    }
}

TEST(FiberWait, EndsWhenAnotherThreadCloses) {
    for (int round = 0; round != 500; ++round) {
        exchanger<int> ex;
        std::thread closer([&ex] { ex.close(); });
        const auto got = wait(ex.exchange(round));
        EXPECT_EQ(got.error(), exchange_errc::closed);
        EXPECT_EQ(got.returned(), round);
        closer.join();
    }
}

TEST(FiberWait, ServesOneWaitAfterAnotherWhateverEndsThem) {
    // A wake-up that belongs to one wait must not end the next.
    exchanger<int> ex;
    for (int i = 0; i != 300; ++i) {
        std::stop_source stop;
        std::thread other([&] {
            if (i % 2 == 0) {
                stop.request_stop();
            } else {
                static_cast<void>(wait(ex.exchange(2, 50us)));
            }
        });
        static_cast<void>(wait(ex.exchange(1, 50us, stop.get_token())));
        other.join();
        const auto begin = steady::now();
        ASSERT_EQ(wait(ex.exchange(1, 100us)).error(), exchange_errc::timed_out);
        ASSERT_GE(steady::now() - begin, 100us);
    }
}

// ---- Partners of other kinds

TEST(FiberWait, MeetsFibersOfOtherThreads) {
    constexpr int rounds = 2'000;
    exchanger<int> ex;
    std::thread partner([&ex] {
        const auto home = this_thread();
        fiber([&] {
            for (int i = 0; i != rounds; ++i) {
                EXPECT_EQ(*wait(ex.exchange(-i)), i);
                EXPECT_EQ(this_thread(), home);
            }
        }).join();
    });
    const auto home = this_thread();
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(*wait(ex.exchange(i)), -i);
        EXPECT_EQ(this_thread(), home);
    }
    partner.join();
}

TEST(FiberWait, MeetsPlainThreads) {
    constexpr int rounds = 2'000;
    exchanger<int> ex;
    std::thread partner([&ex] {
        for (int i = 0; i != rounds; ++i) {
            EXPECT_EQ(*tryst::sync_wait(ex.exchange(-i)), i);
        }
    });
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(*wait(ex.exchange(i)), -i);
    }
    partner.join();
}

TEST(FiberWait, MeetsCoroutinesOnALoop) {
    constexpr int rounds = 2'000;
    exchanger<int> ex;
    loop_thread loop;
    std::latch done(1);
    loop->spawn([](exchanger<int>& meeting, std::latch& end) -> task<> {
        for (int i = 0; i != rounds; ++i) {
            const auto got = co_await meeting.exchange(-i);
            EXPECT_EQ(*got, i);
        }
        end.count_down();
    }(ex, done));
    for (int i = 0; i != rounds; ++i) {
        EXPECT_EQ(*wait(ex.exchange(i)), -i);
    }
    done.wait();
}

TEST(FiberWait, MeetsBareCoroutines) {
    exchanger<int> ex;
    received<int> bare;
    const bare_coroutine waiter = bare_party(bare, [&] { return ex.exchange(1); });
    EXPECT_EQ(*wait(ex.exchange(2)), 1);
    expect_got(bare, 2);

    received<int> got;
    fiber waiting = start(got, [&] { return ex.exchange(3); });
    let_all_settle();
    received<int> arriving;
    const bare_coroutine arriver = bare_party(arriving, [&] { return ex.exchange(4); });
    expect_got(arriving, 3);
    waiting.join();
    expect_got(got, 4);
}

TEST(FiberWait, SharesAChannelWithPartiesOfOtherKinds) {
    for (const std::size_t limit : tryst::test::shared_numbers::limits) {
        tryst::test::shared_numbers shared(3, limit);
        std::thread other(
            [&] { shared.send_by([](auto op) { return tryst::sync_wait(std::move(op)); }); });
        loop_thread loop;
        loop->spawn(shared.send<task<>>());
        loop->spawn(shared.receive<task<>>());
        fiber sender([&] { shared.send_by([](auto op) { return wait(std::move(op)); }); });
        fiber receiver([&] { shared.receive_by([](auto op) { return wait(std::move(op)); }); });
        sender.join();
        receiver.join();
        other.join();
        loop.join();
        shared.expect_each_once();
    }
}

// ---- Misuse

#ifndef NDEBUG
TEST(FiberWaitDeathTest, CatchesAWaitOnTheThreadOfALoop) {
    run_loop loop;
    exchanger<int> ex;
    loop.spawn([](exchanger<int>& meeting) -> task<> {
        static_cast<void>(wait(meeting.exchange(1)));
        co_return;
    }(ex));
    EXPECT_DEATH(loop.run_until_idle(), "must not block");
}
#endif

} // namespace
