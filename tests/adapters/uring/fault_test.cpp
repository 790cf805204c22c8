// SPDX-License-Identifier: MIT
// tryst::uring on kernels that are old or short of memory, interrupt operations, or report errors.
#include "adapters/uring/battery.hpp"
#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <liburing.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::current_position;
using tryst::uring::result;

using size_result = std::optional<result<std::size_t>>;

constexpr int forever = 1 << 30;

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

TEST_P(UringOldKernel, DoesEverything) {
    const old_kernel& old = GetParam();
    kernel_faults faults;
    faults.unknown_flags = old.unknown_flags;
    {
        const context loop;
        EXPECT_EQ(loop.setup_flags(), old.expected_flags);
        EXPECT_EQ(faults.setups, old.setups);
    }
    run_battery();
}

TEST_P(UringOldKernel, DoesEverythingWithoutAnyFeature) {
    kernel_faults faults;
    faults.unknown_flags = GetParam().unknown_flags;
    faults.unknown_features = IORING_FEAT_CQE_SKIP | IORING_FEAT_EXT_ARG;
    run_battery();
}

TEST_P(UringOldKernel, DoesEverythingWithoutMultishotAndMessages) {
    kernel_faults faults;
    faults.unknown_flags = GetParam().unknown_flags;
    std::atomic<int> refused{0};
    faults.on_request = [&refused](const io_uring_sqe& entry) {
        const bool unknown =
            entry.opcode == IORING_OP_MSG_RING ||
            (entry.opcode == IORING_OP_ACCEPT && (entry.ioprio & IORING_ACCEPT_MULTISHOT) != 0) ||
            (entry.opcode == IORING_OP_RECV && (entry.ioprio & IORING_RECV_MULTISHOT) != 0);
        refused += unknown ? 1 : 0;
        return unknown ? -EINVAL : 0;
    };
    run_battery();
    EXPECT_GE(refused, 4); // in two runs of the streams, which then know it
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

/// The exception that the constructor of a context throws, if it does.
std::optional<std::system_error> failure_of_setup() {
    try {
        const context loop;
    } catch (const std::system_error& error) {
        return error;
    }
    return {};
}

TEST(UringSetup, SaysWhatFailedAndDoesNotTryAgain) {
    const long before = count_open();
    for (const int code : {EPERM, ENOSYS, ENOMEM, EMFILE}) {
        kernel_faults faults;
        faults.setup_error = code;
        const auto error = failure_of_setup();
        ASSERT_TRUE(error);
        EXPECT_EQ(error->code(), std::error_code(code, std::system_category()));
        EXPECT_NE(std::string(error->what()).find("io_uring_setup"), std::string::npos);
        EXPECT_EQ(faults.setups, 1);
    }
    EXPECT_EQ(count_open(), before);
}

TEST(UringSetup, FailsIfEveryRowIsRefused) {
    kernel_faults faults;
    faults.setup_error = EINVAL;
    const auto error = failure_of_setup();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), std::errc::invalid_argument);
    EXPECT_EQ(faults.setups, 6);
}

TEST(UringSetup, LeavesNoRingBehindIfThereIsNoEventfd) {
    const long before = count_open();
    kernel_faults faults;
    faults.eventfd_error = EMFILE;
    const auto error = failure_of_setup();
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), std::errc::too_many_files_open);
    EXPECT_NE(std::string(error->what()).find("eventfd"), std::string::npos);
    EXPECT_EQ(count_open(), before);
}

TEST(UringSetup, SaysThatTheRingCouldNotBeEnabledAndTriesAgainNextTime) {
    context loop;
    TRYST_NEEDS((loop.setup_flags() & IORING_SETUP_R_DISABLED) != 0, "rings of a single issuer");
    {
        kernel_faults faults;
        faults.enable_error = ENOMEM;
        try {
            loop.run();
            FAIL() << "ran on a disabled ring";
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::errc::not_enough_memory);
            EXPECT_NE(std::string(error.what()).find("io_uring_register"), std::string::npos);
        }
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
    bool threw = false;
    loop.spawn([](context& home, int socket, bool& thrown) -> task<> {
        try {
            const tryst::uring::recv_stream pieces(home, socket);
        } catch (const std::system_error& error) {
            thrown = error.code() == std::errc::invalid_argument &&
                     std::string(error.what()).find("register_buf_ring") != std::string::npos;
        }
        co_return;
    }(loop, pair.reader.get(), threw));
    loop.run_until_idle();
    EXPECT_TRUE(threw);
}

