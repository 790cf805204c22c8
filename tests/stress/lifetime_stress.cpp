// SPDX-License-Identifier: MIT
// Ends of life against ends of waits: exchangers and frames are destroyed at the moment when
// partners, stops and expiries reach for them. Two threads to a race, for as long as
// TRYST_STRESS_SECONDS says.
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/history.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using detail::step;
using steady = std::chrono::steady_clock;

/// Who keeps which log.
enum party : std::uint8_t { waiter, partner, stopper, destroyer, parties };

/// Lets two threads start at the same instant, again and again. Spinning, because a sleeper starts
/// late.
class starting_line {
public:
    void meet() noexcept {
        const unsigned round = round_.load(std::memory_order_relaxed);
        if (waiting_.fetch_add(1, std::memory_order_acq_rel) == 1) {
            waiting_.store(0, std::memory_order_relaxed);
            round_.store(round + 1, std::memory_order_release);
            return;
        }
        for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
            if (spins > 1000) {
                std::this_thread::yield();
            }
        }
    }

private:
    std::atomic<unsigned> round_{0};
    std::atomic<int> waiting_{0};
};

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

/// A race is about an exchanger in which one party waits, or about the frame of that party.
class LifetimeStress : public ::testing::Test {
protected:
    struct plan {
        std::function<void(one_waiter&)> prepare; ///< Before the start, on the thread of `here`.
        std::function<void(one_waiter&)> here;
        std::function<void(one_waiter&)> there;
        std::function<void(one_waiter&)> finish; ///< When both have ended, on the thread of `here`.
        std::vector<detail::step> must_take{}; ///< Each at least once.
        std::vector<std::string> must_see{}; ///< What `saw` was called with, likewise.
    };

    /// Runs `here` and `there` at once, over and over, each time on a new race, until the time is
    /// up and all has happened that must.
    void race_for_a_while(const plan& p) {
        forget_steps();
        std::atomic<one_waiter*> current{nullptr};
        std::atomic<bool> over{false};
        std::thread other([&] {
            std::minstd_rand jitter(2);
            while (line_.meet(), !over.load(std::memory_order_relaxed)) {
                // Any order of magnitude up to some 100 us: what it takes depends on the race.
                for (auto i = jitter() % (1U << jitter() % 12); i != 0; --i) {
                    detail::spin_pause();
                }
                p.there(*current.load(std::memory_order_relaxed));
                line_.meet();
            }
        });
        const stress_time time;
        while (!HasFailure() && time.goes_on([&] { return is_missing(p); })) {
            {
                one_waiter r(items_, record_);
                current.store(&r, std::memory_order_relaxed);
                p.prepare(r);
                line_.meet();
                p.here(r);
                line_.meet();
                p.finish(r);
            }
            EXPECT_EQ(record_.violations_at_rest(), "");
            EXPECT_EQ(items_.alive.load(), 0);
            if (!HasFailure()) {
                record_.clear(); // nobody waits any more
            }
        }
        over.store(true, std::memory_order_relaxed);
        line_.meet();
        other.join();
        for (const auto taken : p.must_take) {
            EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
        }
        for (const std::string& outcome : p.must_see) {
            EXPECT_GT(seen_[outcome], 0) << outcome;
        }
    }

    /// On the thread of `here`.
    void saw(const std::string& outcome) { ++seen_[outcome]; }

    void wait_on_loop(task<> waiting) {
        loop_.emplace();
        loop_->spawn(std::move(waiting));
        loop_->run_until_idle();
    }

    /// The loop will die with work in its queue.
    void keep_loop_busy() {
        loop_->spawn([](run_loop& busy) -> task<> {
            while (true) {
                co_await busy.schedule();
            }
        }(*loop_));
    }

    // They outlive the loop of a test that has failed, and the frames in it.
    census items_;
    history record_{parties};
    starting_line line_;
    std::optional<run_loop> loop_;

private:
    bool is_missing(const plan& p) {
        return std::ranges::any_of(p.must_take, [](auto s) { return count_of(s) == 0; }) ||
               std::ranges::any_of(p.must_see, [&](const auto& what) { return seen_[what] == 0; });
    }

    std::map<std::string, long> seen_;
};

TEST_F(LifetimeStress, APartnerMayDestroyTheExchangerWhileAStopReachesForTheWaiter) {
    race_for_a_while(
        {.prepare = [&](auto& r) { wait_on_loop(wait_with_stop(r)); },
         .here = request_stop,
         .there = exchange_and_destroy,
         .finish = [&](auto&) { loop_->run_until_idle(); },
         .must_take = {step::claim_in_wait_list, step::stop, step::late_stop, step::pinned}});
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

} // namespace
} // namespace tryst::test
