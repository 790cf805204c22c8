// SPDX-License-Identifier: MIT
// Selections in fibers that stay on their thread.
#include "adapters/fiber/shared_fibers.hpp"
#include "support/insides.hpp"
#include "support/long_past.hpp"
#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <tryst/fiber.hpp>
#include <tryst/tryst.hpp>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <stop_token>
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
using tryst::select_npos;
using tryst::fiber::wait;
using tryst::test::census;
using tryst::test::this_thread;
using tryst::test::tracked;
using tryst::test::waits_in_list;
using channel = tryst::synchronous_channel<tracked>;

class FiberSelect : public ::testing::Test {
protected:
    using result = std::optional<
        tryst::select_result<exchange_result<tracked>, exchange_result<tracked, void>>>;

    void TearDown() override {
        got.reset();
        EXPECT_EQ(items.alive.load(), 0);
    }

    tracked item(long id) { return {items, id}; }
    auto both() { return tryst::select(ex.exchange(item(1)), source.receive()); }
    auto both_for(std::chrono::microseconds patience) {
        return tryst::select(ex.exchange(item(1)), source.receive(), patience);
    }

    /// Starts a fiber that waits for the selection that `make` returns.
    template <class Make>
    fiber start(Make make) {
        got.reset();
        return fiber(boost::fibers::launch::dispatch,
                     [this, make = std::move(make)] { got.emplace(wait(make())); });
    }
    /// Runs every fiber of this thread until it suspends. Boost's round robin runs each once per
    /// turn.
    static void let_all_settle() {
        for (int turn = 0; turn != 10; ++turn) {
            boost::this_fiber::yield();
        }
    }
    void expect_none(exchange_errc why) {
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), select_npos);
        EXPECT_EQ(got->get<0>().error(), why);
        EXPECT_EQ(got->get<0>().returned().id(), 1);
        EXPECT_EQ(got->get<1>().error(), why);
        expect_nobody_waits();
    }
    void expect_nobody_waits() {
        EXPECT_FALSE(waits_in_list(ex));
        EXPECT_FALSE(source.try_send(item(9)));
    }

    census items;
    exchanger<tracked> ex{1};
    channel source;
    result got;
};

TEST_F(FiberSelect, SuspendsItsFiberUntilAPartnerOfOneCaseComes) {
    for (const std::size_t number : {0U, 1U}) {
        fiber waiting = start([&] { return both(); });
        let_all_settle();
        ASSERT_TRUE(waits_in_list(ex));
        ASSERT_FALSE(got);
        if (number == 0) {
            EXPECT_EQ(ex.try_exchange(item(2))->id(), 1);
        } else {
            EXPECT_TRUE(source.try_send(item(2)));
        }
        EXPECT_FALSE(got); // never resumed inside its partner
        waiting.join();
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), number);
        if (number == 0) {
            EXPECT_EQ(got->get<0>()->id(), 2);
            EXPECT_EQ(got->get<1>().error(), exchange_errc::not_selected);
        } else {
            EXPECT_EQ(got->get<1>()->id(), 2);
            EXPECT_EQ(got->get<0>().error(), exchange_errc::not_selected);
            EXPECT_EQ(got->get<0>().returned().id(), 1);
        }
        expect_nobody_waits();
    }
}

TEST_F(FiberSelect, DoesNotSuspendIfAPartnerIsWaiting) {
    fiber sender([&] { EXPECT_TRUE(wait(source.send(item(2)))); });
    let_all_settle();
    bool other_ran = false;
    fiber other([&] { other_ran = true; });
    got.emplace(wait(both()));
    EXPECT_FALSE(other_ran);
    EXPECT_EQ(got->index(), 1U);
    sender.join();
    other.join();
}

TEST_F(FiberSelect, MeetsAPartnerOfTheSameTurn) {
    fiber waiting = start([&] { return both(); });
    EXPECT_TRUE(source.try_send(item(2))); // while it spins, and is not parked
    waiting.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 1U);
    expect_nobody_waits();
}

