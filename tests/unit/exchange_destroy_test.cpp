// SPDX-License-Identifier: MIT
// The exchanger goes first: its waiters are told, and may outlive it.
#include <tryst/exchanger.hpp>

#include "support/insides.hpp"
#include "support/joined_coroutine.hpp"
#include "support/loop_thread.hpp"
#include "support/parties.hpp"
#include "support/tracked.hpp"

#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::test::bare_party;
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

TEST(ExchangerDestructor, ClosesForACoroutineThatWaitsOnALoop) {
    tryst::test::census census;
    for (const bool limited : {false, true}) {
        tryst::run_loop loop;
        std::stop_source stop;
        received<tracked> got;
        {
            exchanger ex;
            loop.spawn(
                limited
                    ? party(got,
                            [&] { return ex.exchange(tracked(census, 1), 1h, stop.get_token()); })
                    : party(got, [&] { return ex.exchange(tracked(census, 1)); }));
            loop.run_until_idle();
        }
        stop.request_stop(); // too late
        loop.run_until_idle();
        expect_closed(got, 1);
    }
}

tryst::task<> destroy(std::optional<exchanger>& ex) {
    ex.reset();
    co_return;
}

TEST(ExchangerDestructor, ClosesForAnOfferInItsFirstTurn) {
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        for (const bool limited : {false, true}) {
            tryst::run_loop loop;
            received<tracked> got;
            std::optional<exchanger> ex(std::in_place, 1U);
            grow(*ex, slots);
            loop.spawn(limited ? party(got, [&] { return ex->exchange(tracked(census, 1), 1h); })
                               : party(got, [&] { return ex->exchange(tracked(census, 1)); }));
            loop.spawn(destroy(ex)); // before the check
            loop.run_until_idle();
            expect_closed(got, 1);
        }
    }
}

TEST(ExchangerDestructor, ClosesForABareCoroutine) {
    tryst::test::census census;
    std::optional<exchanger> ex(std::in_place);
    received<tracked> plain;
    const auto waiter = bare_party(plain, [&] { return ex->exchange(tracked(census, 1)); });
    ex.reset();
    expect_closed(plain, 1);

    ex.emplace();
    received<tracked> timed;
    const auto other = bare_party(timed, [&] { return ex->exchange(tracked(census, 2), 1h); });
    ex.reset();
    expect_closed(timed, 2);
}

TEST(ExchangerDestructor, ClosesForAThread) {
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        for (const bool timed : {false, true}) {
            std::optional<exchanger> ex(std::in_place, 1U);
            grow(*ex, slots);
            std::thread waiter([&, &used = *ex] {
                auto got = timed ? tryst::sync_wait(used.exchange(tracked(census, 1), 1h))
                                 : tryst::sync_wait(used.exchange(tracked(census, 1)));
                EXPECT_EQ(got.error(), exchange_errc::closed);
                EXPECT_EQ(got.returned().id(), 1);
            });
            until_someone_waits(*ex);
            ex.reset();
            waiter.join();
        }
    }
}

TEST(ExchangerDestructor, OnAnotherThreadClosesForARunningLoop) {
    tryst::test::census census;
    for (int i = 0; i != 200; ++i) {
        received<tracked> got;
        auto ex = std::make_unique<exchanger>(1);
        exchanger& used = *ex; // the loop does not look at `ex` itself
        grow(used, i % 2);
        {
            tryst::test::loop_thread loop;
            loop->spawn(i % 3 == 0
                            ? party(got, [&] { return used.exchange(tracked(census, 1), 1h); })
                            : party(got, [&] { return used.exchange(tracked(census, 1)); }));
            until_someone_waits(*ex); // in the wait list, though perhaps still in its first turn
            ex.reset();
            loop.join();
            loop->run_until_idle();
        }
        expect_closed(got, 1);
    }
    EXPECT_EQ(census.alive, 0);
}

TEST(ExchangerDestructor, LeavesFramesBehindThatMayBeDestroyedLater) {
    // The loop stops before the check or the resumption runs, and dies after the exchanger.
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        for (const bool limited : {false, true}) {
            for (const bool first_turn : {false, true}) {
                received<tracked> got;
                {
                    tryst::run_loop loop;
                    auto ex = std::make_unique<exchanger>(1);
                    grow(*ex, slots);
                    loop.spawn(
                        limited ? party(got, [&] { return ex->exchange(tracked(census, 1), 1h); })
                                : party(got, [&] { return ex->exchange(tracked(census, 1)); }));
                    if (first_turn) {
                        loop.stop();
                        loop.run();
                    } else {
                        loop.run_until_idle();
                    }
                    EXPECT_EQ(census.alive, 1);
                    ex.reset();
                }
                EXPECT_FALSE(got);
                EXPECT_EQ(census.alive, 0);
            }
        }
    }
}

TEST(ExchangerDestructor, OfAnUnusedExchangerHasNothingToDo) {
    for (const std::size_t capacity : {0U, 1U, 255U}) {
        const exchanger ex(capacity);
        EXPECT_EQ(ex.capacity(), capacity);
    }
}

