// SPDX-License-Identifier: MIT
// Every kind of waiter meets every other, and goes on where it waited.
#include <tryst/exchanger.hpp>

#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::test::bare_coroutine;
using tryst::test::tracked;
using tryst::test::until_someone_waits;
using exchanger = tryst::exchanger<tracked>;

enum class kind : std::uint8_t { on_loop, bare, thread };
enum class limit : std::uint8_t { none, stop, deadline, both };

std::string name_of(kind k) {
    return k == kind::on_loop ? "Loop" : k == kind::bare ? "Bare" : "Thread";
}
std::string name_of(limit l) {
    switch (l) {
    case limit::none:
        return "Unlimited";
    case limit::stop:
        return "Stoppable";
    case limit::deadline:
        return "Timed";
    case limit::both:
        return "StoppableAndTimed";
    }
    return {};
}

/// What a party finds when it goes on. `written` and `seen` are plain: the exchange must order
/// them.
struct account {
    int written = 0;
    int seen = 0;
    long received = 0;
    std::thread::id thread;
    tryst::executor_ref executor;
    std::atomic<bool> ended{false};

    void note(tryst::exchange_result<tracked> got, const account& partner) {
        seen = partner.written;
        received = got ? got->id() : 0;
        thread = std::this_thread::get_id();
        executor = tryst::current_executor();
        ended = true;
    }
};

tryst::task<> meet(exchanger& ex, tracked mine, limit how, std::stop_token stop, account& me,
                   const account& partner) {
    me.written = 1;
    switch (how) {
    case limit::none:
        me.note(co_await ex.exchange(std::move(mine)), partner);
        break;
    case limit::stop:
        me.note(co_await ex.exchange(std::move(mine), std::move(stop)), partner);
        break;
    case limit::deadline:
        me.note(co_await ex.exchange(std::move(mine), 1h), partner);
        break;
    case limit::both:
        me.note(co_await ex.exchange(std::move(mine), 1h, std::move(stop)), partner);
        break;
    }
}

bare_coroutine run_bare(tryst::task<> work) {
    co_await std::move(work);
}

void meet_on_thread(exchanger& ex, tracked mine, limit how, std::stop_token stop, account& me,
                    const account& partner) {
    me.written = 1;
    switch (how) {
    case limit::none:
        me.note(tryst::sync_wait(ex.exchange(std::move(mine))), partner);
        break;
    case limit::stop:
        me.note(tryst::sync_wait(ex.exchange(std::move(mine), std::move(stop))), partner);
        break;
    case limit::deadline:
        me.note(tryst::sync_wait(ex.exchange(std::move(mine), 1h)), partner);
        break;
    case limit::both:
        me.note(tryst::sync_wait(ex.exchange(std::move(mine), 1h, std::move(stop))), partner);
        break;
    }
}

/// One party of any kind, which has a thread of its own unless it is bare.
class participant {
public:
    participant(kind k, exchanger& ex, tracked mine, limit how, std::stop_token stop, account& me,
                const account& partner)
        : me_(&me) {
        switch (k) {
        case kind::on_loop:
            loop_.emplace();
            (*loop_)->spawn(meet(ex, std::move(mine), how, std::move(stop), me, partner));
            executor = (*loop_)->executor();
            break;
        case kind::bare:
            bare_.emplace(run_bare(meet(ex, std::move(mine), how, std::move(stop), me, partner)));
            break;
        case kind::thread:
            thread_ = std::thread([&ex, &me, &partner, how, held = std::move(mine),
                                   token = std::move(stop)]() mutable {
                meet_on_thread(ex, std::move(held), how, std::move(token), me, partner);
            });
            break;
        }
    }

