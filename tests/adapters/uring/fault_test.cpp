// SPDX-License-Identifier: MIT
// tryst::uring on kernels that are old or short of memory, interrupt operations, or report errors.
#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "adapters/uring/operations.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::result;

constexpr int forever = 1 << 30;

// ---- Every feature of a context, once, for kernels of all ages

/// Makes each operation that need not wait.
void do_each_deed(context& loop) {
    for_each_deed([&](const char* name, auto is_done, auto make) {
        SCOPED_TRACE(name);
        workplace at;
        const auto got = run_one(loop, [&] { return make(at, loop); });
        EXPECT_TRUE(got) << got.message();
        if constexpr (!std::is_null_pointer_v<decltype(is_done)>) {
            EXPECT_TRUE(is_done(at));
        }
    });
    descriptor file = make_file();
    const int number = file.get();
    const auto closed = run_one(loop, [&] { return loop.close(std::move(file)); });
    EXPECT_TRUE(closed) << closed.message();
    EXPECT_FALSE(is_open(number));
    file = make_file();
    EXPECT_TRUE(run_one(loop, [&] { return loop.write(file.get(), bytes_of("word"), 0); }));
    EXPECT_EQ(content_of(file), "word");
    const listener port;
    const descriptor socket = listener::make_socket();
    EXPECT_TRUE(
        run_one(loop, [&] { return loop.connect(socket.get(), port.address(), port.size()); }));
    EXPECT_TRUE(run_one(loop, [&] { return loop.timeout(1ms); }));
    const auto missing = run_one(loop, [&] { return loop.openat(AT_FDCWD, "/no/file", O_RDONLY); });
    EXPECT_EQ(missing.error(), std::errc::no_such_file_or_directory);
}

/// Lets each other operation wait until its time is over, a thread stops it, or an event occurs.
void wait_in_each_way(context& loop) {
    for_each_waiting_operation([&](const char* name, auto make) {
        SCOPED_TRACE(name);
        silence with;
        const auto late = run_one(loop, [&] { return make(with, loop, 1ms); });
        EXPECT_EQ(late.error(), std::errc::timed_out);
        std::stop_source stop;
        std::jthread other([&] { stop.request_stop(); });
        const auto stopped = run_one(loop, [&] { return make(with, loop, stop.get_token()); });
        EXPECT_EQ(stopped.error(), std::errc::operation_canceled);
        if (with.client) {
            return; // a connect, for which a busy port would take a second
        }
        other = std::jthread([&] { with.end(); });
        const auto got = run_one(loop, [&] { return make(with, loop); });
        EXPECT_TRUE(got) << got.message();
        other.join();
        EXPECT_EQ(with.take_all(), "xyzxyz");
    });
}

task<> use_streams(context& loop) {
    const listener port;
    const file_pair pair = make_sockets();
    {
        tryst::uring::accept_stream connections(loop, port.get());
        for (int i = 0; i != 5; ++i) {
            const descriptor client = port.connect();
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer) << peer.message();
        }
        const auto nobody = co_await connections.next(1ms);
        EXPECT_EQ(nobody.error(), std::errc::timed_out);
    }
    try {
        tryst::uring::recv_stream pieces(loop, pair.reader.get(), 4, 16);
        for (int i = 0; i != 10; ++i) {
            write_text(pair.writer, "piece");
            const auto got = co_await pieces.next();
            EXPECT_TRUE(got) << got.message();
            if (got) {
                EXPECT_EQ(text_of(got->bytes()), "piece");
            }
        }
        const auto nothing = co_await pieces.next(1ms);
        EXPECT_EQ(nothing.error(), std::errc::timed_out);
    } catch (const std::system_error& error) { // no rings of buffers before Linux 5.19
        EXPECT_EQ(error.code(), std::errc::invalid_argument);
    }
}

void swap_between_two() {
    constexpr int rounds = 100;
    tryst::exchanger<int> ex;
    const auto swap = [&ex](context& loop) -> task<> {
        for (int i = 0; i != rounds; ++i) {
            const auto got = co_await ex.exchange(i);
            EXPECT_TRUE(got && *got == i);
        }
        loop.stop();
    };
    context first(sleepy);
    context second(sleepy);
    first.spawn(swap(first));
    second.spawn(swap(second));
    const std::jthread other([&second] { second.run(); });
    first.run();
}

