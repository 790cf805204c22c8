// SPDX-License-Identifier: MIT
// Servers that cannot be used, and what the client says of them.
#include "redis/client.hpp"

#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/fake_server.hpp"
#include "adapters/redis/redis_server.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using redis::options;
using kind = outcome::kind;

/// What the client says when it cannot connect.
std::string error_of(options chosen) {
    connected_client client(std::move(chosen));
    return client.wait_until_down().error;
}

std::string error_of(const std::string& url) {
    return error_of(patient(url));
}

void expect_part(const std::string& error, const std::string& part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
}

/// Replies to this command only, and else as Redis does.
fake_server::responder replies(const std::string& verb, const std::string& reply) {
    return [verb, reply](const auto& command) {
        return command[0].starts_with(verb) ? reply : handshake_reply(command);
    };
}

TEST(RedisClientRefuses, AHostThatDoesNotExist) {
    const std::string host(70, 'x'); // too long for the resolver to ask anybody
    expect_part(error_of("redis://" + host + ":1234"),
                host + ":1234: cannot resolve the host's name: ");
}

TEST(RedisClientRefuses, APortWhereNobodyListens) {
    const bound_port port;
    expect_part(error_of("redis://127.0.0.1:" + std::to_string(port.number())),
                "127.0.0.1:" + std::to_string(port.number()) +
                    ": cannot connect: Connection refused");
}

TEST(RedisClientRefuses, APathThatIsTooLongForASocket) {
    const std::string path = '/' + std::string(200, 'x');
    expect_part(error_of("unix://" + path), path + ": cannot connect: ");
}

TEST(RedisClientRefuses, AServerThatDoesNotAnswer) {
    const fake_server server([](const auto&) { return ""; });
    options chosen = options::from_url(server.url());
    chosen.connect_timeout = std::chrono::milliseconds(50);
    EXPECT_EQ(error_of(chosen), server.path() + ": no connection after 50 ms: cannot get a reply; "
                                                "is it a Redis server?");
}

struct refusal {
    const char* name;
    fake_server::responder respond;
    const char* error;
};
class RedisClientRefusesAServer : public testing::TestWithParam<refusal> {};

