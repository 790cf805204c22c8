// SPDX-License-Identifier: MIT
// Senders do not allocate. A program of its own, because it counts all allocations.
#include "support/counted_memory.hpp"

#include "adapters/execution/recording.hpp"

#include <tryst/execution.hpp>
#include <tryst/tryst.hpp>

#include <stdexec/execution.hpp>

#include <gtest/gtest.h>

namespace {

namespace ex = stdexec;
using tryst::as_sender;
using tryst::exchange_result;
using tryst::test::allocations;
using tryst::test::record;
using tryst::test::recorder;
using tryst::test::with;
using tryst::test::with_scheduler;
using tryst::test::with_token;

/// The number of allocations of some swaps between two senders in an environment.
template <class Env>
long allocations_of_swaps(Env env, auto run_both) {
    tryst::exchanger<int> ex;
    long counted = 0;
    for (int i = 0; i != 100; ++i) {
        record<exchange_result<int>> first;
        record<exchange_result<int>> second;
        const long before = allocations.load();
        auto one = ex::connect(as_sender(ex.exchange(1)),
                               recorder<exchange_result<int>, Env>{&first, env});
        auto two = ex::connect(as_sender(ex.exchange(2)),
                               recorder<exchange_result<int>, Env>{&second, env});
        ex::start(one);
        ex::start(two);
        run_both();
        EXPECT_EQ(**first.value + **second.value, 3);
        counted += allocations.load() - before;
    }
    return counted;
}

TEST(SenderAllocation, NoExchangeAllocates) {
    const ex::inplace_stop_source stop;
    const with_token token{stop.get_token()};
    EXPECT_EQ(allocations_of_swaps(ex::env<>(), [] {}), 0);
    EXPECT_EQ(allocations_of_swaps(token, [] {}), 0);

    tryst::run_loop loop;
    const with_scheduler on_loop{loop.get_scheduler()};
    EXPECT_EQ(allocations_of_swaps(on_loop, [&loop] { loop.run_until_idle(); }), 0);
    EXPECT_EQ(allocations_of_swaps(with{on_loop, token}, [&loop] { loop.run_until_idle(); }), 0);
}

TEST(SenderAllocation, NoSwapInSyncWaitAllocates) {
    tryst::exchanger<int> ex;
    ex::sync_wait(ex::just());
    const long before = allocations.load();
    for (int i = 0; i != 100; ++i) {
        auto [a, b] =
            ex::sync_wait(ex::when_all(as_sender(ex.exchange(1)), as_sender(ex.exchange(2))))
                .value();
        ASSERT_EQ(*a + *b, 3);
    }
    EXPECT_EQ(allocations.load() - before, 0);
}

TEST(SenderAllocation, AwaitingASenderAllocatesOnlyTheTask) {
    auto work = []() -> tryst::task<long> {
        const long before = allocations.load();
        for (int i = 0; i != 100; ++i) {
            co_await tryst::execution::as_awaitable(ex::just());
        }
        co_return allocations.load() - before;
    };
    EXPECT_EQ(tryst::sync_wait(work()), 0);
}

} // namespace
