// SPDX-License-Identifier: MIT
// The usual programs with channels, as Go's and Kotlin's documentation describes them.
#include <tryst/channel.hpp>

#include "support/manual_clock.hpp"

#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/task.hpp>
#include <tryst/task_scope.hpp>
#include <tryst/when_all.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using numbers = std::vector<int>;
using ints = channel<int>;
struct done_t {};
using signals = channel<done_t>; ///< Only its close says something.

numbers up_to(int count) {
    numbers all(static_cast<std::size_t>(count));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

/// Sends 0, 1, ... and closes.
task<> produce(ints& to, int count) {
    for (int i = 0; i != count; ++i) {
        const auto sent = co_await to.send(i);
        if (!sent) {
            co_return;
        }
    }
    to.close();
}

/// Go: `for i := range from`. @returns all items.
task<numbers> range(ints& from) {
    numbers all;
    while (true) {
        const auto got = co_await from.receive();
        if (!got) {
            co_return all;
        }
        all.push_back(*got);
    }
}

/// Passes on what `change` makes of each item, and closes.
template <class Change>
task<> stage(ints& from, ints& to, Change change) {
    while (true) {
        const auto got = co_await from.receive();
        if (!got) {
            break;
        }
        const auto sent = co_await to.send(change(*got));
        EXPECT_TRUE(sent);
    }
    to.close();
}

/// Each program runs on one loop, whose clock stands still, with unbuffered channels and with
/// buffers.
class ChannelPrograms : public testing::TestWithParam<std::size_t> {
protected:
    ~ChannelPrograms() override { EXPECT_EQ(loop->run_until_idle(), 0U); }

    static std::size_t limit() { return GetParam(); }
    void start(task<> work) { loop->spawn(std::move(work)); }
    numbers collect(ints& from) { return loop->run(range(from)); }

    timed_loop loop;
};
INSTANTIATE_TEST_SUITE_P(Limit, ChannelPrograms, testing::Values(0, 1, 3, 100));

// ---- Go: a tour, effective Go, the blog's pipelines.

TEST_P(ChannelPrograms, ProducerAndRange) {
    ints ch(limit());
    start(produce(ch, 250));
    EXPECT_EQ(collect(ch), up_to(250));
}

TEST_P(ChannelPrograms, PrimeSieve) {
    std::deque<ints> stages;
    const auto generate = [](ints& to) -> task<> {
        for (int i = 2;; ++i) {
            const auto sent = co_await to.send(i);
            if (!sent) {
                co_return;
            }
        }
    };
    const auto filter = [](ints& from, ints& to, int prime) -> task<> {
        while (true) {
            const auto got = co_await from.receive();
            if (!got) {
                co_return;
            }
            if (*got % prime != 0) {
                const auto sent = co_await to.send(*got);
                if (!sent) {
                    co_return;
                }
            }
        }
    };
    const auto sieve = [&](numbers& primes) -> task<> {
        stages.emplace_back(limit());
        start(generate(stages.back()));
        while (primes.size() != 25) {
            const auto prime = co_await stages.back().receive();
            primes.push_back(*prime);
            ints& from = stages.back();
            stages.emplace_back(limit());
            start(filter(from, stages.back(), primes.back()));
        }
        for (ints& each : stages) {
            each.close();
        }
    };
    numbers primes;
    loop->run(sieve(primes));
    loop->run_until_idle();
    EXPECT_EQ(primes.back(), 97);
    EXPECT_EQ(primes[10], 31);
}

TEST_P(ChannelPrograms, PingPong) {
    ints table(limit());
    ints back(limit());
    const auto play = [](ints& from, ints& to) -> task<> {
        while (true) {
            const auto ball = co_await from.receive();
            if (!ball || *ball == 1'000) {
                to.close();
                from.close();
                co_return;
            }
            const auto sent = co_await to.send(*ball + 1);
            EXPECT_TRUE(sent);
        }
    };
    const auto serve = [](ints& to) -> task<> {
        const auto sent = co_await to.send(0);
        EXPECT_TRUE(sent);
    };
    loop->run(when_all(play(table, back), play(back, table), serve(table)));
    EXPECT_TRUE(table.is_closed() && back.is_closed());
}

TEST_P(ChannelPrograms, PipelineOfSquares) {
    ints given(limit());
    ints squares(limit());
    ints sums(limit());
    start(produce(given, 100));
    start(stage(given, squares, [](int i) { return i * i; }));
    start(stage(squares, sums, [sum = 0](int i) mutable { return sum += i; }));
    EXPECT_EQ(collect(sums).back(), 328'350);
}

TEST_P(ChannelPrograms, FanOutToWorkersAndFanIn) {
    ints jobs(limit());
    ints results(limit());
    int working = 5;
    const auto work = [&]() -> task<> {
        while (true) {
            const auto job = co_await jobs.receive();
            if (!job) {
                break;
            }
            co_await sleep_for(1ns * (*job % 3));
            const auto sent = co_await results.send(*job);
            EXPECT_TRUE(sent);
        }
        if (--working == 0) { // Go: a WaitGroup
            results.close();
        }
    };
    start(produce(jobs, 100));
    for (int i = 0; i != 5; ++i) {
        start(work());
    }
    numbers got;
    const auto all = [&]() -> task<> { got = co_await range(results); };
    start(all());
    while (!results.is_closed()) {
        loop.advance(1ns);
    }
    std::ranges::sort(got);
    EXPECT_EQ(got, up_to(100));
}

TEST_P(ChannelPrograms, SemaphoreBoundsWhatRunsAtATime) {
    ints tokens(limit());
    int running = 0;
    int most = 0;
    const auto work = [&]() -> task<> {
        const auto entered = co_await tokens.send(1);
        EXPECT_TRUE(entered);
        most = std::max(most, ++running);
        co_await sleep_for(1ms);
        --running;
        const auto left = co_await tokens.receive();
        EXPECT_TRUE(left);
    };
    if (limit() == 0) {
        return; // nobody could enter
    }
    for (int i = 0; i != 20; ++i) {
        start(work());
    }
    loop->run_until_idle();
    for (int i = 0; i != 20; ++i) {
        loop.advance(1ms);
    }
    EXPECT_EQ(most, std::min<int>(20, static_cast<int>(limit())));
    EXPECT_EQ(tokens.size(), 0U);
}

TEST_P(ChannelPrograms, TimeoutOfAReceive) {
    ints ch(limit());
    const auto wait = [](ints& from, ints& never) -> task<> {
        const auto got = co_await from.receive(5ms);
        EXPECT_EQ(got, exchange_errc::timed_out);
        const auto chosen = co_await select(from.receive(), never.receive(), 5ms);
        EXPECT_EQ(chosen.index(), select_npos);
        const auto later = co_await from.receive(5ms);
        EXPECT_EQ(later, 7);
    };
    ints never(limit());
    start(wait(ch, never));
    loop->run_until_idle();
    loop.advance(5ms);
    loop.advance(5ms);
    const auto send = [](ints& to) -> task<> {
        const auto sent = co_await to.send(7);
        EXPECT_TRUE(sent);
    };
    start(send(ch));
    loop->run_until_idle();
}

TEST_P(ChannelPrograms, TicksUntilStopped) {
    ints ticks(limit());
    signals stop(limit());
    const auto tick = [](ints& to, signals& until) -> task<> {
        for (int i = 0;; ++i) {
            const auto stopped = co_await until.receive(10ms);
            if (stopped == exchange_errc::closed) {
                to.close();
                co_return;
            }
            static_cast<void>(to.try_send(i)); // Go's ticker drops ticks for slow receivers
        }
    };
    start(tick(ticks, stop));
    numbers got;
    const auto all = [&]() -> task<> { got = co_await range(ticks); };
    start(all());
    loop->run_until_idle();
    for (int i = 0; i != 5; ++i) {
        loop.advance(10ms);
    }
    stop.close();
    loop->run_until_idle();
    EXPECT_EQ(got, up_to(5));
}

TEST_P(ChannelPrograms, SelectWithADefault) {
    ints ch(limit());
    ints other(limit());
    auto nothing = try_select(ch.receive(), other.receive());
    EXPECT_EQ(nothing.index(), select_npos);
    auto sent = try_select(ch.send(1));
    EXPECT_EQ(sent.index(), limit() == 0 ? select_npos : 0U);
    auto got = try_select(ch.receive(), other.receive());
    EXPECT_EQ(got.get<0>().value_or(-1), limit() == 0 ? -1 : 1);
}

TEST_P(ChannelPrograms, FibonacciWithSelectAndQuit) {
    ints ch(limit());
    signals quit(0);
    const auto fibonacci = [](ints& to, signals& until) -> task<> {
        for (int x = 0, y = 1;;) {
            auto chosen = co_await select_biased(until.receive(), to.send(x));
            if (chosen.index() == 0) {
                co_return;
            }
            x = std::exchange(y, x + y);
        }
    };
    const auto read = [](ints& from, signals& until, numbers& to) -> task<> {
        while (to.size() != 10) {
            const auto got = co_await from.receive();
            to.push_back(*got);
        }
        const auto sent = co_await until.send({});
        EXPECT_TRUE(sent);
    };
    numbers got;
    if (limit() > 30) {
        ch.set_limit(30); // the numbers become too large
    }
    loop->run(when_all(fibonacci(ch, quit), read(ch, quit, got)));
    EXPECT_EQ(got, (numbers{0, 1, 1, 2, 3, 5, 8, 13, 21, 34}));
}

TEST_P(ChannelPrograms, RequestsThatContainTheChannelOfTheirReply) {
    struct request {
        int argument;
        ints* reply;
    };
    channel<request> requests(limit());
    const auto serve = [](channel<request>& from) -> task<> {
        while (true) {
            const auto got = co_await from.receive();
            if (!got) {
                co_return;
            }
            const auto sent = co_await got->reply->send(2 * got->argument);
            EXPECT_TRUE(sent);
        }
    };
    int answered = 0;
    const auto ask = [&](int argument) -> task<> {
        ints reply(1);
        const auto sent = co_await requests.send({argument, &reply});
        EXPECT_TRUE(sent);
        const auto got = co_await reply.receive();
        EXPECT_EQ(got, 2 * argument);
        ++answered;
    };
    start(serve(requests));
    start(serve(requests));
    for (int i = 0; i != 50; ++i) {
        start(ask(i));
    }
    loop->run_until_idle();
    requests.close();
    loop->run_until_idle();
    EXPECT_EQ(answered, 50);
}

TEST_P(ChannelPrograms, BroadcastByClose) {
    signals done(limit());
    int released = 0;
    const auto wait = [&]() -> task<> {
        const auto got = co_await done.receive();
        EXPECT_EQ(got, exchange_errc::closed);
        ++released;
    };
    for (int i = 0; i != 30; ++i) {
        start(wait());
    }
    loop->run_until_idle();
    EXPECT_EQ(released, 0);
    done.close();
    loop->run_until_idle();
    EXPECT_EQ(released, 30);
}

TEST_P(ChannelPrograms, AWorkerPoolThatGrows) {
    ints jobs(limit());
    int workers = 0;
    int done = 0;
    const auto work = [&](int first) -> task<> {
        ++workers;
        std::optional<int> job = first;
        while (job) {
            co_await sleep_for(1ms);
            ++done;
            const auto next = co_await jobs.receive();
            job = next ? std::optional(*next) : std::nullopt;
        }
        --workers;
    };
    const auto submit = [&](int job) {
        if (jobs.try_send(job)) {
            return; // a worker is idle, or there is room
        }
        start(work(job));
    };
    for (int i = 0; i != 200; ++i) {
        submit(i);
    }
    loop->run_until_idle();
    EXPECT_EQ(workers, 200 - std::min<int>(200, static_cast<int>(limit())));
    for (int i = 0; i != 200; ++i) {
        loop.advance(1ms);
    }
    EXPECT_EQ(done, 200);
    jobs.close();
    loop->run_until_idle();
    EXPECT_EQ(workers, 0);
}

TEST_P(ChannelPrograms, ARateLimiterWithBursts) {
    constexpr int burst = 3;
    ints tokens(burst);
    numbers full = up_to(burst);
    std::vector<std::chrono::nanoseconds> at;
    const auto begin = loop.now();
    const auto refill = [](ints& to) -> task<> {
        while (!to.is_closed()) {
            co_await sleep_for(10ms);
            static_cast<void>(to.try_send(0));
        }
    };
    const auto use = [&]() -> task<> {
        const auto filled = co_await tokens.send_all(full);
        EXPECT_TRUE(filled);
        for (int i = 0; i != 6; ++i) {
            const auto token = co_await tokens.receive();
            EXPECT_TRUE(token);
            at.push_back(loop.now() - begin);
        }
        tokens.close();
    };
    start(use());
    start(refill(tokens));
    loop->run_until_idle();
    for (int i = 0; i != 5; ++i) {
        loop.advance(10ms);
    }
    EXPECT_EQ(at, (std::vector<std::chrono::nanoseconds>{0ms, 0ms, 0ms, 10ms, 20ms, 30ms}));
}

TEST_P(ChannelPrograms, AnErrorGroupStopsTheOthers) {
    channel<std::error_code> errors(1); // only the first is kept
    signals cancel(0);
    int cancelled = 0;
    const auto work = [&](int number) -> task<> {
        const auto stopped = co_await cancel.receive(1ms * number);
        if (stopped == exchange_errc::closed) {
            ++cancelled;
        } else if (number == 3) {
            if (errors.try_send(std::make_error_code(std::errc::io_error))) {
                cancel.close();
            }
        }
    };
    for (int i = 1; i != 11; ++i) {
        start(work(i));
    }
    loop->run_until_idle();
    for (int i = 0; i != 4; ++i) {
        loop.advance(1ms);
    }
    EXPECT_EQ(cancelled, 7);
    EXPECT_EQ(errors.try_receive(), std::make_error_code(std::errc::io_error));
}

/// Go: passes items on until `done` is closed.
task<> or_done(signals& done, ints& from, ints& to) {
    while (true) {
        auto got = co_await select_biased(done.receive(), from.receive());
        if (got.index() != 1 || !got.get<1>()) {
            break;
        }
        auto sent = co_await select_biased(done.receive(), to.send(*got.get<1>()));
        if (sent.index() != 1) {
            break;
        }
    }
    to.close();
}

TEST_P(ChannelPrograms, OrDone) {
    ints endless(limit());
    ints to(limit());
    signals done(0);
    const auto read = [&](numbers& got) -> task<> {
        while (got.size() != 7) {
            const auto item = co_await to.receive();
            got.push_back(*item);
        }
        done.close();
    };
    numbers got;
    start(produce(endless, 1'000'000));
    start(or_done(done, endless, to));
    loop->run(read(got));
    loop->run_until_idle();
    EXPECT_TRUE(to.is_closed());
    EXPECT_EQ(got, up_to(7));
    endless.close();
    loop->run_until_idle();
}

TEST_P(ChannelPrograms, Tee) {
    ints from(limit());
    ints one(limit());
    ints other(limit());
    const auto tee = [&]() -> task<> {
        while (true) {
            const auto got = co_await from.receive();
            if (!got) {
                break;
            }
            auto first = co_await select(one.send(*got), other.send(*got));
            const auto second =
                first.index() == 0 ? co_await other.send(*got) : co_await one.send(*got);
            EXPECT_TRUE(second);
        }
        one.close();
        other.close();
    };
    start(produce(from, 90));
    start(tee());
    const auto both = [&]() -> task<> {
        const auto [left, right] = co_await when_all(range(one), range(other));
        EXPECT_EQ(left, up_to(90));
        EXPECT_EQ(right, up_to(90));
    };
    loop->run(both());
}

TEST_P(ChannelPrograms, BridgeOfAChannelOfChannels) {
    channel<std::unique_ptr<ints>> streams(limit());
    ints out(limit());
    const auto make = [&]() -> task<> {
        for (int i = 0; i != 10; ++i) {
            auto part = std::make_unique<ints>(1U);
            EXPECT_TRUE(part->try_send(i));
            part->close();
            const auto sent = co_await streams.send(std::move(part));
            EXPECT_TRUE(sent);
        }
        streams.close();
    };
    const auto bridge = [&]() -> task<> {
        while (true) {
            auto part = co_await streams.receive();
            if (!part) {
                break;
            }
            const auto items = co_await range(**part);
            for (const int each : items) {
                const auto sent = co_await out.send(each);
                EXPECT_TRUE(sent);
            }
        }
        out.close();
    };
    start(make());
    start(bridge());
    EXPECT_EQ(collect(out), up_to(10));
}

TEST_P(ChannelPrograms, DaisyChainOfWhispers) {
    constexpr int gophers = 10'000;
    std::deque<ints> chain;
    for (int i = 0; i != gophers + 1; ++i) {
        chain.emplace_back(limit() == 100 ? 0 : limit());
    }
    const auto whisper = [](ints& left, ints& right) -> task<> {
        const auto heard = co_await right.receive();
        const auto sent = co_await left.send(*heard + 1);
        EXPECT_TRUE(sent);
    };
    for (std::size_t i = 0; i != gophers; ++i) {
        start(whisper(chain[i], chain[i + 1]));
    }
    const auto listen = [&]() -> task<> {
        const auto sent = co_await chain.back().send(1);
        EXPECT_TRUE(sent);
        const auto heard = co_await chain.front().receive();
        EXPECT_EQ(heard, gophers + 1);
    };
    loop->run(listen());
    loop->run_until_idle();
}

// ---- Kotlin: the guide to channels.

TEST_P(ChannelPrograms, LatestValueOnly) {
    ints latest(1); // Kotlin: CONFLATED
    const auto set = [&](int value) {
        static_cast<void>(latest.try_receive());
        EXPECT_TRUE(latest.try_send(value));
    };
    for (int i = 0; i != 5; ++i) {
        set(i);
    }
    latest.close();
    EXPECT_EQ(collect(latest), numbers{4});
}

TEST_P(ChannelPrograms, AnActorOwnsItsState) {
    struct message {
        int add;
        channel<int>* reply; ///< Null: only adds.
    };
    channel<message> mail(limit());
    const auto actor = [](channel<message>& from) -> task<> {
        int counter = 0;
        while (true) {
            const auto got = co_await from.receive();
            if (!got) {
                co_return;
            }
            counter += got->add;
            if (got->reply != nullptr) {
                EXPECT_TRUE(got->reply->try_send(counter));
            }
        }
    };
    const auto add = [&]() -> task<> {
        for (int i = 0; i != 100; ++i) {
            const auto sent = co_await mail.send({1, nullptr});
            EXPECT_TRUE(sent);
        }
    };
    const auto ask = [&]() -> task<> {
        co_await when_all(add(), add(), add());
        ints reply(1);
        const auto sent = co_await mail.send({0, &reply});
        EXPECT_TRUE(sent);
        const auto got = co_await reply.receive();
        EXPECT_EQ(got, 300);
        mail.close();
    };
    loop->run(when_all(actor(mail), ask()));
}

TEST_P(ChannelPrograms, TheSenderIsAheadByTheBufferAndOne) {
    ints ch(limit());
    int begun = 0;
    const auto send = [&]() -> task<> {
        for (; begun != 500; ++begun) {
            const auto sent = co_await ch.send(begun);
            if (!sent) {
                co_return;
            }
        }
    };
    start(send());
    loop->run_until_idle();
    EXPECT_EQ(static_cast<std::size_t>(begun), limit()); // the next one waits
    ch.close();
    loop->run_until_idle();
}

TEST_P(ChannelPrograms, ReceiversTakeTurns) {
    ints table(limit()); // Kotlin: channels are fair
    numbers order;
    const auto play = [&](int player) -> task<> {
        for (int i = 0; i != 4; ++i) {
            const auto ball = co_await table.receive();
            EXPECT_TRUE(ball);
            order.push_back(player);
            co_await sleep_for(1ms);
            if (order.size() < 8) {
                const auto sent = co_await table.send(0);
                EXPECT_TRUE(sent);
            }
        }
    };
    start(play(0));
    start(play(1));
    loop->run_until_idle();
    const auto serve = [](ints& to) -> task<> {
        const auto sent = co_await to.send(0);
        EXPECT_TRUE(sent);
    };
    start(serve(table));
    loop->run_until_idle();
    for (int i = 0; i != 10; ++i) {
        loop.advance(1ms);
    }
    EXPECT_EQ(order, (numbers{0, 1, 0, 1, 0, 1, 0, 1}));
}

} // namespace
} // namespace tryst::test
