// SPDX-License-Identifier: MIT
#include <tryst/uring/context.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "adapters/uring/process.hpp"
#include "support/executor_end.hpp"
#include "support/long_past.hpp"
#include "support/loop_thread.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <liburing.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::executor_node;
using tryst::task;
using tryst::uring::limits;
using tryst::uring::result;

using size_result = std::optional<result<std::size_t>>;
using void_result = std::optional<result<>>;

/// Calls `body` on the loop.
template <class Body>
task<> call(Body body) {
    body();
    co_return;
}

struct counting_node : executor_node {
    explicit counting_node(std::atomic<int>& runs) : executor_node{}, count(&runs) {
        run = [](executor_node* node) noexcept { ++*static_cast<counting_node*>(node)->count; };
    }
    std::atomic<int>* count;
};

// ---- The loop

TEST(UringContext, RunsWhatWasSpawnedAndReturnsWhenStopped) {
    context loop;
    bool ran = false;
    loop.spawn(call([&] {
        ran = true;
        EXPECT_TRUE(loop.running_here());
        loop.stop();
    }));
    EXPECT_FALSE(loop.running_here());
    EXPECT_GE(loop.run(), 2U); // the task and the stop
    EXPECT_TRUE(ran);
}

TEST(UringContext, CompletesItsOperationsWhileAPartyFindsItsPartners) {
    tryst::synchronous_channel<int> channel;
    const tryst::test::waiting_partners partners(channel);
    context loop;
    int done = 0;
    int seen = -1;
    loop.spawn([](context& here, const int& count, int& at) -> task<> {
        const auto ended = co_await here.nop();
        EXPECT_TRUE(ended);
        at = count;
    }(loop, done, seen));
    loop.run(tryst::test::send_all(channel, done));
    EXPECT_EQ(done, tryst::test::waiting_partners::count);
    EXPECT_GE(seen, 0);
    EXPECT_LE(seen, 4 * tryst::test::budget);
}

TEST(UringContext, RunsOneTaskToItsEnd) {
    context loop;
    EXPECT_TRUE(loop.run([](context& here) -> task<bool> {
        const auto done = co_await here.nop();
        here.stop(); // stays in force
        const bool passed = co_await tryst::sleep_for(1ms);
        EXPECT_TRUE(passed);
        co_return done.has_value();
    }(loop)));
    bool ran = false;
    loop.run(); // ends, because of the stop
    loop.run(call([&] { ran = true; }));
    EXPECT_TRUE(ran);
    std::thread([&] {
        EXPECT_THROW(loop.run(call([] { ADD_FAILURE() << "ran on another thread"; })),
                     std::system_error);
    }).join();
    EXPECT_EQ(loop.run_until_idle(), 0U) << "the refused task was queued";
}

TEST(UringContext, RunsScopesOfItsOwnOperations) {
    context loop;
    loop.run([](context& here) -> task<> {
        tryst::task_scope scope;
        auto handle = scope.spawn_future([](context& on, std::stop_token stop) -> task<bool> {
            auto waited = co_await on.timeout(24h, stop);
            co_return waited.has_value();
        }(here, scope.get_stop_token()));
        scope.request_stop();
        const bool passed = co_await handle;
        EXPECT_FALSE(passed);
        co_await scope.join();
    }(loop));
}

TEST(UringContext, RunsUntilIdleAndKeepsAStopForRun) {
    context loop;
    int ran = 0;
    loop.spawn(call([&] {
        loop.stop();
        loop.spawn(call([&] { ++ran; }));
    }));
    loop.run_until_idle();
    EXPECT_EQ(ran, 1); // beyond the stop
    loop.run(); // returns
    EXPECT_EQ(loop.run_until_idle(), 0U);
}

TEST(UringContext, WaitsForAnOperationInRunUntilIdleOnlyIfItIsOver) {
    context loop;
    const file_pair pipe = make_pipe();
    std::array<std::byte, 4> bytes{};
    size_result got;
    loop.spawn(party(got, [&] { return loop.read(pipe.reader.get(), bytes); }));
    loop.run_until_idle();
    EXPECT_FALSE(got);
    write_text(pipe.writer, "word");
    loop.run_until_idle();
    ASSERT_TRUE(got);
    EXPECT_EQ(**got, 4U);
    EXPECT_EQ(text_of(bytes), "word");
}

