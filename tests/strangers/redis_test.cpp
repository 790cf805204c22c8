// SPDX-License-Identifier: MIT
// The adapter for Redis with types of a namespace whose functions have the names of the library's.
#include "stranger.hpp"

#include <tryst/redis.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <thread>

namespace stranger {

struct codec {
    static std::string encode(const item& one) { return std::to_string(one.number); }
    static item decode(std::string_view bytes) { return item(std::stoi(std::string(bytes))); }
};

} // namespace stranger

namespace {

using namespace std::chrono_literals;
using stranger::item;
namespace redis = tryst::redis;

tryst::task<int> meet(redis::connection& server) {
    redis::remote_exchanger<item, stranger::codec> at(server, "room");
    redis::remote_red_blue_exchanger<item, item, stranger::codec> sides(server, "sides");
    redis::remote_channel<item, stranger::codec> to(server, "channel");
    int sum = 0;
    const auto swapped = co_await at.exchange(item{1}, stranger::stop_token{});
    sum += swapped.returned().number;
    const auto limited = co_await at.exchange(item{2}, 1h);
    sum += limited.returned().number;
    const auto red = co_await sides.red(item{3});
    sum += red.returned().number;
    const auto sent = co_await to.send(item{4});
    sum += sent.returned().number;
    const auto received = co_await to.receive(stranger::stop_token{});
    sum += received ? 1 : 0;
    co_return sum;
}

// No server is there, so each item comes back.
TEST(StrangerInRedis, Meets) {
    redis::net::io_context io;
    redis::connection server(io, redis::options::from_url("unix:///nowhere/redis.sock"));
    std::thread thread([&] { io.run(); });
    EXPECT_EQ(tryst::sync_wait(meet(server)), 1 + 2 + 3 + 4);
    server.close();
    thread.join();
}

} // namespace
