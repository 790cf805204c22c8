// SPDX-License-Identifier: MIT
#include "adapters/redis/fake_server.hpp"
#include "adapters/redis/remote_scene.hpp"

#include <tryst/run_loop.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

namespace tryst::test {
namespace {

using text = std::string;
using texts = std::vector<std::string>;
using errc = exchange_errc;

text array(const texts& elements) {
    text all = '*' + std::to_string(elements.size()) + "\r\n";
    for (const text& each : elements) {
        all += each.starts_with('*') ? each : bulk(each);
    }
    return all;
}

using reply = std::optional<text>; ///< Nothing: the connection breaks.
const reply lost;
const text silence;
const reply unknown("unknown");
const text out_of_memory = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";
const text joined = array({"joined", "one:g", "born", ""});
const text waits = array({"waiting"});
text matched(const text& theirs) {
    return array({"matched", theirs});
}
/// In the place of the reply to a renewal: what it says of all offers.
text state(char letter) {
    return {letter};
}
text renewed(const text& part) {
    return array({"renewed", part});
}

/// A server that replies to the calls of the script as the test says: to the first call with each
/// verb, the second, and so on; the last reply is repeated. To others it replies as Redis does when
/// nothing happens.
class script_server {
public:
    using replies = std::map<text, std::vector<reply>>;

    /// @param except  replies to calls instead, unless it returns `unknown`.
    explicit script_server(replies all, std::function<reply(const texts& words)> except = nullptr)
        : replies_(std::move(all)), except_(std::move(except)),
          server_([this](const texts& words) { return reply_to(words); }) {
        replies_.try_emplace("join", std::vector<reply>{joined});
        replies_.try_emplace("PING", std::vector<reply>{"+PONG\r\n"});
        replies_.try_emplace("leave", std::vector<reply>{array({"left"})});
        replies_.try_emplace("close", std::vector<reply>{array({"closed"})});
        replies_.try_emplace("renew", std::vector<reply>{state('w')});
    }

    redis::options options() const { return redis::options::from_url(server_.url()); }
    int count(const text& verb) const {
        const std::scoped_lock lock(mutex_);
        const auto found = counts_.find(verb);
        return found == counts_.end() ? 0 : found->second;
    }

private:
    // The elements of a call: EVALSHA, the digest, 1, the key, verb, epoch, member, generation,
    // and of a renewal acknowledgements, the lowest number, the highest, and all numbers.
    reply reply_to(const texts& words) {
        const text verb = words[0] == "EVALSHA" ? words[4] : words[0];
        const std::scoped_lock lock(mutex_);
        const auto number = static_cast<std::size_t>(++counts_[verb]);
        if (const reply other = except_ && words[0] == "EVALSHA" ? except_(words) : unknown;
            other != unknown) {
            return other;
        }
        const auto found = replies_.find(verb);
        if (found == replies_.end()) {
            return handshake_reply(words);
        }
        const reply& chosen = found->second[std::min(number, found->second.size()) - 1];
        if (verb == "renew" && chosen && chosen->size() == 1) {
            const auto offers = std::ranges::count(words[11], ' ');
            return renewed(array({"", text(static_cast<std::size_t>(offers), chosen->front())}));
        }
        return chosen;
    }