TEST(UringContext, RunsAnEmptyLoopUntilAStopOfAnotherThread) {
    context loop(sleepy);
    std::thread other([&] {
        until_asleep();
        loop.stop();
    });
    EXPECT_EQ(loop.run(), 1U);
    other.join();
}

TEST(UringContext, RunsWhatEachThreadPostedInItsOrder) {
    constexpr int posts = 2'000;
    struct numbered : executor_node {
        std::vector<int>* into = nullptr;
        int number = 0;
    };
    std::array<std::vector<int>, 3> seen;
    std::array<std::vector<numbered>, 3> nodes;
    {
        context_thread loop(sleepy);
        std::vector<std::thread> threads;
        for (std::size_t t = 0; t != nodes.size(); ++t) {
            nodes[t].resize(posts);
            threads.emplace_back([&, t] {
                for (int i = 0; i != posts; ++i) {
                    numbered& node = nodes[t][static_cast<std::size_t>(i)];
                    node.into = &seen[t];
                    node.number = i;
                    node.run = [](executor_node* self) noexcept {
                        auto& mine = *static_cast<numbered*>(self);
                        mine.into->push_back(mine.number);
                    };
                    loop->post(&node);
                }
            });
        }
        for (std::thread& each : threads) {
            each.join();
        }
    } // all posts come before the stop
    for (const auto& each : seen) {
        EXPECT_EQ(each.size(), static_cast<std::size_t>(posts));
        EXPECT_TRUE(std::ranges::is_sorted(each));
    }
}

TEST(UringContext, ResumesACoroutineThatAwaitsSchedule) {
    context here;
    context_thread there;
    std::array<std::thread::id, 3> places;
    here.spawn([](context& home, context& away, auto& where) -> task<> {
        where[0] = std::this_thread::get_id();
        co_await away.schedule();
        where[1] = std::this_thread::get_id();
        co_await home.schedule();
        where[2] = std::this_thread::get_id();
        home.stop();
    }(here, *there, places));
    here.run();
    EXPECT_EQ(places[0], std::this_thread::get_id());
    EXPECT_NE(places[1], places[0]);
    EXPECT_EQ(places[2], places[0]);
}

TEST(UringContext, RunsWithinANodeOfAnother) {
    context outer;
    context inner(sleepy);
    bool posted_back = false;
    outer.spawn(call([&] {
        EXPECT_TRUE(run_one(inner, [&] { return inner.nop(); }));
        inner.spawn(call([&] { // to the outer context, whose `run` is below on the stack
            outer.spawn(call([&] {
                posted_back = true;
                outer.stop();
            }));
            inner.stop();
        }));
        inner.run();
        EXPECT_TRUE(outer.running_here());
        EXPECT_FALSE(inner.running_here());
    }));
    outer.run();
    EXPECT_TRUE(posted_back);
}

TEST(UringContext, SwapsItemsWithAnotherOne) {
    constexpr int rounds = 500;
    tryst::exchanger<int> ex;
    const auto swap = [](context& loop, tryst::exchanger<int>& room, long& sum) -> task<> {
        for (int i = 1; i <= rounds; ++i) {
            const auto got = co_await room.exchange(i);
            EXPECT_TRUE(got);
            sum += *got;
        }
        loop.stop();
    };
    long first = 0;
    long second = 0;
    context a;
    context b;
    a.spawn(swap(a, ex, first));
    b.spawn(swap(b, ex, second));
    std::thread other([&] { b.run(); });
    a.run();
    other.join();
    EXPECT_EQ(first, rounds * (rounds + 1) / 2);
    EXPECT_EQ(second, first);
}

// ---- Set-up

