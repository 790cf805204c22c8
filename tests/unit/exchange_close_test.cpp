// SPDX-License-Identifier: MIT
#include <tryst/exchanger.hpp>

#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"
#include "support/opened_arena.hpp"
#include "support/parties.hpp"
#include "support/short_exchanger.hpp"
#include "support/tracked.hpp"

#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::test::bare_coroutine;
using tryst::test::bare_party;
using tryst::test::detached_coroutine;
using tryst::test::grow;
using tryst::test::party;
using tryst::test::received;
using tryst::test::tracked;
using tryst::test::until_someone_waits;
using exchanger = tryst::exchanger<tracked>;

void expect_closed(const received<tracked>& got, long own) {
    ASSERT_TRUE(got);
    ASSERT_FALSE(*got);
    EXPECT_EQ(got->error(), exchange_errc::closed);
    EXPECT_EQ(got->returned().id(), own);
}

TEST(ExchangerClose, IsOffUntilCalledAndThenFinal) {
    exchanger ex;
    EXPECT_FALSE(ex.is_closed());
    ex.close();
    EXPECT_TRUE(ex.is_closed());
    ex.close();
    EXPECT_TRUE(ex.is_closed());
}

template <bool Red, class WaitList>
tryst::task<> meet_closed(tryst::test::short_exchanger<WaitList, int>& ex, int& refused) {
    if constexpr (Red) {
        auto got = co_await ex.red(1);
        refused += !got && got.error() == exchange_errc::closed ? 1 : 0;
    } else {
        auto got = co_await ex.blue(2);
        refused += !got && got.error() == exchange_errc::closed ? 1 : 0;
    }
}

TEST(RedBlueCloseWithArena, RefusesLaterArrivals) {
    using stack = tryst::detail::dual_stack;
    tryst::test::short_exchanger<stack, int> ex(1);
    tryst::test::arena_of(ex.inside()).grow();
    ex.close();
    tryst::run_loop loop;
    int refused = 0;
    loop.spawn(meet_closed<true, stack>(ex, refused));
    loop.spawn(meet_closed<false, stack>(ex, refused));
    loop.run_until_idle();
    EXPECT_EQ(refused, 2);
    tryst::test::arena_of(ex.inside()).grow();
    EXPECT_EQ(ex.inside().spread(), 0U);
}

TEST(ExchangerClose, RefusesEveryKindOfLaterArrival) {
    tryst::test::census census;
    exchanger ex(1);
    grow(ex);
    ex.close();
    tryst::run_loop loop;
    std::stop_source stop;
    received<tracked> plain;
    received<tracked> stoppable;
    received<tracked> timed;
    received<tracked> both;
    received<tracked> hasty;
    received<tracked> bare;
    loop.spawn(party(plain, [&] { return ex.exchange(tracked(census, 1)); }));
    loop.spawn(party(stoppable, [&] { return ex.exchange(tracked(census, 2), stop.get_token()); }));
    loop.spawn(party(timed, [&] { return ex.exchange(tracked(census, 3), 1h); }));
    loop.spawn(party(both, [&] { return ex.exchange(tracked(census, 4), 1h, stop.get_token()); }));
    loop.spawn(party(hasty, [&] { return ex.exchange(tracked(census, 5), 0s); }));
    EXPECT_EQ(loop.run_until_idle(), 5U); // nobody was suspended
    const auto done = bare_party(bare, [&] { return ex.exchange(tracked(census, 6)); });
    expect_closed(plain, 1);
    expect_closed(stoppable, 2);
    expect_closed(timed, 3);
    expect_closed(both, 4);
    expect_closed(hasty, 5);
    expect_closed(bare, 6);

    auto on_thread = tryst::sync_wait(ex.exchange(tracked(census, 7)));
    EXPECT_EQ(on_thread.error(), exchange_errc::closed);
    EXPECT_EQ(on_thread.returned().id(), 7);
    auto tried = ex.try_exchange(tracked(census, 8));
    EXPECT_EQ(tried.error(), exchange_errc::closed);
    EXPECT_EQ(tried.returned().id(), 8);
}