// ---- The party that returned first destroys the exchanger at once, while the other is on its way
// back.

enum class manner : std::uint8_t { plain, timed, stoppable, both };
constexpr manner manners[] = {manner::plain, manner::timed, manner::stoppable, manner::both};

struct line_of_exchangers {
    explicit line_of_exchangers(int rounds, int slots) {
        for (int i = 0; i != rounds; ++i) {
            owned.push_back(std::make_unique<exchanger>(2));
            grow(*owned.back(), slots);
            used.push_back(owned.back().get());
        }
    }

    std::vector<std::unique_ptr<exchanger>> owned;
    std::vector<exchanger*> used; // by the party that does not destroy
};

TEST(ExchangerLifetime, EndsAtTheHandsOfTheThreadThatReturnedFirst) {
    constexpr int rounds = 1'000;
    tryst::test::census census;
    for (const int slots : {0, 1, 2}) {
        for (const manner how : manners) {
            line_of_exchangers line(rounds, slots);
            std::stop_source stop;
            std::thread other([&] {
                for (exchanger* ex : line.used) {
                    switch (how) {
                    case manner::plain:
                        EXPECT_EQ(tryst::sync_wait(ex->exchange(tracked(census, 2)))->id(), 1);
                        break;
                    case manner::timed:
                        EXPECT_EQ(tryst::sync_wait(ex->exchange(tracked(census, 2), 1h))->id(), 1);
                        break;
                    case manner::stoppable:
                        EXPECT_EQ(
                            tryst::sync_wait(ex->exchange(tracked(census, 2), stop.get_token()))
                                ->id(),
                            1);
                        break;
                    case manner::both:
                        EXPECT_EQ(
                            tryst::sync_wait(ex->exchange(tracked(census, 2), 1h, stop.get_token()))
                                ->id(),
                            1);
                        break;
                    }
                }
            });
            for (std::unique_ptr<exchanger>& ex : line.owned) {
                EXPECT_EQ(tryst::sync_wait(ex->exchange(tracked(census, 1)))->id(), 2);
                ex.reset();
            }
            other.join();
        }
    }
    EXPECT_EQ(census.alive, 0);
}

tryst::task<> swap_and_destroy(std::vector<std::unique_ptr<exchanger>>& line,
                               tryst::test::census& census, tryst::run_loop& loop) {
    for (std::unique_ptr<exchanger>& ex : line) {
        auto got = co_await ex->exchange(tracked(census, 1));
        ex.reset();
        EXPECT_EQ(got->id(), 2);
    }
    loop.stop();
}

tryst::task<> swap_along(std::vector<exchanger*>& line, tryst::test::census& census, manner how,
                         std::stop_token stop, tryst::run_loop& loop) {
    for (exchanger* ex : line) {
        if (how == manner::plain) {
            auto got = co_await ex->exchange(tracked(census, 2));
            EXPECT_EQ(got->id(), 1);
        } else if (how == manner::timed) {
            auto got = co_await ex->exchange(tracked(census, 2), 1h);
            EXPECT_EQ(got->id(), 1);
        } else if (how == manner::stoppable) {
            auto got = co_await ex->exchange(tracked(census, 2), stop);
            EXPECT_EQ(got->id(), 1);
        } else {
            auto got = co_await ex->exchange(tracked(census, 2), 1h, stop);
            EXPECT_EQ(got->id(), 1);
        }
    }
    loop.stop();
}

TEST(ExchangerLifetime, EndsAtTheHandsOfTheCoroutineThatReturnedFirst) {
    constexpr int rounds = 1'000;
    tryst::test::census census;
    for (const int slots : {0, 1, 2}) {
        for (const manner how : manners) {
            line_of_exchangers line(rounds, slots);
            std::stop_source stop;
            std::thread other([&] {
                tryst::run_loop loop;
                loop.spawn(swap_along(line.used, census, how, stop.get_token(), loop));
                loop.run();
            });
            tryst::run_loop loop;
            loop.spawn(swap_and_destroy(line.owned, census, loop));
            loop.run();
            other.join();
        }
    }
    EXPECT_EQ(census.alive, 0);
}

TEST(ExchangerLifetime, EndsAtTheHandsOfAThreadWhosePartnerIsALoops) {
    constexpr int rounds = 1'000;
    tryst::test::census census;
    for (const int slots : {0, 2}) {
        for (const manner how : manners) {
            line_of_exchangers line(rounds, slots);
            std::stop_source stop;
            std::thread other([&] {
                tryst::run_loop loop;
                loop.spawn(swap_along(line.used, census, how, stop.get_token(), loop));
                loop.run();
            });
            for (std::unique_ptr<exchanger>& ex : line.owned) {
                EXPECT_EQ(tryst::sync_wait(ex->exchange(tracked(census, 1)))->id(), 2);
                ex.reset();
            }
            other.join();
        }
    }
    EXPECT_EQ(census.alive, 0);
}

// ---- The same, while a stop or a deadline is on its way to the waiter that was just taken.