// ---- System calls

class UringSubmit : public testing::TestWithParam<int> {};

TEST_P(UringSubmit, MayFailForAWhile) {
    kernel_faults faults;
    faults.submit_error = GetParam();
    faults.failing_submits = 10;
    run_battery();
    EXPECT_LE(faults.failing_submits, 0); // all have
}

TEST_P(UringSubmit, MayFailNowAndThen) {
    kernel_faults faults;
    faults.submit_error = GetParam();
    faults.submits_fail_at_random = true;
    run_battery();
}

TEST_P(UringSubmit, MayFailWhileTheRingIsFull) {
    constexpr std::size_t count = 50;
    const file_pair pipe = make_pipe();
    kernel_faults faults;
    faults.submit_error = GetParam();
    context loop({.entries = 2, .max_spins = 0});
    std::size_t done = 0;
    const auto read = [](context& home, kernel_faults& all, int file,
                         std::size_t& total) -> task<> {
        std::array<std::byte, 1> byte{};
        all.failing_submits = 3; // so this operation finds no entry, nor do later ones
        const auto got = co_await home.read(file, byte);
        EXPECT_TRUE(got && *got == 1U);
        if (++total == count) {
            home.stop();
        }
    };
    for (std::size_t i = 0; i != count; ++i) {
        loop.spawn(read(loop, faults, pipe.reader.get(), done));
    }
    std::thread writer([&] {
        until_asleep();
        write_text(pipe.writer, std::string(count, 'x'));
    });
    loop.run();
    writer.join();
    EXPECT_EQ(done, count);
}

TEST_P(UringSubmit, MayFailWhileTheLoopIsLeft) {
    constexpr std::size_t count = 20;
    const file_pair pipe = make_pipe();
    kernel_faults faults;
    faults.submit_error = GetParam();
    {
        context loop({.entries = 2, .max_spins = 0});
        std::vector<std::array<std::byte, 1>> bytes(count);
        std::vector<size_result> results(count);
        for (std::size_t i = 0; i != count; ++i) {
            loop.spawn(
                party(results[i], [&, i] { return loop.read(pipe.reader.get(), bytes[i]); }));
        }
        loop.run_until_idle();
        loop.stop();
        faults.failing_submits = 20;
        loop.run();
        EXPECT_LT(faults.failing_submits, 20);
        faults.failing_submits = 0;
        write_text(pipe.writer, "x");
        const auto over = [&] {
            std::size_t sum = 0;
            for (const size_result& each : results) {
                sum += each ? 1U : 0U;
            }
            return sum;
        };
        while (over() != 1) {
            loop.run_until_idle();
        }
        faults.failing_submits = 20;
    } // in flight, and the cancellations find the ring full
    write_text(pipe.writer, "y");
    EXPECT_EQ(read_text(pipe.reader), "y");
}

TEST_P(UringSubmit, MayFailAtAnyTimeWhileTheLoopIsLeftOrAFrameDestroyed) {
    for (int failures = 0; failures != 12; ++failures) {
        const file_pair pipe = make_pipe();
        std::array<std::byte, 4> bytes{};
        kernel_faults faults;
        faults.submit_error = GetParam();
        std::array<size_result, 3> got;
        {
            context loop({.entries = 1, .max_spins = 0});
            for (size_result& each : got) {
                loop.spawn(party(each, [&] { return loop.read(pipe.reader.get(), bytes); }));
            }
            loop.run_until_idle();
            loop.stop();
            faults.failing_submits = failures;
            loop.run();
            faults.failing_submits = 0;
            loop.run_until_idle();
            faults.failing_submits = failures;
        }
        write_text(pipe.writer, "word");
        EXPECT_EQ(read_text(pipe.reader), "word") << failures;
        EXPECT_FALSE(got[0] || got[1] || got[2]);
    }
}

TEST_P(UringSubmit, MayFailWhileThePollOfTheEventfdFillsTheRing) {
    for (int failures = 0; failures != 8; ++failures) {
        const file_pair pipe = make_pipe();
        std::array<std::byte, 4> bytes{};
        kernel_faults faults;
        faults.submit_error = GetParam();
        size_result got;
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
        loop.spawn(party(got, [&] { return loop.read(pipe.reader.get(), bytes); }));
        loop.run();
        EXPECT_FALSE(got);
        faults.failing_submits = 0;
    }
}