    mutable std::mutex mutex_;
    std::map<text, int> counts_;
    replies replies_;
    std::function<reply(const texts& words)> except_;
    fake_server server_;
};

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
    EXPECT_EQ(sync_wait(room.exchange("mine", 50ms)), errc::timed_out);
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
    script_server server({
        {"PING", {lost, "+PONG\r\n"}}, // the connection breaks while the offer waits
        {"join", {joined, array({"joined", "one:h", "born", ""})}},
        {"renew", {state('?'), lost, state('?')}}, // and again
        {"arrive", {waits, matched("second partner")}},
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
    script_server server({
        {"renew", {silence}},
        {"arrive", {waits, silence, matched("another")}},
        {"withdraw", {silence}},
        {"count",
         {renewed(array({"", "?"})), // the reply to the renewal
          // to the withdrawal, the first count, the second arrival, and this
          array({"withdrawn"}) + array({"counted", "0 0 1 0"}) + matched("stranger") +
              array({"counted", "0 0 1 0"})}},
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

// The withdrawal of a party whose limit has been reached.
TEST(RemoteFaults, EndsWithinALeaseOfItsLimitWhateverRedisReplies) {
    for (const reply& answer : {
             reply("-NOREPLICAS Not enough good replicas to write.\r\n"),
             reply("-MISCONF Redis is configured to save RDB snapshots\r\n"),
             reply("-NOPERM this user has no permissions\r\n"),
             reply("-BUSY Redis is busy running a script.\r\n"),
             reply("-CLUSTERDOWN The cluster is down\r\n"),
             reply("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"),
             reply(out_of_memory),
             reply(silence),
             lost,
         }) {
        script_server server({{"arrive", {waits}}, {"renew", {answer}}, {"withdraw", {answer}}});
        auto chosen = server.options();
        chosen.lease = 200ms;
        process a(chosen);
        redis::remote_channel<text> pipe(a.connection, "pipe");
        const auto timed = sync_wait(pipe.send("mine", 50ms));
        EXPECT_EQ(timed, errc::in_doubt) << answer.value_or("lost");
        EXPECT_EQ(timed.returned(), "mine");
        std::stop_source stop;
        waiting stopped(pipe.send("another", stop.get_token()));
        std::this_thread::sleep_for(20ms); // perhaps it has been offered
        stop.request_stop();
        const auto ended = stopped.get();
        EXPECT_TRUE(ended == errc::in_doubt || ended == errc::cancelled ||
                    ended == errc::unavailable)
            << answer.value_or("lost") << ": " << ended.error().message();
    }
}

TEST(RemoteFaults, TriesARefusedWithdrawalAgain) {
    script_server server(
        {{"arrive", {waits}}, {"withdraw", {out_of_memory, array({"withdrawn"})}}});
    auto chosen = server.options();
    chosen.lease = 3s;
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    std::stop_source stop;
    waiting stopped(room.exchange("mine", stop.get_token()));
    poll([&] { return server.count("arrive") == 1; });
    stop.request_stop();
    EXPECT_EQ(stopped.get(), errc::cancelled);
    EXPECT_EQ(server.count("withdraw"), 2);
}

TEST(RemoteFaults, OffersAgainWhatTheServerHadNoTimeFor) {
    script_server server({{"arrive", {array({"again"}), array({"again"}), matched("theirs")}}});
    process a(server.options());
    redis::remote_exchanger<text> room(a.connection, "room");
    EXPECT_EQ(sync_wait(room.exchange("mine")), "theirs");
    EXPECT_EQ(server.count("arrive"), 3);
}

// A user who may publish, and nothing else.
TEST(RemoteFaults, BelievesNoMessageWithoutTheToken) {
    const redis_server server;
    process a(server);
    process b(server);
    redis::remote_channel<text> at_a(a.connection, "pipe");
    redis::remote_channel<text> at_b(b.connection, "pipe");
    waiting sent(at_a.send("item"));
    wait_for_waiting(at_b, 1);
    std::istringstream channels(server.command({"PUBSUB", "CHANNELS"}));
    const text token(32, 'a');
    for (text channel; channels >> channel;) {
        for (const text& message :
             {text("1:1"), "1:1 " + token + " forged", text("1:1  forged"), text("1:1 forged"),
              text("closed:tryst:2:s:{pipe}"), text("tryst:2:s:{pipe}"), text(":"), text(" "),
              text("1:"), text("1:99999999999999999999"), text("99:1"), text("")}) {
            server.command({"PUBLISH", channel, message});
        }
    }
    ASSERT_TRUE(sync_wait(at_a.statistics())); // after the messages
    EXPECT_EQ(sync_wait(at_b.statistics())->waiting, 1u);
    EXPECT_FALSE(at_a.is_closed());
    EXPECT_EQ(sync_wait(at_b.receive()), "item");
    EXPECT_TRUE(sent.get());
}

TEST(RemoteFaults, PublishesNoItemIfItShouldNot) {
    const redis_server server;
    process a(redis::options::from_url(server.unix_url() + "?published_item=0"));
    process b(redis::options::from_url(server.unix_url() + "?published_item=0"));
    redis::remote_exchanger<text> at_a(a.connection, "room");
    redis::remote_exchanger<text> at_b(b.connection, "room");
    waiting first(at_a.exchange("from a"));
    wait_for_waiting(at_b, 1);
    EXPECT_EQ(sync_wait(at_b.exchange("from b")), "from a");
    EXPECT_EQ(first.get(), "from b");
    EXPECT_NE(server.command({"INFO", "commandstats"}).find("cmdstat_publish"), text::npos);
}

TEST(RemoteFaults, AcceptsNoItemLargerThanItsOwnLimit) {
    const redis_server server;
    process small(redis::options::from_url(server.unix_url() + "?max_item=100"));
    process large(redis::options::from_url(server.unix_url() + "?max_item=1000"));
    redis::remote_channel<text> at_small(small.connection, "pipe");
    redis::remote_channel<text> at_large(large.connection, "pipe");
    waiting sent(at_large.send(text(101, 'x')));
    wait_for_waiting(at_small, 1);
    const auto refused = sync_wait(at_small.receive());
    EXPECT_EQ(refused, errc::unavailable);
    EXPECT_NE(refused.reason().find("101 bytes"), text::npos) << refused.reason();
    EXPECT_EQ(sync_wait(at_large.receive()), text(101, 'x'));
    EXPECT_TRUE(sent.get());
    waiting received(at_small.receive());
    wait_for_waiting(at_small, 1);
    const auto returned = sync_wait(at_large.send(text(101, 'y')));
    EXPECT_EQ(returned, errc::unavailable);
    EXPECT_EQ(returned.returned(), text(101, 'y'));
    EXPECT_TRUE(sync_wait(at_large.send(text(100, 'z'))));
    EXPECT_EQ(received.get(), text(100, 'z'));
}

TEST(RemoteFaults, SaysThatAnotherVersionUsesTheRoom) {
    const redis_server server;
    server.command({"SET", "tryst:x:{room}", "3"});
    server.command({"HSET", "tryst:x:{old}", "generation", "run:1"});
    process a(server);
    for (const char* const name : {"room", "old"}) {
        redis::remote_exchanger<text> room(a.connection, name);
        const auto got = sync_wait(room.exchange("mine"));
        EXPECT_EQ(got, errc::unavailable);
        EXPECT_NE(got.reason().find("another version of the protocol"), text::npos) << got.reason();
    }
}

TEST(RemoteFaults, RenewsManyRoomsInFewCalls) {
    const redis_server server;
    process a(redis::options::from_url(server.unix_url() + "?lease=300ms"));
    std::vector<std::unique_ptr<redis::remote_channel<text>>> rooms;
    tryst::run_loop loop;
    std::stop_source stop;
    for (int i = 0; i != 200; ++i) {
        rooms.push_back(
            std::make_unique<redis::remote_channel<text>>(a.connection, std::to_string(i)));
        loop.spawn([](auto& room, std::stop_token until) -> task<> {
            const auto got = co_await room.receive(until);
            EXPECT_EQ(got, errc::cancelled);
        }(*rooms.back(), stop.get_token()));
    }
    std::thread thread([&] { loop.run(); });
    for (const auto& room : rooms) {
        wait_for_waiting(*room, 1);
    }
    server.command({"CONFIG", "RESETSTAT"});
    std::this_thread::sleep_for(1s);
    const text seen = server.command({"INFO", "commandstats"});
    const std::size_t at = seen.find("cmdstat_evalsha:calls=");
    ASSERT_NE(at, text::npos);
    EXPECT_LE(std::stoi(seen.substr(at + 22)), 100); // 10 renewals, each in 4 calls
    stop.request_stop();
    loop.stop();
    thread.join();
}

// A comparison in two calls, of which the first is refused.
TEST(RemoteFaults, KeepsTheDoubtUntilTheWholeComparisonIsAnswered) {
    constexpr int parties = 250;
    int questions = 0;
    script_server server(
        {{"join", {joined, array({"joined", "one:h", "born", ""})}},
         {"PING", {lost, "+PONG\r\n"}},
         {"arrive", {waits}}},
        [&](const texts& words) -> reply { // in the new generation
            if (words[4] != "renew" || words[7] != "one:h") {
                return unknown;
            }
            const auto count = std::ranges::count(words[11], ' ');
            return ++questions == 1
                       ? reply(out_of_memory)
                       : renewed(array({"", text(static_cast<std::size_t>(count), '?')}));
        });
    auto chosen = server.options();
    chosen.request_timeout = 400ms;
    chosen.lease = 3s;
    process a(chosen);
    redis::remote_channel<text> pipe(a.connection, "pipe");
    run_loop loop;
    int doubtful = 0;
    for (int i = 0; i != parties; ++i) {
        loop.spawn([](auto& room, int& count, run_loop& on) -> task<> {
            const auto got = co_await room.send("mine");
            EXPECT_EQ(got, errc::in_doubt);
            if (++count == parties) {
                on.stop();
            }
        }(pipe, doubtful, loop));
    }
    loop.run();
    EXPECT_EQ(server.count("arrive"), parties);
}

TEST(RemoteFaults, AnswersAQuestionOfARoomThatIsLeft) {
    script_server server({{"count", {silence, array({"counted", "1 2 3 4"})}}});
    auto chosen = server.options();
    chosen.request_timeout = 200ms;
    process a(chosen);
    auto room = std::make_unique<redis::remote_exchanger<text>>(a.connection, "room");
    waiting asked(room->statistics());
    poll([&] { return server.count("count") == 1; });
    room.reset();
    const auto got = asked.get();
    ASSERT_TRUE(got) << got.reason();
    EXPECT_EQ(got->exchanges, 4u);
}

TEST(RemoteFaults, AnnouncesACloseUntilRedisHasIt) {
    for (const char* refusal : {"-OOM no memory\r\n", "-READONLY a replica\r\n"}) {
        script_server server({{"close", {refusal, array({"closed"})}}});
        auto chosen = server.options();
        chosen.lease = 200ms;
        process a(chosen);
        redis::remote_exchanger<text> room(a.connection, "room");
        room.close();
        poll([&] { return server.count("close") == 2; });
    }
}

// A reply that the script never gives.
TEST(RemoteFaults, DoubtsATryThatIsSaidToWait) {
    script_server server({{"arrive", {waits}}});
    process a(server.options());
    redis::remote_exchanger<text> room(a.connection, "room");
    EXPECT_EQ(sync_wait(room.try_exchange("mine")), errc::in_doubt);
}

// Redis still has an offer of this room.
TEST(RemoteFaults, LeavesItsRecordWhereAnOfferIsInDoubt) {
    script_server server({{"arrive", {waits}}, {"withdraw", {out_of_memory}}});
    auto chosen = server.options();
    chosen.lease = 200ms;
    process a(chosen);
    {
        redis::remote_exchanger<text> room(a.connection, "room");
        std::stop_source stop;
        waiting stopped(room.exchange("mine", stop.get_token()));
        poll([&] { return server.count("arrive") == 1; });
        stop.request_stop();
        EXPECT_EQ(stopped.get(), errc::in_doubt);
    }
    redis::remote_exchanger<text> other(a.connection, "other");
    ASSERT_TRUE(a.connection.is_connected());
    EXPECT_EQ(sync_wait(other.exchange("x", 1ms)).returned(), "x"); // after the leaving
    EXPECT_EQ(server.count("leave"), 0);
}

// A key of another type, among those that are renewed together.
TEST(RemoteFaults, RenewsItsOtherRoomsIfOneIsUnreadable) {
    const redis_server server;
    process a(redis::options::from_url(server.unix_url() + "?lease=500ms"));
    process b(server);
    redis::remote_channel<text> bad(a.connection, "bad");
    redis::remote_channel<text> good(a.connection, "good");
    redis::remote_channel<text> at_b(b.connection, "good");
    std::stop_source stop;
    waiting lost_there(bad.send("bad", stop.get_token()));
    waiting sent(good.send("good"));
    wait_for_waiting(bad, 1);
    wait_for_waiting(good, 1);
    server.command({"SET", "tryst:2:s:{bad}", "text"});
    std::this_thread::sleep_for(1s); // two leases
    EXPECT_EQ(sync_wait(at_b.try_receive()), "good");
    EXPECT_TRUE(sent.get());
    stop.request_stop();
    EXPECT_EQ(lost_there.get(), errc::in_doubt);
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
    script_server server({
        {"join", {joined, out_of_memory, joined}},
        {"renew", {state('m')}},
        {"arrive", {lost}},
        {"collect", {array({"collected", "theirs"})}},
    });
    auto chosen = server.options();
    chosen.lease = 3s;
    process a(chosen);
    redis::remote_exchanger<text> room(a.connection, "room");
    EXPECT_EQ(sync_wait(room.try_exchange("mine")), "theirs");
}

// The connection breaks after an arrival. The reply to the comparison says "rejoin", or refuses.
void expect_success_after(const text& reply_to_first_comparison) {
    script_server server({
        {"renew", {reply_to_first_comparison, state('?')}},
        {"arrive", {lost, matched("theirs")}},
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
    expect_success_after(renewed(array({"rejoin"})));
}
TEST(RemoteFaults, JoinsAgainWhenTheComparisonIsRefused) {
    expect_success_after(out_of_memory);
}

// A room to be closed, and a server that refuses.
TEST(RemoteFaults, DoesNotRepeatARefusedJoinAtOnce) {
    script_server server({{"join", {out_of_memory}}});
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
    script_server server({
        {"renew", {state('w')}},
        {"arrive", {silence, matched("theirs")}},
        {"count",
         {"-READONLY You can't write against a read only replica.\r\n",
          array({"counted", "0 0 1 0"})}},
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
    script_server server({
        {"PING", {lost, "+PONG\r\n"}},
        {"join", {joined, silence, joined}},
        {"arrive", {waits}},
        {"withdraw", {lost, array({"withdrawn"})}},
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

// The loop of a party that the room has taken is busy.
TEST(RemoteFaults, IsIdleWhileThePartyItHasTakenDoesNotRun) {
    const redis_server server;
    redis::net::io_context context;
    redis::connection connection(context, redis::options::from_url(server.unix_url()));
    run_loop loop;
    bool done = false;
    {
        redis::remote_exchanger<text> room(connection, "room");
        loop.spawn([](auto& where, bool& ended) -> task<> {
            const auto got = co_await where.exchange("mine");
            EXPECT_EQ(got, errc::closed);
            ended = true;
        }(room, done));
        loop.run_until_idle();
        poll([&] {
            context.poll();
            return connection.is_connected();
        });
        bool was_idle = false;
        for (int i = 0; i != 100'000 && !was_idle; ++i) {
            was_idle = context.poll_one() == 0;
        }
        EXPECT_TRUE(was_idle);
        room.close();
        poll([&] {
            context.poll();
            loop.run_until_idle();
            return done;
        });
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