TEST(ExchangerClose, GivesAParkedCoroutineItsItemBackOnItsLoop) {
    tryst::test::census census;
    for (const bool limited : {false, true}) {
        exchanger ex;
        tryst::run_loop loop;
        received<tracked> got;
        if (limited) {
            loop.spawn(party(got, [&] { return ex.exchange(tracked(census, 1), 1h); }));
        } else {
            loop.spawn(party(got, [&] { return ex.exchange(tracked(census, 1)); }));
        }
        loop.run_until_idle();
        ASSERT_TRUE(tryst::test::waits_in_list(ex));
        ex.close();
        EXPECT_FALSE(got);
        loop.run_until_idle();
        expect_closed(got, 1);
    }
}

tryst::task<> close_it(exchanger& ex) {
    ex.close();
    co_return;
}

TEST(ExchangerClose, GivesItemsBackToOffersInTheirFirstTurn) {
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        for (const bool limited : {false, true}) {
            exchanger ex(1);
            tryst::run_loop loop;
            grow(ex, slots);
            received<tracked> got;
            if (limited) {
                loop.spawn(party(got, [&] { return ex.exchange(tracked(census, 1), 1h); }));
            } else {
                loop.spawn(party(got, [&] { return ex.exchange(tracked(census, 1)); }));
            }
            loop.spawn(close_it(ex)); // before the check
            loop.run_until_idle();
            expect_closed(got, 1);
        }
    }
}

TEST(ExchangerClose, GivesABareCoroutineItsItemBackInline) {
    tryst::test::census census;
    exchanger ex;
    received<tracked> got;
    const auto waiter = bare_party(got, [&] { return ex.exchange(tracked(census, 1)); });
    EXPECT_FALSE(got);
    ex.close();
    expect_closed(got, 1);
}

TEST(ExchangerClose, WakesAThread) {
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        for (const bool timed : {false, true}) {
            exchanger ex(1);
            grow(ex, slots);
            std::thread waiter([&] {
                auto got = timed ? tryst::sync_wait(ex.exchange(tracked(census, 1), 1h))
                                 : tryst::sync_wait(ex.exchange(tracked(census, 1)));
                EXPECT_EQ(got.error(), exchange_errc::closed);
                EXPECT_EQ(got.returned().id(), 1);
            });
            until_someone_waits(ex);
            ex.close();
            waiter.join();
        }
    }
}

TEST(ExchangerClose, AfterTheMatchChangesNothing) {
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        exchanger ex(1);
        tryst::run_loop loop;
        received<tracked> got;
        loop.spawn(party(got, [&] { return ex.exchange(tracked(census, 1)); }));
        grow(ex, slots);
        loop.run_until_idle();
        ASSERT_TRUE(ex.try_exchange(tracked(census, 2)));
        ex.close();
        loop.run_until_idle();
        ASSERT_TRUE(*got);
        EXPECT_EQ((**got).id(), 2);
    }
}

/// A bare coroutine that destroys the exchanger as soon as it knows that it is closed.
bare_coroutine inherit(std::optional<exchanger>& ex, tracked mine, received<tracked>& got) {
    got.emplace(co_await ex->exchange(std::move(mine)));
    ex.reset();
}

bare_coroutine inherit_stoppable(std::optional<exchanger>& ex, tracked mine, received<tracked>& got,
                                 std::stop_token stop) {
    got.emplace(co_await ex->exchange(std::move(mine), std::move(stop)));
    ex.reset();
}

TEST(ExchangerClose, MayResumeInlineWhoeverDestroysTheExchanger) {
    tryst::test::census census;
    std::optional<exchanger> ex(std::in_place, 2U);
    grow(*ex, 2);
    received<tracked> got;
    const auto waiter = inherit(ex, tracked(census, 1), got);
    ex->close();
    EXPECT_FALSE(ex);
    expect_closed(got, 1);
}

template <class Exchanger>
detached_coroutine end_with_the_last_of_three(std::unique_ptr<Exchanger>& ex, int& closed) {
    auto got = co_await ex->red(1);
    if (got.error() == exchange_errc::closed && ++closed == 3) {
        ex.reset();
    }
}

template <class Exchanger>
void close_over_the_last_of_three() {
    auto ex = std::make_unique<Exchanger>();
    int closed = 0;
    for (int i = 0; i != 3; ++i) {
        end_with_the_last_of_three(ex, closed);
    }
    ex->close();
    EXPECT_EQ(closed, 3);
    EXPECT_EQ(ex, nullptr);
}