TEST_F(FiberSelect, MeetsTheSelectionOfAnotherFiber) {
    fiber waiting = start([&] { return both(); });
    let_all_settle();
    auto partner = wait(tryst::select_biased(source.send(item(3)), ex.exchange(item(4))));
    waiting.join();
    EXPECT_EQ(partner.index(), 0U);
    EXPECT_EQ(partner.get<1>().returned().id(), 4);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 1U);
    EXPECT_EQ(got->get<1>()->id(), 3);
    expect_nobody_waits();
}

TEST_F(FiberSelect, TimesOutWithItsItemsAndNeverEarly) {
    for (const auto patience : {1us, 200us, 3000us}) {
        const auto begin = steady::now();
        got.emplace(wait(both_for(patience)));
        EXPECT_GE(steady::now() - begin, patience);
        expect_none(exchange_errc::timed_out);
    }
    got.emplace(wait(both_for(0us)));
    expect_none(exchange_errc::timed_out);
    for (const auto deadline : tryst::test::long_past) {
        got.emplace(wait(tryst::select(ex.exchange(item(1)), source.receive(), deadline)));
        expect_none(exchange_errc::timed_out);
    }
}

TEST_F(FiberSelect, LetsOthersRunUntilItsDeadline) {
    long turns = 0;
    for (auto patience = 2ms; turns <= 10 && patience < 4s; patience *= 2) { // a busy machine
        got.reset();
        turns = 0;
        fiber waiting = start([&] { return both_for(patience); });
        while (!got) {
            ++turns;
            boost::this_fiber::yield();
        }
        waiting.join();
        expect_none(exchange_errc::timed_out);
    }
    EXPECT_GT(turns, 10);
}

TEST_F(FiberSelect, MeetsAPartnerBeforeItsDeadline) {
    fiber waiting = start([&] { return both_for(24h); });
    let_all_settle();
    EXPECT_TRUE(source.try_send(item(2)));
    waiting.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 1U);
}

TEST_F(FiberSelect, IsCancelledByAStop) {
    for (const bool settled : {false, true}) {
        std::stop_source stop;
        fiber waiting = start([&] {
            return tryst::select(ex.exchange(item(1)), source.receive(), stop.get_token());
        });
        if (settled) {
            let_all_settle();
            ASSERT_TRUE(waits_in_list(ex));
        }
        std::thread([&] { stop.request_stop(); }).join();
        waiting.join();
        expect_none(exchange_errc::cancelled);
    }
}

TEST_F(FiberSelect, SelectsACaseWhoseExchangerIsClosed) {
    fiber waiting = start([&] { return both(); });
    let_all_settle();
    source.close();
    waiting.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 1U);
    EXPECT_EQ(got->get<1>().error(), exchange_errc::closed);
    EXPECT_EQ(got->get<0>().returned().id(), 1);
}

TEST_F(FiberSelect, SelectsFromARange) {
    std::deque<channel> rooms(20);
    fiber sender([&] {
        let_all_settle();
        EXPECT_TRUE(wait(rooms[18].send(item(5))));
    });
    auto from = wait(tryst::select_from(rooms, [](channel& room) { return room.receive(); }));
    sender.join();
    EXPECT_EQ(from.index(), 18U);
    EXPECT_EQ(from.get()->id(), 5);
    for (channel& room : rooms) {
        EXPECT_FALSE(room.try_send(item(6)));
    }
}

TEST_F(FiberSelect, ServesCoroutinesOfALoopInAnotherThread) {
    constexpr long rounds = 300;
    tryst::test::loop_thread loop;
    loop->spawn([](channel& to, census& kept) -> tryst::task<> {
        for (long i = 0; i != rounds; ++i) {
            EXPECT_TRUE(co_await to.send(tracked(kept, i)));
        }
        to.close();
    }(source, items));
    const auto here = this_thread();
    long received = 0;
    fiber waiting([&] {
        while (true) {
            auto one = wait(both());
            EXPECT_EQ(one.index(), 1U);
            EXPECT_EQ(one.get<0>().returned().id(), 1);
            EXPECT_EQ(this_thread(), here);
            if (!one.get<1>()) {
                return;
            }
            EXPECT_EQ(one.get<1>()->id(), received);
            ++received;
        }
    });
    waiting.join();
    EXPECT_EQ(received, rounds);
}

} // namespace