TEST(UringContext, TakesAnyNumberOfEntriesExceptZero) {
    for (const unsigned entries : {1U, 3U, 4'096U, 1U << 20}) {
        context loop({.entries = entries});
        EXPECT_TRUE(run_one(loop, [&] { return loop.nop(); })) << entries;
    }
    try {
        const context loop({.entries = 0});
        FAIL() << "a ring of no entries";
    } catch (const std::system_error& error) {
        EXPECT_EQ(error.code(), std::errc::invalid_argument);
        EXPECT_NE(std::string(error.what()).find("io_uring_setup"), std::string::npos);
    }
}

TEST(UringContext, LeavesNoDescriptorBehind) {
    const long before = count_open();
    {
        context loop;
        EXPECT_TRUE(run_one(loop, [&] { return loop.nop(); }));
        EXPECT_EQ(count_open(), before + 2); // ring and eventfd
    }
    EXPECT_EQ(count_open(), before);
}

// ---- Threads

TEST(UringContext, KeepsToTheFirstThreadThatRunsIt) {
    context loop;
    std::thread([&] { loop.run_until_idle(); }).join();
    // The system may give this thread the id of the first.
    std::thread([&] { EXPECT_THROW(loop.run(), std::system_error); }).join();
    for (const bool until_idle : {false, true}) {
        try {
            until_idle ? loop.run_until_idle() : loop.run();
            ADD_FAILURE() << "ran on a second thread";
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::error_code(EEXIST, std::system_category()));
            EXPECT_NE(std::string(error.what()).find("io_uring_enter"), std::string::npos);
        }
        EXPECT_FALSE(loop.running_here());
    }
}

TEST(UringContext, RefusesASecondThreadWhileTheFirstRunsIt) {
    context_thread loop(sleepy);
    until_asleep();
    for (const bool until_idle : {false, true}) {
        try {
            until_idle ? loop->run_until_idle() : loop->run();
            ADD_FAILURE() << "ran on two threads";
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::error_code(EEXIST, std::system_category()));
        }
    }
}

TEST(UringContext, IsDestroyedByAnotherThreadWithOperationsPending) {
    const file_pair pipe = make_pipe();
    const file_pair second = make_pipe();
    fill(second.writer);
    const listener port;
    size_result read;
    size_result written;
    std::optional<result<descriptor>> accepted;
    std::array<std::byte, 4> bytes{};
    {
        context_thread loop(sleepy);
        loop->spawn(party(read, [&] { return loop->read(pipe.reader.get(), bytes); }));
        loop->spawn(party(written, [&] { return loop->write(second.writer.get(), bytes); }));
        loop->spawn(party(accepted, [&] { return loop->accept(port.get()); }));
        until_asleep();
    }
    EXPECT_FALSE(read || written || accepted);
    write_text(pipe.writer, "word");
    EXPECT_EQ(read_text(pipe.reader), "word"); // the read has not taken it
    EXPECT_EQ(text_of(bytes), std::string(4, '\0'));
}

TEST(UringContext, ClosesNoFileWhenItIsDestroyedWithOperationsThatMakeOne) {
    // A destructor might take the initial result 0, which is standard input, for a file.
    const bool had_input = is_open(0);
    if (!had_input) {
        ASSERT_EQ(::open("/dev/null", O_RDONLY), 0);
    }
    const listener port;
    std::optional<result<descriptor>> accepted;
    {
        context_thread loop(sleepy);
        loop->spawn(party(accepted, [&] { return loop->accept(port.get()); }));
        until_asleep();
    }
    EXPECT_FALSE(accepted);
    EXPECT_TRUE(is_open(0));
}

TEST(UringContext, StartsPendingOperationsAgainAfterAStop) {
    context loop;
    const file_pair pipe = make_pipe();
    const listener port;
    std::array<std::byte, 8> bytes{};
    size_result read;
    std::optional<result<descriptor>> accepted;
    std::optional<result<unsigned>> polled;
    const file_pair polled_pipe = make_pipe();
    loop.spawn(party(read, [&] { return loop.read(pipe.reader.get(), bytes); }));
    loop.spawn(party(accepted, [&] { return loop.accept(port.get()); }));
    loop.spawn(party(polled, [&] { return loop.poll(polled_pipe.reader.get(), POLLIN); }));
    for (int i = 0; i != 3; ++i) {
        loop.stop();
        loop.run(); // cancels all operations in flight
        EXPECT_FALSE(read || accepted || polled);
    }
    write_text(pipe.writer, "word");
    write_text(polled_pipe.writer, "x");
    const descriptor client = port.connect();
    loop.run_until_idle(); // starts them again
    while (!read || !accepted || !polled) {
        loop.run_until_idle();
    }
    EXPECT_EQ(**read, 4U);
    EXPECT_EQ(text_of(bytes).substr(0, 4), "word");
    EXPECT_TRUE(*accepted);
    EXPECT_EQ(**polled & POLLIN, unsigned{POLLIN});
}

