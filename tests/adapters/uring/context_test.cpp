// SPDX-License-Identifier: MIT
#include <tryst/uring/context.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "adapters/uring/process.hpp"
#include "support/executor_end.hpp"
#include "support/long_past.hpp"
#include "support/shared_numbers.hpp"
#include "support/waiting_partners.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <liburing.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::result;
using clock = std::chrono::steady_clock;

class UringContextRead : public testing::Test, protected waiting_read {
protected:
    std::optional<context> loop{std::in_place, sleepy};
};

// ---- The loop

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

TEST(UringContext, SharesAChannelWithThreads) {
    for (const std::size_t limit : shared_numbers::limits) {
        shared_numbers shared(2, limit);
        std::jthread sender(
            [&] { shared.send_by([](auto op) { return tryst::sync_wait(std::move(op)); }); });
        std::jthread receiver(
            [&] { shared.receive_by([](auto op) { return tryst::sync_wait(std::move(op)); }); });
        context loop;
        loop.run(tryst::when_all(shared.send<task<>>(), shared.receive<task<>>()));
        receiver.join();
        shared.expect_each_once();
    }
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

TEST(UringContext, RunsAnEmptyLoopUntilAStopOfAnotherThread) {
    context loop(sleepy);
    std::thread other([&] {
        until_asleep();
        loop.stop();
    });
    EXPECT_EQ(loop.run(), 1U);
    other.join();
}

// ---- Set-up

TEST(UringContext, TakesAnyNumberOfEntriesExceptZero) {
    for (const unsigned entries : {1U, 3U, 4'096U, 1U << 20}) {
        context loop({.entries = entries});
        EXPECT_TRUE(run_one(loop, [&] { return loop.nop(); })) << entries;
    }
    expect_throws(EINVAL, "io_uring_setup", [] { const context loop({.entries = 0}); });
}

// ---- Threads

void expect_refuses_this_thread(context& loop) {
    expect_throws(EEXIST, "io_uring_enter", [&] { loop.run_until_idle(); });
    expect_throws(EEXIST, "io_uring_enter", [&] { loop.run(); });
    EXPECT_FALSE(loop.running_here());
}

TEST(UringContext, RunsOnlyOnTheFirstThreadThatRunsIt) {
    context_thread loop(sleepy);
    until_asleep();
    expect_refuses_this_thread(*loop);
    loop.join();
    // The system may give this thread the id of the first.
    std::thread([&] { expect_refuses_this_thread(*loop); }).join();
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
    start(*loop);
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

TEST_F(UringContextRead, ThatStartsAgainLetsTheContextSleep) {
    start(*loop);
    leave(*loop);
    EXPECT_FALSE(got);
    std::jthread other([&] {
        until_asleep();
        write_text(pipe.writer, "word");
    });
    loop->run();
    expect_word();
}

/// The kernel moves such a connect to one of its threads, on which it does not find it for a while.
/// (Connects of other kinds: see cancellation_test.cpp.)
TEST(UringContext, EndsAConnectThatAThreadOfTheKernelsWaitsFor) {
    const auto make_socket = [] {
        return descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    };
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = "tryst-busy-" + std::to_string(::getpid());
    name.copy(address.sun_path + 1, name.size()); // no file has this name
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    const descriptor busy = make_socket();
    ASSERT_EQ(::bind(busy.get(), where, sizeof address), 0);
    ASSERT_EQ(::listen(busy.get(), 0), 0);
    const descriptor first = make_socket();
    ASSERT_EQ(::connect(first.get(), where, sizeof address), 0); // fills the backlog
    const descriptor second = make_socket();
    context loop;
    std::optional<result<>> connected;
    loop.spawn(party(connected, [&] { return loop.connect(second.get(), where, sizeof address); }));
    loop.run_until_idle();
    ASSERT_FALSE(connected);
    leave(loop);
    loop.run_until_idle(); // its coroutine has been ready
    ASSERT_TRUE(connected);
    EXPECT_EQ(connected->error(), std::errc::operation_canceled);
}

// ---- The kernel's worker threads, on which operations block that cannot be polled. The tests have
// threads of their own, because the limits stay with the thread.

/// The result of an fsync, for which it has `patience`, while so many coroutines open a FIFO. The
/// kernel leaves an open to a thread of its own if the file may have to be created.
result<> fsync_while_opening(context& loop, std::size_t openers,
                             std::chrono::milliseconds patience) {
    const directory here;
    const std::string fifo = here.make_fifo();
    const descriptor file = make_file("word");
    std::stop_source stop;
    std::vector<std::optional<result<descriptor>>> opened(openers);
    std::optional<result<>> synced;
    for (auto& each : opened) {
        loop.spawn(party(each, [&] {
            return loop.openat(AT_FDCWD, fifo.c_str(), O_RDONLY | O_CREAT, 0600, stop.get_token());
        }));
    }
    const auto sync = [&]() -> task<> {
        synced.emplace(co_await loop.fsync(file.get(), false, patience));
        stop.request_stop();
    };
    loop.spawn(sync());
    const auto is_pending = [](const auto& each) { return !each; };
    while (!synced || std::ranges::any_of(opened, is_pending)) {
        loop.run_until_idle();
    }
    for (const auto& each : opened) {
        EXPECT_EQ(each->error(), std::errc::operation_canceled) << each->message();
    }
    return *synced;
}

/// Expects that so many opens use up the workers of `few`.
void expect_exhausted(context& few, std::size_t openers) {
    EXPECT_EQ(fsync_while_opening(few, openers, 50ms).error(), std::errc::timed_out);
}

TEST(UringWorkers, AreUsedUpByOpensThatBlockUnlessThereMayBeMore) {
    std::thread([] {
        context few({.max_bounded_workers = 2});
        expect_exhausted(few, 2);
    }).join();
    std::thread([] {
        context more({.max_bounded_workers = 3});
        const auto synced = fsync_while_opening(more, 2, 24h);
        EXPECT_TRUE(synced) << synced.message();
    }).join();
}

TEST(UringWorkers, AreLimitedForTheThreadThatRunsTheContext) {
    context few({.max_bounded_workers = 1}); // is made by another thread
    std::thread([&few] {
        context plain;
        EXPECT_TRUE(run_one(plain, [&] { return plain.nop(); }));
        expect_exhausted(few, 1);
    }).join();
}

// ---- Misuse

TEST_F(UringContextRead, SaysThatAFrameInFlightWasDestroyedOnAnotherThread) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    TRYST_NEEDS((loop->setup_flags() & IORING_SETUP_SINGLE_ISSUER) != 0,
                "rings of a single issuer");
    const auto misuse = [this] {
        start(*loop);
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
        start(*loop);
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

TEST(UringContext, ServesTheDeadlinesOfTimeoutsAndExchanges) {
    context loop(sleepy);
    tryst::exchanger<int> ex;
    std::vector deadlines(long_past.begin(), long_past.end()); // also before the clock's epoch
    deadlines.push_back(clock::now() + 30ms);
    const long before = waits;
    for (const auto deadline : deadlines) {
        EXPECT_TRUE(run_one(loop, [&] { return loop.timeout(deadline); }));
        EXPECT_GE(clock::now(), deadline);
        const auto got = run_one(loop, [&] { return ex.exchange(1, deadline); });
        EXPECT_EQ(got.error(), tryst::exchange_errc::timed_out);
    }
    EXPECT_LE(waits - before, 10); // it does not wake without reason
}

TEST(UringContext, AsksTheKernelForNoneOfItsTimers) {
    const request_log requests;
    context loop(sleepy);
    std::stop_source stop;
    std::optional<result<>> stopped;
    loop.spawn(party(stopped, [&] { return loop.timeout(24h, stop.get_token()); }));
    for (const auto patience : {1us, 1000us}) {
        EXPECT_TRUE(run_one(loop, [&] { return loop.timeout(patience); }));
    }
    stop.request_stop();
    loop.run_until_idle();
    EXPECT_EQ(stopped->error(), std::errc::operation_canceled);
    EXPECT_STREQ(stopped->operation(), "timeout");
    EXPECT_EQ(requests.count(IORING_OP_POLL_ADD), // of the eventfd
              static_cast<long>(requests.entries.size()));
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

/// A context that sleeps.
class UringSleep : public testing::Test {
protected:
    UringSleep() { until_asleep(); }

    /// Wakes it from this thread, and waits until it runs.
    void wake() {
        entered = false;
        loop->spawn(call([this] {
            entered = true;
            yield_until([this] { return open.load(); });
        }));
        yield_until([this] { return entered.load(); });
    }
    void expect_wakes(long by_write, long by_message) const {
        EXPECT_EQ(eventfd_writes - writes, by_write);
        EXPECT_EQ(messages - sent, by_message);
    }

    std::atomic<bool> entered{false};
    std::atomic<bool> open{true};
    context_thread loop{sleepy};
    const long writes = eventfd_writes;
    const long sent = messages;
};

TEST_F(UringSleep, EndsWithOneWriteByARunLoop) {
    tryst::run_loop other;
    other.run(call([this] { wake(); }));
    expect_wakes(1, 0);
}

TEST_F(UringSleep, EndsWithOneMessageByAnotherContext) {
    context other;
    other.spawn(call([this] { loop->spawn(call([this] { entered = true; })); }));
    other.run_until_idle();
    yield_until([this] { return entered.load(); });
    EXPECT_EQ(messages - sent, 1);
    TRYST_NEEDS(eventfd_writes == writes, "messages between rings");
}

TEST_F(UringSleep, EndsWithOneWriteThoughAThreadPostsAgainAndAgain) {
    open = false;
    wake();
    std::atomic<int> runs{0};
    for (int i = 0; i != 1'000; ++i) {
        loop->spawn(call([&] { ++runs; })); // it is awake
    }
    open = true;
    yield_until([&] { return runs == 1'000; });
    expect_wakes(1, 0);
}

TEST_F(UringContextRead, EndsASleepButNotTheRunOfAContextThatIsOwedAWake) {
    // The stop finds the context asleep. Before it wakes the context, the read does.
    kernel_faults faults;
    std::atomic<bool> over{false};
    std::atomic<bool> has_returned{false};
    bool was_early = false;
    faults.before_wake = [&] {
        write_text(pipe.writer, "word");
        yield_until([&] { return over.load(); });
        yield_until([&] { return asleep == 1 || has_returned; });
        was_early = has_returned;
    };
    const auto read = [&]() -> task<> {
        got.emplace(co_await loop->read(pipe.reader.get(), bytes));
        over = true;
    };
    loop->spawn(read());
    std::thread other([&] {
        until_asleep();
        loop->stop();
    });
    loop->run();
    has_returned = true;
    other.join();
    EXPECT_FALSE(was_early);
    expect_word();
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