/// Reads one byte. The last of these reads stops the loop.
task<> read_byte(context& loop, const file_pair& pipe, std::size_t& left) {
    std::array<std::byte, 1> byte{};
    const auto got = co_await loop.read(pipe.reader.get(), byte);
    EXPECT_TRUE(got && *got == 1U);
    if (--left == 0) {
        loop.stop();
    }
}

void have_many_and_go_on_after_stops() {
    constexpr std::size_t count = 200;
    const file_pair pipe = make_pipe();
    context loop({.entries = 4});
    std::size_t left = count;
    for (std::size_t i = 0; i != count; ++i) {
        loop.spawn(read_byte(loop, pipe, left));
    }
    loop.run_until_idle();
    for (int i = 0; i != 5; ++i) {
        leave(loop);
        write_text(pipe.writer, "x");
    }
    write_text(pipe.writer, std::string(count - 5, 'x'));
    loop.run();
    EXPECT_EQ(left, 0U);
}

/// Uses every feature of contexts. Fails the test if anything is wrong.
void run_battery() {
    const long before = count_open();
    for (const unsigned spins : {0U, 100U}) {
        context loop({.entries = 16, .max_spins = spins});
        do_each_deed(loop);
        wait_in_each_way(loop);
        loop.run(use_streams(loop));
    }
    swap_between_two();
    have_many_and_go_on_after_stops();
    EXPECT_EQ(count_open(), before);
}

// ---- Set-up

/// A kernel that lacks these flags and features, and records the flags that are requested.
struct old_kernel {
    const char* name;
    unsigned unknown_flags;
    unsigned expected_flags;
    int setups;

    friend std::ostream& operator<<(std::ostream& out, const old_kernel& self) {
        return out << self.name;
    }
};

class UringOldKernel : public testing::TestWithParam<old_kernel> {};

TEST_P(UringOldKernel, IsAskedForNoMoreThanItKnows) {
    const old_kernel& old = GetParam();
    kernel_faults faults;
    faults.unknown_flags = old.unknown_flags;
    const context loop;
    EXPECT_EQ(loop.setup_flags(), old.expected_flags);
    EXPECT_EQ(faults.setups, old.setups);
}

TEST_P(UringOldKernel, DoesEverything) {
    for (const char* const lacks : {"nothing else", "features", "multishot and messages"}) {
        SCOPED_TRACE(lacks);
        kernel_faults faults;
        faults.unknown_flags = GetParam().unknown_flags;
        std::atomic<int> refused{0};
        if (lacks[0] == 'f') {
            faults.unknown_features = IORING_FEAT_CQE_SKIP | IORING_FEAT_EXT_ARG;
        } else if (lacks[0] == 'm') {
            faults.on_request = [&refused](const io_uring_sqe& entry) {
                const bool unknown = entry.opcode == IORING_OP_MSG_RING || is_multishot(entry);
                refused += unknown ? 1 : 0;
                return unknown ? -EINVAL : 0;
            };
        }
        run_battery();
        EXPECT_TRUE(lacks[0] != 'm' || refused >= 4); // in two runs of the streams
    }
}

constexpr unsigned basic = IORING_SETUP_CQSIZE | IORING_SETUP_CLAMP;
constexpr unsigned submit_all = basic | IORING_SETUP_SUBMIT_ALL;
constexpr unsigned coop = submit_all | IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_COOP_TASKRUN;
constexpr unsigned lone = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_R_DISABLED;
constexpr unsigned defer =
    submit_all | IORING_SETUP_TASKRUN_FLAG | lone | IORING_SETUP_DEFER_TASKRUN;

INSTANTIATE_TEST_SUITE_P(
    Rows, UringOldKernel,
    testing::Values(old_kernel{"Linux61", 0, defer, 1},
                    old_kernel{"Linux60", IORING_SETUP_DEFER_TASKRUN, coop | lone, 2},
                    old_kernel{"Linux519", IORING_SETUP_SINGLE_ISSUER, coop, 3},
                    old_kernel{"Linux518",
                               lone | IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
                               submit_all, 4},
                    old_kernel{"Linux56", lone | (coop & ~basic), basic, 5},
                    old_kernel{"Linux51", ~0U, 0, 6}),
    [](const auto& each) { return std::string(each.param.name); });