TEST(UringContext, SleepsUntilTheOperationThatItStartsAgainIsOver) {
    context loop(sleepy);
    const file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    size_result read;
    loop.spawn(party_that_stops(loop, read, [&] { return loop.read(pipe.reader.get(), bytes); }));
    loop.stop();
    loop.run();
    EXPECT_FALSE(read);
    std::thread other([&] {
        until_asleep();
        write_text(pipe.writer, "word");
    });
    loop.run();
    other.join();
    ASSERT_TRUE(read);
    EXPECT_EQ(**read, 4U);
}

TEST(UringContext, KeepsADeadlineOverAStop) {
    context loop;
    const file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    size_result read;
    loop.spawn(party_that_stops(loop, read, [&] {
        return loop.read(pipe.reader.get(), bytes, tryst::uring::current_position, 20ms);
    }));
    loop.stop();
    loop.run();
    EXPECT_FALSE(read);
    loop.run();
    ASSERT_TRUE(read);
    EXPECT_EQ(read->error(), std::errc::timed_out);
}

TEST(UringContext, EndsAConnectThatIsInFlightAtAStop) {
    context loop;
    const busy_listener port;
    const descriptor socket = listener::make_socket();
    void_result connected;
    loop.spawn(
        party(connected, [&] { return loop.connect(socket.get(), port.address(), port.size()); }));
    loop.run_until_idle();
    ASSERT_FALSE(connected);
    loop.stop();
    loop.run();
    EXPECT_FALSE(connected); // its coroutine is ready, and runs when the loop goes on
    loop.run_until_idle();
    ASSERT_TRUE(connected);
    EXPECT_EQ(connected->error(), std::errc::operation_canceled);
    EXPECT_STREQ(connected->operation(), "connect");
}

TEST(UringContext, EndsAConnectThatAThreadOfTheKernelsWaitsFor) {
    const descriptor busy(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "tryst-busy-" + std::to_string(::getpid());
    name.copy(address.sun_path + 1, name.size()); // no file has this name
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    ASSERT_EQ(::bind(busy.get(), where, sizeof address), 0);
    ASSERT_EQ(::listen(busy.get(), 0), 0);
    const descriptor first(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(first.get(), where, sizeof address), 0); // fills the backlog

    context loop;
    const descriptor second(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    void_result connected;
    loop.spawn(party(connected, [&] { return loop.connect(second.get(), where, sizeof address); }));
    loop.run_until_idle();
    ASSERT_FALSE(connected);
    loop.stop();
    loop.run();
    loop.run_until_idle();
    ASSERT_TRUE(connected);
    EXPECT_EQ(connected->error(), std::errc::operation_canceled);
}

TEST(UringContext, LeavesTheMemoryOfDestroyedFramesAlone) {
    const file_pair pipe = make_pipe();
    std::array<std::byte, 4> bytes{};
    {
        context loop;
        size_result read;
        loop.spawn(party(read, [&] { return loop.read(pipe.reader.get(), bytes); }));
        loop.run_until_idle();
    } // in flight
    write_text(pipe.writer, "word");
    EXPECT_EQ(read_text(pipe.reader), "word");
    EXPECT_EQ(text_of(bytes), std::string(4, '\0'));
}

TEST(UringContextDeathTest, SaysThatAFrameInFlightWasDestroyedOnAnotherThread) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        const file_pair pipe = make_pipe();
        std::array<std::byte, 4> bytes{};
        size_result read;
        std::optional<context> loop(std::in_place);
        loop->spawn(party(read, [&] { return loop->read(pipe.reader.get(), bytes); }));
        std::thread([&] {
            loop->run_until_idle();
            loop->run_until_idle(); // leaves the operation in flight
            if ((loop->setup_flags() & IORING_SETUP_SINGLE_ISSUER) == 0) {
                std::abort();
            }
            std::thread([&] { loop.reset(); }).join();
        }).join();
    };
    EXPECT_DEATH(misuse(), "destroyed on another thread");
}

