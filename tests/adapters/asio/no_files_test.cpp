// SPDX-License-Identifier: MIT
// A process that can open no more files still keeps its deadlines.
#include "adapters/asio/net.hpp"
#include "support/no_files.hpp"

#include <tryst/asio.hpp>

#include <gtest/gtest.h>

#include <chrono>

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
            const auto got = co_await tryst::asio::wait(ex.exchange_for(1, 1ms));
            returned = got ? 0 : got.returned();
        },
        net::detached);
    tryst::exchanger<int> other;
    int second = 0;
    tryst::asio::async_exchange_for(io.get_executor(), other, 2, 1ms,
                                    [&](auto, int own) { second = own; });
    io.run();
    EXPECT_EQ(returned, 1);
    EXPECT_EQ(second, 2);
}

} // namespace
