// SPDX-License-Identifier: MIT
#include "adapters/redis/fake_server.hpp"
#include "adapters/redis/remote_scene.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/run_loop.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <stop_token>
#include <string>
#include <vector>

namespace tryst::test {
namespace {

using texts = std::vector<std::string>;

text array(const texts& elements) {
    text all = '*' + std::to_string(elements.size()) + "\r\n";
    for (const text& each : elements) {
        all += each.starts_with('*') ? each : bulk(each);
    }
    return all;
}

using answer = std::optional<text>; ///< Nothing: the connection breaks.
const answer lost;
const text silence;
const answer unknown("unknown");
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
/// What a renewal that consists of these words hears of all its offers.
text states_of(const texts& words, char letter) {
    const auto offers = std::ranges::count(words[11], ' ');
    return array({"", text(static_cast<std::size_t>(offers), letter)});
}

/// A server that replies to the calls of the script as the test says: to the first call with each
/// verb, the second, and so on; the last reply is repeated. To others it replies as Redis does when
/// nothing happens.
class script_server {
public:
    using replies = std::map<text, std::vector<answer>>;

    /// @param except  replies to calls instead, unless it returns `unknown`.
    explicit script_server(replies all, std::function<answer(const texts& words)> except = nullptr)
        : replies_(with_defaults(std::move(all))), except_(std::move(except)),
          server_([this](const texts& words) { return reply_to(words); }) {}

    /// @param settings  as in a URL.
    redis::options options(const text& settings) const {
        return redis::options::from_url(server_.url() + '?' + settings);
    }
    int count(const text& verb) const {
        const std::scoped_lock lock(mutex_);
        const auto found = counts_.find(verb);
        return found == counts_.end() ? 0 : found->second;
    }

private:
    static replies with_defaults(replies all) {
        all.insert({{"join", {joined}},
                    {"leave", {array({"left"})}},
                    {"close", {array({"closed"})}},
                    {"renew", {state('w')}}});
        return all;
    }

    // The elements of a call: EVALSHA, the digest, 1, the key, verb, epoch, member, generation,
    // and of a renewal acknowledgements, the lowest number, the highest, and all numbers.
    answer reply_to(const texts& words) {
        const text verb = words[0] == "EVALSHA" ? words[4] : words[0];
        const std::scoped_lock lock(mutex_);
        const auto number = static_cast<std::size_t>(++counts_[verb]);
        if (const answer other = except_ && words[0] == "EVALSHA" ? except_(words) : unknown;
            other != unknown) {
            return other;
        }
        const auto found = replies_.find(verb);
        if (found == replies_.end()) {
            return handshake_reply(words);
        }
        const answer& chosen = found->second[std::min(number, found->second.size()) - 1];
        if (verb == "renew" && chosen && chosen->size() == 1) {
            return renewed(states_of(words, chosen->front()));
        }
        return chosen;
    }

    mutable std::mutex mutex_;
    std::map<text, int> counts_;
    replies replies_;
    std::function<answer(const texts& words)> except_;
    fake_server server_;
};

/// A process at such a server, and a room.
template <class Room = redis::remote_exchanger<text>>
struct scripted {
    explicit scripted(script_server::replies all, const text& settings = "",
                      std::function<answer(const texts& words)> except = nullptr)
        : server(std::move(all), std::move(except)), a(server.options(settings)) {}