    void join() {
        while (!me_->ended) {
            std::this_thread::yield();
        }
        if (loop_) {
            loop_->join();
        }
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    tryst::executor_ref executor;

private:
    account* me_;
    std::optional<tryst::test::loop_thread> loop_;
    std::optional<bare_coroutine> bare_;
    std::thread thread_;
};

using meeting = std::tuple<kind, kind, limit, int>;

class Waiters : public testing::TestWithParam<meeting> {};

TEST_P(Waiters, SwapAndGoOnWhereTheyWaited) {
    const auto [first_kind, second_kind, how, slots] = GetParam();
    tryst::test::census census;
    std::stop_source stop;
    {
        exchanger ex(2);
        tryst::test::grow(ex, slots);
        account first;
        account second;
        participant one(first_kind, ex, tracked(census, 1), how, stop.get_token(), first, second);
        until_someone_waits(ex);
        EXPECT_FALSE(first.ended);
        participant two(second_kind, ex, tracked(census, 2), how, stop.get_token(), second, first);
        one.join();
        two.join();

        EXPECT_EQ(first.received, 2);
        EXPECT_EQ(second.received, 1);
        EXPECT_EQ(first.seen, 1);
        EXPECT_EQ(second.seen, 1);
        EXPECT_EQ(first.executor, one.executor);
        EXPECT_EQ(second.executor, two.executor);
        const auto here = std::this_thread::get_id();
        EXPECT_EQ(second.thread == here, second_kind == kind::bare);
        if (first_kind == kind::bare) {
            EXPECT_EQ(first.thread, second.thread); // inline, in its partner's exchange
        } else {
            EXPECT_NE(first.thread, second.thread);
            EXPECT_NE(first.thread, here);
        }
    }
    EXPECT_EQ(census.alive, 0);
}

TEST_P(Waiters, AreTakenByATryFromOutside) {
    const auto [first_kind, ignored, how, slots] = GetParam();
    tryst::test::census census;
    std::stop_source stop;
    {
        exchanger ex(2);
        tryst::test::grow(ex, slots);
        account first;
        account outside;
        participant one(first_kind, ex, tracked(census, 1), how, stop.get_token(), first, outside);
        until_someone_waits(ex);
        const auto got = ex.try_exchange(tracked(census, 2));
        one.join();
        ASSERT_TRUE(got);
        EXPECT_EQ(got->id(), 1);
        EXPECT_EQ(first.received, 2);
        EXPECT_EQ(first.executor, one.executor);
    }
    EXPECT_EQ(census.alive, 0);
}

INSTANTIATE_TEST_SUITE_P(
    EachAgainstEach, Waiters,
    testing::Combine(testing::Values(kind::on_loop, kind::bare, kind::thread),
                     testing::Values(kind::on_loop, kind::bare, kind::thread),
                     testing::Values(limit::none, limit::stop, limit::deadline, limit::both),
                     testing::Values(0, 1, 2)),
    [](const testing::TestParamInfo<meeting>& test) {
        return name_of(std::get<0>(test.param)) + "Then" + name_of(std::get<1>(test.param)) +
               name_of(std::get<2>(test.param)) + std::to_string(std::get<3>(test.param));
    });

// ---- On one loop.

tryst::task<> swap_once(exchanger& ex, tracked mine, long& received, int& turn, int& order) {
    auto got = co_await ex.exchange(std::move(mine));
    received = got ? got->id() : 0;
    order = ++turn;
}

TEST(WaitersOnOneLoop, SwapInsideTheArenaAndAtHome) {
    for (const int slots : {0, 1}) {
        tryst::test::census census;
        exchanger ex(1);
        tryst::run_loop loop;
        tryst::test::grow(ex, slots);
        long first = 0;
        long second = 0;
        int turn = 0;
        int order_of_first = 0;
        int order_of_second = 0;
        loop.spawn(swap_once(ex, tracked(census, 1), first, turn, order_of_first));
        loop.spawn(swap_once(ex, tracked(census, 2), second, turn, order_of_second));
        loop.run_until_idle();
        EXPECT_EQ(first, 2);
        EXPECT_EQ(second, 1);
        // The one who came second does not suspend; its partner is queued, never resumed inline.
        EXPECT_EQ(order_of_second, 1);
        EXPECT_EQ(order_of_first, 2);
        EXPECT_EQ(tryst::test::spread_of(ex), static_cast<unsigned>(slots));
        EXPECT_EQ(census.alive, 0);
    }
}

tryst::task<> look_in_slots(exchanger& ex, bool& above, bool& home) {
    above = tryst::test::waits_in_arena(ex);
    home = tryst::test::waits_in_list(ex);
    co_return;
}

TEST(WaitersOnOneLoop, WaitAboveHomeForOneTurnAndThenAtHome) {
    tryst::test::census census;
    exchanger ex(1);
    tryst::run_loop loop;
    tryst::test::grow(ex);
    long received = 0;
    int turn = 0;
    int order = 0;
    bool above = false;
    bool home = false;
    loop.spawn(swap_once(ex, tracked(census, 1), received, turn, order));
    loop.spawn(look_in_slots(ex, above, home)); // runs before the check
    loop.run_until_idle();
    EXPECT_TRUE(above);
    EXPECT_FALSE(home);
    EXPECT_FALSE(tryst::test::waits_in_arena(ex));
    EXPECT_TRUE(tryst::test::waits_in_list(ex));
    EXPECT_EQ(tryst::test::spread_of(ex), 0U);
    ASSERT_TRUE(ex.try_exchange(tracked(census, 2)));
    loop.run_until_idle();
    EXPECT_EQ(received, 2);
}

TEST(WaitersOnOneLoop, MeetTheOneAtHomeAlthoughTheArenaHasGrown) {
    tryst::test::census census;
    exchanger ex(1);
    tryst::run_loop loop;
    long first = 0;
    long second = 0;
    long third = 0;
    int turn = 0;
    int order = 0;
    loop.spawn(swap_once(ex, tracked(census, 1), first, turn, order));
    loop.run_until_idle();
    ASSERT_TRUE(tryst::test::waits_in_list(ex));
    tryst::test::grow(ex);
    loop.spawn(swap_once(ex, tracked(census, 2), second, turn, order));
    loop.spawn(swap_once(ex, tracked(census, 3), third, turn, order));
    loop.run_until_idle();
    EXPECT_EQ(first, 2);
    EXPECT_EQ(second, 1);
    EXPECT_EQ(third, 0);
    ex.close();
    loop.run_until_idle();
}

tryst::task<> try_once(exchanger& ex, tracked mine, std::optional<long>& received) {
    auto got = ex.try_exchange(std::move(mine));
    received = got ? got->id() : 0;
    co_return;
}

TEST(WaitersOnOneLoop, AreTakenByATryWhileTheyWaitAboveHome) {
    tryst::test::census census;
    exchanger ex(1);
    tryst::run_loop loop;
    tryst::test::grow(ex);
    long waiting = 0;
    std::optional<long> trying;
    int turn = 0;
    int order = 0;
    loop.spawn(swap_once(ex, tracked(census, 1), waiting, turn, order));
    loop.spawn(try_once(ex, tracked(census, 2), trying));
    loop.run_until_idle();
    EXPECT_EQ(waiting, 2);
    EXPECT_EQ(trying, 1);
    EXPECT_EQ(tryst::test::spread_of(ex), 1U);
}

// ---- A coroutine whose promise names its executor.

class sworn_coroutine {
public:
    struct promise_type {
        template <class... Rest>
        explicit promise_type(tryst::executor_ref home, Rest&&... /*rest*/) noexcept
            : executor_(home) {}
        sworn_coroutine get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
        tryst::executor_ref executor() const noexcept { return executor_; }