/// A thread finds what `Make` makes closed by `arrive`, and destroys it while the close may still
/// be under way.
template <class Make, class Arrive>
void close_and_destroy_elsewhere(Make make, Arrive arrive) {
    for (int round = 0; round != 200; ++round) {
        auto owned = make();
        auto* const closing = owned.get();
        std::atomic<bool> begun{false};
        std::thread party([&] {
            begun = true;
            while (arrive(*owned).error() != tryst::exchange_errc::closed) {
            }
            owned.reset();
        });
        while (!begun) {
            std::this_thread::yield();
        }
        closing->close();
        party.join();
    }
}

TEST(ExchangerLifetime, MayBeEndedByAPartyThatFoundItClosedDuringTheClose) {
    close_and_destroy_elsewhere([] { return std::make_unique<tryst::exchanger<int>>(255); },
                                [](auto& ex) { return ex.try_exchange(1); });
}

TEST(ExchangerLifetime, MayBeEndedByAPartyThatFoundItsTwoColoursClosedDuringTheClose) {
    close_and_destroy_elsewhere([] { return std::make_unique<tryst::red_blue_exchanger<int>>(); },
                                [](auto& ex) { return ex.try_blue(1); });
    close_and_destroy_elsewhere(
        [] {
            return std::make_unique<tryst::red_blue_exchanger<int, int, tryst::order::lifo>>(255);
        },
        [](auto& ex) { return ex.try_blue(1); });
}

TEST(ExchangerLifetime, OutlastsAStopThatComesTooLate) {
    constexpr int rounds = 1'000;
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        line_of_exchangers line(rounds, slots);
        std::vector<std::stop_source> stops(rounds);
        std::atomic<int> reached{0};
        int cancelled = 0;
        std::thread stopper([&] {
            for (int i = 0; i != rounds; ++i) {
                while (reached <= i) {
                    tryst::detail::spin_pause();
                }
                stops[static_cast<std::size_t>(i)].request_stop();
            }
        });
        std::thread other([&] {
            for (int i = 0; i != rounds; ++i) {
                const auto at = static_cast<std::size_t>(i);
                reached = i + 1;
                auto got = tryst::sync_wait(
                    line.used[at]->exchange(tracked(census, 2), stops[at].get_token()));
                if (!got) {
                    ++cancelled;
                    got = tryst::sync_wait(line.used[at]->exchange(tracked(census, 2)));
                }
                EXPECT_EQ(got->id(), 1);
            }
        });
        for (std::unique_ptr<exchanger>& ex : line.owned) {
            EXPECT_EQ(tryst::sync_wait(ex->exchange(tracked(census, 1)))->id(), 2);
            ex.reset();
        }
        stopper.join();
        other.join();
        EXPECT_LT(cancelled, rounds);
    }
    EXPECT_EQ(census.alive, 0);
}

tryst::task<> swap_in_a_hurry(std::vector<exchanger*>& line, tryst::test::census& census,
                              tryst::run_loop& loop) {
    auto patience = 1us;
    for (exchanger* ex : line) {
        auto got = co_await ex->exchange(tracked(census, 2), patience);
        patience = patience % 40 + 1us;
        if (!got) {
            auto again = co_await ex->exchange(tracked(census, 2));
            EXPECT_EQ(again->id(), 1);
        } else {
            EXPECT_EQ(got->id(), 1);
        }
    }
    loop.stop();
}

TEST(ExchangerLifetime, OutlastsADeadlineThatComesTooLate) {
    constexpr int rounds = 1'000;
    tryst::test::census census;
    for (const int slots : {0, 1}) {
        line_of_exchangers line(rounds, slots);
        std::thread other([&] {
            tryst::run_loop loop;
            loop.spawn(swap_in_a_hurry(line.used, census, loop));
            loop.run();
        });
        for (std::unique_ptr<exchanger>& ex : line.owned) {
            EXPECT_EQ(tryst::sync_wait(ex->exchange(tracked(census, 1)))->id(), 2);
            ex.reset();
        }
        other.join();
    }
    EXPECT_EQ(census.alive, 0);
}

tryst::test::joined_coroutine wait_briefly(exchanger& ex, tracked mine,
                                           std::chrono::microseconds patience, bool& swapped) {
    auto got = co_await ex.exchange(std::move(mine), patience);
    swapped = got.has_value();
}

TEST(ExchangerLifetime, OutlastsATimerThreadThatComesTooLate) {
    constexpr int rounds = 500;
    tryst::test::census census;
    for (int i = 0; i != rounds; ++i) {
        auto ex = std::make_unique<exchanger>(1);
        bool swapped = false;
        const auto waiter =
            wait_briefly(*ex, tracked(census, 2), std::chrono::microseconds(i % 50 + 1), swapped);
        const bool taken = ex->try_exchange(tracked(census, 1)).has_value();
        ex.reset();
        waiter.join();
        EXPECT_EQ(swapped, taken);
    }
    EXPECT_EQ(census.alive, 0);
}

} // namespace