TEST(RedBlueClose, MayResumeInlineTheLastWaiterThoughItDestroysTheExchanger) {
    close_over_the_last_of_three<tryst::red_blue_exchanger<int>>();
    close_over_the_last_of_three<tryst::red_blue_exchanger<int, int, tryst::order::lifo>>();
}

TEST(ExchangerStop, MayResumeInlineWhoeverDestroysTheExchanger) {
    tryst::test::census census;
    std::optional<exchanger> ex(std::in_place, 2U);
    std::stop_source stop;
    received<tracked> got;
    const auto waiter = inherit_stoppable(ex, tracked(census, 1), got, stop.get_token());
    stop.request_stop();
    EXPECT_FALSE(ex);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), exchange_errc::cancelled);
}

TEST(ExchangerMatch, MayResumeInlineWhoeverDestroysTheExchanger) {
    tryst::test::census census;
    std::stop_source stop;
    for (int how = 0; how != 6; ++how) {
        std::optional<exchanger> ex(std::in_place, 2U);
        received<tracked> got;
        const auto waiter = how % 2 == 0
                                ? inherit(ex, tracked(census, 1), got)
                                : inherit_stoppable(ex, tracked(census, 1), got, stop.get_token());
        grow(*ex, 2);
        received<tracked> partners;
        std::optional<bare_coroutine> partner;
        switch (how / 2) {
        case 0:
            partners.emplace(ex->try_exchange(tracked(census, 2)));
            break;
        case 1:
            partners.emplace(tryst::sync_wait(ex->exchange(tracked(census, 2), 1h)));
            break;
        default:
            partner.emplace(bare_party(partners, [&] { return ex->exchange(tracked(census, 2)); }));
            break;
        }
        EXPECT_FALSE(ex);
        ASSERT_TRUE(*got);
        EXPECT_EQ((**got).id(), 2);
        ASSERT_TRUE(*partners);
        EXPECT_EQ((**partners).id(), 1);
    }
}

TEST(ExchangerCloseRace, EndsEveryExchangeOnThreads) {
    constexpr int rounds = 100;
    tryst::test::census census;
    for (int i = 0; i != rounds; ++i) {
        exchanger ex(2);
        grow(ex, i % 3);
        std::atomic<int> swaps{0};
        std::vector<std::thread> threads;
        for (long id = 1; id <= 3; ++id) {
            threads.emplace_back([&, id] {
                for (;;) {
                    auto got = tryst::sync_wait(ex.exchange(tracked(census, id)));
                    if (!got) {
                        EXPECT_EQ(got.error(), exchange_errc::closed);
                        EXPECT_EQ(got.returned().id(), id);
                        return;
                    }
                    EXPECT_NE(got->id(), id);
                    ++swaps;
                }
            });
        }
        while (swaps < 20) {
            std::this_thread::yield();
        }
        ex.close();
        for (std::thread& each : threads) {
            each.join();
        }
    }
    EXPECT_EQ(census.alive, 0);
}

tryst::task<> swap_until_closed(exchanger& ex, tryst::test::census& census, long id,
                                std::atomic<int>& swaps, int& closed) {
    for (;;) {
        auto got = co_await ex.exchange(tracked(census, id));
        if (!got) {
            EXPECT_EQ(got.error(), exchange_errc::closed);
            EXPECT_EQ(got.returned().id(), id);
            ++closed;
            co_return;
        }
        EXPECT_NE(got->id(), id);
        ++swaps;
    }
}

TEST(ExchangerCloseRace, EndsEveryExchangeOnTwoLoops) {
    constexpr int rounds = 50;
    constexpr int each = 5;
    tryst::test::census census;
    for (int i = 0; i != rounds; ++i) {
        exchanger ex(2);
        grow(ex, i % 3);
        std::atomic<int> swaps{0};
        int closed_here = 0;
        int closed_there = 0;
        {
            tryst::test::loop_thread here;
            tryst::test::loop_thread there;
            for (long id = 1; id <= each; ++id) {
                here->spawn(swap_until_closed(ex, census, id, swaps, closed_here));
                there->spawn(swap_until_closed(ex, census, -id, swaps, closed_there));
            }
            while (swaps < 200) {
                std::this_thread::yield();
            }
            ex.close();
            here.join();
            there.join();
            here->run_until_idle();
            there->run_until_idle();
        }
        EXPECT_EQ(closed_here, each);
        EXPECT_EQ(closed_there, each);
    }
    EXPECT_EQ(census.alive, 0);
}

} // namespace
