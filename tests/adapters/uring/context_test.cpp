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

struct counting_node : executor_node {
    explicit counting_node(std::atomic<int>& runs) : executor_node{}, count(&runs) {
        run = [](executor_node* node) noexcept { ++*static_cast<counting_node*>(node)->count; };
    }
    std::atomic<int>* count;
};

/// A post that wakes a context.
void post_and_wait(context& to) {
    std::atomic<int> runs{0};
    counting_node node(runs);
    to.post(&node);
    yield_until([&] { return runs == 1; });
}

/// A read of a pipe, which waits.
class UringContextRead : public testing::Test {
protected:
    void start(limits until = {}) {
        loop->spawn(party_that_stops(*loop, got, [this, until] {
            return loop->read(pipe.reader.get(), bytes, tryst::uring::current_position, until);
        }));
    }
    void expect_word() {
        ASSERT_TRUE(got);
        ASSERT_TRUE(*got) << got->message();
        EXPECT_EQ(text_of(std::span(bytes).first(**got)), "word");
    }

    file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    size_result got;
    std::optional<context> loop{std::in_place, sleepy};
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

TEST_F(UringContextRead, IsAwaitedByRunUntilIdleOnlyIfItIsOver) {
    start();
    loop->run_until_idle();
    EXPECT_FALSE(got);
    write_text(pipe.writer, "word");
    loop->run_until_idle();
    expect_word();
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
    struct numbered : executor_node {
        std::vector<int>* into = nullptr;
        int number = 0;
    };
    constexpr std::size_t posts = 2'000;
    std::array<std::vector<int>, 3> seen;
    std::array<std::vector<numbered>, 3> nodes;
    {
        context_thread loop(sleepy);
        std::vector<std::jthread> threads;
        for (std::size_t t = 0; t != nodes.size(); ++t) {
            nodes[t].resize(posts);
            threads.emplace_back([&, t] {
                for (int i = 0; numbered & node : nodes[t]) {
                    node.into = &seen[t];
                    node.number = i++;
                    node.run = [](executor_node* self) noexcept {
                        auto& mine = *static_cast<numbered*>(self);
                        mine.into->push_back(mine.number);
                    };
                    loop->post(&node);
                }
            });
        }
        threads.clear();
    } // all posts come before the stop
    for (const auto& each : seen) {
        EXPECT_EQ(each.size(), posts);
        EXPECT_TRUE(std::ranges::is_sorted(each));
    }
}

TEST(UringContext, ResumesACoroutineThatAwaitsSchedule) {
    context here;
    context_thread there;
    here.run([](context& home, context& away) -> task<> {
        const auto first = std::this_thread::get_id();
        co_await away.schedule();
        EXPECT_NE(std::this_thread::get_id(), first);
        co_await home.schedule();
        EXPECT_EQ(std::this_thread::get_id(), first);
    }(here, *there));
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

void expect_refuses_this_thread(context& loop) {
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

TEST(UringContext, KeepsToTheFirstThreadThatRunsIt) {
    context loop;
    std::thread([&] { loop.run_until_idle(); }).join();
    // The system may give this thread the id of the first.
    std::thread([&] { expect_refuses_this_thread(loop); }).join();
    expect_refuses_this_thread(loop);
}

TEST(UringContext, RefusesASecondThreadWhileTheFirstRunsIt) {
    context_thread loop(sleepy);
    until_asleep();
    expect_refuses_this_thread(*loop);
}

TEST_F(UringContextRead, LeavesAllFilesAloneWhenAnotherThreadDestroysTheContext) {
    // A destructor might take the initial result 0, which is standard input, for a file.
    if (!is_open(0)) {
        ASSERT_EQ(::open("/dev/null", O_RDONLY), 0);
    }
    const listener port;
    std::optional<result<descriptor>> accepted;
    std::thread runner([&] { loop->run(); });
    loop->spawn(party(accepted, [&] { return loop->accept(port.get()); }));
    start();
    until_asleep();
    loop->stop();
    runner.join();
    loop.reset();
    EXPECT_TRUE(is_open(0));
    EXPECT_FALSE(got || accepted);
    write_text(pipe.writer, "word");
    EXPECT_EQ(read_text(pipe.reader), "word"); // the read has not taken it
    EXPECT_EQ(text_of(bytes), std::string(bytes.size(), '\0'));
}

TEST_F(UringContextRead, StartsAgainAfterAStopAsOtherOperationsDo) {
    const listener port;
    const file_pair polled_pipe = make_pipe();
    std::optional<result<descriptor>> accepted;
    std::optional<result<unsigned>> polled;
    start();
    loop->spawn(party(accepted, [&] { return loop->accept(port.get()); }));
    loop->spawn(party(polled, [&] { return loop->poll(polled_pipe.reader.get(), POLLIN); }));
    for (int i = 0; i != 3; ++i) {
        leave(*loop); // cancels all operations in flight
        EXPECT_FALSE(got || accepted || polled);
    }
    write_text(pipe.writer, "word");
    write_text(polled_pipe.writer, "x");
    const descriptor client = port.connect();
    yield_until([&] { return loop->run_until_idle(), got && accepted && polled; });
    expect_word();
    EXPECT_TRUE(*accepted);
    EXPECT_EQ(**polled & POLLIN, unsigned{POLLIN});
}

TEST_F(UringContextRead, ThatStartsAgainLetsTheContextSleep) {
    start();
    leave(*loop);
    EXPECT_FALSE(got);
    std::jthread other([&] {
        until_asleep();
        write_text(pipe.writer, "word");
    });
    loop->run();
    expect_word();
}

TEST_F(UringContextRead, KeepsItsDeadlineOverAStop) {
    start(20ms);
    leave(*loop);
    EXPECT_FALSE(got);
    loop->run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), std::errc::timed_out);
}

/// A connect does not start again, because it may have begun.
void expect_stop_ends_connect(int family, const sockaddr* where, socklen_t size) {
    context loop;
    const descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    void_result connected;
    loop.spawn(party(connected, [&] { return loop.connect(socket.get(), where, size); }));
    loop.run_until_idle();
    ASSERT_FALSE(connected);
    leave(loop);
    loop.run_until_idle(); // its coroutine has been ready
    ASSERT_TRUE(connected);
    EXPECT_EQ(connected->error(), std::errc::operation_canceled);
    EXPECT_STREQ(connected->operation(), "connect");
}

TEST(UringContext, EndsAConnectThatIsInFlightAtAStop) {
    const busy_listener port;
    expect_stop_ends_connect(AF_INET, port.address(), port.size());
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
    expect_stop_ends_connect(AF_UNIX, where, sizeof address);
}

// ---- Misuse

TEST_F(UringContextRead, SaysThatAFrameInFlightWasDestroyedOnAnotherThread) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    TRYST_NEEDS((loop->setup_flags() & IORING_SETUP_SINGLE_ISSUER) != 0,
                "rings of a single issuer");
    const auto misuse = [this] {
        start();
        std::thread([&] {
            loop->run_until_idle();
            loop->run_until_idle(); // leaves the operation in flight
            std::thread([&] { loop.reset(); }).join();
        }).join();
    };
    EXPECT_DEATH(misuse(), "destroyed on another thread");
}

