// SPDX-License-Identifier: MIT
#include "adapters/redis/remote_scene.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using text = std::string;
using errc = exchange_errc;

TEST(RemoteExchanger, PairsTwoProcesses) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_exchanger<text> at_a(a.connection, "room");
    redis::remote_exchanger<text> at_b(b.connection, "room");
    waiting first(at_a.exchange("from a"));
    wait_for_waiting(at_b, 1);
    EXPECT_EQ(sync_wait(at_b.exchange("from b")), "from a");
    EXPECT_EQ(first.get(), "from b");
}

TEST(RemoteExchanger, PairsPartiesOfOneProcessWithoutRedis) {
    process a(redis::options::from_url("unix:///nowhere"));
    redis::remote_exchanger<text> room(a.connection, "room");
    waiting first(room.exchange("one"));
    std::optional<redis::remote_result<text>> second;
    // A party that finds nobody is refused, because there is no Redis.
    auto got = first.get();
    EXPECT_EQ(got, errc::unavailable);
    EXPECT_EQ(got.returned(), "one");
    EXPECT_NE(got.reason().find("/nowhere"), text::npos) << got.reason();
}

TEST(RemoteExchanger, TimesOut) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    auto got = sync_wait(room.exchange("mine", 50ms));
    EXPECT_EQ(got, errc::timed_out);
    EXPECT_EQ(got.returned(), "mine");
    wait_for_waiting(room, 0);
}

TEST(RemoteExchanger, IsCancelled) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    std::stop_source stop;
    waiting first(room.exchange("mine", stop.get_token()));
    wait_for_waiting(room, 1);
    stop.request_stop();
    auto got = first.get();
    EXPECT_EQ(got, errc::cancelled);
    EXPECT_EQ(got.returned(), "mine");
    wait_for_waiting(room, 0);
}

/// `make(limit...)` makes an operation that finds no partner.
template <class Make>
void expect_limits(Make make) {
    using clock = std::chrono::steady_clock;
    std::stop_source stopped;
    stopped.request_stop();
    const auto stop = stopped.get_token();
    const auto never = std::stop_source().get_token();
    EXPECT_EQ(sync_wait(make(20ms)), errc::timed_out);
    EXPECT_EQ(sync_wait(make(clock::now() + 20ms)), errc::timed_out);
    EXPECT_EQ(sync_wait(make(20ms, never)), errc::timed_out);
    EXPECT_EQ(sync_wait(make(never, clock::now() + 20ms)), errc::timed_out);
    EXPECT_EQ(sync_wait(make(stop)), errc::cancelled);
    EXPECT_EQ(sync_wait(make(long_time, stop)), errc::cancelled);
    EXPECT_EQ(sync_wait(make(stop, long_time)), errc::cancelled);
}

TEST(RemoteExchanger, TakesATimeAndAStopInEitherOrder) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    redis::remote_red_blue_exchanger<text, int> desk(a.connection, "desk");
    redis::remote_channel<text> pipe(a.connection, "pipe");
    expect_limits([&](auto... limit) { return room.exchange("mine", limit...); });
    expect_limits([&](auto... limit) { return desk.red("red", limit...); });
    expect_limits([&](auto... limit) { return desk.blue(1, limit...); });
    expect_limits([&](auto... limit) { return pipe.send("sent", limit...); });
    expect_limits([&](auto... limit) { return pipe.receive(limit...); });
}

TEST(RemoteExchanger, BeginsADurationWhenItIsAwaited) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    auto work = room.exchange("mine", 50ms);
    std::this_thread::sleep_for(60ms);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(sync_wait(std::move(work)), errc::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
}

TEST(RemoteExchanger, TimesOutAndIsCancelledInATask) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    EXPECT_EQ(sync_wait(room.exchange("mine", 50ms)), errc::timed_out);
    std::stop_source stop;
    waiting<redis::remote_result<text>> first(room.exchange("mine", stop.get_token()));
    wait_for_waiting(room, 1);
    stop.request_stop();
    EXPECT_EQ(first.get(), errc::cancelled);
}

TEST(RemoteExchanger, TriesOnce) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_exchanger<text> at_a(a.connection, "room");
    redis::remote_exchanger<text> at_b(b.connection, "room");
    auto alone = sync_wait(at_b.try_exchange("early"));
    EXPECT_EQ(alone, errc::no_partner);
    EXPECT_EQ(alone.returned(), "early");
    waiting first(at_a.exchange("from a"));
    wait_for_waiting(at_b, 1);
    EXPECT_EQ(sync_wait(at_b.try_exchange("from b")), "from a");
    EXPECT_EQ(first.get(), "from b");
}

