// SPDX-License-Identifier: MIT
// How tryst::uring fails where the kernel refuses io_uring: by a setting, a limit, a filter, or
// after a fork.
#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "adapters/uring/process.hpp"
#include "support/forbidden_calls.hpp"
#include "uring/failure.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <liburing.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

using namespace tryst::test;

constexpr int forever = 1 << 30;

// ---- io_uring_setup

/// The text of the exception that the constructor of a context throws.
std::string text_of_failure() {
    try {
        const context loop;
        return "none";
    } catch (const std::system_error& error) {
        return error.what();
    }
}

testing::AssertionResult contains(const std::string& text, const char* part) {
    return (text.find(part) != std::string::npos ? testing::AssertionSuccess()
                                                 : testing::AssertionFailure())
           << "in: " << text;
}

/// Whether the text names the cause that forbids io_uring on this machine.
testing::AssertionResult is_explained(const std::string& text) {
    const auto sysctl = contains(text, "kernel.io_uring_disabled");
    return sysctl ? sysctl : contains(text, "forbids io_uring");
}

TEST(UringRefusal, NamesTheSettingThatForbidsIoUring) {
    using tryst::uring::detail::cause_of;
    const auto cause = [](int error, int disabled) {
        return cause_of(error, {.disabled = disabled, .lockable = rlim_t{64} << 10});
    };
    EXPECT_TRUE(contains(cause(EPERM, 0), "seccomp filter"));
    EXPECT_TRUE(contains(cause(EPERM, 0), "allow io_uring_setup, io_uring_enter"));
    EXPECT_TRUE(contains(cause(EPERM, 1), "kernel.io_uring_disabled is 1"));
    EXPECT_TRUE(contains(cause(EPERM, 1), "kernel.io_uring_group"));
    EXPECT_TRUE(contains(cause(EPERM, 2), "kernel.io_uring_disabled is 2"));
    EXPECT_TRUE(contains(cause(ENOSYS, 0), "Linux 5.6"));
    EXPECT_TRUE(contains(cause(ENOMEM, 0), "64 KiB"));
    EXPECT_TRUE(contains(cause(ENOMEM, 0), "ulimit -l"));
    EXPECT_EQ(cause_of(ENOMEM, {.disabled = 0, .lockable = RLIM_INFINITY}), "");
    EXPECT_EQ(cause(EMFILE, 0), "");
}

TEST(UringRefusal, IsToldWithItsCauseByTheExceptionOfTheConstructor) {
    kernel_faults faults;
    for (const auto& [error, part] : {std::pair{EPERM, ""},
                                      {ENOSYS, "the kernel has no io_uring"},
                                      {EMFILE, "io_uring_setup: Too many open files"}}) {
        faults.setup_error = error;
        const std::string text = text_of_failure();
        EXPECT_TRUE(contains(text, part));
        EXPECT_TRUE(error != EPERM || is_explained(text));
        EXPECT_TRUE(text.starts_with("io_uring_setup: "));
        EXPECT_TRUE(text.ends_with(std::string(": ") + std::strerror(error)));
    }
}

TEST(UringRefusal, NamesTheLimitOfLockedMemory) {
    const auto fail = [] {
        const rlimit little{rlim_t{64} << 10, rlim_t{64} << 10};
        kernel_faults faults;
        faults.setup_error = ENOMEM;
        return ::setrlimit(RLIMIT_MEMLOCK, &little) == 0 &&
               contains(text_of_failure(),
                        "RLIMIT_MEMLOCK allows (64 KiB); raise it with `ulimit -l`");
    };
    EXPECT_EQ(status_of(fail), 1);
}

TEST(UringRefusal, OfASeccompFilterIsTold) {
    const auto fail = [] {
        return forbid_calls({__NR_io_uring_setup}, EPERM) && is_explained(text_of_failure());
    };
    EXPECT_EQ(status_of(fail), 1);
}

// ---- io_uring_enter

/// Expects that the program ends, and says why, once `forbid` makes the system call fail; it waits
/// for a pipe that stays empty.
template <class Forbid>
void expect_end(int error, const char* hint, Forbid forbid) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto run = [&] {
        context loop(sleepy);
        waiting_read read;
        read.start(loop);
        loop.run_until_idle();
        ::alarm(20);
        forbid();
        loop.run();
    };
    EXPECT_EXIT(run(), testing::KilledBySignal(SIGABRT),
                std::string("tryst: io_uring_enter: ") + std::strerror(error) + hint);
}

