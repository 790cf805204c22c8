// SPDX-License-Identifier: MIT
#include <tryst/uring/buffer_pool.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "adapters/uring/process.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <grp.h>
#include <sys/resource.h>
#include <unistd.h>

namespace {

using namespace tryst::test;
using tryst::task;
using tryst::uring::buffer;
using tryst::uring::buffer_pool;

// ---- The pool

TEST(UringBufferPool, HasSoManyBuffersOfWholePages) {
    buffer_pool pool(3, 5'000);
    EXPECT_EQ(pool.buffer_count(), 3U);
    EXPECT_EQ(pool.buffer_size(), 8'192U);
    EXPECT_EQ(pool.memory().size(), 3 * 8'192U);
    std::vector<buffer> all;
    std::set<std::byte*> places;
    for (int i = 0; i != 3; ++i) {
        buffer got = pool.acquire();
        ASSERT_TRUE(got);
        EXPECT_EQ(got.pool(), &pool);
        EXPECT_EQ(got.size(), 8'192U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(got.data()) % 4'096, 0U);
        EXPECT_GE(got.data(), pool.memory().data());
        EXPECT_LE(got.data() + got.size(), pool.memory().data() + pool.memory().size());
        std::fill(got.bytes().begin(), got.bytes().end(), std::byte{1});
        places.insert(got.data());
        all.push_back(std::move(got));
    }
    EXPECT_EQ(places.size(), 3U);
    EXPECT_EQ(all[0].data(), pool.memory().data()); // in order, at first
    EXPECT_EQ(all[1].data(), pool.memory().data() + pool.buffer_size());
}

TEST(UringBufferPool, GivesAnEmptyHandleIfNoneIsLeft) {
    buffer_pool pool(2, 1);
    buffer first = pool.acquire();
    const buffer second = pool.acquire();
    const buffer none = pool.acquire();
    EXPECT_FALSE(none);
    EXPECT_EQ(none.data(), nullptr);
    EXPECT_EQ(none.pool(), nullptr);
    EXPECT_EQ(none.size(), 0U);
    EXPECT_TRUE(none.bytes().empty());
    std::byte* const place = first.data();
    first.reset();
    EXPECT_FALSE(first);
    const buffer again = pool.acquire();
    EXPECT_EQ(again.data(), place);
}

TEST(UringBufferPool, PassesOnTheOwnershipOfABuffer) {
    buffer_pool pool(2, 1);
    buffer first = pool.acquire();
    std::byte* const place = first.data();
    buffer second = std::move(first);
    EXPECT_FALSE(first); // NOLINT(bugprone-use-after-move): moved from means empty
    EXPECT_EQ(second.data(), place);
    buffer third = pool.acquire();
    EXPECT_FALSE(pool.acquire());
    third = std::move(second); // gives its own buffer back
    EXPECT_EQ(third.data(), place);
    EXPECT_TRUE(pool.acquire());
    buffer& alias = third;
    third = std::move(alias);
    EXPECT_EQ(third.data(), place);
}

TEST(UringBufferPool, RefusesNothingAndTooMuch) {
    EXPECT_THROW(buffer_pool(0, 1), std::invalid_argument);
    EXPECT_THROW(buffer_pool(1, 0), std::invalid_argument);
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    EXPECT_THROW(buffer_pool(2, most), std::bad_alloc);
    EXPECT_THROW(buffer_pool(2, most / 2), std::bad_alloc);
    EXPECT_THROW(buffer_pool(1, most / 4), std::bad_alloc); // beyond the address space
}

TEST(UringBufferPool, ServesThreads) {
    buffer_pool pool(3, 1);
    std::vector<std::jthread> threads;
    for (int t = 0; t != 4; ++t) {
        threads.emplace_back([&pool, t] {
            for (int i = 0; i != 2'000; ++i) {
                const buffer mine = pool.acquire();
                if (mine) {
                    mine.bytes()[0] = static_cast<std::byte>(t);
                    EXPECT_EQ(mine.bytes()[0], static_cast<std::byte>(t));
                }
            }
        });
    }
    threads.clear();
    const buffer first = pool.acquire();
    const buffer second = pool.acquire();
    const buffer third = pool.acquire();
    EXPECT_TRUE(first && second && third);
}

TEST(UringBufferPoolDeathTest, NoticesABufferThatOutlivesIt) {
#ifndef NDEBUG
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        std::optional<buffer_pool> pool(std::in_place, 1U, 1U);
        const buffer left = pool->acquire();
        pool.reset();
    };
    EXPECT_DEATH(misuse(), "outlives its pool");
#endif
}

// ---- Registration

bool is_fixed(const io_uring_sqe& entry) noexcept {
    return entry.opcode == IORING_OP_READ_FIXED || entry.opcode == IORING_OP_WRITE_FIXED;
}

/// Writes a buffer to a file and reads it back into another.
void expect_transfers(context& loop, buffer_pool& pool) {
    const descriptor file = make_file();
    const buffer from = pool.acquire();
    const buffer into = pool.acquire();
    ASSERT_TRUE(from && into);
    std::fill(from.bytes().begin(), from.bytes().end(), std::byte{'f'});
    const auto put =
        run_one(loop, [&] { return loop.write_fixed(file.get(), from, from.bytes(), 0); });
    ASSERT_TRUE(put) << put.message();
    EXPECT_EQ(*put, from.size());
    const auto got =
        run_one(loop, [&] { return loop.read_fixed(file.get(), into, into.bytes(), 0); });
    ASSERT_TRUE(got) << got.message();
    EXPECT_EQ(*got, into.size());
    EXPECT_EQ(std::memcmp(from.data(), into.data(), into.size()), 0);
}

/// Sees whether transfers use the registration.
class UringRegistration : public testing::Test {
protected:
    static std::unique_ptr<buffer_pool> make_pool() {
        return std::make_unique<buffer_pool>(2, 4'096);
    }

    static void expect_registered(context& on, buffer_pool& which, bool registered = true) {
        const request_log requests;
        expect_transfers(on, which);
        EXPECT_EQ(requests.count(is_fixed), registered ? 2 : 0);
    }
    void enter(const buffer_pool& which) {
        const auto done = loop.register_buffers(which);
        EXPECT_TRUE(done) << done.message();
        EXPECT_STREQ(done.operation(), "register_buffers");
    }
    void take_back(const buffer_pool& which, std::errc error = {}) {
        const auto done = loop.unregister_buffers(which);
        EXPECT_TRUE(error == std::errc{} ? done.has_value() : done.error() == error);
        EXPECT_STREQ(done.operation(), "unregister_buffers");
    }

    std::unique_ptr<buffer_pool> pool = make_pool();
    context loop;
};

TEST_F(UringRegistration, IsMadeBeforeOrAfterTheContextRuns) {
    expect_registered(loop, *pool, false);
    enter(*pool);
    expect_registered(loop, *pool);
    context other; // for the same pool
    ASSERT_TRUE(other.register_buffers(*pool));
    std::thread([&] { expect_registered(other, *pool); }).join();
}

TEST_F(UringRegistration, IsMadeAndTakenBackOnTheContextAgainAndAgain) {
    const auto change = [&]() -> task<> {
        for (unsigned i = 0; i != 2 * context::max_pools; ++i) {
            enter(*pool);
            take_back(*pool);
        }
        co_return;
    };
    loop.run(change());
    expect_registered(loop, *pool, false);
    enter(*pool);
    expect_registered(loop, *pool);
}

TEST_F(UringRegistration, IsForSixteenPools) {
    std::vector<std::unique_ptr<buffer_pool>> pools;
    for (unsigned i = 0; i != context::max_pools; ++i) {
        pools.push_back(make_pool());
        for (int again = 0; again != 3; ++again) { // still one registration
            enter(*pools.back());
        }
    }
    const auto refused = loop.register_buffers(*pool);
    EXPECT_EQ(refused.error(), std::errc::no_space_on_device);
    EXPECT_STREQ(refused.operation(), "register_buffers");
    expect_registered(loop, *pool, false);
    take_back(*pools[3]);
    enter(*pool); // in its place
    pools[3] = std::move(pool);
    for (const auto& each : pools) {
        expect_registered(loop, *each);
    }
}

TEST_F(UringRegistration, IsNotUsedByALaterPoolAtTheSameAddress) {
    std::optional<buffer_pool> place(std::in_place, 2U, 4'096U);
    enter(*place);
    place.emplace(2U, 4'096U);
    expect_registered(loop, *place, false);
    enter(*place);
    expect_registered(loop, *place);
}

TEST_F(UringRegistration, IsNotTakenBackIfItWasNotMade) {
    const auto other = make_pool();
    take_back(*pool, std::errc::no_such_file_or_directory);
    enter(*other);
    take_back(*pool, std::errc::no_such_file_or_directory);
    take_back(*other);
    take_back(*other, std::errc::no_such_file_or_directory);
}

TEST_F(UringRegistration, IsNotTakenBackWhileAnOperationUsesIt) {
    const auto other = make_pool();
    enter(*other);
    enter(*pool);
    const file_pair pipe = make_pipe();
    const buffer mine = pool->acquire();
    std::optional<tryst::uring::result<std::size_t>> got;
    loop.spawn(party_that_stops(
        loop, got, [&] { return loop.read_fixed(pipe.reader.get(), mine, mine.bytes()); }));
    loop.run_until_idle();
    take_back(*pool, std::errc::device_or_resource_busy);
    leave(loop); // cancels the operation and queues it again
    take_back(*pool, std::errc::device_or_resource_busy);
    take_back(*other);
    write_text(pipe.writer, "word");
    loop.run();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ(text_of(mine.bytes().first(**got)), "word");
    take_back(*pool);
}

TEST_F(UringRegistration, FailsAnOperationThatWasMadeBeforeItWasTakenBack) {
    const auto next = make_pool();
    const descriptor file = make_file("word");
    const buffer mine = pool->acquire();
    for (const bool is_replaced : {false, true}) {
        const auto await_late = [&]() -> task<> {
            enter(*pool);
            auto late = loop.read_fixed(file.get(), mine, mine.bytes(), 0);
            take_back(*pool);
            if (is_replaced) {
                enter(*next);
            }
            const auto got = co_await late;
            EXPECT_EQ(got.error(), std::errc::bad_address);
        };
        loop.run(await_late());
    }
}

// ---- With little memory that may be locked

constexpr rlim_t for_the_ring = 512 << 10;

/// Exit codes.
enum status : std::uint8_t {
    transferred,
    unprepared,
    without_context,
    wrong_error,
    not_transferred
};

/// Runs in a process of its own, as user nobody and with a limit of locked memory.
int transfer_with_locked_memory(rlim_t most) {
    const rlimit little{most, most};
    if (::setrlimit(RLIMIT_MEMLOCK, &little) != 0) {
        return unprepared;
    }
    if (::geteuid() == 0 &&
        (::setgroups(0, nullptr) != 0 || ::setresgid(65534, 65534, 65534) != 0 ||
         ::setresuid(65534, 65534, 65534) != 0)) {
        return unprepared; // the capabilities would not be dropped
    }
    buffer_pool pool(2, for_the_ring);
    std::optional<context> loop;
    try {
        loop.emplace();
    } catch (const std::system_error& error) {
        const bool is_named = std::strstr(error.what(), "io_uring_setup") != nullptr;
        std::fprintf(stderr, "%s\n", error.what());
        return is_named ? without_context : wrong_error;
    }
    const auto registered = loop->register_buffers(pool);
    if (registered ||
        (registered.error().value() != ENOMEM && registered.error().value() != EPERM) ||
        std::strcmp(registered.operation(), "register_buffers") != 0) {
        std::fprintf(stderr, "%s\n", registered.message().c_str());
        return wrong_error;
    }
    expect_transfers(*loop, pool);
    return testing::Test::HasFailure() ? not_transferred : transferred;
}

/// The memory of this process that the kernel has pinned, as /proc says.
std::string pinned_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmPin:")) {
            return line;
        }
    }
    return "none";
}

/// Registers memory again and again, and takes that back or ends the context. Runs in a process of
/// its own, in which the kernel does not still free earlier rings.
int register_again_and_again(bool takes_back) {
    const std::string before = pinned_memory();
    std::optional<context> loop;
    for (int i = 0; i != 20; ++i) {
        if (!loop) {
            loop.emplace();
        }
        buffer_pool pool(2, 1 << 20);
        EXPECT_TRUE(loop->register_buffers(pool));
        EXPECT_NE(pinned_memory(), before);
        if (takes_back || i == 0) {
            expect_transfers(*loop, pool);
        }
        if (takes_back) {
            EXPECT_TRUE(loop->unregister_buffers(pool));
            for (int turn = 0; pinned_memory() != before && turn != 1'000; ++turn) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                loop->run_until_idle(); // frees an operation that a worker thread has completed
            }
        } else {
            loop.reset();
        }
        EXPECT_EQ(pinned_memory(), before) << i;
    }
    return testing::Test::HasFailure() ? not_transferred : transferred;
}

TEST(UringLockedMemory, IsUnlockedWhenTheRegistrationIsTakenBack) {
    EXPECT_EQ(status_of([] { return register_again_and_again(true); }), transferred);
}

TEST(UringLockedMemory, IsUnlockedWithTheContextBeforeThePoolGoes) {
    EXPECT_EQ(status_of([] { return register_again_and_again(false); }), transferred);
}

TEST(UringLockedMemory, MayBeTooLittleForARegistrationButTransfersSucceed) {
    // Until Linux 6.13, the ring itself needs some.
    const int with_none = status_of([] { return transfer_with_locked_memory(0); });
    EXPECT_TRUE(with_none == transferred || with_none == without_context) << with_none;
    const int status = status_of([] { return transfer_with_locked_memory(for_the_ring); });
    TRYST_NEEDS(status != without_context, "io_uring for everybody");
    EXPECT_EQ(status, transferred);
}

} // namespace
