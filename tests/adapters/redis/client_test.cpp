// SPDX-License-Identifier: MIT
#include "redis/client.hpp"

#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/fake_server.hpp"
#include "adapters/redis/redis_server.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using redis::options;
using redis::detail::call_reply;
using kind = outcome::kind;

class RedisClient : public testing::Test {
protected:
    redis_server server;
};

TEST_F(RedisClient, ReachesTheServerAndGivesItsPassword) {
    server.command({"ACL", "SETUSER", "ada", "on", ">secret", "~*", "&*", "+@all"});
    server.command({"CONFIG", "SET", "requirepass", "p@ss/word"});
    for (const std::string& url : {
             "unix://:p%40ss%2Fword@" + server.socket(),
             "unix://ada:secret@" + server.socket(),
             "redis://ada:secret@" + server.host_and_port(),
             // This may have an IPv6 address, too, where the server does not listen.
             "redis://ada:secret@localhost:" + server.port(),
         }) {
        SCOPED_TRACE(url);
        ready_client client(patient(url));
        EXPECT_EQ(client.seen().epoch, 1u);
        EXPECT_EQ(client.seen().error, "");
        const outcome reply = client.call({"key"}, {"a", "", "b"}).get();
        EXPECT_EQ(reply.what, kind::answered);
        EXPECT_EQ(reply.text, "1 key a  b ");
    }
}

TEST_F(RedisClient, UsesTheDatabaseThatTheUrlNames) {
    ready_client client(patient(server.unix_url() + "?db=3"), append_script);
    EXPECT_EQ(client.call({"list"}, {"a"}).get().text, "1");
    EXPECT_EQ(server.command({"EXISTS", "list"}), "0");
    expect_part(server.command({"INFO", "keyspace"}), "db3:keys=1");
}

TEST_F(RedisClient, CarriesArgumentsOfAMebibyte) {
    ready_client client(server);
    std::string word(std::size_t{1} << 20, 'x');
    word += '\0';
    word += "\r\n$1\r\n";
    const outcome reply = client.call({}, {word, "a"}).get();
    ASSERT_EQ(reply.what, kind::answered);
    EXPECT_TRUE(reply.text == "0 " + word + " a ");
}

