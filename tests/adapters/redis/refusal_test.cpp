// SPDX-License-Identifier: MIT
// Servers that cannot be used, and what the client says of them.
#include "redis/client.hpp"

#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/fake_server.hpp"
#include "adapters/redis/redis_server.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using kind = outcome::kind;

/// Replies to this command only, and else as Redis does.
fake_server::responder replies(const std::string& verb, const std::string& reply) {
    return [verb, reply](const auto& command) {
        return command[0].starts_with(verb) ? reply : handshake_reply(command);
    };
}

TEST(RedisClientRefuses, HostsWhereNobodyListens) {
    const std::string long_host(70, 'x'); // too long for the resolver to ask anybody
    expect_part(error_of("redis://" + long_host + ":1234"),
                long_host + ":1234: cannot resolve the host's name: ");
    const std::string long_path = '/' + std::string(200, 'x');
    expect_part(error_of("unix://" + long_path), long_path + ": cannot connect: ");
    const bound_port first;
    const bound_port second;
    const std::string why = ": cannot connect: Connection refused";
    EXPECT_EQ(error_of("redis://" + first.host_and_port() + ',' + second.host_and_port()),
              first.host_and_port() + why + "; " + second.host_and_port() + why);
}

TEST(RedisClientRefuses, AServerThatDoesNotAnswer) {
    const fake_server server([](const auto&) { return ""; });
    redis::options chosen = patient(server.url());
    chosen.connect_timeout = std::chrono::milliseconds(50);
    EXPECT_EQ(error_of(chosen), server.path() + ": no connection after 50 ms: cannot get a reply; "
                                                "is it a Redis server?");
}

/// 20,000 messages before each reply; and a refusal.
std::optional<std::string> flood(const std::vector<std::string>& command) {
    std::string all;
    for (int i = 0; i != 20'000; ++i) {
        all += ">2\r\n" + bulk("message") + bulk(std::string(100, 'x'));
    }
    return all + (command[0] == "HELLO" ? "-NOPERM\r\n" : "");
}

TEST(RedisClientRefuses, AServerThatGreetsWrongly) {
    const struct {
        fake_server::responder respond;
        const char* error;
    } cases[] = {
        {[](const auto&) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; },
         "is not a Redis server: a reply begins with 'H'"},
        {[](const auto&) { return std::nullopt; },
         "closed the connection before it replied; does it expect TLS (rediss://)?"},
        {[](const auto&) { return '+' + std::string(100'000, 'x'); },
         "is not a Redis server: a line is longer than 65536 bytes"},
        {replies("HELLO", "$1099511627776\r\n"),
         "is not a Redis server: a string of 1099511627776; the limit is 1114112"},
        {replies("HELLO", "*2147483648\r\n"),
         "is not a Redis server: an array or map of 2147483648; the limit is 4096"},
        {replies("HELLO", "+OK\r\n"), "is not a Redis server: its HELLO has no version"},
        {replies("HELLO", "%1\r\n" + bulk("version") + "*0\r\n"),
         "is not a Redis server: its HELLO has no version"},
        {flood, "refused HELLO: NOPERM"},
        {replies("HELLO", hello("6.0.16")), "is Redis 6.0.16, and 6.2 is needed"},
        {replies("HELLO", hello("7.0.0", "sentinel")),
         "is a Sentinel; name the Redis servers that it watches"},
        {replies("HELLO", hello("7.0.0", "standalone", "slave")),
         "is a read-only replica; name its master"},
        {replies("HELLO", "-ERR unknown command HELLO with secret\r\n"),
         "does not know HELLO 3, so it is older than Redis 6.2"},
        {replies("HELLO", "-NOPERM secret is wrong\r\n"), "refused HELLO: NOPERM  is wrong"},
        {replies("SCRIPT", "-LOADING Redis is loading the dataset in memory\r\n"),
         "cannot load the script: LOADING Redis is loading the dataset in memory"},
    };
    for (const auto& [respond, error] : cases) {
        const fake_server server(respond);
        EXPECT_EQ(error_of("unix://:secret@" + server.path()), server.path() + ": " + error);
    }
}

TEST(RedisClientRefuses, AServerThatRefusesIt) {
    const redis_server server;
    const auto set_user = [&](const std::string& right) {
        server.command({"ACL", "SETUSER", "ada", "reset", "on", ">secret", "~*", "&*", "+@all"});
        server.command({"ACL", "SETUSER", "ada", right});
    };
    const auto expect_error = [&](const std::string& user, const std::string& query,
                                  const std::string& expected) {
        const std::string error = error_of("unix://" + user + server.socket() + query);
        expect_part(error, server.socket() + ": " + expected);
        EXPECT_EQ(error.find("mistaken"), std::string::npos) << error;
    };
    expect_error("", "?db=99", "cannot select database 99: ERR");
    expect_error("ada:mistaken@", "", "refused user ada: WRONGPASS");
    set_user("-script");
    expect_error("ada:secret@", "", "cannot load the script: NOPERM");
    set_user("resetchannels");
    expect_error("ada:secret@", "", "cannot subscribe to channel tryst:wake:process: NOPERM");
    server.command({"CONFIG", "SET", "requirepass", "right"});
    expect_error(":mistaken@", "", "refused the password: WRONGPASS");
    expect_error("", "", "refused HELLO: NOAUTH");
}

// ---- Servers that misbehave later.

TEST(RedisClientGets, ABadReply) {
    const struct {
        std::string reply; ///< To a call.
        kind result;
        const char* error; ///< Of the connection; empty if it stays.
    } cases[] = {
        {"?what\r\n", kind::lost, "sent what is not a reply of Redis: a reply begins with '?'"},
        {"*2147483648\r\n", kind::lost, "sent what is not a reply of Redis: an array"},
        {"$1099511627776\r\n", kind::lost, "sent what is not a reply of Redis: a string of"},
        {std::string(70'000, '+'), kind::lost, "a line is longer"},
        {":1\r\n:2\r\n", kind::answered, "sent a reply without a request"},
        {"-LOADING Redis is loading\r\n", kind::refused, "LOADING Redis is loading"},
        {"-MASTERDOWN Link with MASTER is down\r\n", kind::refused, "MASTERDOWN"},
        // A replica that is Redis 6.
        {"-ERR Error running script (call to f_a): @user_script:1: @user_script: 1: "
         "-READONLY You can't write against a read only replica.\r\n",
         kind::refused, "READONLY"},
        {"-NOSCRIPT No matching script\r\n", kind::refused, ""}, // of the script itself
    };
    for (const auto& [reply, result, error] : cases) {
        SCOPED_TRACE(reply.substr(0, 100));
        const fake_server server(replies("EVAL", reply));
        ready_client client(patient(server.url()));
        const outcome got = client.call({}, {}).get();
        EXPECT_EQ(got.what, result);
        if (*error != '\0') {
            expect_part(client.wait_until_lost().error, error);
        } else {
            EXPECT_EQ("-" + got.text + "\r\n", reply);
        }
    }
}

} // namespace
} // namespace tryst::test
