// SPDX-License-Identifier: MIT
// The table in docs/asio.md that compares Asio's channel with tryst's: what both do.
#include "adapters/asio/net.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/experimental/channel.hpp>
#else
#include <asio/experimental/channel.hpp>
#endif

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace {

namespace net = tryst::test::net;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::asio::wait;

#ifdef TRYST_BOOST_ASIO
using error_code = boost::system::error_code;
#else
using error_code = std::error_code;
#endif
using values = std::tuple<std::string, int>;
using theirs = net::experimental::channel<void(error_code, std::string, int)>;
using ours = tryst::channel<values>;

class ChannelComparison : public testing::Test {
protected:
    void run(const std::function<net::awaitable<void>()>& body) {
        net::co_spawn(io_, body(),
                      [](const std::exception_ptr& escaped) { EXPECT_FALSE(escaped); });
        io_.restart();
        io_.run();
    }
    /// Runs what is ready.
    void poll() {
        io_.restart();
        io_.poll();
    }

    net::io_context io_;
};

TEST_F(ChannelComparison, SendsSeveralValues) {
    theirs a(io_, 1);
    ours b(1);
    run([&]() -> net::awaitable<void> {
        co_await a.async_send(error_code(), "one", 1, net::use_awaitable);
        const auto [name, number] = co_await a.async_receive(net::use_awaitable);
        EXPECT_EQ(name, "one");
        EXPECT_EQ(number, 1);

        const auto sent = co_await wait(b.send({"one", 1}));
        EXPECT_TRUE(sent);
        const auto got = co_await wait(b.receive());
        const auto& [our_name, our_number] = *got;
        EXPECT_EQ(our_name, "one");
        EXPECT_EQ(our_number, 1);
    });
}

TEST_F(ChannelComparison, TriesWithoutAWait) {
    theirs a(io_, 1);
    ours b(1);
    EXPECT_TRUE(a.try_send(error_code(), "one", 1));
    EXPECT_TRUE(b.try_send({"one", 1}));
    EXPECT_TRUE(a.ready());
    EXPECT_TRUE(b.ready());
    EXPECT_FALSE(a.try_send(error_code(), "two", 2));
    EXPECT_EQ(b.try_send({"two", 2}).returned(), values("two", 2)) << "which Asio's channel drops";

    int received = 0;
    const auto count = [&](error_code, const std::string&, int) { ++received; };
    EXPECT_TRUE(a.try_receive(count));
    EXPECT_FALSE(a.try_receive(count));
    EXPECT_EQ(received, 1);
    EXPECT_EQ(b.try_receive(), values("one", 1));
    EXPECT_EQ(b.try_receive(), exchange_errc::no_partner);
    EXPECT_FALSE(a.ready());
    EXPECT_FALSE(b.ready());
}

TEST_F(ChannelComparison, TriesSeveral) {
    net::experimental::channel<void(error_code, int)> a(io_, 2);
    tryst::channel<int> b(2);
    EXPECT_EQ(a.try_send_n(3, error_code(), 7), 2U);
    std::array<int, 3> items{7, 7, 7};
    EXPECT_EQ(items.size() - b.try_send_all(items).returned().size(), 2U);
    EXPECT_EQ(a.capacity(), b.limit());
}

TEST_F(ChannelComparison, CancelsAllThatWait) {
    theirs a(io_);
    ours b(0);
    std::vector<std::string> ends;
    for (int i = 0; i != 2; ++i) {
        a.async_receive([&](error_code error, const std::string&, int) {
            EXPECT_TRUE(error);
            ends.emplace_back("theirs");
        });
        async_wait(b.receive(),
                   net::bind_executor(io_, [&](tryst::exchange_result<values, void> got) {
                       EXPECT_EQ(got, exchange_errc::cancelled);
                       ends.emplace_back("ours");
                   }));
    }
    poll();
    EXPECT_TRUE(ends.empty());
    a.cancel();
    b.cancel();
    poll();
    EXPECT_EQ(ends.size(), 4U);
    EXPECT_TRUE(a.is_open());
    EXPECT_FALSE(b.is_closed());
}

TEST_F(ChannelComparison, HandsBackWhatWasNotSent) {
    ours b(0);
    std::optional<values> back;
    async_wait(b.send({"mine", 1}),
               net::bind_executor(io_, [&](tryst::exchange_result<void, values> end) {
                   back = std::move(end).returned();
               }));
    poll();
    b.cancel();
    poll();
    EXPECT_EQ(back, values("mine", 1));
}

/// With Asio 1.22 and Boost 1.81, what is in Asio's channel is lost.
TEST_F(ChannelComparison, ClosesAndOpensAgain) {
    theirs a(io_, 2);
    ours b(2);
    EXPECT_TRUE(a.try_send(error_code(), "one", 1));
    EXPECT_TRUE(b.try_send({"one", 1}));
    a.close();
    b.close();
    EXPECT_FALSE(a.is_open());
    EXPECT_TRUE(b.is_closed());
    EXPECT_FALSE(a.try_send(error_code(), "two", 2));
    EXPECT_EQ(b.try_send({"two", 2}), exchange_errc::closed);
    const auto ignore = [](error_code, const std::string&, int) {};
    EXPECT_FALSE(a.try_receive(ignore));
    EXPECT_EQ(b.try_receive(), values("one", 1));
    a.reset();
    b.reset();
    EXPECT_TRUE(a.is_open());
    EXPECT_FALSE(b.is_closed());
    EXPECT_FALSE(a.try_receive(ignore));
    EXPECT_TRUE(a.try_send(error_code(), "three", 3));
    EXPECT_TRUE(b.try_send({"three", 3}));
}

/// With Asio 1.22 and Boost 1.81, a sender that waits in Asio's channel does not learn of a close.
TEST_F(ChannelComparison, ASenderThatWaitsLearnsOfAClose) {
    theirs a(io_);
    ours b(0);
    int their_ends = 0;
    std::optional<values> back;
    a.async_send(error_code(), "one", 1, [&](error_code) { ++their_ends; });
    async_wait(b.send({"one", 1}),
               net::bind_executor(io_, [&](tryst::exchange_result<void, values> end) {
                   EXPECT_EQ(end, exchange_errc::closed);
                   back = std::move(end).returned();
               }));
    poll();
    a.close();
    b.close();
    poll();
    EXPECT_EQ(back, values("one", 1));
    EXPECT_EQ(their_ends, 0);
    a.cancel();
    poll();
    EXPECT_EQ(their_ends, 1);
}

} // namespace
