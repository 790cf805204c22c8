// SPDX-License-Identifier: MIT
// Waits of fibers that stay on their thread, for an exchange and for a selection.
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
#include <deque>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using boost::fibers::fiber;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::exchanger;
using tryst::task;
using tryst::fiber::wait;
using namespace tryst::test;
using channel = tryst::synchronous_channel<tracked>;

const auto wait_in_fiber = [](auto operation) { return wait(std::move(operation)); };
const auto wait_in_thread = [](auto operation) { return tryst::sync_wait(std::move(operation)); };

/// Runs every fiber of this thread until it suspends. Boost's round robin runs each once per turn,
/// and a wait suspends after three turns.
void let_all_settle() {
    for (int turn = 0; turn != 10; ++turn) {
        boost::this_fiber::yield();
    }
}

/// A fiber that has begun.
template <class Body>
fiber start(Body body) {
    return fiber(boost::fibers::launch::dispatch, std::move(body));
}

// ---- An exchange, alone or as a case of a selection

/// Waits for the exchange of item 1.
class fiber_test : public testing::Test {
protected:
    explicit fiber_test(bool selects) : selects_(selects) {
        // An earlier test may have spent the thread's budget of waits that do not suspend.
        tryst::detail::turn_budget::renew();
    }

    void TearDown() override {
        got.reset();
        EXPECT_EQ(items.alive.load(), 0);
    }

    tracked item(long id) { return {items, id}; }

    template <class... Limit>
    void wait_here(Limit... limit) {
        if (selects_) {
            keep(wait(tryst::select(ex->exchange(item(1)), source.receive(), limit...)));
        } else {
            keep(wait(ex->exchange(item(1), limit...)));
        }
    }

    /// The same in a fiber, which has begun to wait.
    template <class... Limit>
    fiber start_wait(Limit... limit) {
        got.reset();
        return start([=, this] { wait_here(limit...); });
    }
    template <class... Limit>
    fiber start_long_wait(Limit... limit) {
        fiber waiting = start_wait(limit...);
        let_all_settle();
        EXPECT_TRUE(waits_in_list(*ex));
        EXPECT_FALSE(got);
        return waiting;
    }

    /// The partner's exchange of item 2.
    template <class... Limit>
    void wait_as_partner(Limit... limit) {
        const auto theirs = wait(ex->exchange(item(2), limit...));
        ASSERT_TRUE(theirs);
        EXPECT_EQ(theirs->id(), 1);
    }
    void come_as_partner() {
        const auto theirs = ex->try_exchange(item(2));
        ASSERT_TRUE(theirs);
        EXPECT_EQ(theirs->id(), 1);
    }

    void expect_match() {
        ASSERT_TRUE(got);
        ASSERT_TRUE(*got) << got->error().message();
        EXPECT_EQ((*got)->id(), 2);
    }
    void expect_failure(exchange_errc why) {
        ASSERT_TRUE(got);
        ASSERT_FALSE(*got);
        EXPECT_EQ(got->error(), why);
        EXPECT_EQ(got->returned().id(), 1);
        EXPECT_FALSE(why != exchange_errc::closed && waits_in_list(*ex));
    }

    census items;
    std::optional<exchanger<tracked>> ex{std::in_place, 1U};
    channel source;
    std::optional<exchange_result<tracked>> got;

private:
    using selected = tryst::select_result<exchange_result<tracked>, exchange_result<tracked, void>>;

    void keep(exchange_result<tracked> result) { got.emplace(std::move(result)); }
    void keep(selected both) {
        auto& one = both.get<0>();
        const bool is_selected = one || one.error() == exchange_errc::closed;
        EXPECT_EQ(both.index(), is_selected ? 0 : tryst::select_npos);
        EXPECT_EQ(both.get<1>().error(),
                  is_selected ? make_error_code(exchange_errc::not_selected) : one.error());
        EXPECT_FALSE(source.try_send(item(9))) << "waits there still";
        got.emplace(std::move(one));
    }

