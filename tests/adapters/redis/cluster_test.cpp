// SPDX-License-Identifier: MIT
#include "redis/slot.hpp"

#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/redis_server.hpp"
#include "adapters/redis/remote_scene.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using redis::detail::parse_redirection;
using redis::detail::redirection;
using redis::detail::slot_of;
using kind = outcome::kind;

TEST(RedisSlot, IsThatOfTheSpecification) {
    EXPECT_EQ(slot_of("123456789"), 0x31c3u);
    EXPECT_EQ(slot_of(""), 0u);
    EXPECT_EQ(slot_of("a{123456789}b{c}"), 0x31c3u);
    EXPECT_EQ(slot_of("{}123456789"), 1951u); // the whole key, as nothing is in the braces
    EXPECT_NE(slot_of("{}a"), slot_of("{}b"));
    EXPECT_NE(slot_of("{a"), slot_of("{b"));
}

TEST(RedisRedirection, IsRead) {
    const redis::address from{.host = "here", .port = 1};
    const auto moved = parse_redirection("MOVED 3999 127.0.0.1:6381", from);
    ASSERT_TRUE(moved);
    EXPECT_TRUE(moved->is_moved);
    EXPECT_EQ(moved->slot, 3999u);
    EXPECT_EQ(moved->where, (redis::address{.host = "127.0.0.1", .port = 6381}));
    const auto asked = parse_redirection("ASK 1 ::1:6381", from);
    ASSERT_TRUE(asked);
    EXPECT_FALSE(asked->is_moved);
    EXPECT_EQ(asked->where, (redis::address{.host = "::1", .port = 6381}));
    const auto nameless = parse_redirection("MOVED 3999 :6381", from);
    ASSERT_TRUE(nameless);
    EXPECT_EQ(nameless->where, (redis::address{.host = "here", .port = 6381}));
    for (const char* const other : {"MOVED", "MOVED 1", "MOVED 16384 a:1", "MOVED x a:1",
                                    "MOVED 1 a:x", "MOVED 1 a:65536", "ERR 1 a:1", ""}) {
        EXPECT_FALSE(parse_redirection(other, from)) << other;
    }
}

/// Two nodes that share the slots. They work after two seconds, so the tests are few.
class RedisCluster : public testing::Test {
protected:
    RedisCluster() {
        one.command({"CLUSTER", "ADDSLOTSRANGE", "0", "8191"});
        two.command({"CLUSTER", "ADDSLOTSRANGE", "8192", "16383"});
        two.command({"CLUSTER", "SET-CONFIG-EPOCH", "2"});
        one.command({"CLUSTER", "MEET", "127.0.0.1", two.port(), bus_of_two.number()});
        poll([&] { return works(one) && works(two); });
    }

    static std::vector<std::string> arguments(const bound_port& bus) {
        // A node that is killed is not given up while the test runs.
        return {"--cluster-enabled",      "yes",   "--cluster-port", bus.number(),
                "--cluster-node-timeout", "600000"};
    }

    /// Whether all slots are served, and the node knows all nodes.
    static bool works(const redis_server& node) {
        const std::string info = node.command({"CLUSTER", "INFO"});
        return info.find("cluster_state:ok") != info.npos &&
               info.find("cluster_slots_ok:16384") != info.npos &&
               info.find("cluster_known_nodes:2") != info.npos;
    }

    static std::string errors(const redis_server& node) {
        return node.command({"INFO", "errorstats"});
    }

    static void set_slot(const redis_server& node, const std::string& state,
                         const redis_server& other) {
        const std::string id = other.command({"CLUSTER", "MYID"});
        const std::string slot = std::to_string(slot_of(key_of_two));
        EXPECT_EQ(node.command({"CLUSTER", "SETSLOT", slot, state, id}), "OK");
    }

    static inline const std::string key_of_one = "b";
    static inline const std::string key_of_two = "{123456789}";

    bound_port bus_of_one;
    bound_port bus_of_two;
    redis_server one{arguments(bus_of_one)};
    redis_server two{arguments(bus_of_two)};
};

TEST_F(RedisCluster, GetsCallsAtTheNodeOfTheirKey) {
    ASSERT_GE(slot_of(key_of_two), 8192u);
    ASSERT_LT(slot_of(key_of_one), 8192u);
    ready_client client(patient(one.tcp_url()), append_script);
    EXPECT_TRUE(client.on_strand([&] { return client->in_cluster(); }));

    // It does not follow a slot unless it may. After that, it knows where the slot is.
    const auto stay = redis::detail::client::when_moved::stay;
    EXPECT_EQ(client.call({key_of_two}, {"a"}, stay).get().what, kind::unsent);
    EXPECT_EQ(client.call({key_of_two}, {"a"}, stay).get().text, "1");

    // Another client follows; its later calls go to the right node at once.
    ready_client other(patient(one.tcp_url()), append_script);
    one.command({"CONFIG", "RESETSTAT"});
    for (int i = 1; i <= 3; ++i) {
        EXPECT_EQ(other.call({key_of_two}, {"a"}).get().text, std::to_string(i + 1));
        EXPECT_EQ(other.call({key_of_one}, {"b"}).get().text, std::to_string(i));
    }
    EXPECT_EQ(two.command({"LRANGE", key_of_two, "0", "-1"}), "a a a a ");
    EXPECT_EQ(one.command({"LRANGE", key_of_one, "0", "-1"}), "b b b ");
    expect_part(errors(one), "errorstat_MOVED:count=1\r\n");

    // Messages come from any node.
    two.command({"PUBLISH", channel, "hello"});
    const auto seen = client.wait_until([](const auto& now) { return !now.messages.empty(); });
    EXPECT_EQ(seen.messages.front(), channel + " hello");

    // Processes meet that enter by different nodes.
    process a(patient(one.tcp_url()));
    process b(patient(two.tcp_url()));
    redis::remote_exchanger<std::string> at_a(a.connection, "room");
    redis::remote_exchanger<std::string> at_b(b.connection, "room");
    expect_pair(at_a, at_b);

    // The second node has no such key any more, so it sends the call to the node that imports it.
    EXPECT_EQ(two.command({"DEL", key_of_two}), "1");
    set_slot(one, "IMPORTING", two);
    set_slot(two, "MIGRATING", one);
    EXPECT_EQ(client.call({key_of_two}, {"b"}).get().text, "1");
    expect_part(errors(two), "errorstat_ASK:count=");
}

TEST_F(RedisCluster, IsLostWithAnyNode) {
    ready_client client(patient(one.tcp_url()), append_script);
    EXPECT_EQ(client.call({key_of_two}, {"a"}).get().text, "1");
    two.kill();
    expect_part(client.wait_until_lost().error, two.host_and_port());
    EXPECT_EQ(client.wait_until_ready(2).epoch, 2u);
    // The first node still says MOVED. Nobody listens there, so nothing was sent.
    EXPECT_EQ(client.call({key_of_two}, {"a"}).get().what, kind::unsent);
}

} // namespace
} // namespace tryst::test