TEST(UringSetup, SaysWhatFailedAndTriesAgainOnlyIfAFlagMayBeUnknown) {
    struct failure {
        int kernel_faults::* of;
        int code;
        const char* name;
        int setups = 1;
    };
    const long before = count_open();
    for (const failure& each : {failure{&kernel_faults::setup_error, EPERM, "io_uring_setup"},
                                {&kernel_faults::setup_error, ENOSYS, "io_uring_setup"},
                                {&kernel_faults::setup_error, ENOMEM, "io_uring_setup"},
                                {&kernel_faults::setup_error, EMFILE, "io_uring_setup"},
                                {&kernel_faults::setup_error, EINVAL, "io_uring_setup", 6},
                                {&kernel_faults::eventfd_error, EMFILE, "eventfd"}}) {
        kernel_faults faults;
        faults.*each.of = each.code;
        expect_throws(each.code, each.name, [] { const context loop; });
        EXPECT_EQ(faults.setups, each.setups);
        EXPECT_EQ(count_open(), before);
    }
}

TEST(UringSetup, SaysWhatFailedInTheFirstRunAndTriesAgainInTheNext) {
    context loop({.max_unbounded_workers = 1});
    TRYST_NEEDS((loop.setup_flags() & IORING_SETUP_R_DISABLED) != 0, "rings of a single issuer");
    {
        kernel_faults faults;
        faults.workers_error = EINVAL;
        expect_throws(EINVAL, "io_uring_register_iowq_max_workers", [&] { loop.run_until_idle(); });
        faults.workers_error = 0;
        faults.enable_error = ENOMEM;
        expect_throws(ENOMEM, "io_uring_register", [&] { loop.run_until_idle(); });
        EXPECT_FALSE(loop.running_here());
    }
    EXPECT_TRUE(run_one(loop, [&] { return loop.nop(); }));
}

TEST(UringSetup, NeedsNoTableOfBuffers) {
    kernel_faults faults;
    faults.table_error = EINVAL;
    context loop;
    tryst::uring::buffer_pool pool(1, 100);
    const auto registered = loop.register_buffers(pool);
    EXPECT_EQ(registered.error(), std::errc::invalid_argument);
    EXPECT_STREQ(registered.operation(), "register_buffers");
    const auto buffer = pool.acquire();
    const descriptor file = make_file("word");
    const auto got =
        run_one(loop, [&] { return loop.read_fixed(file.get(), buffer, buffer.bytes(), 0); });
    ASSERT_TRUE(got);
    EXPECT_EQ(text_of(buffer.bytes().first(*got)), "word");
}

TEST(UringSetup, HasRecvStreamsThoughSomeGroupsOfBuffersAreTaken) {
    kernel_faults faults;
    faults.taken_groups = 3; // by old streams, after the numbers have wrapped around
    context loop;
    const file_pair pair = make_sockets();
    EXPECT_NO_THROW(tryst::uring::recv_stream(loop, pair.reader.get()));
    EXPECT_EQ(faults.taken_groups, 0);
}

TEST(UringSetup, HasNoRecvStreamWithoutRingsOfBuffers) {
    kernel_faults faults;
    faults.buffer_ring_error = EINVAL;
    context loop;
    const file_pair pair = make_sockets();
    expect_throws(EINVAL, "register_buf_ring",
                  [&] { const tryst::uring::recv_stream pieces(loop, pair.reader.get()); });
}

// ---- System calls

TEST(UringSubmit, MayFailForAWhile) {
    for (const int code : {EAGAIN, EBUSY, EINTR}) {
        kernel_faults faults;
        faults.submit_error = code;
        faults.failing_submits = 10;
        run_battery();
        EXPECT_LE(faults.failing_submits, 0); // all have
    }
}

TEST(UringSubmit, MayFailNowAndThen) {
    kernel_faults faults;
    faults.submits_fail_at_random = true;
    run_battery();
}

TEST(UringSubmit, MayFailWhileTheRingIsFull) {
    constexpr std::size_t count = 50;
    const file_pair pipe = make_pipe();
    kernel_faults faults;
    context loop({.entries = 2, .max_spins = 0});
    std::size_t left = count;
    for (std::size_t i = 0; i != count; ++i) {
        // So the next read finds no entry.
        loop.spawn(call([&] { faults.failing_submits = 3; }));
        loop.spawn(read_byte(loop, pipe, left));
    }
    std::jthread writer([&] {
        until_asleep();
        write_text(pipe.writer, std::string(count, 'x'));
    });
    loop.run();
    EXPECT_EQ(left, 0U);
}