TEST_F(UringContextRead, EndsAProcessThatHasClosedTheRingRatherThanWaitForEver) {
    const auto close_all = [this] {
        loop.emplace(sleepy);
        start();
        loop->run_until_idle();
        ::close_range(3, ~0U, 0);
        loop->run();
    };
    EXPECT_EQ(signal_that_ends(close_all), SIGABRT);
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

#ifndef NDEBUG
TEST(UringContextDeathTest, NoticesThatItsOwnTaskDestroysIt) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    executor_end<ending_context>::fails_if_its_own_task_does_it();
}

TEST(UringContextDeathTest, NoticesThatItRunsWithinItself) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        context loop;
        loop.spawn(call([&] { loop.run(); }));
        loop.run();
    };
    EXPECT_DEATH(misuse(), "not within itself");
}

TEST(UringContextDeathTest, NoticesThatATaskDestroysItsScopeAfterAnOperation) {
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
}
#endif

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

TEST(UringContext, ServesTheDeadlinesOfTimeoutsAndExchanges) {
    context loop(sleepy);
    tryst::exchanger<int> ex;
    std::vector deadlines(long_past.begin(), long_past.end()); // also before the clock's epoch
    deadlines.push_back(std::chrono::steady_clock::now() + 2ms);
    for (const auto deadline : deadlines) {
        EXPECT_TRUE(run_one(loop, [&] { return loop.timeout(deadline); }));
        const auto got = run_one(loop, [&] { return ex.exchange(1, deadline); });
        EXPECT_EQ(got.error(), tryst::exchange_errc::timed_out);
        EXPECT_GE(std::chrono::steady_clock::now(), deadline);
    }
}