    bool selects_;
};

class FiberWait : public fiber_test, public testing::WithParamInterface<bool> {
protected:
    FiberWait() : fiber_test(GetParam()) {}
};
INSTANTIATE_TEST_SUITE_P(Ways, FiberWait, testing::Bool(), [](const auto& each) {
    return std::string(each.param ? "Select" : "Exchange");
});

TEST_P(FiberWait, SuspendsItsFiberAndNotTheThread) {
    fiber waiting = start_long_wait();
    come_as_partner();
    EXPECT_FALSE(got); // never resumed inside its partner
    waiting.join();
    expect_match();
}

TEST_P(FiberWait, DoesNotSuspendIfAPartnerIsWaiting) {
    fiber partner = start([&] { wait_as_partner(); });
    let_all_settle();
    bool other_ran = false;
    fiber other([&] { other_ran = true; });
    wait_here();
    EXPECT_FALSE(other_ran);
    expect_match();
    partner.join();
    other.join();
}

TEST_P(FiberWait, GivesAPartnerOfTheSameTurnTimeToCome) {
    std::vector<int> order;
    fiber a([&] {
        wait_here();
        order.push_back(1);
    });
    fiber b([&] {
        wait_as_partner();
        order.push_back(2);
    });
    fiber c([&] { order.push_back(3); });
    a.join();
    b.join();
    c.join();
    expect_match();
    EXPECT_EQ(order, (std::vector{2, 3, 1})); // the first resumes in its next turn
}

TEST_P(FiberWait, ResumesOnItsOwnFiberAndThread) {
    const auto place = [] { return std::pair(boost::this_fiber::get_id(), this_thread()); };
    fiber waiting = start([&] {
        const auto before = place();
        wait_here();
        EXPECT_EQ(place(), before);
    });
    let_all_settle();
    std::thread([&] { come_as_partner(); }).join();
    waiting.join();
    expect_match();
}

// ---- Deadlines

TEST_P(FiberWait, TimesOutWithItsItemAndNeverEarly) {
    for (const int slots : {0, 1}) {
        grow(*ex, slots);
        for (const auto patience : {1us, 200us, 3000us}) {
            const auto deadline = steady::now() + patience;
            wait_here(patience);
            EXPECT_GE(steady::now(), deadline);
            expect_failure(exchange_errc::timed_out);
            const auto second = steady::now() + patience;
            wait_here(second, std::stop_source().get_token());
            EXPECT_GE(steady::now(), second);
            expect_failure(exchange_errc::timed_out);
        }
    }
}

TEST_P(FiberWait, LetsOthersRunUntilItsDeadline) {
    long turns = 0;
    for (auto patience = 2ms; turns <= 10 && patience < 4s; patience *= 2) { // a busy machine
        turns = 0;
        fiber waiting = start_wait(patience);
        while (!got) {
            ++turns;
            boost::this_fiber::yield();
        }
        waiting.join();
        expect_failure(exchange_errc::timed_out);
    }
    EXPECT_GT(turns, 10);
}

TEST_P(FiberWait, MeetsAPartnerBeforeItsDeadline) {
    fiber waiting = start_long_wait(24h);
    wait_as_partner(steady::time_point::max());
    waiting.join();
    expect_match();
}

TEST_P(FiberWait, WithoutPatienceTakesAPartnerOrFailsAtOnce) {
    bool other_ran = false;
    fiber other([&] { other_ran = true; });
    wait_here(0s);
    expect_failure(exchange_errc::timed_out);
    wait_here(steady::now() - 1s);
    expect_failure(exchange_errc::timed_out);
    for (const auto deadline : long_past) {
        wait_here(deadline);
        expect_failure(exchange_errc::timed_out);
    }
    EXPECT_FALSE(other_ran);
    other.join();
    fiber partner = start([&] { wait_as_partner(); });
    let_all_settle();
    wait_here(-1s);
    expect_match();
    partner.join();
}