TEST(RemoteExchanger, ClosesInAllProcesses) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_exchanger<text> at_a(a.connection, "room");
    redis::remote_exchanger<text> at_b(b.connection, "room");
    waiting first(at_a.exchange("mine"));
    wait_for_waiting(at_b, 1);
    at_b.close();
    auto got = first.get();
    EXPECT_EQ(got, errc::closed);
    EXPECT_EQ(got.returned(), "mine");
    EXPECT_TRUE(at_a.is_closed());
    EXPECT_EQ(sync_wait(at_b.exchange("late")), errc::closed);
    process c(server);
    redis::remote_exchanger<text> at_c(c.connection, "room");
    EXPECT_EQ(sync_wait(at_c.exchange("later")), errc::closed);
}

TEST(RemoteExchanger, MeetsALocalPartnerWhileItsItemIsAbroad) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    waiting first(room.exchange("one"));
    wait_for_waiting(room, 1);
    EXPECT_EQ(sync_wait(room.exchange("two")), "one");
    EXPECT_EQ(first.get(), "two");
}

TEST(RemoteExchanger, PairsAnyNumberInOneProcess) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<int> room(a.connection, "room");
    std::vector<std::unique_ptr<waiting<redis::remote_result<int>>>> all;
    for (int i = 0; i != 8; ++i) {
        all.push_back(std::make_unique<waiting<redis::remote_result<int>>>(room.exchange(i)));
    }
    int sum = 0;
    for (const auto& each : all) {
        sum += *each->get();
    }
    EXPECT_EQ(sum, 28);
}

TEST(RemoteRedBlueExchanger, PairsColoursOfManyProcesses) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_red_blue_exchanger<text, int> at_a(a.connection, "desk");
    redis::remote_red_blue_exchanger<text, int> at_b(b.connection, "desk");
    waiting first(at_a.red("question 1"));
    wait_for_waiting(at_a, 1);
    waiting second(at_a.red("question 2"));
    wait_for_waiting(at_a, 2);
    EXPECT_EQ(sync_wait(at_b.blue(1)), "question 1");
    EXPECT_EQ(first.get(), 1);
    EXPECT_EQ(sync_wait(at_b.blue(2)), "question 2");
    EXPECT_EQ(second.get(), 2);
}

TEST(RemoteChannel, SendsToAnotherProcess) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_channel<text> at_a(a.connection, "pipe");
    redis::remote_channel<text> at_b(b.connection, "pipe");
    waiting receiver(at_b.receive());
    wait_for_waiting(at_a, 1);
    EXPECT_TRUE(sync_wait(at_a.send("hello")));
    EXPECT_EQ(receiver.get(), "hello");
    auto nobody = sync_wait(at_a.send("again", 20ms));
    EXPECT_EQ(nobody, errc::timed_out);
    EXPECT_EQ(nobody.returned(), "again");
}

TEST(RemoteExchanger, IsInDoubtOneLeaseAfterTheServerHasGone) {
    redis_server server;
    redis::options chosen = redis::options::from_url(server.unix_url() + "?lease=300ms");
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    waiting first(room.exchange("mine"));
    wait_for_waiting(room, 1);
    server.kill();
    auto got = first.get();
    EXPECT_EQ(got, errc::in_doubt);
    EXPECT_EQ(got.returned(), "mine");
}

TEST(RemoteExchanger, ExchangesLargeItems) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_exchanger<text> at_a(a.connection, "room");
    redis::remote_exchanger<text> at_b(b.connection, "room");
    const text large(1U << 20U, 'x');
    waiting first(at_a.exchange(large));
    wait_for_waiting(at_b, 1);
    EXPECT_EQ(sync_wait(at_b.exchange(large + 'y')), errc::unavailable);
    EXPECT_EQ(sync_wait(at_b.exchange("small")), large);
    EXPECT_EQ(first.get(), "small");
}

TEST(RemoteExchanger, AcceptsAnyBytesInNames) {
    const redis_server server;
    process a(server);
    process b(server);
    for (const text& name : {text("}{"), text("\0\n%", 3), text("\xff"), text(512, 'n')}) {
        redis::remote_exchanger<text> at_a(a.connection, name);
        redis::remote_exchanger<text> at_b(b.connection, name);
        waiting first(at_a.exchange("a"));
        EXPECT_EQ(sync_wait(at_b.exchange("b")), "a");
        EXPECT_EQ(first.get(), "b");
    }
    EXPECT_THROW(redis::remote_exchanger<text>(a.connection, ""), std::invalid_argument);
    EXPECT_THROW(redis::remote_exchanger<text>(a.connection, text(513, 'n')),
                 std::invalid_argument);
}

} // namespace
} // namespace tryst::test
