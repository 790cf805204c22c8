// SPDX-License-Identifier: MIT
// Ends of life against ends of waits: exchangers and frames are destroyed at the moment when
// partners, stops and expiries reach for them. Two threads to a race, for as long as
// TRYST_STRESS_SECONDS says.
#include "stress/race.hpp"
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/history.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using meeting = exchanger<tracked>;

/// Who keeps which log.
enum party : std::uint8_t { waiter, partner, stopper, destroyer, parties };
constexpr long waiters_item = 1;
constexpr long partners_item = 2;
constexpr history::stop_id waiters_stop = 1;

/// What one race is about: a fresh exchanger, in which one party waits.
struct race {
    race(census& kept, history& done, std::size_t capacity)
        : items(kept), record(done), ex(new meeting(capacity)) {}

    census& items;
    history& record;
    meeting* ex; ///< Owned; whoever says so destroys it.
    std::stop_source stop;
    std::atomic<bool> ended{false}; ///< The waiter is, on whatever thread.
    starting_line* line = nullptr;
};

void request_stop(race& r) {
    r.record[stopper].stop(waiters_stop, [&] { r.stop.request_stop(); });
}

void try_to_exchange(race& r) {
    auto op = r.record[partner].begin({.given = partners_item, .way = history::way::tries});
    op.returned(r.ex->try_exchange(tracked(r.items, partners_item)));
}

void destroy(race& r) {
    r.record[destroyer].close(0, [&] { delete r.ex; });
}

class LifetimeStress : public ::testing::Test {
protected:
    LifetimeStress() { forget_steps(); }

    /// Runs `here` and `there` at once, over and over, each time on a new race, until the time is
    /// up and nothing `is_missing` any more. `prepare` runs before and `finish` after, on the
    /// thread of `here`.
    template <class Missing, class Prepare, class Here, class There, class Finish>
    void race_for_a_while(std::size_t capacity, Missing is_missing, Prepare prepare, Here here,
                          There there, Finish finish) {
        const auto play = [&](race& r, starting_line& line) {
            r.line = &line;
            prepare(r);
            here(r); // meets the other at the line at the right moment
            line.meet();
            finish(r);
        };
        const auto ended = [this] {
            EXPECT_EQ(record_.violations_at_rest(), "");
            EXPECT_EQ(items_.alive.load(), 0);
            if (!HasFailure()) {
                record_.clear(); // nobody waits any more
            }
            return !HasFailure();
        };
        test::race_for_a_while([&] { return race(items_, record_, capacity); }, is_missing, play,
                               there, ended);
    }

private:
    // They outlive the loops of a test that has failed, and the frames in them.
    census items_;
    history record_{parties};
};

task<> wait_on_loop(race& r) {
    auto op = r.record[waiter].begin({.given = waiters_item, .stop = waiters_stop});
    op.returned(co_await r.ex->exchange(tracked(r.items, waiters_item), r.stop.get_token()));
}

void exchange_and_destroy(race& r) {
    try_to_exchange(r);
    destroy(r);
}

TEST_F(LifetimeStress, APartnerMayDestroyTheExchangerWhileAStopReachesForTheWaiter) {
    std::optional<run_loop> loop;
    race_for_a_while(
        0,
        [] {
            return missing(detail::step::claim_in_wait_list, detail::step::stop,
                           detail::step::late_stop, detail::step::pinned);
        },
        [&](race& r) {
            loop.emplace();
            loop->spawn(wait_on_loop(r));
            loop->run_until_idle();
        },
        [&](race& r) {
            r.line->meet();
            request_stop(r);
        },
        exchange_and_destroy, [&](race&) { loop->run_until_idle(); });
    EXPECT_GT(count_of(detail::step::claim_in_wait_list), 0);
    EXPECT_GT(count_of(detail::step::stop), 0);
    EXPECT_GT(count_of(detail::step::late_stop), 0);
    EXPECT_GT(count_of(detail::step::pinned), 0);
}

TEST_F(LifetimeStress, TheDestructorWaitsForAStopThatReachesForTheWaiter) {
    std::optional<run_loop> loop;
    race_for_a_while(
        0, [] { return missing(detail::step::stop, detail::step::late_stop); },
        [&](race& r) {
            loop.emplace();
            loop->spawn(wait_on_loop(r));
            loop->run_until_idle();
        },
        [&](race& r) {
            r.line->meet();
            request_stop(r);
        },
        destroy, [&](race&) { loop->run_until_idle(); });
    EXPECT_GT(count_of(detail::step::stop), 0);
    EXPECT_GT(count_of(detail::step::late_stop), 0);
}

task<> wait_without_stop(race& r) {
    auto op = r.record[waiter].begin({.given = waiters_item});
    op.returned(co_await r.ex->exchange(tracked(r.items, waiters_item)));
}

task<> start_the_race(race& r) {
    r.line->meet();
    co_return;
}

