// SPDX-License-Identifier: MIT
#include "redis/client.hpp"

#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/redis_server.hpp"

#include <gtest/gtest.h>

namespace tryst::test {
namespace {

using redis::options;
using kind = outcome::kind;

/// Adds its word to the list that its key names, and replies with the length.
constexpr std::string_view append_script = "return redis.call('rpush', KEYS[1], ARGV[1])";

TEST(RedisClient, CallsTheScriptOverAUnixSocket) {
    const redis_server server;
    connected_client client(patient(server.unix_url()));
    const auto seen = client.wait_until_ready();
    EXPECT_EQ(seen.epoch, 1u);
    EXPECT_EQ(seen.error, "");
    const outcome reply = client.call({"key"}, {"a", "", "b"}).get();
    EXPECT_EQ(reply.what, kind::answered);
    EXPECT_EQ(reply.text, "1 key a  b ");
}

TEST(RedisClient, CallsTheScriptOverTcp) {
    const redis_server server({.tcp = true});
    connected_client client(patient(server.tcp_url()));
    client.wait_until_ready();
    EXPECT_EQ(client.call({}, {"a"}).get().text, "0 a ");
}

TEST(RedisClient, ResolvesTheHostsName) {
    const redis_server server({.tcp = true});
    // It may have an IPv6 address, too, where the server does not listen.
    connected_client client(patient("redis://localhost:" + std::to_string(server.port())));
    client.wait_until_ready();
    EXPECT_EQ(client.call({}, {"a"}).get().text, "0 a ");
}

TEST(RedisClient, UsesTheDatabaseThatTheUrlNames) {
    const redis_server server;
    connected_client client(patient(server.unix_url() + "?db=3"), append_script);
    client.wait_until_ready();
    EXPECT_EQ(client.call({"list"}, {"a"}).get().text, "1");
    EXPECT_EQ(server.command({"EXISTS", "list"}), "0");
    EXPECT_NE(server.command({"INFO", "keyspace"}).find("db3:keys=1"), std::string::npos);
}

TEST(RedisClient, GivesItsPassword) {
    const redis_server server({.password = "p@ss/word"});
    connected_client client(patient("unix://:p%40ss%2Fword@" + server.socket()));
    client.wait_until_ready();
    EXPECT_EQ(client.call({}, {"a"}).get().text, "0 a ");
}

TEST(RedisClient, GivesItsUserAndPassword) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ada", "on", ">secret", "~*", "&*", "+@all"});
    connected_client client(patient("unix://ada:secret@" + server.socket()));
    client.wait_until_ready();
    EXPECT_EQ(client.call({}, {"a"}).get().text, "0 a ");
}

TEST(RedisClient, CarriesArgumentsOfAMebibyte) {
    const redis_server server;
    connected_client client(patient(server.unix_url()));
    client.wait_until_ready();
    std::string word(std::size_t{1} << 20, 'x');
    word += '\0';
    word += "\r\n$1\r\n";
    const outcome reply = client.call({}, {word, "a"}).get();
    ASSERT_EQ(reply.what, kind::answered);
    EXPECT_TRUE(reply.text == "0 " + word + " a ");
}

/// Passes bytes to a server slowly, and its replies at once; for one connection.
class slow_line {
public:
    slow_line(const std::string& target, std::size_t bytes_per_millisecond)
        : rate_(bytes_per_millisecond), acceptor_(context_, directory_.file("slow.sock")),
          thread_([this, target] { run(target); }) {}
    slow_line(const slow_line&) = delete;
    slow_line& operator=(const slow_line&) = delete;
    ~slow_line() { thread_.join(); } // after the client

    std::string url() const { return "unix://" + directory_.file("slow.sock"); }

private:
    using protocol = redis::net::local::stream_protocol;

    void run(const std::string& target) {
        protocol::socket client = acceptor_.accept();
        protocol::socket server(context_);
        server.connect(target);
        std::thread replies([&] { pass(server, client, 0); });
        pass(client, server, rate_);
        replies.join();
    }
    static void pass(protocol::socket& from, protocol::socket& to, std::size_t rate) {
        std::array<char, 8192> bytes{};
        redis::error_code ended;
        for (;;) {
            const std::size_t count = from.read_some(redis::net::buffer(bytes), ended);
            if (ended) {
                break;
            }
            if (rate != 0) {
                std::this_thread::sleep_for(std::chrono::milliseconds(count / rate));
            }
            redis::net::write(to, redis::net::buffer(bytes.data(), count), ended);
        }
        to.shutdown(protocol::socket::shutdown_both, ended);
    }

