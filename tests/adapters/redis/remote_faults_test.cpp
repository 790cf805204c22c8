// SPDX-License-Identifier: MIT
#include "adapters/redis/fake_server.hpp"
#include "adapters/redis/remote_scene.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

namespace tryst::test {
namespace {

using text = std::string;
using texts = std::vector<std::string>;
using errc = exchange_errc;

template <class Remote>
void wait_for_waiting(Remote& remote, std::size_t count) {
    poll([&] {
        const auto now = sync_wait(remote.statistics());
        return now && now->waiting + now->waiting_blue == count;
    });
}

text array(const texts& elements) {
    text all = '*' + std::to_string(elements.size()) + "\r\n";
    for (const text& each : elements) {
        all += bulk(each);
    }
    return all;
}

/// A server that answers calls of the script as the test wants. The elements of a call: EVALSHA,
/// the digest, the number of keys, the keys, verb, member, epoch, generation, retention,
/// acknowledgements, and more.
class script_server {
public:
    static constexpr std::size_t verb_at = 7;
    static constexpr std::size_t rest_at = 13;
    using responder =
        std::function<std::optional<text>(const text& verb, const texts& words, int count)>;

    explicit script_server(responder respond)
        : respond_(std::move(respond)),
          server_([this](const texts& words) { return reply(words); }) {}

    redis::options options() const { return redis::options::from_url(server_.url()); }
    int count(const text& verb) const {
        const std::scoped_lock lock(mutex_);
        const auto found = counts_.find(verb);
        return found == counts_.end() ? 0 : found->second;
    }

private:
    std::optional<text> reply(const texts& words) {
        const bool is_call = words[0] == "EVALSHA";
        const text verb = is_call ? words[verb_at] : words[0];
        int number = 0;
        {
            const std::scoped_lock lock(mutex_);
            number = ++counts_[verb];
        }
        if (is_call || verb == "PING") {
            return respond_(verb, words, number);
        }
        return handshake_reply(words);
    }