TEST(UringSubmit, MayFailAtAnyTimeWhileTheLoopIsLeftOrAFrameDestroyed) {
    for (int failures = 0; failures != 12; ++failures) {
        kernel_faults faults;
        std::array<waiting_read, 3> reads;
        {
            context loop({.entries = 1, .max_spins = 0});
            for (waiting_read& each : reads) {
                each.start(loop);
            }
            loop.run_until_idle();
            faults.failing_submits = failures;
            leave(loop);
            faults.failing_submits = 0;
            loop.run_until_idle();
            faults.failing_submits = failures;
        }
        for (const waiting_read& each : reads) {
            write_text(each.pipe.writer, "word");
            EXPECT_EQ(read_text(each.pipe.reader), "word") << failures;
            EXPECT_FALSE(each.got);
        }
    }
}

TEST(UringSubmit, MayFailWhileThePollOfTheEventfdFillsTheRing) {
    for (int failures = 0; failures != 8; ++failures) {
        kernel_faults faults;
        waiting_read read;
        context loop({.entries = 1, .max_spins = 0});
        faults.on_request = [&](const io_uring_sqe& entry) {
            if (entry.opcode == IORING_OP_READ) {
                // A stop comes after the last look, so that the loop does not go to sleep; but its
                // poll is in the ring already, and the cancellation of the read has to wait.
                std::thread([&] { loop.stop(); }).join();
                faults.failing_submits = failures;
            }
            return 0;
        };
        read.start(loop);
        loop.run();
        EXPECT_FALSE(read.got);
        faults.failing_submits = 0;
    }
}

TEST(UringSubmit, MayFailBeforeASleep) {
    for (int failures = 0; failures != 12; ++failures) {
        kernel_faults faults;
        std::atomic<bool> submitted{false};
        faults.on_request = [&](const io_uring_sqe& entry) {
            submitted = submitted || (entry.opcode == IORING_OP_NOP && is_operation(entry));
            return 0;
        };
        waiting_read read;
        std::optional<result<>> done;
        context loop({.entries = 1, .max_spins = 0});
        loop.spawn(call([&] { faults.failing_submits = failures; }));
        read.start(loop);
        loop.spawn(party_that_stops(loop, done, [&] { return loop.nop(); })); // finds no entry
        std::jthread other([&] {
            yield_until([&] { return asleep == 1 || submitted; });
            if (!submitted) {
                ADD_FAILURE() << "sleeps, but has not submitted all; failures: " << failures;
                loop.stop();
            }
        });
        loop.run();
    }
}

TEST(UringWait, MayEndEarly) {
    for (const int code : {EINTR, ETIME, EAGAIN}) {
        kernel_faults faults;
        faults.wait_error = code;
        faults.early_waits = 50;
        run_battery();
        EXPECT_LE(faults.early_waits, 0);
    }
}

TEST(UringWait, MayEndEarlyAgainAndAgainWhileAThreadWakesTheContext) {
    constexpr int rounds = 100;
    kernel_faults faults;
    faults.early_waits = forever;
    tryst::exchanger<int> ex;
    int swaps = 0;
    {
        const auto swap = [&]() -> task<> { // exists until the loop has ended
            for (int i = 0; i != rounds; ++i) {
                const auto got = co_await ex.exchange(i);
                swaps += got && *got == i ? 1 : 0;
            }
        };
        context_thread loop(sleepy);
        loop->spawn(swap());
        for (int i = 0; i != rounds; ++i) {
            EXPECT_EQ(*tryst::sync_wait(ex.exchange(i)), i);
        }
    }
    EXPECT_EQ(swaps, rounds);
}

TEST(UringWait, SleepsAlthoughTheKernelClaimsTaskWorkThatItDoesNotHave) {
    // The kernel queues the work before it sets the flag; the work may be done by then.
    kernel_faults faults;
    faults.claims_work = true;
    context loop;
    EXPECT_TRUE(run_one(loop, [&] { return loop.nop(); }));
    std::thread other([&] {
        until_asleep();
        loop.stop();
    });
    loop.run();
    other.join();
    run_battery();
}

class UringLostCompletions : public testing::TestWithParam<bool> {};

TEST_P(UringLostCompletions, EndTheProgramRatherThanHaveItWaitForEver) {
    // By EBADR the kernel says, once, that it had no memory for a completion beyond the queue.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto lose = [] {
        kernel_faults faults;
        context loop(sleepy);
        waiting_read read;
        read.start(loop);
        loop.run_until_idle();
        faults.wait_error = EBADR;
        faults.submit_error = EBADR;
        (GetParam() ? faults.early_waits : faults.failing_submits) = 1;
        ::alarm(20);
        loop.run();
    };
    EXPECT_EXIT(lose(), testing::KilledBySignal(SIGABRT), "completion");
}