TEST(UringContext, EndsAChildProcessThatRunsItRatherThanWaitForEver) {
    context loop(sleepy);
    TRYST_NEEDS((loop.setup_flags() & IORING_SETUP_SINGLE_ISSUER) != 0, "rings of a single issuer");
    const file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    size_result got;
    loop.spawn(party_that_stops(loop, got, [&] { return loop.read(pipe.reader.get(), bytes); }));
    loop.run_until_idle();
    write_text(pipe.writer, "word");
    EXPECT_EQ(signal_that_ends([&] { loop.run(); }), SIGABRT);
    loop.run(); // the parent's context still works
    ASSERT_TRUE(got);
    EXPECT_EQ(**got, 4U);
}

TEST(UringContext, EndsAProcessThatHasClosedItsRingRatherThanWaitForEver) {
    const auto close_all = [] {
        context loop(sleepy);
        const file_pair pipe = make_pipe();
        std::array<std::byte, 8> bytes{};
        size_result got;
        loop.spawn(party(got, [&] { return loop.read(pipe.reader.get(), bytes); }));
        loop.run_until_idle();
        ::close_range(3, ~0U, 0);
        loop.run();
    };
    EXPECT_EQ(signal_that_ends(close_all), SIGABRT);
}

TEST(UringContextDeathTest, NoticesThatItRunsWithinItself) {
#ifndef NDEBUG
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        context loop;
        loop.spawn(call([&] { loop.run(); }));
        loop.run();
    };
    EXPECT_DEATH(misuse(), "not within itself");
#endif
}

// ---- Timers

/// Records when it was woken, and stops the loop after `count` timers.
task<> wake(context& loop, std::chrono::steady_clock::time_point deadline, int number,
            std::vector<int>& order, std::size_t count) {
    const auto got = co_await loop.timeout(deadline);
    EXPECT_TRUE(got);
    EXPECT_GE(std::chrono::steady_clock::now(), deadline);
    order.push_back(number);
    if (order.size() == count) {
        loop.stop();
    }
}

TEST(UringContext, FiresTimersInTheOrderOfTheirDeadlines) {
    constexpr int count = 50; // which start in one turn of the loop
    context loop;
    std::vector<int> order;
    const auto long_ago = std::chrono::steady_clock::now() - 1h;
    for (int i = 0; i != count; ++i) {
        const int number = i * 7 % count; // all of them, out of order
        loop.spawn(wake(loop, long_ago + number * 1us, number, order, count));
    }
    loop.run();
    EXPECT_EQ(order.size(), std::size_t{count});
    EXPECT_TRUE(std::ranges::is_sorted(order));
}

TEST(UringContext, TakesADeadlineBeforeTheEpochOfTheClockForPast) {
    context loop(sleepy);
    tryst::exchanger<int> ex;
    for (const auto deadline : tryst::test::long_past) {
        EXPECT_TRUE(run_one(loop, [&] { return loop.timeout(deadline); }));
        std::optional<tryst::exchange_result<int>> got;
        loop.spawn(
            [](context& home, tryst::exchanger<int>& room, auto until, auto& into) -> task<> {
                into.emplace(co_await room.exchange(1, until));
                home.stop();
            }(loop, ex, deadline, got));
        loop.run();
        ASSERT_TRUE(got);
        EXPECT_EQ(got->error(), tryst::exchange_errc::timed_out);
    }
}

TEST(UringContext, FiresManyTimersNoneOfThemEarly) {
    constexpr int count = 5'000;
    context loop;
    std::vector<int> order;
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i != count; ++i) {
        loop.spawn(wake(loop, start + i * 37 % count * 5us, i, order, count));
    }
    loop.run();
    EXPECT_EQ(order.size(), std::size_t{count});
}