INSTANTIATE_TEST_SUITE_P(Errors, UringSubmit, testing::Values(EAGAIN, EBUSY, EINTR),
                         [](const auto& each) {
                             return std::string(each.param == EAGAIN  ? "Again"
                                                : each.param == EBUSY ? "Busy"
                                                                      : "Interrupted");
                         });

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
    kernel_faults faults;
    faults.early_waits = forever;
    tryst::exchanger<int> ex;
    int swaps = 0;
    {
        context_thread loop(sleepy);
        loop->spawn([](tryst::exchanger<int>& room, int& total) -> task<> {
            for (int i = 0; i != 300; ++i) {
                const auto got = co_await room.exchange(i);
                total += got && *got == i ? 1 : 0;
            }
        }(ex, swaps));
        for (int i = 0; i != 300; ++i) {
            EXPECT_EQ(*tryst::sync_wait(ex.exchange(i)), i);
        }
    }
    EXPECT_EQ(swaps, 300);
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
        const file_pair pipe = make_pipe();
        std::array<std::byte, 8> bytes{};
        size_result got;
        loop.spawn(party(got, [&] { return loop.read(pipe.reader.get(), bytes); }));
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

TEST(UringInterruption, IsNotSeen) {
    kernel_faults faults;
    faults.fail(IORING_OP_READ, -EINTR, 3);
    context loop(sleepy);
    const descriptor file = make_file("word");
    std::array<std::byte, 8> bytes{};
    const auto got = run_one(loop, [&] { return loop.read(file.get(), bytes, 0); });
    ASSERT_TRUE(got) << got.message();
    EXPECT_EQ(*got, 4U);
    EXPECT_EQ(faults.failed, 3);
}