TEST(UringEnterDeathTest, EndsTheProgramIfTheCallFailsForGood) {
    for (const int error : {EPERM, ENOSYS, EINVAL, ENOMEM}) {
        kernel_faults faults;
        faults.wait_error = error;
        faults.submit_error = error;
        expect_end(error, "", [&] { faults.early_waits = forever; });
        expect_end(error, "", [&] { faults.failing_submits = forever; });
    }
}

TEST(UringEnterDeathTest, EndsTheProgramIfASeccompFilterForbidsIt) {
    expect_end(EPERM, ".*seccomp filter", [] {
        if (!forbid_calls({__NR_io_uring_enter}, EPERM)) {
            std::perror("seccomp");
            std::exit(1);
        }
    });
}

// ---- fork

/// A kernel that knows no single issuer lets the child use its parent's ring.
class UringFork : public testing::TestWithParam<unsigned> {
protected:
    UringFork() { faults_.unknown_flags = GetParam(); }

    void start() {
        loop_.emplace(sleepy);
        read_.start(*loop_);
        loop_->run_until_idle();
    }

    /// The parent's context still works after the fork.
    void expect_unharmed() {
        write_text(read_.pipe.writer, "word");
        loop_->run();
        read_.expect_word();
    }

    kernel_faults faults_;
    waiting_read read_;
    std::optional<context> loop_;
};

TEST_P(UringFork, EndsAChildThatUsesTheContextOfItsParent) {
    loop_.emplace(sleepy); // which has not run
    EXPECT_EQ(signal_that_ends([&] { loop_->run_until_idle(); }), SIGABRT);
    start();
    EXPECT_EQ(signal_that_ends([&] { loop_->run(); }), SIGABRT);
    EXPECT_EQ(signal_that_ends([&] { loop_->stop(); }), SIGABRT);
    expect_unharmed();
}

TEST_P(UringFork, LetsAChildDestroyTheContextOfItsParent) {
    start();
    EXPECT_EQ(status_of([&] {
                  loop_.reset();
                  return 5;
              }),
              5);
    expect_unharmed();
}

TEST_P(UringFork, LetsAChildWakeItsOwnContextFromWithinTheLoopOfItsParent) {
    start();
    loop_->spawn(call([] {
        const int status = status_of([] {
            context_thread own(sleepy);
            std::atomic<int> rounds{0};
            for (int i = 1; i != 100; ++i) { // in some of which the context sleeps
                own->spawn(call([&rounds] { ++rounds; }));
                yield_until([&] { return rounds == i; });
            }
            return 5;
        });
        EXPECT_EQ(status, 5);
    }));
    loop_->run_until_idle();
    expect_unharmed();
}

/// Continues in the child, too.
template <class Next>
tryst::task<> fork_within(context& loop, pid_t& child, Next next) {
    child = checked(::fork(), "fork");
    if (child == 0) {
        ::alarm(20);
    }
    co_await next(loop);
    loop.stop();
}

TEST_P(UringFork, EndsAChildThatGoesOnWithinTheLoop) {
    const auto operate = [](context& loop) -> tryst::task<> { (co_await loop.nop()).value(); };
    const auto wait = [](context& loop) -> tryst::task<> {
        (co_await loop.timeout(std::chrono::milliseconds(1))).value();
    };
    const auto stop = [](context&) -> tryst::task<> { co_return; };
    const auto signal_of = [&](auto next) {
        pid_t child = -1;
        loop_->spawn(fork_within(*loop_, child, next));
        loop_->run();
        int status = 0;
        checked(::waitpid(child, &status, 0), "waitpid");
        return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    };
    start();
    EXPECT_EQ(signal_of(operate), SIGABRT);
    EXPECT_EQ(signal_of(wait), SIGABRT);
    EXPECT_EQ(signal_of(stop), SIGABRT);
    expect_unharmed();
}

INSTANTIATE_TEST_SUITE_P(
    Rings, UringFork, testing::Values(0U, IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN),
    [](const auto& each) { return std::string(each.param == 0 ? "Best" : "OfSeveralIssuers"); });

} // namespace
