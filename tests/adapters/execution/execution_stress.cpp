// SPDX-License-Identifier: MIT
// Partners, stops and deadlines race. Each item ends in exactly one result.
#include <tryst/execution.hpp>

#include "support/loop_thread.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <exec/static_thread_pool.hpp>
#include <exec/when_any.hpp>
#include <stdexec/execution.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

namespace ex = stdexec;
using tryst::as_sender;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::exchanger;
using tryst::test::census;
using tryst::test::loop_thread;
using tryst::test::tracked;

constexpr int rounds = 5'000;

struct tally {
    std::atomic<long> swapped{0};
    std::atomic<long> cancelled{0};

    void count(const exchange_result<tracked>& result) {
        (result ? swapped : cancelled).fetch_add(1, std::memory_order_relaxed);
        if (!result) {
            EXPECT_EQ(result.error(), exchange_errc::cancelled);
        }
    }
};

/// Each thread races two exchanges, in two exchangers, and the other threads' stops.
TEST(SenderStress, WhenAnyLosesNoItem) {
    census items;
    tally counts;
    {
        exchanger<tracked> one;
        exchanger<tracked> two;
        exec::static_thread_pool pool(2);
        std::vector<std::thread> threads;
        for (int t = 0; t != 3; ++t) {
            threads.emplace_back([&, t] {
                for (int i = 0; i != rounds; ++i) {
                    auto count = [&](exchange_result<tracked> result) {
                        counts.count(result);
                        return result ? 1 : 0;
                    };
                    auto first = as_sender(one.exchange(tracked(items, t))) | ex::then(count);
                    auto second = as_sender(two.exchange(tracked(items, t))) | ex::then(count);
                    auto turn = ex::schedule(pool.get_scheduler()) | ex::then([] { return 2; });
                    auto won = ex::sync_wait(
                        exec::when_any(std::move(first), std::move(second), std::move(turn)));
                    ASSERT_TRUE(won);
                }
            });
        }
        for (auto& each : threads) {
            each.join();
        }
    }
    EXPECT_EQ(items.created.load(), 3 * rounds * 2);
    EXPECT_EQ(items.alive.load(), 0);
    EXPECT_EQ(counts.swapped + counts.cancelled, 3 * rounds * 2);
    EXPECT_GT(counts.swapped, 0);
    EXPECT_GT(counts.cancelled, 0);
}

struct counting_receiver {
    using receiver_concept = ex::receiver_t;
    struct env {
        ex::inplace_stop_token query(ex::get_stop_token_t) const noexcept { return token; }
        ex::inplace_stop_token token;
    };
    void set_value(exchange_result<tracked> result) && noexcept {
        to->count(result);
        done->fetch_add(1, std::memory_order_release);
    }
    env get_env() const noexcept { return {token}; }

    tally* to;
    std::atomic<int>* done;
    ex::inplace_stop_token token;
};

/// Both tokens of an exchange and its partner come at the same time.
TEST(SenderStress, TwoStopsAndAPartnerRace) {
    census items;
    tally counts;
    exchanger<tracked> ex;
    for (int i = 0; i != rounds; ++i) {
        std::stop_source own;
        ex::inplace_stop_source receivers;
        std::atomic<int> done{0};
        auto state = ex::connect(as_sender(ex.exchange(tracked(items, 1), own.get_token())),
                                 counting_receiver{&counts, &done, receivers.get_token()});
        std::atomic<int> ready{0};
        auto together = [&ready] {
            ready.fetch_add(1, std::memory_order_acq_rel);
            while (ready.load(std::memory_order_acquire) != 2) {
                std::this_thread::yield();
            }
        };
        ex::start(state);
        std::thread other([&] {
            together();
            own.request_stop();
        });
        together();
        if (i % 2 == 0) {
            receivers.request_stop();
        } else if (auto theirs = ex.try_exchange(tracked(items, 2)); theirs) {
            EXPECT_EQ(theirs->id(), 1);
        }
        other.join();
        while (done.load(std::memory_order_acquire) == 0) {
            std::this_thread::yield();
        }
    }
    EXPECT_EQ(items.alive.load(), 0);
    EXPECT_EQ(counts.swapped + counts.cancelled, rounds);
    EXPECT_GT(counts.cancelled, 0);
}

/// Senders on two loops, a thread pool and a plain thread meet in one exchanger.
TEST(SenderStress, AllKindsOfPartiesMeet) {
    census items;
    std::atomic<long> sum{0};
    {
        exchanger<tracked> ex;
        loop_thread one;
        loop_thread two;
        exec::static_thread_pool pool(2);
        ex::counting_scope scope;
        auto party = [&](long id) {
            return as_sender(ex.exchange(tracked(items, id))) |
                   ex::then([&sum](auto result) noexcept {
                       sum.fetch_add(result ? result->id() : 0, std::memory_order_relaxed);
                   });
        };
        for (int i = 0; i != rounds; ++i) {
            ex::spawn(ex::starts_on(one->get_scheduler(), party(1)), scope.get_token());
            ex::spawn(ex::starts_on(two->get_scheduler(), party(10)), scope.get_token());
            ex::spawn(ex::starts_on(pool.get_scheduler(), party(100)) |
                          ex::upon_error([](auto) noexcept { ADD_FAILURE(); }),
                      scope.get_token());
            const auto mine = tryst::sync_wait(ex.exchange(tracked(items, 1000)));
            ASSERT_TRUE(mine);
            sum.fetch_add(mine->id(), std::memory_order_relaxed);
        }
        ex::sync_wait(scope.join());
    }
    EXPECT_EQ(sum.load(), 1111L * rounds);
    EXPECT_EQ(items.alive.load(), 0);
}

} // namespace
