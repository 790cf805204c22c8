// SPDX-License-Identifier: MIT
// Go's usual select programs, written from the pages alone: docs/select.md and what it links.
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

using numbers = tryst::synchronous_channel<int>;
using words = tryst::synchronous_channel<std::string>;
using queue = tryst::channel<int>;

tryst::task<> put(numbers& out, std::vector<int> items) {
    for (int item : items) {
        auto sent = co_await out.send(item);
        EXPECT_TRUE(sent);
    }
}

tryst::task<> put_and_close(numbers& out, std::vector<int> items) {
    co_await put(out, std::move(items));
    out.close();
}

// 1. Timeout

tryst::task<> receive_in_time(queue& in, int& received) {
    auto none = co_await in.receive(2ms);
    EXPECT_FALSE(none);
    EXPECT_EQ(none.error(), tryst::exchange_errc::timed_out);

    auto sent = in.try_send(7);
    EXPECT_TRUE(sent);
    auto got = co_await in.receive(1h);
    EXPECT_TRUE(got);
    if (got) {
        received = *got;
    }
}

TEST(GoSelects, TimeoutOfAReceive) {
    tryst::run_loop loop;
    queue items(1);
    int received = 0;
    loop.run(receive_in_time(items, received));
    EXPECT_EQ(received, 7);
}

// 2. Cancel

tryst::task<> add_until_done(numbers& in, std::stop_token done, int& sum, bool& cancelled) {
    while (true) {
        auto got = co_await tryst::select(in.receive(), tryst::stopped(done));
        if (got.index() == 1) {
            cancelled = true;
            co_return;
        }
        if (got.error()) {
            co_return;
        }
        sum += *got.get<0>();
    }
}

tryst::task<> put_and_cancel(numbers& out, std::vector<int> items, std::stop_source& context) {
    co_await put(out, std::move(items));
    context.request_stop();
}

TEST(GoSelects, CancelByContext) {
    tryst::run_loop loop;
    numbers items;
    std::stop_source context;
    int sum = 0;
    bool cancelled = false;
    loop.run(tryst::when_all(add_until_done(items, context.get_token(), sum, cancelled),
                             put_and_cancel(items, {1, 2, 3}, context)));
    EXPECT_EQ(sum, 6);
    EXPECT_TRUE(cancelled);
}

// 3. Fan-in

tryst::task<> fan_in(numbers& a, numbers& b, numbers& out, std::stop_token stop) {
    while (auto got = co_await tryst::select(a.receive(), b.receive(), stop)) {
        auto item = std::move(got).visit(std::identity());
        EXPECT_TRUE(item);
        int value = *item;
        auto sent = co_await out.send(value);
        EXPECT_TRUE(sent);
    }
}

tryst::task<> take(numbers& in, std::vector<int>& taken, std::size_t most, std::stop_source& stop) {
    while (taken.size() != most) {
        auto got = co_await in.receive();
        EXPECT_TRUE(got);
        taken.push_back(*got);
    }
    stop.request_stop();
}

TEST(GoSelects, FanInOfTwoProducers) {
    tryst::run_loop loop;
    numbers a, b, both;
    std::stop_source stop;
    std::vector<int> taken;
    loop.run(tryst::when_all(put(a, {1, 2, 3}), put(b, {4, 5, 6}),
                             fan_in(a, b, both, stop.get_token()), take(both, taken, 6, stop)));
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, (std::vector<int>{1, 2, 3, 4, 5, 6}));
}

// 4. Quit channel with a reply

tryst::task<> speak(words& out, words& quit, bool& cleaned_up) {
    for (int i = 1;; ++i) {
        std::string word = "word " + std::to_string(i);
        auto got = co_await tryst::select(out.send(std::move(word)), quit.receive());
        if (got.index() == 1) {
            cleaned_up = true;
            std::string reply = "see you";
            auto sent = co_await quit.send(std::move(reply));
            co_return;
        }
    }
}

tryst::task<> hear_three(words& in, words& quit, std::vector<std::string>& heard) {
    for (int i = 0; i != 3; ++i) {
        auto got = co_await in.receive();
        heard.push_back(*std::move(got));
    }
    std::string bye = "bye";
    auto sent = co_await quit.send(std::move(bye));
    auto reply = co_await quit.receive();
    heard.push_back(*std::move(reply));
}

