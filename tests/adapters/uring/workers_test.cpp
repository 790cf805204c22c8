// SPDX-License-Identifier: MIT
// The kernel's worker threads, on which operations block that cannot be polled.
#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::result;

/// A FIFO that nobody writes to: opening it for reading blocks. The kernel leaves that to a thread
/// of its own if it must not try at once, because the file may have to be created.
class fifo {
public:
    fifo() {
        std::string folder = std::filesystem::temp_directory_path() / "tryst-workers-XXXXXX";
        if (::mkdtemp(folder.data()) == nullptr) {
            throw std::system_error(errno, std::system_category(), "mkdtemp");
        }
        folder_ = folder;
        path_ = folder + "/fifo";
        checked(::mkfifo(path_.c_str(), 0600), "mkfifo");
    }
    fifo(const fifo&) = delete;
    fifo& operator=(const fifo&) = delete;
    ~fifo() { std::filesystem::remove_all(folder_); }

    const char* path() const noexcept { return path_.c_str(); }

private:
    std::filesystem::path folder_;
    std::string path_;
};

/// The result of an fsync, for which it has `patience`, while so many coroutines open a FIFO.
result<> fsync_while_opening(context& loop, std::size_t openers,
                             std::chrono::milliseconds patience) {
    const fifo queue;
    const descriptor file = make_file("word");
    std::stop_source stop;
    std::vector<std::optional<result<descriptor>>> opened(openers);
    std::optional<result<>> synced;
    for (auto& each : opened) {
        loop.spawn(party(each, [&] {
            return loop.openat(AT_FDCWD, queue.path(), O_RDONLY | O_CREAT, 0600, stop.get_token());
        }));
    }
    loop.spawn(
        [](context& home, int what, auto until, auto& into, std::stop_source& rest) -> task<> {
            into.emplace(co_await home.fsync(what, false, until));
            rest.request_stop();
        }(loop, file.get(), patience, synced, stop));
    const auto is_pending = [](const auto& each) { return !each; };
    while (!synced || std::ranges::any_of(opened, is_pending)) {
        loop.run_until_idle();
    }
    for (const auto& each : opened) {
        EXPECT_EQ(each->error(), std::errc::operation_canceled) << each->message();
    }
    return *synced;
}

TEST(UringWorkers, AreUsedUpByOpensThatBlockUnlessThereMayBeMore) {
    std::thread([] { // the limit stays with the thread
        context few({.max_bounded_workers = 2});
        EXPECT_EQ(fsync_while_opening(few, 2, 50ms).error(), std::errc::timed_out);
    })
        .join();
    std::thread([] {
        context more({.max_bounded_workers = 3});
        const auto synced = fsync_while_opening(more, 2, 30s);
        EXPECT_TRUE(synced) << synced.message();
    }).join();
}

TEST(UringWorkers, AreLimitedForAThreadThatHasRunAnotherContext) {
    std::thread([] {
        context plain;
        EXPECT_TRUE(run_one(plain, [&] { return plain.nop(); }));
        context few({.max_bounded_workers = 1});
        EXPECT_EQ(fsync_while_opening(few, 1, 50ms).error(), std::errc::timed_out);
    }).join();
}

TEST(UringWorkers, AreLimitedForAThreadThatHasNotMadeTheContext) {
    std::thread([] {
        context few({.max_bounded_workers = 1});
        std::thread([&] {
            EXPECT_EQ(fsync_while_opening(few, 1, 50ms).error(), std::errc::timed_out);
        }).join();
    }).join();
}

TEST(UringWorkers, CannotBeLimitedOnAKernelThatDoesNotKnowHow) {
    context loop({.max_unbounded_workers = 1});
    {
        kernel_faults faults;
        faults.workers_error = EINVAL;
        try {
            loop.run();
            FAIL() << "ran without the limit";
        } catch (const std::system_error& error) {
            EXPECT_EQ(error.code(), std::errc::invalid_argument);
            EXPECT_NE(std::string(error.what()).find("io_uring_register_iowq_max_workers"),
                      std::string::npos);
        }
    }
    EXPECT_TRUE(run_one(loop, [&] { return loop.nop(); })); // may be tried again
}

} // namespace
