// SPDX-License-Identifier: MIT
// How long the offer of a coroutine or thread in an arena lasts.
#include <tryst/detail/meet/patience.hpp>

#include "support/insides.hpp"

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>

namespace tryst::test {
namespace {

using detail::patience;

TEST(Patience, OfALonePartyLastsForItsTimeAndBeginsAnewWithTheNextOffer) {
    const int party = 0;
    patience::begin(&party);
    const auto start = detail::clock::now();
    while (patience::lasts(&party)) {
    }
    EXPECT_GE(detail::clock::now() - start, detail::lone_patience);
    EXPECT_FALSE(patience::lasts(&party));
    patience::begin(&party);
    EXPECT_TRUE(patience::lasts(&party));
}

TEST(Patience, EndsWhenAnotherPartyOfTheThreadMakesAnOffer) {
    const int first = 0;
    const int second = 0;
    patience::begin(&first);
    EXPECT_TRUE(patience::lasts(&first));
    patience::begin(&second);
    EXPECT_FALSE(patience::lasts(&first));
    EXPECT_TRUE(patience::lasts(&second));
}

task<> swap_once(exchanger<int>& with, int mine, int& got) {
    auto exchange = with.exchange(mine);
    const auto result = co_await exchange;
    got = result ? *result : -1;
}

/// A task on the same loop that looks at the exchanger in each of `turns` turns.
task<> watch(exchanger<int>& with, run_loop& loop, int turns, int& in_arena) {
    for (int i = 0; i != turns; ++i) {
        in_arena += waits_in_arena(with) ? 1 : 0;
        auto turn = loop.schedule();
        co_await turn;
    }
}

TEST(Patience, OfALoneCoroutineIsMoreThanATurnOfItsLoop) {
    // The clock may end the offer early in some runs, if this thread loses its core; not in all.
    int most = 0;
    for (int i = 0; i != 1'000 && most < 3; ++i) {
        exchanger<int> with(1);
        grow(with);
        run_loop loop;
        int got = 0;
        int in_arena = 0;
        loop.spawn(swap_once(with, 1, got));
        loop.spawn(watch(with, loop, 3, in_arena));
        loop.run_until_idle();
        most = std::max(most, in_arena);
        EXPECT_TRUE(waits_in_list(with)) << "the offer has not ended";
        with.close();
        loop.run_until_idle();
        EXPECT_EQ(got, -1);
    }
    EXPECT_EQ(most, 3);
}

/// Counts the rounds for which the first and the second wait last, if they do not end earlier.
struct counting_strategy {
    static constexpr bool owns_thread = true;

    static executor_ref executor() noexcept { return {}; }
    template <class Done, class Late>
    void await_partner(Done /*is_done*/, Late is_late) noexcept {
        while (rounds[waits] != 100 && !is_late()) {
            ++rounds[waits];
        }
        if (++waits == 2) {
            with->close();
        }
    }
    void sleep() noexcept {}
    bool sleep_until(detail::clock::time_point /*deadline*/) noexcept { return true; }
    template <class Step>
    auto step(Step step) noexcept {
        return step();
    }

    exchanger<int>* with = nullptr;
    int waits = 0;
    int rounds[2] = {};
};

TEST(Patience, OfAThreadIsShorterInTheArenaThanInTheWaitList) {
    exchanger<int> with(1);
    grow(with);
    auto exchange = with.exchange(1);
    counting_strategy strategy{&with};
    const auto result = detail::blocking_wait(detail::operation_access::of(exchange), strategy);
    EXPECT_FALSE(result);
    EXPECT_EQ(strategy.rounds[0], detail::arena_rounds - 1);
    EXPECT_EQ(strategy.rounds[1], 100);
}

/// An operation that a partner has claimed, after its deadline.
struct claimed_operation {
    using result = bool;
    static constexpr bool is_timed = true;

    template <class /*Party*/>
    detail::arrival begin(executor_ref /*on*/, bool /*spent*/) noexcept {
        return detail::arrival::claimed;
    }
    template <class /*Party*/>
    detail::arrival look_again() noexcept {
        return detail::arrival::completed;
    }
    static detail::clock::time_point time_limit() noexcept { return {}; }
    static bool is_complete() noexcept { return false; }
    static bool park() noexcept { return false; }
    static void cancel(bool /*by_deadline*/) noexcept {}
    static bool take_result() noexcept { return true; }
};

TEST(Patience, OfAClaimedThreadDoesNotEndBecausePartnersMayNeedItsProcessor) {
    claimed_operation exchange;
    counting_strategy strategy;
    EXPECT_TRUE(detail::blocking_wait(exchange, strategy));
    EXPECT_EQ(strategy.rounds[0], 100);
}

} // namespace
} // namespace tryst::test