TEST(GoSelects, QuitChannelWithAReply) {
    tryst::run_loop loop;
    words spoken, quit;
    std::vector<std::string> heard;
    bool cleaned_up = false;
    loop.run(tryst::when_all(speak(spoken, quit, cleaned_up), hear_three(spoken, quit, heard)));
    EXPECT_EQ(heard, (std::vector<std::string>{"word 1", "word 2", "word 3", "see you"}));
    EXPECT_TRUE(cleaned_up);
}

// 5. Heartbeat

tryst::task<> beat(numbers& in, numbers& pulses, std::stop_token quit, int& heard) {
    for (int beats = 0;;) {
        auto got =
            co_await tryst::select(in.receive(), tryst::sleep_for(1ms), tryst::stopped(quit));
        if (got.index() == 2 || got.error()) {
            co_return;
        }
        if (got.index() == 1) {
            static_cast<void>(pulses.try_send(++beats));
        } else {
            heard = *got.get<0>();
        }
    }
}

tryst::task<> feel_pulse(numbers& out, numbers& pulses, std::stop_source& quit, int& last) {
    while (last < 3) {
        auto pulse = co_await pulses.receive();
        last = *pulse;
    }
    std::vector<int> items{42};
    co_await put_and_cancel(out, std::move(items), quit);
}

TEST(GoSelects, HeartbeatWhileNothingComes) {
    tryst::run_loop loop;
    numbers items, pulses;
    std::stop_source quit;
    int heard = 0, last = 0;
    loop.run(tryst::when_all(beat(items, pulses, quit.get_token(), heard),
                             feel_pulse(items, pulses, quit, last)));
    EXPECT_EQ(heard, 42);
    EXPECT_GE(last, 3);
}

// 6. Rate limit

using steady = std::chrono::steady_clock;

tryst::task<> serve_at_ticks(numbers& in, std::chrono::milliseconds period,
                             std::vector<steady::duration>& served) {
    const auto start = steady::now();
    auto next = start + period;
    for (bool due = false;;) {
        auto got =
            co_await tryst::select(tryst::case_if(due, in.receive()), tryst::sleep_until(next));
        if (got.error()) {
            co_return;
        }
        if (got.index() == 0) {
            served.push_back(steady::now() - start);
            due = false;
        } else {
            due = true;
            next += period;
        }
    }
}

TEST(GoSelects, RateLimit) {
    tryst::run_loop loop;
    numbers requests;
    std::vector<steady::duration> served;
    loop.run(tryst::when_all(serve_at_ticks(requests, 2ms, served),
                             put_and_close(requests, {1, 2, 3, 4})));
    EXPECT_EQ(served.size(), 4U);
    for (std::size_t i = 0; i != served.size(); ++i) {
        EXPECT_GE(served[i], 2ms * static_cast<int>(i + 1));
    }
}

// 7. Priority

tryst::task<> work_by_priority(queue& urgent, queue& ordinary, std::vector<int>& done) {
    for (int i = 0; i != 6; ++i) {
        auto got = co_await tryst::select_biased(urgent.receive(), ordinary.receive());
        auto job = std::move(got).visit(std::identity());
        EXPECT_TRUE(job);
        done.push_back(*job);
    }
}

TEST(GoSelects, UrgentBeforeOrdinary) {
    tryst::run_loop loop;
    queue urgent(3), ordinary(3);
    for (int i = 1; i <= 3; ++i) {
        auto later = ordinary.try_send(10 * i);
        auto first = urgent.try_send(i);
        EXPECT_TRUE(later);
        EXPECT_TRUE(first);
    }
    std::vector<int> done;
    loop.run(work_by_priority(urgent, ordinary, done));
    EXPECT_EQ(done, (std::vector<int>{1, 2, 3, 10, 20, 30}));
}

// 8. Nil channel