TEST(FiberWaits, EndInTheOrderOfTheirDeadlines) {
    std::deque<exchanger<int>> rooms(3);
    std::vector<fiber> fibers;
    std::vector<int> order;
    const auto start_time = steady::now();
    for (const int place : {3, 1, 2}) {
        fibers.emplace_back([&, place] {
            exchanger<int>& ex = rooms[static_cast<std::size_t>(place) - 1];
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

// ---- Stops and closes

TEST_P(FiberWait, IsCancelledAtOnceByAStopThatCameBefore) {
    std::stop_source stop;
    stop.request_stop();
    fiber partner = start([&] { EXPECT_FALSE(wait(ex->exchange(item(2)))); });
    let_all_settle();
    wait_here(stop.get_token());
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), exchange_errc::cancelled);
    EXPECT_EQ(got->returned().id(), 1);
    EXPECT_TRUE(waits_in_list(*ex)); // the partner
    ex->close();
    partner.join();
}

TEST_P(FiberWait, IsCancelledByAStop) {
    for (const bool has_settled : {false, true}) { // or has only offered, and not parked
        for (const bool by_thread : {false, true}) {
            std::stop_source stop;
            fiber waiting = start_wait(24h, stop.get_token());
            if (has_settled) {
                let_all_settle();
            }
            EXPECT_TRUE(waits_in_list(*ex));
            if (by_thread) {
                std::thread([&] { stop.request_stop(); }).join();
            } else {
                stop.request_stop();
            }
            // A selection leaves its cases when its fiber runs.
            EXPECT_EQ(waits_in_list(*ex), GetParam() || !has_settled);
            EXPECT_FALSE(got); // not inside the request
            waiting.join();
            expect_failure(exchange_errc::cancelled);
        }
    }
}

TEST_P(FiberWait, EndsWhenTheExchangerIsClosedOrDestroyed) {
    for (const bool is_destroyed : {false, true}) {
        ex.emplace(1U);
        fiber waiting = start_long_wait(24h);
        is_destroyed ? ex.reset() : ex->close();
        waiting.join();
        expect_failure(exchange_errc::closed);
    }
}

TEST_P(FiberWait, EndsWhenAnotherThreadStopsOrCloses) {
    for (const bool closes : {false, true}) {
        for (int round = 0; round != 500; ++round) {
            std::stop_source stop;
            std::jthread other([&] { closes ? ex->close() : void(stop.request_stop()); });
            wait_here(stop.get_token());
            other.join();
            expect_failure(closes ? exchange_errc::closed : exchange_errc::cancelled);
            if (closes) {
                ex.emplace(1U);
            }
        }
    }
}

TEST_P(FiberWait, IsNotEndedByWhatBelongsToTheOneBefore) {
    for (int i = 0; i != 300; ++i) {
        std::stop_source stop;
        std::jthread other([&] {
            if (i % 2 == 0) {
                stop.request_stop();
            } else {
                static_cast<void>(wait(ex->exchange(item(2), 50us)));
            }
        });
        wait_here(50us, stop.get_token());
        other.join();
        const auto begin = steady::now();
        wait_here(100us);
        ASSERT_GE(steady::now() - begin, 100us);
        expect_failure(exchange_errc::timed_out);
    }
}

// ---- Above slot 0, where selections do not go

class FiberInArena : public fiber_test {
protected:
    FiberInArena() : fiber_test(false) { grow(*ex); }
};

TEST_F(FiberInArena, MatchesWithinItsTurn) {
    fiber waiting = start_wait();
    EXPECT_TRUE(waits_in_arena(*ex));
    fiber partner = start([&] { wait_as_partner(); });
    waiting.join();
    partner.join();
    expect_match();
    EXPECT_EQ(spread_of(*ex), 1U);
}

TEST_F(FiberInArena, MovesToTheWaitListIfNoPartnerComesWithinItsTurn) {
    fiber waiting = start_wait();
    EXPECT_TRUE(waits_in_arena(*ex));
    boost::this_fiber::yield();
    boost::this_fiber::yield();
    EXPECT_FALSE(waits_in_arena(*ex));
    EXPECT_TRUE(waits_in_list(*ex));
    EXPECT_EQ(spread_of(*ex), 0U);
    let_all_settle();
    wait_as_partner();
    waiting.join();
    expect_match();
}

// ---- Selections

class FiberSelect : public testing::Test {
protected:
    auto select() { return tryst::select(ex.exchange(1), source.receive()); }

    exchanger<int> ex{1U};
    tryst::synchronous_channel<int> source;
};

TEST_F(FiberSelect, SelectsTheCaseThatMeetsOrIsClosed) {
    for (const char* const when : {"early", "late", "never: closed"}) { // when a partner comes
        SCOPED_TRACE(when);
        const bool is_closed = when[0] == 'n';
        fiber waiting = start([&] {
            const auto got = wait(select());
            EXPECT_EQ(got.index(), 1U);
            EXPECT_EQ(got.get<0>().error(), exchange_errc::not_selected);
            EXPECT_EQ(got.get<0>().returned(), 1);
            const auto& received = got.get<1>();
            EXPECT_EQ(received ? *received : -1, is_closed ? -1 : 2);
        });
        if (when[0] != 'e') {
            let_all_settle();
        }
        if (is_closed) {
            source.close();
        } else {
            EXPECT_TRUE(source.try_send(2));
        }
        waiting.join();
        EXPECT_FALSE(waits_in_list(ex));
    }
}

TEST_F(FiberSelect, MeetsTheSelectionOfAnotherFiber) {
    fiber waiting = start([&] { EXPECT_EQ(wait(select()).get<1>().value(), 3); });
    let_all_settle();
    const auto partner = wait(tryst::select_biased(source.send(3), ex.exchange(4)));
    waiting.join();
    EXPECT_EQ(partner.index(), 0U);
    EXPECT_EQ(partner.get<1>().returned(), 4);
    EXPECT_FALSE(waits_in_list(ex));
}

TEST(FiberSelectFrom, FindsTheCaseThatMeets) {
    std::deque<tryst::synchronous_channel<int>> rooms(20);
    fiber sender([&] {
        let_all_settle();
        EXPECT_TRUE(wait(rooms[18].send(5)));
    });
    auto got = wait(tryst::select_from(rooms, [](auto& room) { return room.receive(); }));
    sender.join();
    EXPECT_EQ(got.index(), 18U);
    EXPECT_EQ(*got.get(), 5);
    for (auto& room : rooms) {
        EXPECT_FALSE(room.try_send(6));
    }
}

TEST_F(FiberSelect, ServesCoroutinesOfALoopInAnotherThread) {
    constexpr int rounds = 300;
    loop_thread loop;
    loop->spawn([](tryst::synchronous_channel<int>& to) -> task<> {
        for (int i = 0; i != rounds; ++i) {
            EXPECT_TRUE(co_await to.send(i));
        }
        to.close();
    }(source));
    const auto here = this_thread();
    for (int i = 0; i <= rounds; ++i) {
        const auto got = wait(select());
        EXPECT_EQ(got.index(), 1U);
        EXPECT_EQ(got.get<0>().returned(), 1);
        const auto& received = got.get<1>();
        EXPECT_EQ(received ? *received : rounds, i);
        EXPECT_EQ(this_thread(), here);
    }
}

// ---- Partners of other kinds

/// Swaps numbers with a partner that brings their negatives.
template <class Wait>
void swap_numbers(exchanger<int>& ex, int sign, Wait wait_for) {
    const auto home = this_thread();
    for (int i = 0; i != 2'000; ++i) {
        EXPECT_EQ(*wait_for(ex.exchange(sign * i)), -sign * i);
        EXPECT_EQ(this_thread(), home);
    }
}

TEST(FiberWaits, MeetPlainThreadsAndFibersOfOtherThreads) {
    for (const bool is_fiber : {false, true}) {
        exchanger<int> ex;
        std::jthread partner([&] {
            if (is_fiber) {
                fiber([&] { swap_numbers(ex, -1, wait_in_fiber); }).join();
            } else {
                swap_numbers(ex, -1, wait_in_thread);
            }
        });
        swap_numbers(ex, 1, wait_in_fiber);
    }
}

TEST(FiberWaits, MeetBareCoroutines) {
    for (const bool is_fiber_first : {false, true}) {
        exchanger<int> ex;
        int theirs = 0;
        const auto wait_here = [&] { theirs = *wait(ex.exchange(1)); };
        fiber first;
        if (is_fiber_first) {
            first = start(wait_here);
            let_all_settle();
        }
        received<int> got;
        const bare_coroutine bare = bare_party(got, [&] { return ex.exchange(2); });
        if (is_fiber_first) {
            first.join();
        } else {
            wait_here();
        }
        EXPECT_EQ(**got, 1);
        EXPECT_EQ(theirs, 2);
    }
}

TEST(FiberWaits, ShareAChannelWithPartiesOfOtherKinds) {
    for (const std::size_t limit : shared_numbers::limits) {
        shared_numbers shared(3, limit);
        std::jthread other([&] { shared.send_by(wait_in_thread); });
        loop_thread loop;
        loop->spawn(shared.send<task<>>());
        loop->spawn(shared.receive<task<>>());
        fiber sender([&] { shared.send_by(wait_in_fiber); });
        fiber receiver([&] { shared.receive_by(wait_in_fiber); });
        sender.join();
        receiver.join();
        other.join();
        loop.join();
        shared.expect_each_once();
    }
}

TEST(FiberWaits, LetOtherFibersRunIfAPartnerIsWaitingEachTime) {
    tryst::synchronous_channel<int> numbers;
    const waiting_partners partners(numbers);
    int done = 0;
    int seen = -1;
    int turns = 0;
    fiber sender([&] {
        for (; done != waiting_partners::count; ++done) {
            EXPECT_TRUE(wait(numbers.send(done)));
        }
    });
    fiber other([&] {
        for (seen = done; done != waiting_partners::count; ++turns) {
            boost::this_fiber::yield();
        }
    });
    sender.join();
    other.join();
    EXPECT_LE(seen, budget + 1);
    EXPECT_LE(turns, 2 * waiting_partners::count / budget); // a new budget begins with each
}

// ---- Tasks

TEST(FiberTask, GivesItsResultOrItsException) {
    exchanger<int> ex;
    const auto sum = [&](int more) -> task<int> {
        const auto got = co_await ex.exchange(1);
        if (more < 0) {
            throw std::invalid_argument("less");
        }
        co_return *got + more;
    };
    fiber a = start([&] { EXPECT_EQ(wait(sum(10)), 11); });
    fiber b = start([&] { EXPECT_THROW(wait(sum(-1)), std::invalid_argument); });
    a.join();
    b.join();
    const auto end_late = [&]() -> task<> {
        const auto ended = co_await ex.exchange(1, 20ms);
        EXPECT_EQ(ended, exchange_errc::timed_out);
    };
    wait(end_late());
}

// ---- Misuse

#ifndef NDEBUG
TEST(FiberWaitDeathTest, CatchesAWaitOnTheThreadOfALoop) {
    tryst::run_loop loop;
    exchanger<int> ex;
    loop.spawn([](exchanger<int>& meeting) -> task<> {
        static_cast<void>(wait(meeting.exchange(1)));
        co_return;
    }(ex));
    EXPECT_DEATH(loop.run_until_idle(), "must not block");
}
#endif

} // namespace