// What is in the buffers of the socket takes longer than a server may be silent.
TEST(RedisClientOnASlowLine, CarriesALargeArgument) {
    const auto respond = [](const auto& command) {
        return command[0] == "EVALSHA" ? "+done\r\n" : handshake_reply(command);
    };
    const fake_server server(respond, 25ms);
    options chosen = options::from_url(server.url());
    chosen.request_timeout = 400ms;
    ready_client client(std::move(chosen));
    const outcome reply = client.call({}, {std::string(300'000, 'x')}).get();
    EXPECT_EQ(reply.text, "done");
    EXPECT_EQ(client.on_strand([&] { return client->epoch(); }), 1u);
}

TEST_F(RedisClient, KeepsTheOrderOfTenThousandCalls) {
    constexpr int count = 10'000;
    ready_client client(server, append_script);
    std::vector<int> lengths;
    std::promise<void> all;
    client.on_strand([&] {
        const std::vector<std::string> keys{"list"};
        for (int i = 0; i < count; ++i) {
            const std::string number = std::to_string(i);
            const std::string_view word = number;
            client->call(keys, {&word, 1}, [&](const call_reply& reply) {
                ASSERT_EQ(reply.what, kind::answered);
                lengths.push_back(static_cast<int>(reply.value->integer));
                if (lengths.size() == count) {
                    all.set_value();
                }
            });
        }
        EXPECT_TRUE(lengths.empty()); // call() itself calls no handler
    });
    all.get_future().get();
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(lengths[static_cast<std::size_t>(i)], i + 1);
    }
    EXPECT_EQ(server.command({"LINDEX", "list", "4321"}), "4321");
}

TEST_F(RedisClient, SendsCallsAgainWhoseScriptWasFlushed) {
    ready_client client(server, append_script);
    EXPECT_EQ(server.command({"SCRIPT", "FLUSH"}), "OK");
    std::vector<std::future<outcome>> replies;
    replies.reserve(100);
    for (int i = 0; i < 100; ++i) {
        replies.push_back(client.call({"list"}, {std::to_string(i)}));
    }
    for (std::future<outcome>& each : replies) {
        EXPECT_EQ(each.get().what, kind::answered);
    }
    EXPECT_EQ(server.command({"LLEN", "list"}), "100");
}

TEST_F(RedisClient, TellsRepliesFromTheMessagesOfItsChannel) {
    ready_client client(server, "return {'message', 'a', 'b'}");
    EXPECT_EQ(server.command({"PUBLISH", channel, "one"}), "1");
    EXPECT_EQ(client.call({}, {}).get().text, "message a b ");
    EXPECT_EQ(server.command({"PUBLISH", channel, "two"}), "1");
    const auto seen = client.wait_until([](const auto& now) { return now.messages.size() == 2; });
    EXPECT_EQ(seen.messages, std::vector<std::string>({channel + " one", channel + " two"}));
}

TEST(RedisClientWithoutServer, DoesNotSendCalls) {
    const temporary_directory directory;
    connected_client client(patient("unix://" + directory.file("none.sock")));
    const outcome first = client.call({}, {"a"}).get();
    EXPECT_EQ(first.what, kind::unsent);
    EXPECT_FALSE(first.text.empty());
    client.wait_until_down();
    const outcome reply = client.call({}, {"a"}).get();
    EXPECT_EQ(reply.what, kind::unsent);
    expect_part(reply.text, "none.sock: cannot connect");
}

TEST(RedisClientWithoutServer, NeedsAHost) {
    EXPECT_THROW(connected_client({.hosts = {}}), std::invalid_argument);
}

TEST_F(RedisClient, GoesOnTryingUntilTheServerIsThereAgain) {
    ready_client client(server);
    server.kill();
    expect_part(client.wait_until_lost().error, "closed the connection");
    client.wait_until_down(3);
    EXPECT_TRUE(client.on_strand([&] { return client->down(); }));
    server.start();
    EXPECT_EQ(client.wait_until_ready(2).epoch, 2u);
    EXPECT_FALSE(client.on_strand([&] { return client->down(); }));
    EXPECT_EQ(client.call({}, {"a"}).get().text, "0 a ");
}

TEST_F(RedisClient, GivesUpAServerThatStopsAnswering) {
    for (const bool is_idle : {false, true}) {
        SCOPED_TRACE(is_idle ? "without a call" : "with a call");
        options chosen = patient(server.unix_url());
        chosen.request_timeout = 400ms;
        ready_client client(std::move(chosen));
        server.suspend();
        const std::string error = server.socket() + ": gave no reply in time";
        if (!is_idle) {
            const outcome reply = client.call({}, {"a"}).get();
            EXPECT_EQ(reply.what, kind::lost);
            EXPECT_EQ(reply.text, error);
        }
        EXPECT_EQ(client.wait_until_lost().error, error);
        server.resume();
        client.wait_until_ready(2);
    }
}

TEST_F(RedisClient, TellsLostCallsFromUnsentCalls) {
    ready_client client(server);
    server.suspend();
    // More than the socket's buffers hold, so the write does not end.
    std::future<outcome> first = client.call({}, {std::string(std::size_t{8} << 20, 'x')});
    client.on_strand([] {});
    client.on_strand([] {}); // the posted flush has run
    std::future<outcome> second = client.call({}, {"a"});
    client.on_strand([] {});
    server.kill();
    EXPECT_EQ(first.get().what, kind::lost);
    EXPECT_EQ(second.get().what, kind::unsent);
    client.wait_until_lost();
}

TEST_F(RedisClient, FollowsAFailover) {
    const redis_server other;
    ready_client client(patient(server.tcp_url() + ',' + other.host_and_port()), append_script);
    EXPECT_EQ(client.call({"list"}, {"a"}).get().text, "1");
    EXPECT_EQ(server.command({"REPLICAOF", "127.0.0.1", other.port()}), "OK");
    const outcome reply = client.call({"list"}, {"b"}).get();
    EXPECT_EQ(reply.what, kind::refused);
    expect_part(reply.text, "READONLY");
    expect_part(client.wait_until_lost().error, "READONLY");
    client.wait_until_ready(2);
    EXPECT_EQ(client.call({"list"}, {"c"}).get().text, "1");
    EXPECT_EQ(other.command({"LINDEX", "list", "0"}), "c");
}

// ---- The end.

TEST_F(RedisClient, CallsTheHandlersOfPendingCallsBeforeStopReturns) {
    ready_client client(server);
    server.suspend();
    std::vector<kind> seen;
    const auto call = [&] {
        client->call({}, {}, [&](const call_reply& reply) { seen.push_back(reply.what); });
    };
    client.on_strand(call);
    client.on_strand([] {});
    client.on_strand([&] {
        call();
        EXPECT_TRUE(seen.empty());
        client->stop();
        EXPECT_EQ(seen, std::vector<kind>({kind::lost, kind::unsent}));
        call();
        EXPECT_EQ(seen.size(), 2u);
    });
    client.on_strand([&] { EXPECT_EQ(seen.size(), 3u); });
    EXPECT_EQ(seen.back(), kind::unsent);
    EXPECT_EQ(client.seen().lost, 0);
}

TEST_F(RedisClient, MayBeStoppedByAHandler) {
    ready_client client(server);
    std::vector<kind> seen;
    client.on_strand([&] {
        for (int i = 0; i < 3; ++i) {
            client->call({}, {}, [&](const call_reply& reply) {
                seen.push_back(reply.what);
                client->stop();
            });
        }
    });
    while (client.on_strand([&] { return seen.size(); }) < 3) {
    }
    EXPECT_EQ(seen, std::vector<kind>({kind::answered, kind::lost, kind::lost}));
}

TEST_F(RedisClient, MayBeStoppedAtAnyMoment) {
    for (int i = 0; i < 50; ++i) {
        connected_client client(patient(i % 2 ? server.unix_url() : server.tcp_url()));
        std::vector<std::future<outcome>> replies;
        replies.reserve(50);
        for (int turn = 0; turn < i; ++turn) {
            replies.push_back(client.call({}, {"a"}));
        }
        client.stop();
        EXPECT_EQ(client.seen().lost + client.seen().down, 0);
        for (std::future<outcome>& each : replies) {
            each.get();
        }
    }
}

class observer_of_changes final : public redis::detail::client::observer {
public:
    std::function<void()> change;

    void on_change() override { change(); }
    void on_message(std::string_view, std::string_view) override {}
};

TEST_F(RedisClient, GoesWithItsExecutionContext) {
    observer_of_changes observer;
    const auto token = std::make_shared<int>();
    std::weak_ptr<redis::detail::client> watched;
    {
        redis::net::io_context context;
        const auto client = std::make_shared<redis::detail::client>(
            context.get_executor(), patient(server.unix_url()), std::vector<std::string>{channel},
            echo_script, static_cast<redis::detail::client::observer&>(observer));
        watched = client;
        observer.change = [&, self = client.get()] {
            EXPECT_TRUE(self->ready());
            server.suspend();
            // The handler owns the client, as the handlers of a room do.
            self->call({}, {}, [token, client](const auto&) { ADD_FAILURE(); });
            context.stop();
        };
        client->start();
        context.run();
        observer.change = nullptr;
    }
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_TRUE(watched.expired());
}

TEST_F(RedisClient, ConnectsAgainAfterAnExceptionOfAHandler) {
    observer_of_changes observer;
    redis::net::io_context context;
    options chosen = patient(server.unix_url());
    chosen.request_timeout = 100ms;
    const auto client = std::make_shared<redis::detail::client>(
        context.get_executor(), std::move(chosen), std::vector<std::string>{channel}, echo_script,
        static_cast<redis::detail::client::observer&>(observer));
    observer.change = [&] {
        if (client->ready()) {
            server.suspend();
            client->call({}, {}, [](const auto&) { throw std::runtime_error("handler"); });
        }
    };
    client->start();
    EXPECT_THROW(context.run(), std::runtime_error);
    server.resume();
    bool is_ready_again = false;
    observer.change = [&] {
        is_ready_again = client->ready();
        if (is_ready_again) {
            client->stop();
        }
    };
    context.run_for(1min);
    EXPECT_TRUE(is_ready_again);
}

} // namespace
} // namespace tryst::test