tryst::task<> hear_both(numbers& a, numbers& b, std::vector<int>& heard) {
    bool a_open = true;
    bool b_open = true;
    while (a_open || b_open) {
        auto got = co_await tryst::select(tryst::case_if(a_open, a.receive()),
                                          tryst::case_if(b_open, b.receive()));
        const auto which = got.index();
        auto item = std::move(got).visit(std::identity());
        if (item) {
            heard.push_back(*item);
        } else if (which == 0) {
            a_open = false;
        } else {
            b_open = false;
        }
    }
}

TEST(GoSelects, NilChannelMerge) {
    tryst::run_loop loop;
    numbers a, b;
    std::vector<int> heard;
    loop.run(tryst::when_all(hear_both(a, b, heard), put_and_close(a, {1}),
                             put_and_close(b, {2, 3, 4, 5})));
    std::sort(heard.begin(), heard.end());
    EXPECT_EQ(heard, (std::vector<int>{1, 2, 3, 4, 5}));
}

// 9. First of several replicas

tryst::task<> answer(int id, std::chrono::milliseconds delay, numbers& out, std::stop_token stop,
                     int& cancelled) {
    co_await tryst::sleep_for(delay, stop);
    auto sent = co_await out.send(id, stop);
    if (!sent) {
        EXPECT_EQ(sent.error(), tryst::exchange_errc::cancelled);
        ++cancelled;
    }
}

tryst::task<> ask_all(int count, int quick, int& winner, int& cancelled) {
    numbers answers;
    tryst::task_scope replicas;
    for (int id = 0; id != count; ++id) {
        const std::chrono::milliseconds delay = id == quick ? 1ms : 1h;
        replicas.spawn(answer(id, delay, answers, replicas.get_stop_token(), cancelled));
    }
    auto got = co_await answers.receive();
    replicas.request_stop();
    co_await replicas.join();
    winner = *got;
}

TEST(GoSelects, FirstOfSeveralReplicas) {
    tryst::run_loop loop;
    int winner = -1;
    int cancelled = 0;
    loop.run(ask_all(5, 3, winner, cancelled));
    EXPECT_EQ(winner, 3);
    EXPECT_EQ(cancelled, 4);
}

// 10. Worker pool

tryst::task<> square(numbers& jobs, numbers& results) {
    while (auto job = co_await jobs.receive()) {
        int result = *job * *job;
        auto sent = co_await results.send(result);
        EXPECT_TRUE(sent);
    }
}

tryst::task<> run_pool(std::vector<int> items, int& sum) {
    numbers jobs, results;
    tryst::task_scope pool;
    for (int i = 0; i != 3; ++i) {
        pool.spawn(square(jobs, results));
    }
    const std::size_t count = items.size();
    pool.spawn(put_and_close(jobs, std::move(items)));
    for (std::size_t i = 0; i != count; ++i) {
        auto result = co_await results.receive();
        sum += *result;
    }
    co_await pool.join();
}

TEST(GoSelects, WorkerPoolWithResults) {
    tryst::run_loop loop;
    int sum = 0;
    loop.run(run_pool({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, sum));
    EXPECT_EQ(sum, 385);
}

// 11. Many channels

tryst::task<> serve_all(std::deque<numbers>& sources, std::vector<int>& sums, int& closed) {
    tryst::case_set<std::size_t, tryst::receive_case<numbers>> inbox;
    for (std::size_t i = 0; i != sources.size(); ++i) {
        inbox.add(sources[i].receive(), i);
    }
    while (auto got = co_await inbox.next()) {
        if (auto& item = got.get()) {
            sums[got.token()] += *item;
        } else {
            ++closed;
        }
    }
}

tryst::task<> run_server(std::deque<numbers>& sources, std::vector<int>& sums, int& closed) {
    tryst::task_scope clients;
    for (numbers& each : sources) {
        std::vector<int> items{1, 2, 3};
        clients.spawn(put_and_close(each, std::move(items)));
    }
    co_await serve_all(sources, sums, closed);
    co_await clients.join();
}

TEST(GoSelects, ServeFiftyChannels) {
    tryst::run_loop loop;
    std::deque<numbers> sources(50);
    std::vector<int> sums(50, 0);
    int closed = 0;
    loop.run(run_server(sources, sums, closed));
    EXPECT_EQ(sums, std::vector<int>(50, 6));
    EXPECT_EQ(closed, 50);
}

} // namespace
} // namespace tryst::test