TEST(UringContext, AsksTheKernelForNoneOfItsTimers) {
    constexpr std::size_t count = 100'000;
    kernel_faults faults;
    std::atomic<int> requests{0};
    faults.on_request = [&](const io_uring_sqe& entry) {
        requests += entry.opcode == IORING_OP_POLL_ADD ? 0 : 1; // the poll of the eventfd
        return 0;
    };
    context loop(sleepy);
    std::stop_source stop;
    std::size_t due = 0;
    std::size_t stopped = 0;
    const auto wait = [](context& home, limits until, std::size_t& dues,
                         std::size_t& stops) -> task<> {
        const auto got = co_await home.timeout(std::move(until));
        EXPECT_TRUE(got || got.error() == std::errc::operation_canceled);
        ++(got ? dues : stops);
        if (dues + stops == count) {
            home.stop();
        }
    };
    const auto stop_all = [](context& home, std::stop_source& source) -> task<> {
        const auto slept = co_await home.timeout(1ms); // the others have been waiting since before
        EXPECT_TRUE(slept);
        source.request_stop();
    };
    const auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i != count; ++i) {
        const auto deadline = i % 2 == 0 ? now + 24h - i * 1us : now + (i * 7'919 % count) * 10ns;
        loop.spawn(wait(loop, {deadline, stop.get_token()}, due, stopped));
    }
    loop.spawn(stop_all(loop, stop));
    loop.run();
    EXPECT_EQ(due + stopped, count);
    EXPECT_GE(stopped, count / 2);
    EXPECT_GE(due, 1U);
    EXPECT_EQ(requests, 0);
}

TEST(UringContext, SleepsUntilTheEarliestDeadline) {
    context loop(sleepy);
    const long before = waits;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(run_one(loop, [&] { return loop.timeout(30ms); }));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
    EXPECT_LE(waits - before, 4); // and does not wake without reason
}

TEST(UringContext, ServesTheDeadlinesOfExchanges) {
    context loop(sleepy);
    tryst::exchanger<int> ex;
    std::optional<tryst::exchange_result<int>> got;
    loop.spawn([](context& home, tryst::exchanger<int>& room, auto& into) -> task<> {
        into.emplace(co_await room.exchange(1, 2ms));
        home.stop();
    }(loop, ex, got));
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), tryst::exchange_errc::timed_out);
}

// ---- Sleep

TEST(UringContext, SeesMailAndCompletionsWhileItSpins) {
    if (std::thread::hardware_concurrency() == 1) {
        GTEST_SKIP() << "a context does not spin on one processor";
    }
    constexpr unsigned all_but_basic = ~unsigned{IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP};
    for (const unsigned unknown : {0U, unsigned{IORING_SETUP_DEFER_TASKRUN}, all_but_basic}) {
        const file_pair pipe = make_pipe();
        std::atomic<bool> asked{false};
        std::atomic<bool> over{false};
        kernel_faults faults;
        faults.unknown_flags = unknown;
        faults.on_request = [&asked](const io_uring_sqe& entry) {
            asked = asked || entry.opcode == IORING_OP_READ;
            return 0;
        };
        context loop({.max_spins = ~0U});
        loop.spawn([](context& home, int file, std::atomic<bool>& flag) -> task<> {
            std::array<std::byte, 8> bytes{};
            const auto got = co_await home.read(file, bytes);
            EXPECT_TRUE(got && *got == 4U);
            flag = true;
        }(loop, pipe.reader.get(), over));
        std::thread other([&] {
            while (!asked) {
                std::this_thread::yield();
            }
            write_text(pipe.writer, "word");
            while (!over) {
                std::this_thread::yield();
            }
            loop.stop();
        });
        const long before = waits;
        loop.run();
        EXPECT_EQ(waits, before); // had it slept, it would not have returned
        other.join();
    }
}