    mutable std::mutex mutex_;
    std::map<text, int> counts_;
    responder respond_;
    fake_server server_;
};

const text joined = array({"joined", "one:g", "born", ""});

/// A renewal's reply that says the same of all offers.
text renewed(const texts& words, char state) {
    return array({"renewed", "", text((words.size() - script_server::rest_at) / 2, state)});
}

/// A coroutine without executor.
struct detached {
    struct promise_type {
        detached get_return_object() { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
};

TEST(RemoteFaults, EndsACoroutineWhosePartyIsWithdrawnFromRedis) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    std::atomic<bool> done = false;
    const auto wait_here = [&]() -> detached {
        EXPECT_EQ(co_await room.exchange("mine", 50ms), errc::timed_out);
        done = true;
    };
    wait_here();
    poll([&] { return done.load(); });
    EXPECT_EQ(sync_wait(room.exchange("mine", 50ms).as_task()), errc::timed_out);
}

// An offer abroad when the server goes away, and stays away.
TEST(RemoteFaults, EndsInDoubtWhenTheServerStaysAway) {
    redis_server server;
    auto chosen = redis::options::from_url(server.unix_url());
    chosen.lease = 600ms;
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    waiting first(room.exchange("mine", 20s)); // the limit does not help either
    wait_for_waiting(room, 1);
    std::optional<redis::remote_result<text>> got;
    std::atomic<bool> ended = false;
    std::thread waiter([&] {
        got.emplace(first.get());
        ended = true;
    });
    server.kill();
    const auto limit = std::chrono::steady_clock::now() + 10s;
    while (!ended && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_TRUE(ended);
    a.connection.close();
    waiter.join();
    EXPECT_EQ(*got, errc::in_doubt);
}

// The room joins a new generation, and loses the connection before it has compared.
TEST(RemoteFaults, KeepsTheDoubtOfANewGenerationOverReconnections) {
    script_server server(
        [](const text& verb, const texts& words, int count) -> std::optional<text> {
            if (verb == "PING") {
                if (count == 1) { // the connections break while the offer waits
                    return std::nullopt;
                }
                return "+PONG\r\n";
            }
            if (verb == "join") {
                return count == 1 ? joined : array({"joined", "one:h", "born", ""});
            }
            if (verb == "renew") {
                if (count == 2) {
                    return std::nullopt; // the connection breaks again
                }
                return renewed(words, '?');
            }
            if (verb == "arrive") {
                return count == 1 ? array({"waiting"}) : array({"matched", "second partner"});
            }
            return array({"left"});
        });
    auto chosen = server.options();
    chosen.request_timeout = 100ms;
    chosen.lease = 60s;
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    auto got = sync_wait(room.exchange("mine"));
    EXPECT_EQ(got, errc::in_doubt);
    EXPECT_EQ(server.count("arrive"), 1);
}

// The reply to a withdrawal comes after the offer was sent again.
TEST(RemoteFaults, IgnoresTheReplyToAWithdrawalOfAnEarlierArrival) {
    script_server server([&](const text& verb, const texts& /*words*/,
                             int count) -> std::optional<text> {
        if (verb == "PING") {
            return "+PONG\r\n";
        }
        if (verb == "join") {
            return joined;
        }
        if (verb == "renew") {
            return text();
        }
        if (verb == "arrive") {
            return count == 1   ? array({"waiting"})
                   : count == 2 ? text()
                                : array({"matched", "another"});
        }
        if (verb == "withdraw") {
            return text();
        }
        if (verb == "count") {
            if (count == 1) {
                return array({"renewed", "", "?"}); // the reply to the renewal
            }
            if (count == 2) { // to the withdrawal, the first count, the second arrival, and this
                return array({"withdrawn"}) + array({"counted", "0 0 1 0"}) +
                       array({"matched", "stranger"}) + array({"counted", "0 0 1 0"});
            }
        }
        return array({"closed"});
    });
    auto chosen = server.options();
    chosen.lease = 1500ms;
    chosen.request_timeout = 10s;
    process a(chosen);
    redis::remote_red_blue_exchanger<text> room(a.connection, "room");
    waiting red(room.red("red"));
    poll([&] { return server.count("renew") == 1; });
    std::stop_source stop;
    waiting blue(room.blue("blue 1", stop.get_token()));
    poll([&] { return server.count("withdraw") == 1; });
    stop.request_stop();
    EXPECT_EQ(blue.get(), errc::cancelled);
    std::thread count([&] { EXPECT_TRUE(sync_wait(room.statistics())); });
    poll([&] { return server.count("arrive") == 2; });
    waiting second(room.blue("blue 2", 3s));
    std::this_thread::sleep_for(200ms);
    EXPECT_TRUE(sync_wait(room.statistics()));
    EXPECT_EQ(red.get(), "stranger");
    EXPECT_EQ(second.get(), "another");
    count.join();
}

// A user who may subscribe, but not publish.
TEST(RemoteFaults, ConservesItemsWhenItMayNotPublish) {
    const redis_server server;
    auto chosen = redis::options::from_url(server.unix_url());
    chosen.lease = 600ms;
    process a(chosen);
    process b(chosen);
    redis::remote_exchanger<text> at_a(a.connection, "room");
    redis::remote_exchanger<text> at_b(b.connection, "room");
    waiting first(at_a.exchange("from a", 5s));
    wait_for_waiting(at_b, 1);
    server.command({"ACL", "SETUSER", "default", "-publish"});
    const auto second = sync_wait(at_b.exchange("from b", 5s));
    const auto got = first.get();
    EXPECT_EQ(got.has_value(), second.has_value())
        << (second ? text() : second.reason()) << " / " << (got ? *got : got.reason());
}

TEST(RemoteFaults, SaysThatItMayNotPublish) {
    const redis_server server;
    server.command({"ACL", "SETUSER", "default", "-publish"});
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    const auto got = sync_wait(room.exchange("mine"));
    EXPECT_EQ(got, errc::unavailable);
    EXPECT_NE(got.reason(), "");
}

// The reply to a try is lost, and the room cannot join at once.
TEST(RemoteFaults, DoesNotGiveUpATryThatWasSent) {
    script_server server(
        [](const text& verb, const texts& words, int count) -> std::optional<text> {
            if (verb == "PING") {
                return "+PONG\r\n";
            }
            if (verb == "join") {
                return count == 1   ? joined
                       : count == 2 ? "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
                                    : joined;
            }
            if (verb == "renew") {
                return renewed(words, 'm');
            }
            if (verb == "arrive") {
                return std::nullopt;
            }
            if (verb == "collect") {
                return array({"collected", "theirs"});
            }
            return array({"left"});
        });
    auto chosen = server.options();
    chosen.lease = 3s;
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    EXPECT_EQ(sync_wait(room.try_exchange("mine")), "theirs");
}

// The connection breaks after an arrival. The reply to the comparison says "rejoin", or refuses.
void expect_success_after(const text& reply_to_first_comparison) {
    script_server server(
        [&](const text& verb, const texts& words, int count) -> std::optional<text> {
            if (verb == "PING") {
                return "+PONG\r\n";
            }
            if (verb == "join") {
                return joined;
            }
            if (verb == "renew") {
                return count == 1 ? reply_to_first_comparison : renewed(words, '?');
            }
            if (verb == "arrive") {
                return count == 1 ? std::nullopt : std::optional(array({"matched", "theirs"}));
            }
            return array({"left"});
        });
    auto chosen = server.options();
    chosen.lease = 3s;
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    EXPECT_EQ(sync_wait(room.exchange("mine")), "theirs");
    EXPECT_EQ(server.count("arrive"), 2);
    EXPECT_GE(server.count("renew"), 2);
}
TEST(RemoteFaults, JoinsAgainWhenTheRoomIsLostDuringTheComparison) {
    expect_success_after(array({"rejoin"}));
}
TEST(RemoteFaults, JoinsAgainWhenTheComparisonIsRefused) {
    expect_success_after("-OOM command not allowed when used memory > 'maxmemory'.\r\n");
}

// A room to be closed, and a server that refuses.
TEST(RemoteFaults, DoesNotRepeatARefusedJoinAtOnce) {
    script_server server([&](const text& verb, const texts&, int) -> std::optional<text> {
        return verb == "PING" ? "+PONG\r\n"
                              : "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
    });
    process a(server.options());
    redis::remote_exchanger<text> room(a.connection, "room");
    ASSERT_TRUE(sync_wait(a.connection.connected()));
    room.close();
    std::this_thread::sleep_for(500ms);
    EXPECT_LE(server.count("join"), 10);
}

struct counting_codec {
    static inline std::atomic<int> encoded{0};
    static text encode(const text& item) {
        ++encoded;
        return item;
    }
    static text decode(std::string_view bytes) { return text(bytes); }
};

// C: the server is no longer the master, and another reply is missing.
TEST(RemoteFaults, WaitsWhileTheConnectionDrains) {
    script_server server(
        [&](const text& verb, const texts& words, int count) -> std::optional<text> {
            if (verb == "PING") {
                return "+PONG\r\n";
            }
            if (verb == "join") {
                return count == 1 ? joined : joined;
            }
            if (verb == "renew") {
                return renewed(words, 'w');
            }
            if (verb == "arrive") {
                return count == 1 ? text() : array({"matched", "theirs"});
            }
            if (verb == "count") {
                return count == 1 ? "-READONLY You can't write against a read only replica.\r\n"
                                  : array({"counted", "0 0 1 0"});
            }
            return array({"left"});
        });
    auto chosen = server.options();
    chosen.request_timeout = 1s;
    process a(chosen);
    redis::remote_exchanger<text, counting_codec> room(a.connection, "room");
    waiting first(room.exchange("mine"));
    poll([&] { return server.count("arrive") == 1; });
    EXPECT_TRUE(sync_wait(room.statistics()));
    EXPECT_EQ(first.get(), "theirs");
    EXPECT_LE(counting_codec::encoded, 10);
}

// The connection breaks again before the withdrawals of parties in doubt were answered.
TEST(RemoteFaults, WithdrawsPartiesInDoubtUntilItIsAnswered) {
    script_server server(
        [&](const text& verb, const texts& words, int count) -> std::optional<text> {
            if (verb == "PING") {
                return count == 1 ? std::nullopt : std::optional<text>("+PONG\r\n");
            }
            if (verb == "join") {
                return count == 1   ? std::optional<text>(joined)
                       : count == 2 ? std::optional<text>(text())
                                    : joined;
            }
            if (verb == "renew") {
                return renewed(words, 'w');
            }
            if (verb == "arrive") {
                return array({"waiting"});
            }
            if (verb == "withdraw") {
                return count == 1 ? std::nullopt : std::optional<text>(array({"withdrawn"}));
            }
            return array({"left"});
        });
    auto chosen = server.options();
    chosen.request_timeout = 400ms;
    chosen.lease = 100ms;
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    EXPECT_EQ(sync_wait(room.exchange("mine")), errc::in_doubt);
    const auto limit = std::chrono::steady_clock::now() + 5s;
    while (server.count("withdraw") < 2 && std::chrono::steady_clock::now() < limit) {
        std::this_thread::sleep_for(5ms);
    }
    EXPECT_GE(server.count("withdraw"), 2);
}

/// A party that does not continue before the gate opens.
struct gate {
    std::atomic<bool> is_posted = false;
    std::atomic<bool> is_open = false;
};
class stalled_strategy {
public:
    static constexpr bool owns_thread = true;
    explicit stalled_strategy(gate& by) : gate_(&by) {}
    executor_ref executor() noexcept {
        static constexpr executor_vtable vtable{.post = [](void* context, executor_node*) noexcept {
            static_cast<gate*>(context)->is_posted = true;
        }};
        return {gate_, &vtable};
    }
    template <class Done, class Late>
    void await_partner(Done, Late) noexcept {}
    void sleep() noexcept {
        while (!gate_->is_posted || !gate_->is_open) {
            std::this_thread::yield();
        }
        gate_->is_posted = false;
    }
    template <class Step>
    auto step(Step step) noexcept {
        return step();
    }

private:
    gate* gate_;
};

// I: the loop of a party that the room has taken is busy.
TEST(RemoteFaults, IsIdleWhileThePartyItHasTakenDoesNotRun) {
    const redis_server server;
    redis::net::io_context context;
    redis::connection connection(context, redis::options::from_url(server.unix_url()));
    gate stalled;
    {
        redis::remote_exchanger<text> room(connection, "room");
        auto operation = room.exchange("mine");
        std::thread party([&] {
            EXPECT_EQ(operation.wait_with([&] { return stalled_strategy(stalled); }), errc::closed);
        });
        while (!stalled.is_posted) {
            context.poll_one();
        }
        bool was_idle = false;
        for (int i = 0; i != 100'000 && !was_idle; ++i) {
            was_idle = context.poll_one() == 0;
        }
        EXPECT_TRUE(was_idle);
        stalled.is_open = true;
        std::atomic<bool> done = false;
        std::thread closer([&] {
            room.close();
            party.join();
            done = true;
        });
        while (!done) {
            context.poll_one();
        }
        closer.join();
    }
    connection.close();
    context.run();
}

// A party that comes when the connection is closed, while the loop runs.
TEST(RemoteFaults, EndsPartiesThatComeAfterTheEndOfTheConnection) {
    const redis_server server;
    process a(server);
    const auto work = redis::net::make_work_guard(a.context);
    auto room = std::make_unique<redis::remote_exchanger<text>>(a.connection, "room");
    ASSERT_TRUE(sync_wait(a.connection.connected()));
    a.connection.close();
    poll([&] { return !a.connection.is_connected(); });
    EXPECT_EQ(sync_wait(room->exchange("mine", 3s)), errc::unavailable);
    a.context.stop();
}

TEST(RemoteFaults, LeavesARoomThatWasClosedTwice) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_exchanger<text> at_b(b.connection, "room");
    {
        redis::remote_exchanger<text> at_a(a.connection, "room");
        at_a.close();
        poll([&] { return sync_wait(at_b.exchange("x")) == errc::closed; });
        ASSERT_TRUE(sync_wait(at_a.statistics()));
        at_a.close();
    }
    poll([&] { return sync_wait(at_b.statistics())->processes == 1; });
}

} // namespace
} // namespace tryst::test
