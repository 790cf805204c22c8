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
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using detail::step;
using steady = std::chrono::steady_clock;

constexpr long waiters_item = 1;
constexpr long partners_item = 2;
constexpr history::stop_id waiters_stop = 1;

/// What one race is about: a fresh exchanger, in which one party waits.
struct one_waiter {
    one_waiter(census& kept, history& done) : items(kept), record(done) {}

    auto exchange(auto... limits) { return ex->exchange(tracked(items, waiters_item), limits...); }

    census& items;
    history& record;
    std::unique_ptr<exchanger<tracked>> ex = std::make_unique<exchanger<tracked>>(0);
    std::stop_source stop;
    std::atomic<bool> ended{false}; ///< The waiter is, on whatever thread.
};

void request_stop(one_waiter& r) {
    r.record[stopper].stop(waiters_stop, [&] { r.stop.request_stop(); });
}

void try_to_exchange(one_waiter& r) {
    auto op = r.record[partner].begin({.given = partners_item, .way = history::way::tries});
    op.returned(r.ex->try_exchange(tracked(r.items, partners_item)));
}

void destroy(one_waiter& r) {
    r.record[destroyer].close(0, [&] { r.ex.reset(); });
}

void exchange_and_destroy(one_waiter& r) {
    try_to_exchange(r);
    destroy(r);
}

task<> wait_with_stop(one_waiter& r) {
    auto op = r.record[waiter].begin({.given = waiters_item, .stop = waiters_stop});
    op.returned(co_await r.exchange(r.stop.get_token()));
}

task<> wait_without_stop(one_waiter& r) {
    auto op = r.record[waiter].begin({.given = waiters_item});
    op.returned(co_await r.exchange());
}

detached_coroutine wait_with_deadline(one_waiter& r, std::chrono::microseconds patience) {
    {
        auto op = r.record[waiter].begin({.given = waiters_item,
                                          .stop = waiters_stop,
                                          .deadline = steady::now() + patience,
                                          .relative = true});
        op.returned(co_await r.exchange(patience, r.stop.get_token()));
    }
    r.ended.store(true, std::memory_order_release);
}

class LifetimeStress : public Races<one_waiter> {
protected:
    /// The offer is made, then the race starts, then the offer's turn is over.
    void offer_in_arena(one_waiter& r) {
        r.ex = std::make_unique<exchanger<tracked>>(1);
        grow(*r.ex);
        loop_.emplace();
        loop_->spawn(wait_without_stop(r));
        loop_->spawn([](starting_line& line) -> task<> {
            line.meet();
            co_return;
        }(line_));
    }
};

TEST_F(LifetimeStress, APartnerMayDestroyTheExchangerWhileAStopReachesForTheWaiter) {
    race_for_a_while(
        {.prepare = [&](auto& r) { wait_on_loop(wait_with_stop(r)); },
         .here = request_stop,
         .there = exchange_and_destroy,
         .finish = [&](auto&) { loop_->run_until_idle(); },
         .must_take = {step::claim_in_wait_list, step::stop, step::late_stop, step::pinned}});
}

TEST_F(LifetimeStress, TheDestructorWaitsForAStopThatReachesForTheWaiter) {
    race_for_a_while({.prepare = [&](auto& r) { wait_on_loop(wait_with_stop(r)); },
                      .here = request_stop,
                      .there = destroy,
                      .finish = [&](auto&) { loop_->run_until_idle(); },
                      .must_take = {step::stop, step::late_stop}});
}

TEST_F(LifetimeStress, TheExchangerMayBeDestroyedWhileABoundedOfferExpires) {
    race_for_a_while({.prepare = [&](auto& r) { offer_in_arena(r); },
                      .here = [&](auto&) { loop_->run_until_idle(); },
                      .there = destroy,
                      .finish =
                          [&](auto& r) {
                              loop_->run_until_idle();
                              EXPECT_EQ(r.record.failed(exchange_errc::closed), 1U);
                          },
                      .must_take = {step::offer_in_arena, step::expiry},
                      .here_starts = true});
}

TEST_F(LifetimeStress, APartnerMayDestroyTheExchangerWhileABoundedOfferExpires) {
    race_for_a_while({.prepare = [&](auto& r) { offer_in_arena(r); },
                      .here = [&](auto&) { loop_->run_until_idle(); },
                      .there = exchange_and_destroy,
                      .finish = [&](auto&) { loop_->run_until_idle(); },
                      .must_take = {step::claim_in_wait_list, step::claim_in_arena, step::expiry},
                      .here_starts = true});
}

TEST_F(LifetimeStress, AFrameMayBeDestroyedWhileAPartnerClaimsItsWaiter) {
    race_for_a_while({.prepare =
                          [&](auto& r) {
                              const bool unstoppable = items_.created.load() % 2 == 0;
                              wait_on_loop(unstoppable ? wait_without_stop(r) : wait_with_stop(r));
                              keep_loop_busy();
                          },
                      .here = [&](auto&) { loop_.reset(); },
                      .there = try_to_exchange,
                      .finish =
                          [&](auto& r) {
                              saw(r.record.failed(exchange_errc::no_partner) == 0 ? "claimed"
                                                                                  : "withdrawn");
                              destroy(r);
                          },
                      .must_see = {"claimed", "withdrawn"}});
}

TEST_F(LifetimeStress, ADeadlineAStopAndADestructorAgreeWhoEndsABareWait) {
    std::minstd_rand random(1);
    race_for_a_while(
        {.prepare =
             [&](auto& r) {
                 wait_with_deadline(r, std::chrono::microseconds(20 + random() % 100));
             },
         .here =
             [&](auto& r) {
                 if (random() % 2 == 0) {
                     request_stop(r);
                 }
             },
         .there =
             [](auto& r) {
                 // Somewhere around the deadline.
                 const auto until = steady::now() + 60us;
                 while (steady::now() < until) {
                     detail::spin_pause();
                 }
                 destroy(r);
             },
         .finish =
             [&](auto& r) {
                 // The timer thread may have ended it.
                 while (!r.ended.load(std::memory_order_acquire)) {
                     std::this_thread::yield();
                 }
                 for (const auto why :
                      {exchange_errc::timed_out, exchange_errc::cancelled, exchange_errc::closed}) {
                     if (r.record.failed(why) != 0) {
                         saw(make_error_code(why).message());
                     }
                 }
             },
         .must_see = {make_error_code(exchange_errc::timed_out).message(),
                      make_error_code(exchange_errc::cancelled).message(),
                      make_error_code(exchange_errc::closed).message()}});
}

TEST_F(LifetimeStress, AThreadThatSleepsMayBeStoppedAndPairedAtOnce) {
    std::optional<std::thread> sleeper;
    race_for_a_while({.prepare =
                          [&](auto& r) {
                              sleeper.emplace([&r] {
                                  auto op = r.record[waiter].begin(
                                      {.given = waiters_item, .stop = waiters_stop});
                                  op.returned(sync_wait(r.exchange(r.stop.get_token())));
                              });
                              for (int i = 0; i != 20; ++i) {
                                  std::this_thread::yield();
                              }
                          },
                      .here = request_stop,
                      .there = try_to_exchange,
                      .finish =
                          [&](auto& r) {
                              sleeper->join();
                              saw(r.record.exchanged() != 0 ? "exchanged" : "cancelled");
                              destroy(r);
                          },
                      .must_see = {"exchanged", "cancelled"}});
}

} // namespace
} // namespace tryst::test