TEST_P(RedisClientRefusesAServer, AndSaysWhy) {
    const fake_server server(GetParam().respond);
    const std::string error = error_of("unix://:secret@" + server.path());
    EXPECT_EQ(error, server.path() + ": " + GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    That, RedisClientRefusesAServer,
    testing::Values(
        refusal{"SpeaksAnotherProtocol",
                [](const auto&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; },
                "is not a Redis server: a reply begins with 'H'"},
        refusal{"ClosesTheConnection", [](const auto&) { return std::nullopt; },
                "closed the connection before it replied; does it expect TLS (rediss://)?"},
        refusal{"SendsAnEndlessLine", [](const auto&) { return '+' + std::string(100'000, 'x'); },
                "is not a Redis server: a line is longer than 65536 bytes"},
        refusal{"SendsAnEndlessString", replies("HELLO", "$1099511627776\r\n"),
                "is not a Redis server: a string of 1099511627776; the limit is 1114112"},
        refusal{"SendsMessagesBeforeItsReply",
                [](const auto& command) {
                    std::string flood;
                    for (int i = 0; i != 20'000; ++i) {
                        flood += ">2\r\n" + bulk("message") + bulk(std::string(100, 'x'));
                    }
                    return flood + (command[0] == "HELLO" ? "-NOPERM\r\n" : "");
                },
                "refused HELLO: NOPERM"},
        refusal{"IsAnOlderRedis", replies("HELLO", hello("6.0.16")),
                "is Redis 6.0.16, and 6.2 is needed"},
        refusal{"IsASentinel", replies("HELLO", hello("7.0.0", "sentinel")),
                "is a Sentinel; name the Redis servers that it watches"},
        refusal{"HasNoHello", replies("HELLO", "-ERR unknown command HELLO with secret\r\n"),
                "does not know HELLO 3, so it is older than Redis 6.2"},
        refusal{"RepeatsThePassword", replies("HELLO", "-NOPERM secret is wrong\r\n"),
                "refused HELLO: NOPERM  is wrong"},
        refusal{"IsStillLoading",
                replies("SCRIPT", "-LOADING Redis is loading the dataset in memory\r\n"),
                "cannot load the script: LOADING Redis is loading the dataset in memory"}),
    [](const auto& each) { return std::string(each.param.name); });

struct real_refusal {
    const char* name;
    const char* user_info;
    std::vector<std::string> before; ///< A command of the default user, before the client comes.
    const char* query;
    const char* error;
};
class RedisClientRefused : public testing::TestWithParam<real_refusal> {};

TEST_P(RedisClientRefused, SaysWhy) {
    const auto& [name, user_info, before, query, expected] = GetParam();
    const redis_server server;
    if (!before.empty()) {
        server.command(before);
    }
    const std::string error = error_of("unix://" + (user_info + server.socket()) + query);
    expect_part(error, server.socket() + ": " + expected);
    EXPECT_EQ(error.find("mistaken"), std::string::npos) << error;
}

const std::vector<std::string> protect{"CONFIG", "SET", "requirepass", "right"};
INSTANTIATE_TEST_SUITE_P(
    By, RedisClientRefused,
    testing::Values(
        real_refusal{"Password", ":mistaken@", protect, "", "refused the password: WRONGPASS"},
        real_refusal{"User", "ada:mistaken@", {}, "", "refused user ada: WRONGPASS"},
        real_refusal{"MissingPassword", "", protect, "", "refused HELLO: NOAUTH"},
        real_refusal{"RightToLoadScripts",
                     "ada:secret@",
                     {"ACL", "SETUSER", "ada", "on", ">secret", "~*", "&*", "+@all", "-script"},
                     "",
                     "cannot load the script: NOPERM"},
        real_refusal{"RightToSubscribe",
                     "ada:secret@",
                     {"ACL", "SETUSER", "ada", "on", ">secret", "~*", "resetchannels", "+@all"},
                     "",
                     "cannot subscribe to channel tryst:wake:process: NOPERM"},
        real_refusal{"Database", "", {}, "?db=99", "cannot select database 99: ERR"}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(RedisClientRefuses, AReplica) {
    const redis_server master({.tcp = true});
    const redis_server replica(
        {.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}});
    EXPECT_EQ(error_of(replica.unix_url()),
              replica.socket() + ": is a read-only replica; name its master");
}

TEST(RedisClientRefuses, AllHostsAndSaysWhyOfEach) {
    const bound_port first;
    const bound_port second;
    const std::string hosts[] = {"127.0.0.1:" + std::to_string(first.number()),
                                 "127.0.0.1:" + std::to_string(second.number())};
    const std::string why = ": cannot connect: Connection refused";
    EXPECT_EQ(error_of("redis://" + hosts[0] + ',' + hosts[1]),
              hosts[0] + why + "; " + hosts[1] + why);
}

// ---- Servers that misbehave later.

struct misbehaviour {
    const char* name;
    const char* reply; ///< To a call.
    kind result;
    const char* error; ///< Of the connection; empty if it stays.
};
class RedisClientGets : public testing::TestWithParam<misbehaviour> {};

TEST_P(RedisClientGets, ABadReply) {
    const auto& [name, reply, result, error] = GetParam();
    const fake_server server(replies("EVAL", reply));
    connected_client client(patient(server.url()));
    client.wait_until_ready();
    const outcome got = client.call({}, {}).get();
    EXPECT_EQ(got.what, result);
    if (*error != '\0') {
        expect_part(client.wait_until_lost().error, error);
    } else {
        EXPECT_EQ("-" + got.text + "\r\n", reply);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, RedisClientGets,
    testing::Values(
        misbehaviour{"NoReplyOfRedis", "?what\r\n", kind::lost,
                     "sent what is not a reply of Redis: a reply begins with '?'"},
        misbehaviour{"TwoReplies", ":1\r\n:2\r\n", kind::answered,
                     "sent a reply without a request"},
        misbehaviour{"AServerThatLoads", "-LOADING Redis is loading\r\n", kind::refused,
                     "LOADING Redis is loading"},
        misbehaviour{"AReplicaWithoutItsMaster", "-MASTERDOWN Link with MASTER is down\r\n",
                     kind::refused, "MASTERDOWN"},
        misbehaviour{"AReplicaThatIsRedis6",
                     "-ERR Error running script (call to f_a): @user_script:1: @user_script: 1: "
                     "-READONLY You can't write against a read only replica.\r\n",
                     kind::refused, "READONLY"},
        misbehaviour{"TheScriptsOwnNoscript", "-NOSCRIPT No matching script\r\n", kind::refused,
                     ""}),
    [](const auto& each) { return std::string(each.param.name); });

} // namespace
} // namespace tryst::test
