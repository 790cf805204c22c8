// SPDX-License-Identifier: MIT
// A process that can open no more files still keeps its deadlines.
#include "adapters/asio/net.hpp"
#include "support/no_files.hpp"

#include <tryst/asio.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/sleep.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace net = tryst::test::net;

using tryst::test::no_more_files;

TEST(AsioDeadline, NeedsNoFile) {
    net::io_context io;
    tryst::exchanger<int> ex;
    int returned = 0;
    const no_more_files here;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            const auto got = co_await tryst::asio::wait(ex.exchange(1, 1ms));
            returned = got ? 0 : got.returned();
        },
        net::detached);
    tryst::exchanger<int> other;
    int second = 0;
    tryst::asio::async_wait(other.exchange(2, 1ms),
                            net::bind_executor(io, [&](auto got) { second = got.returned(); }));
    io.run();
    EXPECT_EQ(returned, 1);
    EXPECT_EQ(second, 2);
}

tryst::task<> wait_for_nothing(tryst::exchanger<int>& ex, int own, int& returned, int& slept) {
    const auto got = co_await ex.exchange(own, 1ms);
    returned = got ? 0 : got.returned();
    const bool passed = co_await tryst::sleep_for(1ms);
    slept += passed ? 1 : 0;
}

TEST(AsioDeadline, OfATaskNeedsNoFile) {
    net::io_context io;
    tryst::asio::task_executor loop(io);
    tryst::exchanger<int> one;
    tryst::exchanger<int> two;
    int first = 0;
    int second = 0;
    int slept = 0;
    {
        const no_more_files here;
        loop.spawn(wait_for_nothing(one, 1, first, slept));
        loop.spawn(wait_for_nothing(two, 2, second, slept));
        io.run();
    }
    EXPECT_EQ(first, 1);
    EXPECT_EQ(second, 2);
    EXPECT_EQ(slept, 2);
    io.restart(); // now with files
    loop.spawn(wait_for_nothing(one, 3, first, slept));
    io.run();
    EXPECT_EQ(first, 3);
    EXPECT_EQ(slept, 3);
}

TEST(AsioDeadline, WithoutAFileEndsByAPartnerOrWithItsTask) {
    tryst::exchanger<int> one;
    tryst::exchanger<int> two;
    std::optional<net::io_context> io(std::in_place);
    int first = 0;
    {
        const no_more_files here;
        tryst::asio::task_executor loop(*io);
        const auto wait_long = [](tryst::exchanger<int>& ex, int& swapped) -> tryst::task<> {
            const auto got = co_await ex.exchange(1, 1h);
            swapped = got ? *got : -1;
        };
        loop.spawn(wait_long(one, first));
        loop.spawn(wait_long(two, first));
        io->poll();
        EXPECT_TRUE(one.try_exchange(7));
        io->restart();
        io->poll();
        EXPECT_EQ(first, 7);
    }
    EXPECT_FALSE(two.try_exchange(7));
    EXPECT_EQ(first, 7);
    io.reset();
}

} // namespace