TEST(UringInterruption, IsNotSeenByAnyOperationThatMayStartAgain) {
    kernel_faults faults;
    std::atomic<int> interrupted{0};
    faults.on_request = [&](const io_uring_sqe& entry) {
        const bool is_operation = entry.user_data > 7 && entry.user_data % 8 == 0;
        if (!is_operation || entry.opcode == IORING_OP_CONNECT || entry.opcode == IORING_OP_CLOSE ||
            entry.opcode == IORING_OP_MSG_RING || !faults.is_one_in_three()) {
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
    const file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    std::stop_source stop;
    faults.on_request = [&](const io_uring_sqe& entry) {
        if (entry.opcode != IORING_OP_READ) {
            return 0;
        }
        stop.request_stop(); // on the loop, before the interruption is seen
        return -EINTR;
    };
    const auto got = run_one(loop, [&] {
        return loop.read(pipe.reader.get(), bytes, current_position, stop.get_token());
    });
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
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

TEST(UringInterruption, OfACloseIsNotTriedAgain) {
    kernel_faults faults;
    faults.fail(IORING_OP_CLOSE, -EINTR, 1);
    context loop(sleepy);
    descriptor file = make_file();
    const int number = file.get();
    const auto got = run_one(loop, [&] { return loop.close(std::move(file)); });
    EXPECT_EQ(got.error(), std::errc::interrupted);
    // A real kernel would have closed it; the simulated error prevented that.
    EXPECT_EQ(::close(number), 0);
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
            const auto closing = co_await loop.close(std::move(mine));
            EXPECT_EQ(closing.error().value(), -answer);
            someone_elses = make_file();
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
    const file_pair pipe = make_pipe();
    std::array<std::byte, 4> bytes{};
    size_result read;
    std::optional<result<>> closed;
    {
        context loop({.entries = 1, .max_spins = 0});
        faults.failing_submits = forever;
        loop.spawn(party(read, [&] { return loop.read(pipe.reader.get(), bytes); }));
        loop.spawn(party(closed, [&] { return loop.close(std::move(file)); }));
        loop.run_until_idle();
        EXPECT_TRUE(is_open(number));
        faults.failing_submits = 0;
    }
    EXPECT_FALSE(closed);
    EXPECT_FALSE(is_open(number));
}

class UringErrors : public testing::TestWithParam<int> {};

TEST_P(UringErrors, AreTheResultOfTheOperation) {
    kernel_faults faults;
    context loop(sleepy);
    const file_pair pipe = make_pipe();
    const descriptor file = make_file("word");
    std::array<std::byte, 8> bytes{};
    faults.fail(IORING_OP_READ, -GetParam());
    const auto got = run_one(loop, [&] { return loop.read(file.get(), bytes, 0); });
    EXPECT_EQ(got.error(), std::error_code(GetParam(), std::system_category()));
    EXPECT_STREQ(got.operation(), "read");
    EXPECT_EQ(faults.failed, 1);
    const auto again = run_one(loop, [&] { return loop.read(file.get(), bytes, 0); });
    EXPECT_TRUE(again);
    faults.fail(IORING_OP_WRITE, -GetParam());
    const auto put = run_one(loop, [&] { return loop.write(file.get(), bytes, 0); });
    EXPECT_EQ(put.error(), std::error_code(GetParam(), std::system_category()));
    EXPECT_STREQ(put.operation(), "write");
}

INSTANTIATE_TEST_SUITE_P(Codes, UringErrors,
                         testing::Values(EAGAIN, ENOSPC, EIO, ENOMEM, EOPNOTSUPP));

TEST(UringErrors, OfTheKernelWithoutACancellationAreTheResult) {
    kernel_faults faults;
    faults.fail(IORING_OP_READ, -ECANCELED);
    context loop(sleepy);
    const descriptor file = make_file("word");
    std::array<std::byte, 8> bytes{};
    const auto got = run_one(loop, [&] { return loop.read(file.get(), bytes, 0); });
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
}

TEST(UringErrors, ShortCountsAreTheResult) {
    kernel_faults faults;
    faults.on_request = [](io_uring_sqe& entry) {
        if (entry.opcode == IORING_OP_READ || entry.opcode == IORING_OP_WRITE) {
            entry.len = 2;
        }
        return 0;
    };
    context loop(sleepy);
    const descriptor file = make_file("word");
    std::array<std::byte, 4> bytes{};
    const auto got = run_one(loop, [&] { return loop.read(file.get(), bytes, 0); });
    ASSERT_TRUE(got);
    EXPECT_EQ(*got, 2U);
    const auto put = run_one(loop, [&] { return loop.write(file.get(), bytes_of("abcd"), 0); });
    ASSERT_TRUE(put);
    EXPECT_EQ(*put, 2U);
    EXPECT_EQ(content_of(file), "abrd");
}

TEST(UringErrors, OfAFullDeviceAreTheResult) {
    context loop(sleepy);
    auto full = run_one(loop, [&] { return loop.openat(AT_FDCWD, "/dev/full", O_WRONLY); });
    ASSERT_TRUE(full);
    const auto got = run_one(loop, [&] { return loop.write(full->get(), bytes_of("x"), 0); });
    EXPECT_EQ(got.error(), std::errc::no_space_on_device);
}

TEST(UringErrors, AFileClosedUnderAnOperationStaysUntilItIsOver) {
    context loop(sleepy);
    file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    size_result got;
    loop.spawn(party_that_stops(loop, got, [&] { return loop.read(pipe.reader.get(), bytes); }));
    loop.run_until_idle();
    pipe.reader.reset();
    write_text(pipe.writer, "word"); // there is a reader: the kernel
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(**got, 4U);
}

TEST(UringErrors, AFileClosedUnderAnOperationDoesNotKeepItFromItsStop) {
    context loop(sleepy);
    file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    std::stop_source stop;
    size_result got;
    loop.spawn(party_that_stops(loop, got, [&] {
        return loop.read(pipe.reader.get(), bytes, current_position, stop.get_token());
    }));
    loop.run_until_idle();
    pipe.reader.reset();
    stop.request_stop();
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), std::errc::operation_canceled);
}

TEST(UringErrors, AFileClosedUnderAnOperationIsGoneWhenTheLoopGoesOn) {
    context loop(sleepy);
    file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    size_result got;
    loop.spawn(party_that_stops(loop, got, [&] { return loop.read(pipe.reader.get(), bytes); }));
    loop.stop();
    loop.run(); // cancels the operation and queues it again
    pipe.reader.reset();
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), std::errc::bad_file_descriptor);
}

// ---- Wakes between rings

class UringMessage : public testing::TestWithParam<int> {};

TEST_P(UringMessage, ThatFailsIsReplacedByAWrite) {
    kernel_faults faults;
    faults.fail(IORING_OP_MSG_RING, GetParam(), forever);
    const long writes = eventfd_writes;
    context_thread loop(sleepy);
    std::atomic<bool> ran{false};
    context other(sleepy);
    const auto visit = [](context& home, context& away, std::atomic<bool>& visited) -> task<> {
        co_await away.schedule();
        visited = true;
        co_await home.schedule();
        home.stop();
    };
    until_asleep();
    other.spawn(visit(other, *loop, ran));
    other.run();
    EXPECT_TRUE(ran);
    EXPECT_GE(faults.failed, 1);
    EXPECT_GE(eventfd_writes - writes, 1);
}