TEST_F(LifetimeStress, TheExchangerMayBeDestroyedWhileABoundedOfferExpires) {
    std::optional<run_loop> loop;
    race_for_a_while(
        1, [] { return missing(detail::step::offer_in_arena, detail::step::expiry); },
        [&](race& r) {
            grow(*r.ex);
            loop.emplace();
            // The offer is made, then the race starts, then the offer's turn is over.
            loop->spawn(wait_without_stop(r));
            loop->spawn(start_the_race(r));
        },
        [&](race&) { loop->run_until_idle(); }, destroy,
        [&](race& r) {
            loop->run_until_idle();
            EXPECT_EQ(r.record.failed(exchange_errc::closed), 1U);
        });
    EXPECT_GT(count_of(detail::step::offer_in_arena), 0);
    EXPECT_GT(count_of(detail::step::expiry), 0);
}

TEST_F(LifetimeStress, APartnerMayDestroyTheExchangerWhileABoundedOfferExpires) {
    std::optional<run_loop> loop;
    race_for_a_while(
        1,
        [] {
            return missing(detail::step::claim_in_wait_list, detail::step::claim_in_arena,
                           detail::step::expiry);
        },
        [&](race& r) {
            grow(*r.ex);
            loop.emplace();
            loop->spawn(wait_without_stop(r));
            loop->spawn(start_the_race(r));
        },
        [&](race&) { loop->run_until_idle(); }, exchange_and_destroy,
        [&](race&) { loop->run_until_idle(); });
    EXPECT_GT(count_of(detail::step::claim_in_wait_list), 0);
    EXPECT_GT(count_of(detail::step::claim_in_arena), 0);
    EXPECT_GT(count_of(detail::step::expiry), 0);
}

task<> reschedule_for_ever(run_loop& loop) {
    while (true) {
        co_await loop.schedule();
    }
}

TEST_F(LifetimeStress, AFrameMayBeDestroyedWhileAPartnerClaimsItsWaiter) {
    long claimed = 0;
    long withdrawn = 0;
    std::optional<run_loop> loop;
    race_for_a_while(
        0, [&] { return claimed == 0 || withdrawn == 0; },
        [&](race& r) {
            loop.emplace();
            const bool unstoppable = r.items.created.load() % 2 == 0;
            loop->spawn(unstoppable ? wait_without_stop(r) : wait_on_loop(r));
            loop->run_until_idle();
            loop->spawn(reschedule_for_ever(*loop)); // the loop dies with work in its queue
        },
        [&](race& r) {
            r.line->meet();
            loop.reset();
        },
        try_to_exchange,
        [&](race& r) {
            ++(r.record.failed(exchange_errc::no_partner) == 0 ? claimed : withdrawn);
            destroy(r);
        });
    EXPECT_GT(claimed, 0);
    EXPECT_GT(withdrawn, 0);
}

detached_coroutine wait_with_deadline(race& r, std::chrono::microseconds patience) {
    {
        auto op = r.record[waiter].begin({.given = waiters_item,
                                          .stop = waiters_stop,
                                          .deadline = steady::now() + patience,
                                          .relative = true});
        op.returned(
            co_await r.ex->exchange(tracked(r.items, waiters_item), patience, r.stop.get_token()));
    }
    r.ended.store(true, std::memory_order_release);
}

TEST_F(LifetimeStress, ADeadlineAStopAndADestructorAgreeWhoEndsABareWait) {
    std::minstd_rand patience(1);
    std::size_t expired = 0;
    std::size_t cancelled = 0;
    std::size_t closed = 0;
    race_for_a_while(
        0, [&] { return expired == 0 || cancelled == 0 || closed == 0; },
        [&](race& r) { wait_with_deadline(r, std::chrono::microseconds(20 + patience() % 100)); },
        [&](race& r) {
            r.line->meet();
            if (patience() % 2 == 0) {
                request_stop(r);
            }
        },
        [](race& r) {
            // Somewhere around the deadline.
            const auto until = steady::now() + 60us;
            while (steady::now() < until) {
                detail::spin_pause();
            }
            destroy(r);
        },
        [&](race& r) {
            // The timer thread may have ended it.
            while (!r.ended.load(std::memory_order_acquire)) {
                std::this_thread::yield();
            }
            expired += r.record.failed(exchange_errc::timed_out);
            cancelled += r.record.failed(exchange_errc::cancelled);
            closed += r.record.failed(exchange_errc::closed);
        });
    EXPECT_GT(expired, 0U);
    EXPECT_GT(cancelled, 0U);
    EXPECT_GT(closed, 0U);
}

TEST_F(LifetimeStress, AThreadThatSleepsMayBeStoppedAndPairedAtOnce) {
    std::optional<std::thread> sleeper;
    long exchanged = 0;
    long cancelled = 0;
    race_for_a_while(
        0, [&] { return exchanged == 0 || cancelled == 0; },
        [&](race& r) {
            sleeper.emplace([&r] {
                auto op = r.record[waiter].begin({.given = waiters_item, .stop = waiters_stop});
                op.returned(
                    sync_wait(r.ex->exchange(tracked(r.items, waiters_item), r.stop.get_token())));
            });
            for (int i = 0; i != 20; ++i) {
                std::this_thread::yield();
            }
        },
        [&](race& r) {
            r.line->meet();
            request_stop(r);
        },
        try_to_exchange,
        [&](race& r) {
            sleeper->join();
            ++(r.record.exchanged() != 0 ? exchanged : cancelled);
            destroy(r);
        });
    EXPECT_GT(exchanged, 0);
    EXPECT_GT(cancelled, 0);
}

} // namespace
} // namespace tryst::test