TEST(UringContext, AsksTheKernelForNoneOfItsTimers) {
    constexpr std::size_t count = 20'000;
    const request_log requests;
    context loop(sleepy);
    std::stop_source stop;
    std::array<std::size_t, 2> ends{}; // stopped, due
    const auto wait = [&](limits until) -> task<> {
        const auto got = co_await loop.timeout(std::move(until));
        EXPECT_TRUE(got || got.error() == std::errc::operation_canceled);
        ++ends[got ? 1 : 0];
        if (ends[0] + ends[1] == count) {
            loop.stop();
        }
    };
    const auto stop_all = [&]() -> task<> {
        const auto slept = co_await loop.timeout(1ms); // the others have been waiting since before
        EXPECT_TRUE(slept);
        stop.request_stop();
    };
    const auto now = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i != count; ++i) {
        const auto deadline = i % 2 == 0 ? now + 24h - i * 1us : now + (i * 7'919 % count) * 50ns;
        loop.spawn(wait({deadline, stop.get_token()}));
    }
    loop.spawn(stop_all());
    loop.run();
    EXPECT_GE(ends[0], count / 2);
    EXPECT_GE(ends[1], 1U);
    EXPECT_EQ(requests.count([](const io_uring_sqe& entry) {
        return entry.opcode != IORING_OP_POLL_ADD; // the poll of the eventfd
    }),
              0);
}

TEST(UringContext, SleepsUntilTheEarliestDeadline) {
    context loop(sleepy);
    const long before = waits;
    const auto start = std::chrono::steady_clock::now();
    EXPECT_TRUE(run_one(loop, [&] { return loop.timeout(30ms); }));
    EXPECT_GE(std::chrono::steady_clock::now() - start, 30ms);
    EXPECT_LE(waits - before, 4); // and does not wake without reason
}

// ---- Sleep

TEST_F(UringContextRead, IsSeenWhileTheContextSpinsAsMailIs) {
    if (std::thread::hardware_concurrency() == 1) {
        GTEST_SKIP() << "a context does not spin on one processor";
    }
    constexpr unsigned all_but_basic = ~unsigned{IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP};
    for (const unsigned unknown : {0U, unsigned{IORING_SETUP_DEFER_TASKRUN}, all_but_basic}) {
        std::atomic<bool> asked{false};
        std::atomic<bool> over{false};
        kernel_faults faults;
        faults.unknown_flags = unknown;
        faults.on_request = [&asked](const io_uring_sqe& entry) {
            asked = asked || entry.opcode == IORING_OP_READ;
            return 0;
        };
        loop.emplace(tryst::uring::context_options{.max_spins = ~0U});
        const auto read = [&]() -> task<> {
            got.emplace(co_await loop->read(pipe.reader.get(), bytes));
            over = true;
        };
        loop->spawn(read());
        std::jthread other([&] {
            yield_until([&] { return asked.load(); });
            write_text(pipe.writer, "word");
            yield_until([&] { return over.load(); });
            loop->stop();
        });
        const long before = waits;
        loop->run();
        EXPECT_EQ(waits, before); // had it slept, it would not have returned
        expect_word();
    }
}

TEST(UringContext, IsWokenByAThreadOrARunLoopWithOneWrite) {
    for (const bool from_loop : {false, true}) {
        context_thread loop(sleepy);
        until_asleep();
        const long writes = eventfd_writes;
        if (from_loop) {
            tryst::run_loop other;
            other.run(call([&] { post_and_wait(*loop); }));
        } else {
            post_and_wait(*loop);
        }
        EXPECT_EQ(eventfd_writes - writes, 1);
    }
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
    yield_until([&] { return runs == 1; });
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
        yield_until([&self] { return self.open.load(); });
    };
    std::atomic<int> runs{0};
    std::vector<counting_node> nodes(1'000, counting_node(runs));
    context_thread loop(sleepy);
    until_asleep();
    const long writes = eventfd_writes;
    loop->post(&closed);
    yield_until([&] { return closed.entered.load(); });
    for (counting_node& each : nodes) {
        loop->post(&each); // it is awake
    }
    closed.open = true;
    yield_until([&] { return runs == static_cast<int>(nodes.size()); });
    EXPECT_EQ(eventfd_writes - writes, 1);
}

TEST(UringContext, GoesBackToSleepAfterEachWake) {
    constexpr int rounds = 100;
    context_thread loop(sleepy);
    const long writes = eventfd_writes;
    for (int i = 0; i != rounds; ++i) {
        until_asleep();
        post_and_wait(*loop);
    }
    // until_asleep may see the previous sleep; then the next post finds the context awake.
    EXPECT_LE(eventfd_writes - writes, rounds);
    EXPECT_GE(eventfd_writes - writes, 1);
}

TEST(UringContext, MayBeDestroyedAsSoonAsRunHasReturned) {
    // The stop comes from a thread or context that may still be in its call when run is ready to
    // return.
    for (int i = 0; i != 200; ++i) {
        std::optional<context> loop(std::in_place, sleepy);
        std::jthread other([&home = *loop, i] {
            if (i % 2 == 0) {
                home.stop();
            } else {
                context().run(call([&] { home.stop(); }));
            }
        });
        loop->run();
        loop.reset();
    }
}

} // namespace
