// SPDX-License-Identifier: MIT
// The kernel's worker threads, on which operations block that cannot be polled.
#include "adapters/uring/harness.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::result;

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

void expect_exhausted(context& few, std::size_t openers) {
    EXPECT_EQ(fsync_while_opening(few, openers, 50ms).error(), std::errc::timed_out);
}

// In threads of their own, with which the limit stays.

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

TEST(UringWorkers, AreLimitedForAThreadThatHasRunAnotherContext) {
    std::thread([] {
        context plain;
        EXPECT_TRUE(run_one(plain, [&] { return plain.nop(); }));
        context few({.max_bounded_workers = 1});
        expect_exhausted(few, 1);
    }).join();
}

TEST(UringWorkers, AreLimitedForAThreadThatHasNotMadeTheContext) {
    std::thread([] {
        context few({.max_bounded_workers = 1});
        std::thread([&] { expect_exhausted(few, 1); }).join();
    }).join();
}

} // namespace