TEST_P(UringMessage, ThatFailsIsReplacedEvenIfItsSenderStops) {
    kernel_faults faults;
    faults.fail(IORING_OP_MSG_RING, GetParam(), forever);
    std::atomic<bool> ran{false};
    context_thread loop(sleepy);
    until_asleep();
    context other(sleepy);
    const auto call = [](context& home, context& away, std::atomic<bool>& visited) -> task<> {
        away.spawn([](std::atomic<bool>& flag) -> task<> {
            flag = true;
            co_return;
        }(visited));
        home.stop();
        co_return;
    };
    other.spawn(call(other, *loop, ran));
    other.run();
    // The wake must have been sent: the sender has left `run`.
    while (!ran) {
        std::this_thread::yield();
    }
    EXPECT_EQ(faults.failed, 1);
}

TEST_P(UringMessage, ThatFailsIsTriedAgainOnlyIfTheKernelKnowsIt) {
    kernel_faults faults;
    faults.fail(IORING_OP_MSG_RING, GetParam(), forever);
    tryst::exchanger<int> ex;
    context first(sleepy);
    context second(sleepy);
    const auto swap = [](context& home, tryst::exchanger<int>& room) -> task<> {
        for (int i = 0; i != 100; ++i) {
            const auto got = co_await room.exchange(i);
            EXPECT_TRUE(got);
        }
        home.stop();
    };
    first.spawn(swap(first, ex));
    second.spawn(swap(second, ex));
    std::thread other([&] { second.run(); });
    first.run();
    other.join();
    if (GetParam() == -EINVAL) {
        EXPECT_LE(faults.failed, 2); // once for each
    }
}

INSTANTIATE_TEST_SUITE_P(Errors, UringMessage, testing::Values(-EINVAL, -EOVERFLOW, -ENOMEM),
                         [](const auto& each) {
                             return std::string(each.param == -EINVAL      ? "Unknown"
                                                : each.param == -EOVERFLOW ? "Overflow"
                                                                           : "NoMemory");
                         });

/// Wakes a sleeping context, and blocks this thread until that context has run.
void call_and_block() {
    std::atomic<bool> ran{false};
    context_thread loop(sleepy);
    until_asleep();
    context other(sleepy);
    other.spawn([](context& away, std::atomic<bool>& visited) -> task<> {
        away.spawn([](std::atomic<bool>& flag) -> task<> {
            flag = true;
            co_return;
        }(visited));
        while (!visited) {
            std::this_thread::yield();
        }
        co_return;
    }(*loop, ran));
    other.run_until_idle();
}

TEST_P(UringMessage, ThatFailsIsReplacedAtOnce) {
    kernel_faults faults;
    faults.fail(IORING_OP_MSG_RING, GetParam(), forever);
    call_and_block();
    EXPECT_EQ(faults.failed, 1);
}

TEST(UringMessage, ThatCannotBeSubmittedIsReplacedAtOnce) {
    kernel_faults faults;
    context_thread loop(sleepy);
    until_asleep();
    context other(sleepy);
    std::atomic<bool> ran{false};
    other.spawn([](context& away, kernel_faults& all, std::atomic<bool>& visited) -> task<> {
        all.failing_submits = 1;
        away.spawn([](std::atomic<bool>& flag) -> task<> {
            flag = true;
            co_return;
        }(visited));
        while (!visited) {
            std::this_thread::yield();
        }
        co_return;
    }(*loop, faults, ran));
    const long sent = messages;
    other.run_until_idle();
    EXPECT_EQ(faults.failing_submits, 0);
    EXPECT_EQ(messages, sent);
}

TEST(UringMessage, DoesNotKeepItsSenderIfItsSubmissionFailsAndTheSenderStops) {
    kernel_faults faults;
    std::atomic<bool> ran{false};
    context_thread loop(sleepy);
    until_asleep();
    context other(sleepy);
    const auto call = [](context& home, context& away, kernel_faults& all,
                         std::atomic<bool>& visited) -> task<> {
        all.failing_submits = 3;
        away.spawn([](std::atomic<bool>& flag) -> task<> {
            flag = true;
            co_return;
        }(visited));
        home.stop();
        co_return;
    };
    other.spawn(call(other, *loop, faults, ran));
    other.run();
    while (!ran) {
        std::this_thread::yield();
    }
}

} // namespace