INSTANTIATE_TEST_SUITE_P(When, UringLostCompletions, testing::Bool(), [](const auto& each) {
    return std::string(each.param ? "InAWait" : "InASubmission");
});

// ---- Completions

TEST(UringInterruption, IsNotSeenByAnyOperationThatMayStartAgain) {
    kernel_faults faults;
    std::atomic<int> interrupted{0};
    faults.on_request = [&](const io_uring_sqe& entry) {
        if (!is_operation(entry) || entry.opcode == IORING_OP_CONNECT ||
            entry.opcode == IORING_OP_CLOSE || entry.opcode == IORING_OP_MSG_RING ||
            !faults.is_one_in_three()) {
            return 0;
        }
        ++interrupted;
        return -EINTR;
    };
    run_battery();
    EXPECT_GE(interrupted, 30);
}

TEST(UringInterruption, OfACancelledOperationEndsIt) {
    kernel_faults faults;
    context loop(sleepy);
    waiting_read read;
    std::stop_source stop;
    faults.on_request = [&](const io_uring_sqe& entry) {
        if (entry.opcode != IORING_OP_READ) {
            return 0;
        }
        stop.request_stop(); // on the loop, before the interruption is seen
        return -EINTR;
    };
    read.start(loop, stop.get_token());
    loop.run();
    ASSERT_TRUE(read.got);
    EXPECT_EQ(read.got->error(), std::errc::operation_canceled);
}

TEST(UringInterruption, EndsAConnect) {
    kernel_faults faults;
    faults.fail(IORING_OP_CONNECT, -EINTR);
    context loop(sleepy);
    const listener port;
    const descriptor socket = listener::make_socket();
    const auto got =
        run_one(loop, [&] { return loop.connect(socket.get(), port.address(), port.size()); });
    EXPECT_EQ(got.error(), std::errc::interrupted);
}

TEST(UringClose, IsMadeOnceWhateverItReturns) {
    for (const int answer : {-ECANCELED, -ETIMEDOUT, -EINTR, -EIO}) {
        kernel_faults faults;
        // Like a network file whose last write fails: it is closed nevertheless.
        faults.on_request = [answer](const io_uring_sqe& entry) {
            return entry.opcode == IORING_OP_CLOSE && ::close(entry.fd) == 0 ? answer : 0;
        };
        context loop(sleepy);
        descriptor file = make_file();
        const int number = file.get();
        descriptor someone_elses;
        const auto close_and_open = [&](descriptor mine) -> task<> {
            auto closing = loop.close(std::move(mine));
            const auto got = co_await closing;
            EXPECT_EQ(got.error().value(), -answer);
            someone_elses = make_file(); // before the operation is destroyed
        };
        loop.spawn(close_and_open(std::move(file)));
        loop.run_until_idle();
        EXPECT_EQ(someone_elses.get(), number);
        EXPECT_TRUE(is_open(number));
    }
}

TEST(UringClose, ClosesAFileForWhichTheRingHadNoRoom) {
    kernel_faults faults;
    descriptor file = make_file();
    const int number = file.get();
    waiting_read read;
    std::optional<result<>> closed;
    {
        context loop({.entries = 1, .max_spins = 0});
        faults.failing_submits = forever;
        read.start(loop);
        loop.spawn(party(closed, [&] { return loop.close(std::move(file)); }));
        loop.run_until_idle();
        EXPECT_TRUE(is_open(number));
        faults.failing_submits = 0;
    }
    EXPECT_FALSE(closed);
    EXPECT_FALSE(is_open(number));
}

TEST(UringErrors, AreTheResultOfTheOperation) {
    context loop(sleepy);
    const descriptor file = make_file("word");
    std::array<std::byte, 8> bytes{};
    for (const int code : {EAGAIN, ENOSPC, EIO, ENOMEM, EOPNOTSUPP, ECANCELED}) {
        kernel_faults faults;
        faults.fail(IORING_OP_READ, -code);
        const auto got = run_one(loop, [&] { return loop.read(file.get(), bytes, 0); });
        EXPECT_EQ(got.error(), std::error_code(code, std::system_category()));
        EXPECT_STREQ(got.operation(), "read");
        EXPECT_EQ(faults.failed, 1);
        EXPECT_TRUE(run_one(loop, [&] { return loop.read(file.get(), bytes, 0); }));
    }
}

