// SPDX-License-Identifier: MIT
#include "adapters/redis/remote_scene.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

TEST(RemoteExchangerWithoutRedis, RefusesAParty) {
    process a(redis::options::from_url("unix:///nowhere"));
    redis::remote_exchanger<text> room(a.connection, "room");
    const auto got = sync_wait(room.exchange("one"));
    EXPECT_EQ(got, errc::unavailable);
    EXPECT_EQ(got.returned(), "one");
    expect_part(got.reason(), "/nowhere");
}

class RemoteExchanger : public testing::Test {
protected:
    redis_server server;
    two_processes<> both{server};
    redis::remote_exchanger<text>& at_a = both.at_a;
    redis::remote_exchanger<text>& at_b = both.at_b;
};

TEST_F(RemoteExchanger, TimesOutAndIsCancelled) {
    const auto late = sync_wait(at_a.exchange("mine", 50ms));
    EXPECT_EQ(late, errc::timed_out);
    EXPECT_EQ(late.returned(), "mine");
    wait_for_waiting(at_b, 0);
    std::stop_source stop;
    waiting stopped(at_a.exchange("mine", stop.get_token()));
    wait_for_waiting(at_b, 1);
    stop.request_stop();
    const auto got = stopped.get();
    EXPECT_EQ(got, errc::cancelled);
    EXPECT_EQ(got.returned(), "mine");
    wait_for_waiting(at_b, 0);
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

TEST_F(RemoteExchanger, TakesATimeAndAStopInEitherOrder) {
    redis::remote_red_blue_exchanger<text, int> desk(both.a.connection, "desk");
    redis::remote_channel<text> pipe(both.a.connection, "pipe");
    expect_limits([&](auto... limit) { return at_a.exchange("mine", limit...); });
    expect_limits([&](auto... limit) { return desk.red("red", limit...); });
    expect_limits([&](auto... limit) { return desk.blue(1, limit...); });
    expect_limits([&](auto... limit) { return pipe.send("sent", limit...); });
    expect_limits([&](auto... limit) { return pipe.receive(limit...); });
}

TEST_F(RemoteExchanger, BeginsADurationWhenItIsAwaited) {
    auto work = at_a.exchange("mine", 50ms);
    std::this_thread::sleep_for(60ms);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(sync_wait(std::move(work)), errc::timed_out);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 50ms);
}

TEST_F(RemoteExchanger, TriesOnce) {
    const auto alone = sync_wait(at_b.try_exchange("early"));
    EXPECT_EQ(alone, errc::no_partner);
    EXPECT_EQ(alone.returned(), "early");
    waiting first(at_a.exchange("from a"));
    wait_for_waiting(at_b, 1);
    EXPECT_EQ(sync_wait(at_b.try_exchange("from b")), "from a");
    EXPECT_EQ(first.get(), "from b");
}

TEST_F(RemoteExchanger, ClosesInAllProcesses) {
    waiting first(at_a.exchange("mine"));
    wait_for_waiting(at_b, 1);
    at_b.close();
    const auto got = first.get();
    EXPECT_EQ(got, errc::closed);
    EXPECT_EQ(got.returned(), "mine");
    EXPECT_TRUE(at_a.is_closed());
    EXPECT_EQ(sync_wait(at_b.exchange("late")), errc::closed);
    process c(server);
    redis::remote_exchanger<text> at_c(c.connection, "room");
    EXPECT_EQ(sync_wait(at_c.exchange("later")), errc::closed);
}

TEST_F(RemoteExchanger, MeetsALocalPartnerWhileItsItemIsAbroad) {
    waiting first(at_a.exchange("one"));
    wait_for_waiting(at_b, 1);
    EXPECT_EQ(sync_wait(at_a.exchange("two")), "one");
    EXPECT_EQ(first.get(), "two");
}

TEST_F(RemoteExchanger, PairsAnyNumberInOneProcess) {
    redis::remote_exchanger<int> room(both.a.connection, "numbers");
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

TEST_F(RemoteExchanger, ExchangesLargeItems) {
    const text large(1U << 20U, 'x');
    waiting first(at_a.exchange(large));
    wait_for_waiting(at_b, 1);
    EXPECT_EQ(sync_wait(at_b.exchange(large + 'y')), errc::unavailable);
    EXPECT_EQ(sync_wait(at_b.exchange("small")), large);
    EXPECT_EQ(first.get(), "small");
}

TEST_F(RemoteExchanger, AcceptsAnyBytesInNames) {
    for (const text& name :
         {text("room"), text("}{"), text("\0\n%", 3), text("\xff"), text(512, 'n')}) {
        redis::remote_exchanger<text> here(both.a.connection, name);
        redis::remote_exchanger<text> there(both.b.connection, name);
        expect_pair(here, there);
    }
    EXPECT_THROW(redis::remote_exchanger<text>(both.a.connection, ""), std::invalid_argument);
    EXPECT_THROW(redis::remote_exchanger<text>(both.a.connection, text(513, 'n')),
                 std::invalid_argument);
}

TEST(RemoteRedBlueExchanger, PairsColoursOfManyProcesses) {
    const redis_server server;
    two_processes<redis::remote_red_blue_exchanger<text, int>> both(server);
    waiting first(both.at_a.red("question 1"));
    wait_for_waiting(both.at_a, 1);
    waiting second(both.at_a.red("question 2"));
    wait_for_waiting(both.at_a, 2);
    EXPECT_EQ(sync_wait(both.at_b.blue(1)), "question 1");
    EXPECT_EQ(first.get(), 1);
    EXPECT_EQ(sync_wait(both.at_b.blue(2)), "question 2");
    EXPECT_EQ(second.get(), 2);
}

TEST(RemoteChannel, SendsToAnotherProcess) {
    const redis_server server;
    two_processes<redis::remote_channel<text>> both(server);
    waiting receiver(both.at_b.receive());
    wait_for_waiting(both.at_a, 1);
    EXPECT_TRUE(sync_wait(both.at_a.send("hello")));
    EXPECT_EQ(receiver.get(), "hello");
    const auto nobody = sync_wait(both.at_a.send("again", 20ms));
    EXPECT_EQ(nobody, errc::timed_out);
    EXPECT_EQ(nobody.returned(), "again");
}

} // namespace
} // namespace tryst::test
