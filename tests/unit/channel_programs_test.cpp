// SPDX-License-Identifier: MIT
// Usual programs of many parties, as Go's and Kotlin's documentation describes them. Those of few
// parties are in docs, and in tests/pages.
#include <tryst/channel.hpp>

#include "support/manual_clock.hpp"

#include <tryst/select.hpp>
#include <tryst/sleep.hpp>
#include <tryst/task.hpp>
#include <tryst/when_all.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <numeric>
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

/// Each program runs on one loop, whose clock stands still, with unbuffered channels and with
/// buffers.
class ChannelPrograms : public testing::TestWithParam<std::size_t> {
protected:
    ~ChannelPrograms() override { EXPECT_EQ(loop->run_until_idle(), 0U); }

    static std::size_t limit() { return GetParam(); }
    void start(task<> work) { loop->spawn(std::move(work)); }

    timed_loop loop;
};
INSTANTIATE_TEST_SUITE_P(Limit, ChannelPrograms, testing::Values(0, 1, 3, 100));

// ---- Go: a tour, effective Go, the blog's pipelines.

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