    script_server server;
    process a;
    Room room{a.connection, "room"};
};

// One operation, and how it ends.
TEST(RemoteFaults, EndsAnExchangeAsRedisRepliesAtLast) {
    const answer again = array({"again"});
    const answer rejoin = renewed(array({"rejoin"}));
    const answer joined_another = array({"joined", "one:h", "born", ""});
    const struct {
        const char* what;
        script_server::replies replies;
        const char* end; ///< The partner's item, or an error.
        std::map<text, int> calls; ///< How many there are in the end.
        const char* settings = "";
        bool tries = false;
    } cases[] = {
        {"Redis had no time for the offer",
         {{"arrive", {again, again, matched("theirs")}}},
         "theirs",
         {{"arrive", 3}}},
        {"the room is lost during the comparison after a break",
         {{"renew", {rejoin, state('?')}}, {"arrive", {lost, matched("theirs")}}},
         "theirs",
         {{"arrive", 2}, {"renew", 2}},
         "lease=3s"},
        {"the comparison after a break is refused",
         {{"renew", {out_of_memory, state('?')}}, {"arrive", {lost, matched("theirs")}}},
         "theirs",
         {{"arrive", 2}, {"renew", 2}},
         "lease=3s"},
        {"the room joins a new generation, and loses the connection before it has compared",
         {{"PING", {lost, "+PONG\r\n"}}, // the connection breaks while the offer waits
          {"join", {joined, joined_another}},
          {"renew", {state('?'), lost, state('?')}}, // and again
          {"arrive", {waits, matched("second partner")}}},
         "in doubt",
         {{"arrive", 1}},
         "request_timeout=100ms&lease=60s"},
        {"the connection breaks again before the withdrawal in doubt is answered",
         {{"PING", {lost, "+PONG\r\n"}},
          {"join", {joined, silence, joined}},
          {"arrive", {waits}},
          {"withdraw", {lost, array({"withdrawn"})}}},
         "in doubt",
         {{"withdraw", 2}},
         "request_timeout=300ms&lease=100ms"},
        // The script was flushed, and another process loaded it before this room joined again.
        {"a renewal of the earlier record is answered for the new one, which knows no offers",
         {{"renew", {silence, *rejoin + "-NOSCRIPT No matching script.\r\n", state('?')}},
          {"join", {joined, array({"joined", "one:g", "born again", ""})}},
          {"arrive", {waits, matched("second partner")}}},
         "in doubt",
         {{"arrive", 1}, {"renew", 4}},
         "lease=600ms"},
        {"a try is said to wait, which the script never says",
         {{"arrive", {waits}}},
         "in doubt",
         {{"arrive", 1}},
         "",
         true},
        {"the reply to a try is lost, and the room cannot join at once",
         {{"join", {joined, out_of_memory, joined}},
          {"renew", {state('m')}},
          {"arrive", {lost}},
          {"collect", {array({"collected", "theirs"})}}},
         "theirs",
         {{"arrive", 1}},
         "lease=3s",
         true},
    };
    for (const auto& [what, replies, end, calls, settings, tries] : cases) {
        SCOPED_TRACE(what);
        scripted at(replies, settings);
        const auto got =
            sync_wait(tries ? at.room.try_exchange("mine") : at.room.exchange("mine", long_time));
        EXPECT_EQ(got ? *got : got == errc::in_doubt ? "in doubt" : got.error().message(), end);
        for (const auto& [verb, count] : calls) {
            poll([&] { return at.server.count(verb) >= count; });
            EXPECT_TRUE(at.server.count(verb) == count || verb != "arrive");
        }
    }
}

TEST(RemoteFaults, EndsACoroutineWhosePartyIsWithdrawnFromRedis) {
    const redis_server server;
    process a(server);
    redis::remote_exchanger<text> room(a.connection, "room");
    std::atomic<bool> done = false;
    const auto wait_here = [&]() -> detached_coroutine {
        const auto got = co_await room.exchange("mine", 50ms);
        EXPECT_EQ(got, errc::timed_out);
        done = true;
    };
    wait_here();
    poll([&] { return done.load(); });
    EXPECT_EQ(sync_wait(room.exchange("mine", 50ms)), errc::timed_out);
}

// An offer abroad when the server goes away, and stays away.
TEST(RemoteFaults, IsInDoubtOneLeaseAfterTheServerHasGone) {
    redis_server server;
    process a(server, "lease=300ms");
    redis::remote_channel<text> pipe(a.connection, "pipe");
    waiting unlimited(pipe.send("mine"));
    waiting limited(pipe.send("other", 20s)); // the limit does not delay it
    wait_for_waiting(pipe, 2);
    server.kill();
    const auto begin = std::chrono::steady_clock::now();
    const auto got = unlimited.get();
    EXPECT_EQ(got, errc::in_doubt);
    EXPECT_EQ(got.returned(), "mine");
    EXPECT_EQ(limited.get(), errc::in_doubt);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

// The reply to a withdrawal comes after the offer was sent again.
TEST(RemoteFaults, IgnoresTheReplyToAWithdrawalOfAnEarlierArrival) {
    scripted<redis::remote_red_blue_exchanger<text>> at(
        {
            {"renew", {silence}},
            {"arrive", {waits, silence, matched("another")}},
            {"withdraw", {silence}},
            {"count",
             {renewed(array({"", "?"})), // the reply to the renewal
              // to the withdrawal, the first count, the second arrival, and this
              array({"withdrawn"}) + array({"counted", "0 0 1 0"}) + matched("stranger") +
                  array({"counted", "0 0 1 0"})}},
        },
        "lease=1500ms&request_timeout=10s");
    auto& [server, a, room] = at;
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
    for (const answer& each : {
             answer("-NOREPLICAS Not enough good replicas to write.\r\n"),
             answer("-MISCONF Redis is configured to save RDB snapshots\r\n"),
             answer("-NOPERM this user has no permissions\r\n"),
             answer("-BUSY Redis is busy running a script.\r\n"),
             answer("-CLUSTERDOWN The cluster is down\r\n"),
             answer("-TRYAGAIN Multiple keys request during rehashing of slot\r\n"),
             answer(out_of_memory),
             answer(silence),
             lost,
         }) {
        scripted<redis::remote_channel<text>> at(
            {{"arrive", {waits}}, {"renew", {each}}, {"withdraw", {each}}}, "lease=100ms");
        auto& pipe = at.room;
        const auto timed = sync_wait(pipe.send("mine", 300ms));
        EXPECT_EQ(timed, errc::in_doubt) << each.value_or("lost");
        EXPECT_EQ(timed.returned(), "mine");
        std::stop_source stop;
        waiting stopped(pipe.send("another", stop.get_token()));
        std::this_thread::sleep_for(20ms); // perhaps it has been offered
        stop.request_stop();
        const auto ended = stopped.get();
        EXPECT_TRUE(ended == errc::in_doubt || ended == errc::cancelled ||
                    ended == errc::unavailable)
            << each.value_or("lost") << ": " << ended.error().message();
    }
}

TEST(RemoteFaults, TriesARefusedWithdrawalAgain) {
    scripted at({{"arrive", {waits}}, {"withdraw", {out_of_memory, array({"withdrawn"})}}},
                "lease=3s");
    std::stop_source stop;
    waiting stopped(at.room.exchange("mine", stop.get_token()));
    poll([&] { return at.server.count("arrive") == 1; });
    stop.request_stop();
    EXPECT_EQ(stopped.get(), errc::cancelled);
    EXPECT_EQ(at.server.count("withdraw"), 2);
}

// A user who may publish, and nothing else.
TEST(RemoteFaults, BelievesNoMessageWithoutTheToken) {
    const redis_server server;
    two_processes<> both(server);
    auto& [a, b, at_a, at_b] = both;
    waiting first(at_a.exchange("item"));
    wait_for_waiting(at_b, 1);
    std::istringstream channels(server.command({"PUBSUB", "CHANNELS"}));
    const text token(32, 'a');
    for (text channel; channels >> channel;) {
        for (const text& message :
             {text("1:1"), "1:1 " + token + " forged", text("1:1  forged"), text("1:1 forged"),
              text("closed:tryst:2:x:{room}"), text("tryst:2:x:{room}"), text(":"), text(" "),
              text("1:"), text("1:99999999999999999999"), text("99:1"), text("")}) {
            server.command({"PUBLISH", channel, message});
        }
    }
    ASSERT_TRUE(sync_wait(at_a.statistics())); // after the messages
    EXPECT_EQ(sync_wait(at_b.statistics())->waiting, 1u);
    EXPECT_FALSE(at_a.is_closed());
    EXPECT_EQ(sync_wait(at_b.exchange("theirs", long_time)), "item");
    EXPECT_EQ(first.get(), "theirs");
}

TEST(RemoteFaults, PublishesNoItemIfItShouldNot) {
    const redis_server server;
    two_processes<> both(server, "published_item=0");
    expect_pair(both.at_a, both.at_b);
    expect_part(server.command({"INFO", "commandstats"}), "cmdstat_publish");
}

TEST(RemoteFaults, AcceptsNoItemLargerThanItsOwnLimit) {
    const redis_server server;
    process small(server, "max_item=100");
    process large(server, "max_item=1000");
    redis::remote_channel<text> at_small(small.connection, "pipe");
    redis::remote_channel<text> at_large(large.connection, "pipe");
    waiting sent(at_large.send(text(101, 'x')));
    wait_for_waiting(at_small, 1);
    const auto refused = sync_wait(at_small.receive());
    EXPECT_EQ(refused, errc::unavailable);
    expect_part(refused.reason(), "101 bytes");
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
        expect_part(got.reason(), "another version of the protocol");
    }
}

TEST(RemoteFaults, RenewsManyRoomsInFewCalls) {
    const redis_server server;
    process a(server, "lease=300ms");
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
    std::this_thread::sleep_for(300ms);
    const text seen = server.command({"INFO", "commandstats"});
    const std::size_t at = seen.find("cmdstat_evalsha:calls=");
    ASSERT_NE(at, text::npos);
    EXPECT_LE(std::stoi(seen.substr(at + 22)), 50); // 3 renewals, each in 4 calls
    stop.request_stop();
    loop.stop();
    thread.join();
}

// A comparison in two calls, of which one is refused.
TEST(RemoteFaults, KeepsTheDoubtUntilTheWholeComparisonIsAnswered) {
    constexpr int parties = 250;
    std::vector<answer> arrivals(parties, waits);
    arrivals.push_back(matched("")); // if one is sent again
    for (const int refused : {1, 2}) {
        int questions = 0;
        const auto in_the_new_generation = [&](const texts& words) -> answer {
            if (words[4] != "renew" || words[7] != "one:h") {
                return unknown;
            }
            return ++questions == refused ? answer(out_of_memory) : renewed(states_of(words, '?'));
        };
        scripted<redis::remote_channel<text>> at(
            {{"join", {joined, array({"joined", "one:h", "born", ""})}},
             {"PING", {lost, "+PONG\r\n"}},
             {"arrive", arrivals}},
            "request_timeout=400ms&lease=3s", in_the_new_generation);
        run_loop loop;
        int doubtful = 0;
        for (int i = 0; i != parties; ++i) {
            loop.spawn([](auto& room, int& count, run_loop& on) -> task<> {
                const auto got = co_await room.send("mine");
                EXPECT_EQ(got, errc::in_doubt);
                if (++count == parties) {
                    on.stop();
                }
            }(at.room, doubtful, loop));
        }
        loop.run();
        EXPECT_EQ(at.server.count("arrive"), parties);
    }
}

TEST(RemoteFaults, AnswersAQuestionOfARoomThatIsLeft) {
    script_server server({{"count", {silence, array({"counted", "1 2 3 4"})}}});
    process a(server.options("request_timeout=200ms"));
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
        scripted at({{"close", {refusal, array({"closed"})}}}, "lease=200ms");
        at.room.close();
        poll([&] { return at.server.count("close") == 2; });
    }
}

// Redis still has an offer of this room.
TEST(RemoteFaults, LeavesItsRecordWhereAnOfferIsInDoubt) {
    script_server server({{"arrive", {waits}}, {"withdraw", {out_of_memory}}});
    process a(server.options("lease=200ms"));
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
    process a(server, "lease=500ms");
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
    std::this_thread::sleep_for(600ms); // longer than the lease
    EXPECT_EQ(sync_wait(at_b.try_receive()), "good");
    EXPECT_TRUE(sent.get());
    stop.request_stop();
    EXPECT_EQ(lost_there.get(), errc::in_doubt);
}

// A user who may subscribe, but not publish.
TEST(RemoteFaults, ConservesItemsWhenItMayNotPublish) {
    const redis_server server;
    two_processes<> both(server, "lease=600ms");
    waiting first(both.at_a.exchange("from a", 5s));
    wait_for_waiting(both.at_b, 1);
    server.command({"ACL", "SETUSER", "default", "-publish"});
    const auto second = sync_wait(both.at_b.exchange("from b", 5s));
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

// A room to be closed, and a server that refuses.
TEST(RemoteFaults, DoesNotRepeatARefusedJoinAtOnce) {
    scripted at({{"join", {out_of_memory}}});
    ASSERT_TRUE(sync_wait(at.a.connection.connected()));
    at.room.close();
    std::this_thread::sleep_for(200ms);
    EXPECT_LE(at.server.count("join"), 10);
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
    scripted<redis::remote_exchanger<text, counting_codec>> at(
        {
            {"arrive", {silence, matched("theirs")}},
            {"count",
             {"-READONLY You can't write against a read only replica.\r\n",
              array({"counted", "0 0 1 0"})}},
        },
        "request_timeout=400ms");
    auto& [server, a, room] = at;
    waiting first(room.exchange("mine"));
    poll([&] { return server.count("arrive") == 1; });
    EXPECT_TRUE(sync_wait(room.statistics()));
    EXPECT_EQ(first.get(), "theirs");
    EXPECT_LE(counting_codec::encoded, 10);
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

// Also between a message and what it asks for. LeakSanitizer tells what is left.
TEST(RemoteFaults, GoesWithItsContextAtAnyMoment) {
    const redis_server server;
    process other(server);
    bool is_closed = false;
    for (std::size_t handlers = 0; !is_closed; ++handlers) {
        redis::net::io_context context;
        redis::connection hears(context, redis::options::from_url(server.unix_url()));
        redis::remote_exchanger<text> heard(hears, std::to_string(handlers));
        redis::remote_exchanger<text> closed(other.connection, std::to_string(handlers));
        run_loop loop;
        loop.spawn([](auto& where) -> task<> {
            const auto got = co_await where.exchange("mine");
            EXPECT_EQ(got, errc::closed);
        }(heard));
        loop.run_until_idle();
        poll([&] {
            context.poll();
            const auto now = sync_wait(closed.statistics());
            return now && now->waiting == 1;
        });
        closed.close();
        for (std::size_t run = 0; run != handlers && !heard.is_closed();) {
            run += context.run_one_for(1s);
        }
        is_closed = heard.is_closed();
    }
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