// ---- Wakes between rings

/// A context that sleeps, and another one that calls it.
class UringMessage : public testing::Test {
protected:
    UringMessage() {
        faults.on_request = [this](io_uring_sqe& entry) {
            const int failure = entry.opcode == IORING_OP_MSG_RING ? error.load() : 0;
            failed += failure == 0 ? 0 : 1;
            if (entry.opcode == IORING_OP_MSG_RING && receives) {
                const std::uint64_t user_data = entry.user_data;
                io_uring_prep_recv(&entry, pair.reader.get(), byte.data(), byte.size(), 0);
                entry.user_data = user_data;
            }
            return failure;
        };
        target.emplace(sleepy);
        until_asleep();
    }

    /// To be called on `sender`.
    void call_target() {
        (*target)->spawn(call([this] { ran = true; }));
    }
    void until_ran() {
        yield_until([this] { return ran.load(); });
    }

    kernel_faults faults;
    std::atomic<bool> ran{false};
    std::atomic<int> error{0}; ///< Of messages.
    std::atomic<int> failed{0};
    std::atomic<bool> receives{false}; ///< In place of messages.
    file_pair pair = make_sockets();
    std::array<std::byte, 1> byte{};
    std::optional<context_thread> target;
    context sender{sleepy};
};

constexpr std::array message_errors{-EINVAL, -EOVERFLOW, -ENOMEM}; // unknown, or for once

TEST_F(UringMessage, ThatFailsIsReplacedAtOnceByAWrite) {
    for (const int each : message_errors) {
        until_asleep();
        ran = false;
        failed = 0;
        error = each;
        const long writes = eventfd_writes;
        context fresh; // which may learn that the kernel does not know messages
        fresh.spawn(call([&] {
            call_target();
            until_ran(); // blocks the thread
        }));
        fresh.run_until_idle();
        EXPECT_EQ(failed, 1);
        EXPECT_GE(eventfd_writes - writes, 1);
    }
}

TEST_F(UringMessage, ThatFailsIsReplacedEvenIfItsSenderStops) {
    error = -ENOMEM;
    sender.run(call([&] { call_target(); }));
    // The wake must have been sent: the sender has left `run`.
    until_ran();
    EXPECT_EQ(failed, 1);
}

TEST_F(UringMessage, ThatFailsLateIsReplacedBeforeItsSenderLeaves) {
    // A receive in its place fails when the peer closes without having read what was sent to it.
    write_text(pair.reader, "unread");
    receives = true;
    const long writes = eventfd_writes;
    sender.run(call([&] {
        call_target();
        EXPECT_EQ(eventfd_writes, writes);
        pair.writer.reset();
    }));
    EXPECT_EQ(eventfd_writes - writes, 1);
    sender.run_until_idle(); // or the target would sleep for ever
    until_ran();
}

TEST_F(UringMessage, ThatFailsIsTriedAgainOnlyIfTheKernelKnowsIt) {
    for (const int each : message_errors) {
        failed = 0;
        error = each;
        context fresh(sleepy);
        fresh.run([](context& home, context& away) -> task<> {
            for (int i = 0; i != 100; ++i) {
                co_await away.schedule();
                co_await home.schedule();
            }
        }(fresh, **target));
        if (each == -EINVAL) {
            EXPECT_LE(failed, 2); // once for each
        }
    }
}

TEST_F(UringMessage, IsSentByTheOuterContextAfterANestedRun) {
    context inner;
    sender.run(call([&] {
        error = -EINVAL; // so the inner context sends no other message
        inner.run(call([&] {
            call_target();
            until_ran();
        }));
        error = 0;
        until_asleep();
        const long sent = messages;
        call_target();
        EXPECT_EQ(messages - sent, 1);
    }));
}

TEST_F(UringMessage, ThatCannotBeSubmittedIsReplacedAtOnce) {
    const long sent = messages;
    sender.spawn(call([&] {
        faults.failing_submits = 1;
        call_target();
        until_ran(); // blocks the thread
    }));
    sender.run_until_idle();
    EXPECT_EQ(faults.failing_submits, 0);
    EXPECT_EQ(messages, sent);
}

TEST_F(UringMessage, DoesNotKeepItsSenderIfItsSubmissionFailsAndTheSenderStops) {
    sender.spawn(call([&] {
        faults.failing_submits = 3;
        call_target();
        sender.stop();
    }));
    sender.run();
    until_ran();
}

} // namespace