    private:
        tryst::executor_ref executor_;
    };
};

sworn_coroutine swap_at(tryst::executor_ref /*home*/, exchanger& ex, tracked mine, account& me,
                        const account& partner) {
    me.written = 1;
    me.note(co_await ex.exchange(std::move(mine)), partner);
}

sworn_coroutine swap_in_time_at(tryst::executor_ref /*home*/, exchanger& ex, tracked mine,
                                account& me, const account& partner) {
    me.written = 1;
    me.note(co_await ex.exchange(std::move(mine), 1h), partner);
}

TEST(Waiters, GoOnOnTheExecutorThatTheirPromiseNames) {
    for (const int slots : {0, 1}) {
        for (const bool timed : {false, true}) {
            tryst::test::census census;
            exchanger ex(1);
            tryst::test::grow(ex, slots);
            tryst::test::loop_thread loop;
            account sworn;
            account partner;
            partner.written = 1;
            // Called here, on no executor, it starts here, and is resumed there.
            (timed ? swap_in_time_at : swap_at)(loop->executor(), ex, tracked(census, 1), sworn,
                                                partner);
            until_someone_waits(ex);
            ASSERT_TRUE(ex.try_exchange(tracked(census, 2)));
            loop.join();
            EXPECT_TRUE(sworn.ended);
            EXPECT_EQ(sworn.received, 2);
            EXPECT_EQ(sworn.executor, loop->executor());
            EXPECT_NE(sworn.thread, std::this_thread::get_id());
        }
    }
}

} // namespace