TEST(UringContext, IsWokenByAThreadWithOneWrite) {
    std::atomic<int> runs{0};
    counting_node node(runs);
    context_thread loop(sleepy);
    until_asleep();
    const long writes = eventfd_writes;
    loop->post(&node);
    while (runs == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(eventfd_writes - writes, 1);
}

TEST(UringContext, IsWokenByARunLoop) {
    std::atomic<int> runs{0};
    counting_node node(runs);
    context_thread loop(sleepy);
    until_asleep();
    const long writes = eventfd_writes;
    tryst::run_loop other;
    other.spawn(call([&] { loop->post(&node); }));
    other.run_until_idle();
    while (runs == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(eventfd_writes - writes, 1);
}

TEST(UringContext, IsWokenByAnotherContextWithOneMessage) {
    std::atomic<int> runs{0};
    counting_node node(runs);
    context_thread loop(sleepy);
    context other;
    other.spawn(call([&] { loop->post(&node); }));
    until_asleep();
    const long writes = eventfd_writes;
    const long sent = messages;
    other.run_until_idle();
    while (runs == 0) {
        std::this_thread::yield();
    }
    EXPECT_EQ(messages - sent, 1);
    TRYST_NEEDS(eventfd_writes == writes, "messages between rings");
}

TEST(UringContext, IsWokenOnceForEachSleep) {
    struct gate : executor_node {
        std::atomic<bool> entered{false};
        std::atomic<bool> open{false};
    } closed;
    closed.run = [](executor_node* node) noexcept {
        auto& self = *static_cast<gate*>(node);
        self.entered = true;
        while (!self.open) {
            std::this_thread::yield();
        }
    };
    std::atomic<int> runs{0};
    std::vector<counting_node> nodes(1'000, counting_node(runs));
    context_thread loop(sleepy);
    until_asleep();
    const long writes = eventfd_writes;
    loop->post(&closed);
    while (!closed.entered) {
        std::this_thread::yield();
    }
    for (counting_node& each : nodes) {
        loop->post(&each); // it is awake
    }
    closed.open = true;
    while (runs != static_cast<int>(nodes.size())) {
        std::this_thread::yield();
    }
    EXPECT_EQ(eventfd_writes - writes, 1);
}

TEST(UringContext, GoesBackToSleepAfterEachWake) {
    constexpr int rounds = 300;
    std::atomic<int> runs{0};
    counting_node node(runs);
    context_thread loop(sleepy);
    const long writes = eventfd_writes;
    for (int i = 0; i != rounds; ++i) {
        until_asleep();
        loop->post(&node);
        while (runs == i) {
            std::this_thread::yield();
        }
    }
    // until_asleep may see the previous sleep; then the next post finds the context awake.
    EXPECT_LE(eventfd_writes - writes, rounds);
    EXPECT_GE(eventfd_writes - writes, 1);
}

struct ending_context {
    tryst::uring::context& on() { return *context; }
    void settle() { context->run_until_idle(); }
    void end() { context.reset(); }
    std::optional<tryst::uring::context> context{std::in_place};
};

TEST(UringContext, LeavesNothingToADyingContext) {
    executor_end<ending_context>::check();
}

TEST(UringContextDeathTest, NoticesThatItsOwnTaskDestroysIt) {
#ifndef NDEBUG
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    executor_end<ending_context>::fails_if_its_own_task_does_it();
#endif
}

TEST(UringContextDeathTest, NoticesThatATaskDestroysItsScopeAfterAnOperation) {
#ifndef NDEBUG
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        context loop;
        auto scope = std::make_unique<tryst::task_scope>(loop);
        scope->spawn([](context& own, std::unique_ptr<tryst::task_scope>& owner) -> task<> {
            static_cast<void>(co_await own.nop());
            owner.reset();
        }(loop, scope));
        while (scope != nullptr) {
            loop.run_until_idle();
        }
    };
    EXPECT_DEATH(misuse(), "a task destroyed itself");
#endif
}

TEST(UringContext, MayBeDestroyedAsSoonAsRunHasReturned) {
    // The stop comes from a thread that may still be in its call when run is ready to return.
    for (int i = 0; i != 300; ++i) {
        auto loop = std::make_unique<context>(sleepy);
        std::thread other([home = loop.get()] { home->stop(); });
        loop->run();
        loop.reset();
        other.join();
    }
}

TEST(UringContext, MayBeDestroyedAsSoonAsRunHasReturnedForAStopOfAnotherContext) {
    for (int i = 0; i != 300; ++i) {
        auto loop = std::make_unique<context>(sleepy);
        std::thread other([home = loop.get()] {
            context away;
            away.spawn(call([home] { home->stop(); }));
            away.run_until_idle();
        });
        loop->run();
        loop.reset();
        other.join();
    }
}

// ---- Many

TEST(UringContext, CompletesMoreOperationsThanTheRingHasEntries) {
    constexpr std::size_t count = 5'000;
    context loop({.entries = 4});
    std::size_t done = 0;
    const auto one = [](context& home, std::size_t& total) -> task<> {
        const auto got = co_await home.nop();
        EXPECT_TRUE(got);
        if (++total == count) {
            home.stop();
        }
    };
    for (std::size_t i = 0; i != count; ++i) {
        loop.spawn(one(loop, done));
    }
    const long before = overflows;
    loop.run();
    EXPECT_EQ(done, count);
    EXPECT_GT(overflows, before);
}

TEST(UringContext, HasMoreOperationsInFlightThanTheRingHasEntries) {
    constexpr std::size_t count = 2'000;
    // A ring with deferred task work completes so few operations at a time that they do not
    // overflow. Completions of other rings do.
    for (const bool defers : {true, false}) {
        kernel_faults faults;
        faults.unknown_flags = defers ? 0 : IORING_SETUP_DEFER_TASKRUN;
        context loop({.entries = 4});
        const file_pair pipe = make_pipe();
        std::size_t done = 0;
        const auto read = [](context& home, int file, std::size_t& total) -> task<> {
            std::array<std::byte, 1> byte{};
            const auto got = co_await home.read(file, byte);
            EXPECT_TRUE(got);
            EXPECT_EQ(*got, 1U);
            if (++total == count) {
                home.stop();
            }
        };
        for (std::size_t i = 0; i != count; ++i) {
            loop.spawn(read(loop, pipe.reader.get(), done));
        }
        loop.run_until_idle();
        EXPECT_EQ(done, 0U);
        const long before = overflows;
        write_text(pipe.writer, std::string(count, 'x')); // all complete at once
        loop.run();
        EXPECT_EQ(done, count);
        EXPECT_EQ(read_text(pipe.reader), "");
        EXPECT_TRUE(defers || overflows > before);
    }
}

TEST(UringContext, CancelsMoreOperationsThanTheRingHasEntries) {
    constexpr std::size_t count = 2'000;
    context loop({.entries = 4});
    const file_pair pipe = make_pipe();
    std::stop_source stop;
    std::size_t done = 0;
    const auto read = [](context& home, int file, std::stop_token token,
                         std::size_t& total) -> task<> {
        std::array<std::byte, 1> byte{};
        const auto got =
            co_await home.read(file, byte, tryst::uring::current_position, std::move(token));
        EXPECT_EQ(got.error(), std::errc::operation_canceled);
        if (++total == count) {
            home.stop();
        }
    };
    for (std::size_t i = 0; i != count; ++i) {
        loop.spawn(read(loop, pipe.reader.get(), stop.get_token(), done));
    }
    loop.run_until_idle();
    loop.spawn(call([&] { stop.request_stop(); }));
    loop.run();
    EXPECT_EQ(done, count);
}

TEST(UringContext, TakesBackMoreOperationsThanTheRingHasEntries) {
    constexpr std::size_t count = 1'000;
    const file_pair pipe = make_pipe();
    std::size_t done = 0;
    {
        context loop({.entries = 4});
        const auto read = [](context& home, int file, std::size_t& total) -> task<> {
            std::array<std::byte, 1> byte{};
            const auto got = co_await home.read(file, byte);
            EXPECT_TRUE(got);
            ++total;
        };
        for (std::size_t i = 0; i != count; ++i) {
            loop.spawn(read(loop, pipe.reader.get(), done));
        }
        loop.run_until_idle();
        loop.stop();
        loop.run();
        write_text(pipe.writer, std::string(count / 2, 'x'));
        // NOLINTNEXTLINE(bugprone-infinite-loop): the tasks count.
        while (done != count / 2) {
            loop.run_until_idle();
        }
    } // the other half goes with the context
    EXPECT_EQ(done, count / 2);
}

} // namespace
