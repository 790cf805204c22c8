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

TEST(RedisClientRefuses, AServerThatSpeaksAnotherProtocol) {
    const fake_server server([](const auto&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; });
    expect_part(error_of(server.url()),
                server.path() + ": is not a Redis server: a reply begins with 'H'");
}

TEST(RedisClientRefuses, AServerThatClosesTheConnection) {
    const fake_server server([](const auto&) { return std::nullopt; });
    expect_part(error_of(server.url()), "closed the connection before it replied");
}

TEST(RedisClientRefuses, AServerThatDoesNotAnswer) {
    const fake_server server([](const auto&) { return ""; });
    options chosen = options::from_url(server.url());
    chosen.connect_timeout = std::chrono::milliseconds(50);
    EXPECT_EQ(error_of(chosen), server.path() + ": no connection after 50 ms: cannot get a reply; "
                                                "is it a Redis server?");
}

TEST(RedisClientRefuses, AnOlderRedis) {
    const fake_server server([](const auto& command) {
        return command[0] == "HELLO" ? hello("6.0.16") : handshake_reply(command);
    });
    EXPECT_EQ(error_of(server.url()), server.path() + ": is Redis 6.0.16, and 6.2 is needed");
}

TEST(RedisClientRefuses, ASentinel) {
    const fake_server server([](const auto& command) {
        return command[0] == "HELLO" ? hello("7.0.0", "sentinel") : handshake_reply(command);
    });
    expect_part(error_of(server.url()), server.path() + ": is a Sentinel");
}

TEST(RedisClientRefuses, AServerWithoutHello) {
    const fake_server server([](const auto& command) {
        return command[0] == "HELLO" ? "-ERR unknown command HELLO with " + command.back() + "\r\n"
                                     : handshake_reply(command);
    });
    EXPECT_EQ(error_of("unix://:secret@" + server.path()),
              server.path() + ": does not know HELLO 3, so it is older than Redis 6.2");
}

TEST(RedisClientRefuses, AServerThatRepeatsThePassword) {
    const fake_server server([](const auto& command) {
        return command[0] == "HELLO" ? "-NOPERM " + command.back() + " is wrong\r\n"
                                     : handshake_reply(command);
    });
    EXPECT_EQ(error_of("unix://:secret@" + server.path()),
              server.path() + ": refused HELLO: NOPERM  is wrong");
}

TEST(RedisClientRefuses, AServerThatIsStillLoading) {
    const fake_server server([](const auto& command) {
        return command[0] == "SCRIPT" ? "-LOADING Redis is loading the dataset in memory\r\n"
                                      : handshake_reply(command);
    });
    EXPECT_EQ(error_of(server.url()), server.path() + ": cannot load the script: LOADING Redis is "
                                                      "loading the dataset in memory");
}

TEST(RedisClientRefuses, AWrongPassword) {
    const redis_server server({.password = "right"});
    const std::string error = error_of("unix://:mistaken@" + server.socket());
    expect_part(error, server.socket() + ": refused the password: WRONGPASS");
    EXPECT_EQ(error.find("mistaken"), std::string::npos) << error;
}

TEST(RedisClientRefuses, AWrongUser) {
    const redis_server server;
    const std::string error = error_of("unix://ada:mistaken@" + server.socket());
    expect_part(error, server.socket() + ": refused user ada: WRONGPASS");
    EXPECT_EQ(error.find("mistaken"), std::string::npos) << error;
}

TEST(RedisClientRefuses, AMissingPassword) {
    const redis_server server({.password = "right"});
    expect_part(error_of("unix://" + server.socket()), "NOAUTH");
}

TEST(RedisClientRefuses, AUserWhoMayNotLoadScripts) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ada", "on", ">secret", "~*", "&*", "+@all", "-script"});
    expect_part(error_of("unix://ada:secret@" + server.socket()),
                server.socket() + ": cannot load the script: NOPERM");
}

TEST(RedisClientRefuses, AUserWhoMayNotSubscribe) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ada", "on", ">secret", "~*", "resetchannels", "+@all"});
    expect_part(error_of("unix://ada:secret@" + server.socket()),
                server.socket() + ": cannot subscribe to channel tryst:wake:process: NOPERM");
}

TEST(RedisClientRefuses, ADatabaseThatDoesNotExist) {
    const redis_server server;
    expect_part(error_of(server.unix_url() + "?db=99"),
                server.socket() + ": cannot select database 99: ERR");
}

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

/// What becomes of a call to which the server replies with `reply`.
outcome call_answered_with(const std::string& reply, std::string* error = nullptr) {
    const fake_server server([&reply](const auto& command) -> std::optional<std::string> {
        return command[0].starts_with("EVAL") ? reply : handshake_reply(command);
    });
    connected_client client(patient(server.url()));
    client.wait_until_ready();
    outcome result = client.call({}, {}).get();
    if (error) {
        *error = client.wait_until_lost().error;
    }
    return result;
}

TEST(RedisClientLeaves, AServerThatSendsNoReplyOfRedis) {
    std::string error;
    const outcome reply = call_answered_with("?what\r\n", &error);
    EXPECT_EQ(reply.what, kind::lost);
    expect_part(error, "sent what is not a reply of Redis: a reply begins with '?'");
}

TEST(RedisClientLeaves, AServerThatRepliesTwice) {
    std::string error;
    const outcome reply = call_answered_with(":1\r\n:2\r\n", &error);
    EXPECT_EQ(reply.what, kind::answered);
    expect_part(error, "sent a reply without a request");
}

TEST(RedisClientLeaves, AServerThatBeginsToLoad) {
    std::string error;
    const outcome reply = call_answered_with("-LOADING Redis is loading\r\n", &error);
    EXPECT_EQ(reply.what, kind::refused);
    expect_part(error, "LOADING Redis is loading");
}

TEST(RedisClientLeaves, AReplicaWithoutItsMaster) {
    std::string error;
    const outcome reply = call_answered_with("-MASTERDOWN Link with MASTER is down\r\n", &error);
    EXPECT_EQ(reply.what, kind::refused);
    expect_part(error, "MASTERDOWN");
}

TEST(RedisClientLeaves, AReplicaThatIsRedis6) {
    std::string error;
    const outcome reply = call_answered_with(
        "-ERR Error running script (call to f_a): @user_script:1: @user_script: 1: -READONLY You "
        "can't write against a read only replica.\r\n",
        &error);
    EXPECT_EQ(reply.what, kind::refused);
    expect_part(error, "READONLY");
}

TEST(RedisClient, PassesOnThatTheScriptItselfSaysNoscript) {
    const outcome reply = call_answered_with("-NOSCRIPT No matching script\r\n");
    EXPECT_EQ(reply.what, kind::refused);
    EXPECT_EQ(reply.text, "NOSCRIPT No matching script");
}

} // namespace
} // namespace tryst::test