    std::size_t rate_;
    temporary_directory directory_;
    redis::net::io_context context_;
    protocol::acceptor acceptor_;
    std::thread thread_;
};

// It takes four times as long as a server may be silent.
TEST(RedisClient, CarriesALargeArgumentOverASlowLine) {
    const redis_server server;
    const slow_line line(server.socket(), 500);
    options chosen = options::from_url(line.url());
    chosen.request_timeout = std::chrono::milliseconds(500);
    connected_client client(std::move(chosen), append_script);
    client.wait_until_ready();
    const outcome reply = client.call({"list"}, {std::string(1'000'000, 'x')}).get();
    EXPECT_EQ(reply.what, kind::answered) << reply.text;
    EXPECT_EQ(client.on_strand([&] { return (*client).epoch(); }), 1u);
}

TEST(RedisClient, KeepsTheOrderOfTenThousandCalls) {
    constexpr int count = 10'000;
    const redis_server server;
    connected_client client(patient(server.unix_url()), append_script);
    client.wait_until_ready();
    std::vector<int> lengths;
    std::promise<void> all;
    client.on_strand([&] {
        const std::vector<std::string> keys{"list"};
        for (int i = 0; i < count; ++i) {
            const std::string number = std::to_string(i);
            const std::string_view word = number;
            (*client).call(keys, {&word, 1}, [&](const redis::detail::call_reply& reply) {
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

TEST(RedisClient, SendsCallsAgainWhoseScriptWasFlushed) {
    const redis_server server;
    connected_client client(patient(server.unix_url()), append_script);
    client.wait_until_ready();
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

TEST(RedisClient, GetsTheMessagesOfItsChannel) {
    const redis_server server;
    connected_client client(patient(server.unix_url()));
    client.wait_until_ready();
    EXPECT_EQ(server.command({"PUBLISH", channel, "one"}), "1");
    EXPECT_EQ(server.command({"PUBLISH", channel, "two"}), "1");
    const auto seen = client.wait_until([](const auto& now) { return now.messages.size() == 2; });
    EXPECT_EQ(seen.messages, std::vector<std::string>({channel + " one", channel + " two"}));
}

TEST(RedisClient, TellsAReplyFromAMessage) {
    const redis_server server;
    connected_client client(patient(server.unix_url()), "return {'message', 'a', 'b'}");
    client.wait_until_ready();
    EXPECT_EQ(client.call({}, {}).get().text, "message a b ");
}

TEST(RedisClient, DoesNotSendCallsBeforeItIsReady) {
    const temporary_directory directory;
    connected_client client(patient("unix://" + directory.file("none.sock")));
    const outcome first = client.call({}, {"a"}).get();
    EXPECT_EQ(first.what, kind::unsent);
    EXPECT_FALSE(first.text.empty());
    client.wait_until_down();
    const outcome reply = client.call({}, {"a"}).get();
    EXPECT_EQ(reply.what, kind::unsent);
    EXPECT_NE(reply.text.find("none.sock: cannot connect"), std::string::npos) << reply.text;
}

TEST(RedisClient, ConnectsAgainToARestartedServer) {
    redis_server server;
    connected_client client(patient(server.unix_url()));
    client.wait_until_ready();
    server.kill();
    client.wait_until_lost();
    server.start();
    const auto after = client.wait_until_ready(2);
    EXPECT_EQ(after.epoch, 2u);
    EXPECT_EQ(client.call({}, {"a"}).get().text, "0 a ");
}

TEST(RedisClient, GoesOnTryingUntilTheServerIsThere) {
    redis_server server;
    server.kill();
    connected_client client(patient(server.unix_url()));
    client.wait_until([](const auto& seen) { return seen.down >= 3; });
    EXPECT_TRUE(client.on_strand([&] { return (*client).down(); }));
    server.start();
    EXPECT_EQ(client.wait_until_ready().epoch, 1u);
    EXPECT_FALSE(client.on_strand([&] { return (*client).down(); }));
}

TEST(RedisClient, ConnectsAgainIfTheConnectionIsClosed) {
    const redis_server server;
    connected_client client(patient(server.unix_url()));
    client.wait_until_ready();
    EXPECT_EQ(server.command({"CLIENT", "KILL", "TYPE", "pubsub"}), "1");
    EXPECT_NE(client.wait_until_lost().error.find("closed the connection"), std::string::npos);
    EXPECT_EQ(client.wait_until_ready(2).epoch, 2u);
    EXPECT_EQ(client.call({}, {"a"}).get().text, "0 a ");
}

TEST(RedisClient, GivesUpAServerThatStopsAnswering) {
    redis_server server;
    connected_client client(options::from_url(server.unix_url()));
    client.wait_until_ready();
    server.suspend();
    const outcome reply = client.call({}, {"a"}).get();
    EXPECT_EQ(reply.what, kind::lost);
    EXPECT_EQ(reply.text, server.socket() + ": gave no reply in time");
    EXPECT_EQ(client.wait_until_lost().error, server.socket() + ": gave no reply in time");
    server.resume();
    client.wait_until_ready(2);
}

TEST(RedisClient, NoticesThatAnIdleServerStopsAnswering) {
    redis_server server;
    options chosen = options::from_url(server.unix_url());
    chosen.request_timeout = std::chrono::milliseconds(200);
    connected_client client(std::move(chosen));
    client.wait_until_ready();
    server.suspend();
    client.wait_until_lost();
    server.resume();
}

TEST(RedisClient, TellsLostCallsFromUnsentCalls) {
    redis_server server;
    connected_client client(patient(server.unix_url()));
    client.wait_until_ready();
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

TEST(RedisClient, PassesOnThatRedisHasNoMemory) {
    const redis_server server;
    connected_client client(patient(server.unix_url()), append_script);
    client.wait_until_ready();
    EXPECT_EQ(server.command({"CONFIG", "SET", "maxmemory", "1"}), "OK");
    const outcome reply = client.call({"list"}, {"a"}).get();
    EXPECT_EQ(reply.what, kind::refused);
    EXPECT_NE(reply.text.find("OOM"), std::string::npos) << reply.text;
    EXPECT_EQ(server.command({"CONFIG", "SET", "maxmemory", "0"}), "OK");
    EXPECT_EQ(client.call({"list"}, {"a"}).get().text, "1");
}

TEST(RedisClient, PassesOnThatTheUserMayNotCall) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "ada", "on", ">secret", "~*", "&*", "+@all", "-evalsha"});
    connected_client client(patient("unix://ada:secret@" + server.socket()));
    client.wait_until_ready();
    const outcome reply = client.call({}, {"a"}).get();
    EXPECT_EQ(reply.what, kind::refused);
    EXPECT_NE(reply.text.find("NOPERM"), std::string::npos) << reply.text;
}

TEST(RedisClient, PassesOnTheErrorOfTheScript) {
    const redis_server server;
    connected_client client(patient(server.unix_url()),
                            "return redis.error_reply('ERR no such room')");
    client.wait_until_ready();
    const outcome reply = client.call({}, {}).get();
    EXPECT_EQ(reply.what, kind::refused);
    EXPECT_EQ(reply.text, "ERR no such room");
}

TEST(RedisClient, ChoosesTheMasterAmongItsHosts) {
    const redis_server master({.tcp = true});
    const redis_server replica(
        {.arguments = {"--replicaof", "127.0.0.1", std::to_string(master.port())}, .tcp = true});
    connected_client client(
        patient("redis://" + replica.host_and_port() + ',' + master.host_and_port()),
        append_script);
    client.wait_until_ready();
    EXPECT_EQ(client.call({"list"}, {"a"}).get().text, "1");
    EXPECT_EQ(master.command({"LLEN", "list"}), "1");
}

TEST(RedisClient, FollowsAFailover) {
    const redis_server first({.tcp = true});
    const redis_server second({.tcp = true});
    connected_client client(
        patient("redis://" + first.host_and_port() + ',' + second.host_and_port()), append_script);
    client.wait_until_ready();
    EXPECT_EQ(client.call({"list"}, {"a"}).get().text, "1");
    EXPECT_EQ(first.command({"REPLICAOF", "127.0.0.1", std::to_string(second.port())}), "OK");
    const outcome reply = client.call({"list"}, {"b"}).get();
    EXPECT_EQ(reply.what, kind::refused);
    EXPECT_NE(reply.text.find("READONLY"), std::string::npos) << reply.text;
    EXPECT_NE(client.wait_until_lost().error.find("READONLY"), std::string::npos);
    client.wait_until_ready(2);
    EXPECT_EQ(client.call({"list"}, {"c"}).get().text, "1");
    EXPECT_EQ(second.command({"LINDEX", "list", "0"}), "c");
}

TEST(RedisClient, NeedsAHost) {
    EXPECT_THROW(connected_client({.hosts = {}}), std::invalid_argument);
}

// ---- The end.

TEST(RedisClient, CallsTheHandlersOfPendingCallsBeforeStopReturns) {
    redis_server server;
    connected_client client(patient(server.unix_url()));
    client.wait_until_ready();
    server.suspend();
    std::vector<kind> seen;
    const auto note = [&](const redis::detail::call_reply& reply) { seen.push_back(reply.what); };
    client.on_strand([&] { (*client).call({}, {}, note); });
    client.on_strand([] {});
    client.on_strand([&] {
        (*client).call({}, {}, note);
        EXPECT_TRUE(seen.empty());
        (*client).stop();
        EXPECT_EQ(seen, std::vector<kind>({kind::lost, kind::unsent}));
        (*client).call({}, {}, note);
        EXPECT_EQ(seen.size(), 2u);
    });
    client.on_strand([&] { EXPECT_EQ(seen.size(), 3u); });
    EXPECT_EQ(seen.back(), kind::unsent);
    const auto record = client.wait_until([](const auto&) { return true; });
    EXPECT_EQ(record.lost, 0);
}

TEST(RedisClient, MayBeStoppedByAHandler) {
    const redis_server server;
    connected_client client(patient(server.unix_url()));
    client.wait_until_ready();
    std::vector<kind> seen;
    client.on_strand([&] {
        for (int i = 0; i < 3; ++i) {
            (*client).call({}, {}, [&](const redis::detail::call_reply& reply) {
                seen.push_back(reply.what);
                (*client).stop();
            });
        }
    });
    while (client.on_strand([&] { return seen.size(); }) < 3) {
    }
    EXPECT_EQ(seen, std::vector<kind>({kind::answered, kind::lost, kind::lost}));
}

TEST(RedisClient, MayBeStoppedAtAnyMoment) {
    const redis_server server({.tcp = true});
    for (int i = 0; i < 50; ++i) {
        connected_client client(patient(i % 2 ? server.unix_url() : server.tcp_url()));
        std::vector<std::future<outcome>> replies;
        replies.reserve(50);
        for (int turn = 0; turn < i; ++turn) {
            replies.push_back(client.call({}, {"a"}));
        }
        client.stop();
        const auto seen = client.wait_until([](const auto&) { return true; });
        EXPECT_EQ(seen.lost + seen.down, 0);
        for (std::future<outcome>& each : replies) {
            each.get();
        }
    }
}

class silent_observer final : public redis::detail::client::observer {
public:
    std::function<void()> ready;

    void on_ready() override { ready(); }
    void on_lost() override { ADD_FAILURE(); }
    void on_down() override { ADD_FAILURE(); }
    void on_message(std::string_view, std::string_view) override {}
};

TEST(RedisClient, GoesWithItsExecutionContext) {
    redis_server server;
    silent_observer observer;
    const auto token = std::make_shared<int>();
    std::weak_ptr<redis::detail::client> watched;
    {
        redis::net::io_context context;
        const auto client = std::make_shared<redis::detail::client>(
            context.get_executor(), patient(server.unix_url()), std::vector<std::string>{channel},
            echo_script, static_cast<redis::detail::client::observer&>(observer));
        watched = client;
        observer.ready = [&, self = client.get()] {
            server.suspend();
            // The handler owns the client, as the handlers of a room do.
            self->call({}, {}, [token, client](const auto&) { ADD_FAILURE(); });
            context.stop();
        };
        client->start();
        context.run();
        observer.ready = nullptr;
    }
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_TRUE(watched.expired());
}

} // namespace
} // namespace tryst::test
