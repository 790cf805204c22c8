// SPDX-License-Identifier: MIT
// Composed operations on executors of all types, on strands and on the threads of a pool.
#include "adapters/asio/composition.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <future>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test::net::experimental::awaitable_operators;
using tryst::exchange_errc;
using tryst::asio::async_exchange;
using tryst::asio::wait;
using tryst::test::census;
using tryst::test::completion;
using tryst::test::composition_test;
using tryst::test::error_code;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep;
using tryst::test::result;
using tryst::test::step;
using tryst::test::tracked;
namespace net = tryst::test::net;

// ---- On a pool of two threads

class AsioPool : public ::testing::Test {
protected:
    void TearDown() override {
        pool.join();
        EXPECT_EQ(items.alive.load(), 0);
    }

    census items;
    tryst::exchanger<tracked> ex;
    net::thread_pool pool{2};
};

/// Without a strand, as nothing is cancelled.
TEST_F(AsioPool, ExchangesWithOneselfOnTwoThreads) {
    auto work = [&]() -> net::awaitable<void> {
        for (int i = 0; i != 300; ++i) {
            const auto [left, right] = co_await (wait(ex.exchange(tracked(items, 1))) &&
                                                 wait(ex.exchange(tracked(items, 2))));
            EXPECT_EQ(left->id(), 2);
            EXPECT_EQ(right->id(), 1);
        }
    };
    net::co_spawn(pool, work(), net::detached);
    pool.join();
}

TEST_F(AsioPool, CancelsAFutureOnItsStrand) {
    const auto strand = net::make_strand(pool);
    net::cancellation_signal signal;
    auto later = async_exchange(
        ex, tracked(items, 1),
        net::bind_cancellation_slot(
            signal.slot(),
            net::bind_executor(strand, net::use_future([](error_code error, tracked kept) {
                                   return completion<tracked>{error, std::move(kept)};
                               }))));
    net::post(strand, [&] { signal.emit(net::cancellation_type::terminal); });
    const auto end = later.get();
    EXPECT_EQ(end.error, make_error_code(exchange_errc::cancelled));
    EXPECT_EQ(end.item.id(), 1);
    EXPECT_FALSE(ex.try_exchange(tracked(items, 2)));
}

} // namespace
