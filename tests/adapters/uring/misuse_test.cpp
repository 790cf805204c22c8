// SPDX-License-Identifier: MIT
// Misuse that tryst::uring detects without assertions: this program is compiled with NDEBUG.
#include "adapters/uring/harness.hpp"
#include "adapters/uring/process.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include <unistd.h>

#ifndef NDEBUG
#error "compile this program with NDEBUG"
#endif

namespace {

using namespace tryst::test;

/// Awaits on `elsewhere` an operation of another context, which ends the program, or returns.
template <class Loop, class Make>
void await_elsewhere(Loop& elsewhere, Make make) {
    ::alarm(20);
    outcome_of<std::invoke_result_t<Make&>> got;
    elsewhere.spawn(party(got, make));
    elsewhere.run_until_idle();
}

void await_read(context& owner) {
    context other;
    const file_pair pipe = make_pipe();
    std::array<std::byte, 4> bytes{};
    await_elsewhere(other, [&] { return owner.read(pipe.reader.get(), bytes); });
}

void await_timeout(context& owner) {
    tryst::run_loop other;
    await_elsewhere(other, [&] { return owner.timeout(std::chrono::hours(1)); });
}

void await_stream(context& owner) {
    context other;
    const listener port;
    tryst::uring::accept_stream connections(owner, port.get());
    await_elsewhere(other, [&] { return connections.next(); });
}

TEST(UringMisuseDeathTest, NamesAnOperationThatIsAwaitedElsewhere) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const struct {
        const char* name;
        void (*misuse)(context& owner);
    } cases[] = {{"read", await_read}, {"timeout", await_timeout}, {"next", await_stream}};
    for (const auto& each : cases) {
        const auto misuse = [&each] {
            context owner;
            each.misuse(owner);
        };
        EXPECT_EXIT(misuse(), testing::KilledBySignal(SIGABRT),
                    std::string("tryst: await an operation on its own context: .*") + each.name);
    }
}

} // namespace
