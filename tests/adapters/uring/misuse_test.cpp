// SPDX-License-Identifier: MIT
// Misuse that tryst::uring detects without assertions: this program is compiled with NDEBUG.
#include "adapters/uring/harness.hpp"
#include "adapters/uring/process.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include <unistd.h>

#ifndef NDEBUG
#error "compile this program with NDEBUG"
#endif

namespace {

using namespace tryst::test;
using tryst::task;
using tryst::uring::result;

/// Awaits an operation of `owner` on `elsewhere`, whose `run` or `run_until_idle` ends the program
/// or returns.
template <class Loop, class Make>
void await_elsewhere(Loop& elsewhere, Make make) {
    ::alarm(20);
    outcome_of<std::invoke_result_t<Make&>> got;
    elsewhere.spawn(party(got, make));
    elsewhere.run_until_idle();
}

TEST(UringMisuseDeathTest, NamesAnOperationThatIsAwaitedOnAnotherContext) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        context owner;
        context other;
        const file_pair pipe = make_pipe();
        std::array<std::byte, 4> bytes{};
        await_elsewhere(other, [&] { return owner.read(pipe.reader.get(), bytes); });
    };
    EXPECT_EXIT(misuse(), testing::KilledBySignal(SIGABRT),
                "tryst: await an operation on its own context: .*read");
}

TEST(UringMisuseDeathTest, NamesATimeoutThatIsAwaitedOnAnotherLoop) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        context owner;
        tryst::run_loop other;
        await_elsewhere(other, [&] { return owner.timeout(std::chrono::hours(1)); });
    };
    EXPECT_EXIT(misuse(), testing::KilledBySignal(SIGABRT),
                "tryst: await an operation on its own context: .*timeout");
}

TEST(UringMisuseDeathTest, NamesAStreamThatIsAwaitedOnAnotherContext) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        context owner;
        context other;
        const listener port;
        tryst::uring::accept_stream connections(owner, port.get());
        await_elsewhere(other, [&] { return connections.next(); });
    };
    EXPECT_EXIT(misuse(), testing::KilledBySignal(SIGABRT),
                "tryst: await an operation on its own context: .*next");
}

} // namespace
