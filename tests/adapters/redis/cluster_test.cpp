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
    EXPECT_EQ(slot_of("{}123456789"), slot_of("{}123456789"));
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

/// A node of a cluster, which has no slots yet.
class cluster_node {
public:
    cluster_node() : server_(settings()) {}

    redis_server& operator*() { return server_; }
    redis_server* operator->() { return &server_; }

    std::string id() const { return server_.command({"CLUSTER", "MYID"}); }

    /// Waits until all slots are served, and this node knows all nodes.
    void wait_until_ready(const std::string& nodes) const {
        for (;;) {
            const std::string info = server_.command({"CLUSTER", "INFO"});
            if (info.find("cluster_state:ok") != info.npos &&
                info.find("cluster_slots_ok:16384") != info.npos &&
                info.find("cluster_known_nodes:" + nodes) != info.npos) {
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(10)); // polls
        }
    }

    std::string bus_port() const { return std::to_string(bus_.number()); }

private:
    redis_settings settings() const {
        return {.arguments = {"--cluster-enabled", "yes", "--cluster-port", bus_port(),
                              // A node that is killed is not given up while the test runs.
                              "--cluster-node-timeout", "600000"},
                .tcp = true};
    }

    bound_port bus_; // before the server, which gets its number
    redis_server server_;
};

/// Two nodes that share the slots. They know each other after `CLUSTER MEET`.
class cluster {
public:
    cluster() {
        one->command({"CLUSTER", "ADDSLOTSRANGE", "0", "8191"});
        two->command({"CLUSTER", "ADDSLOTSRANGE", "8192", "16383"});
        two->command({"CLUSTER", "SET-CONFIG-EPOCH", "2"});
        one->command({"CLUSTER", "MEET", "127.0.0.1", std::to_string(two->port()), two.bus_port()});
        one.wait_until_ready("2");
        two.wait_until_ready("2");
    }

    cluster_node one;
    cluster_node two;
};

constexpr std::string_view append_script = "return redis.call('rpush', KEYS[1], ARGV[1])";

const std::string key_of_one = "b";
const std::string key_of_two = "{123456789}";

TEST(RedisClientInACluster, SendsCallsToTheNodeOfTheirKey) {
    cluster nodes;
    ASSERT_GE(slot_of(key_of_two), 8192u);
    ASSERT_LT(slot_of(key_of_one), 8192u);
    connected_client client(patient(nodes.one->tcp_url()), append_script);
    client.wait_until_ready();
    EXPECT_TRUE(client.on_strand([&] { return (*client).in_cluster(); }));
    for (int i = 1; i <= 3; ++i) {
        EXPECT_EQ(client.call({key_of_two}, {"a"}).get().text, std::to_string(i));
        EXPECT_EQ(client.call({key_of_one}, {"b"}).get().text, std::to_string(i));
    }
    EXPECT_EQ(nodes.two->command({"LRANGE", key_of_two, "0", "-1"}), "a a a ");
    EXPECT_EQ(nodes.one->command({"LRANGE", key_of_one, "0", "-1"}), "b b b ");
    // Later calls have gone to the right node at once.
    const std::string errors = nodes.one->command({"INFO", "errorstats"});
    EXPECT_NE(errors.find("errorstat_MOVED:count=1\r\n"), std::string::npos) << errors;
}

TEST(RedisClientInACluster, AsksTheNodeThatImportsTheSlot) {
    cluster nodes;
    connected_client client(patient(nodes.one->tcp_url()), append_script);
    client.wait_until_ready();
    EXPECT_EQ(client.call({key_of_two}, {"a"}).get().text, "1");
    EXPECT_EQ(nodes.two->command({"DEL", key_of_two}), "1");
    const std::string slot = std::to_string(slot_of(key_of_two));
    EXPECT_EQ(nodes.one->command({"CLUSTER", "SETSLOT", slot, "IMPORTING", nodes.two.id()}), "OK");
    EXPECT_EQ(nodes.two->command({"CLUSTER", "SETSLOT", slot, "MIGRATING", nodes.one.id()}), "OK");
    // The second node has no such key any more, so it says ASK.
    EXPECT_EQ(client.call({key_of_two}, {"b"}).get().text, "1");
    const std::string errors = nodes.two->command({"INFO", "errorstats"});
    EXPECT_NE(errors.find("errorstat_ASK:count="), std::string::npos) << errors;
}

TEST(RedisClientInACluster, GetsMessagesThatAnotherNodePublishes) {
    cluster nodes;
    connected_client client(patient(nodes.one->tcp_url()));
    client.wait_until_ready();
    nodes.two->command({"PUBLISH", channel, "hello"});
    const auto seen = client.wait_until([](const auto& now) { return !now.messages.empty(); });
    EXPECT_EQ(seen.messages.front(), channel + " hello");
}

TEST(RemoteExchangerInACluster, PairsProcessesThatEnterByDifferentNodes) {
    cluster nodes;
    process a(patient(nodes.one->tcp_url()));
    process b(patient(nodes.two->tcp_url()));
    redis::remote_exchanger<std::string> at_a(a.connection, "room");
    redis::remote_exchanger<std::string> at_b(b.connection, "room");
    waiting first(at_a.exchange("from a"));
    poll([&] {
        const auto now = sync_wait(at_a.statistics());
        return now && now->waiting == 1;
    });
    EXPECT_EQ(sync_wait(at_b.exchange("from b", long_time)), "from a");
    EXPECT_EQ(first.get(), "from b");
}

TEST(RedisClientInACluster, DoesNotFollowASlotUnlessItMay) {
    cluster nodes;
    connected_client client(patient(nodes.one->tcp_url()));
    client.wait_until_ready();
    const auto stay = redis::detail::client::when_moved::stay;
    EXPECT_EQ(client.call({key_of_two}, {"a"}, stay).get().what, kind::unsent);
    EXPECT_EQ(client.call({key_of_two}, {"a"}, stay).get().what, kind::answered); // it knows now
}

TEST(RedisClientInACluster, LosesTheConnectionWithAnyNode) {
    cluster nodes;
    connected_client client(patient(nodes.one->tcp_url()), append_script);
    client.wait_until_ready();
    EXPECT_EQ(client.call({key_of_two}, {"a"}).get().text, "1");
    nodes.two->kill();
    EXPECT_NE(client.wait_until_lost().error.find(nodes.two->host_and_port()), std::string::npos);
    EXPECT_EQ(client.wait_until_ready(2).epoch, 2u);
    // The first node still says MOVED. Nobody listens there, so nothing was sent.
    EXPECT_EQ(client.call({key_of_two}, {"a"}).get().what, kind::unsent);
    nodes.two->start();
}

} // namespace
} // namespace tryst::test
