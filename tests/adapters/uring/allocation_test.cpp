// SPDX-License-Identifier: MIT
// Operations and exchanges between contexts allocate nothing. A program of its own, because it
// counts all allocations.
#include "adapters/uring/harness.hpp"
#include "support/counted_memory.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <stop_token>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::current_position;

constexpr int rounds = 500;

TEST(UringAllocation, DoesNotHappenInOperations) {
    context loop;
    const file_pair pipe = make_pipe();
    const file_pair pair = make_sockets();
    const listener port;
    const descriptor file = make_file("word");
    const std::stop_source stop;
    tryst::uring::buffer_pool pool(1, 4'096);
    ASSERT_TRUE(loop.register_buffers(pool));
    const auto buffer = pool.acquire();
    long allocated = -1;
    const auto work = [](context& home, const file_pair& pipes, const file_pair& sockets,
                         const listener& at, int number, std::stop_token token,
                         const tryst::uring::buffer& whole, long& cost) -> task<> {
        std::array<std::byte, 8> bytes{};
        const long before = allocations;
        int failures = 0;
        for (int i = 0; i != rounds; ++i) {
            const auto nop = co_await home.nop(token);
            const auto put = co_await home.write(number, bytes, 0, 1h, token);
            const auto got = co_await home.read(number, bytes, 0, 1h, token);
            const auto fixed = co_await home.write_fixed(number, whole, whole.bytes(), 0, token);
            const auto back = co_await home.read_fixed(number, whole, whole.bytes(), 0, 1h);
            const auto sent = co_await home.send(sockets.writer.get(), bytes, 0, token);
            const auto ready = co_await home.poll(sockets.reader.get(), POLLIN, token);
            const auto taken = co_await home.recv(sockets.reader.get(), bytes, 0, token);
            const auto slept = co_await home.timeout(1us, token);
            auto opened = co_await home.openat(AT_FDCWD, "/", O_RDONLY, 0, token);
            const auto closed = co_await home.close(std::move(*opened));
            const descriptor client = at.connect();
            const auto peer = co_await home.accept(at.get(), token);
            const auto late = co_await home.read(pipes.reader.get(), bytes, current_position, 1us);
            failures += nop && put && got && fixed && back && sent && ready && taken && slept &&
                                closed && peer && late.error() == std::errc::timed_out
                            ? 0
                            : 1;
        }
        cost = allocations - before;
        EXPECT_EQ(failures, 0);
        home.stop();
    };
    loop.spawn(work(loop, pipe, pair, port, file.get(), stop.get_token(), buffer, allocated));
    loop.run();
    EXPECT_EQ(allocated, 0);
}

TEST(UringAllocation, DoesNotHappenInMessagesAndPaths) {
    context loop;
    const file_pair pipe = make_pipe();
    const file_pair pair = make_sockets();
    const descriptor file = make_file("word");
    long allocated = -1;
    const auto work = [](context& home, const file_pair& pipes, const file_pair& sockets,
                         int number, long& cost) -> task<> {
        std::array<std::byte, 8> bytes{};
        std::array parts{iovec{bytes.data(), 1}, iovec{bytes.data(), bytes.size()}};
        msghdr message{};
        message.msg_iov = parts.data();
        message.msg_iovlen = parts.size();
        struct statx status{};
        const long before = allocations;
        int failures = 0;
        for (int i = 0; i != rounds; ++i) {
            const auto put = co_await home.writev(number, parts, 0);
            const auto got = co_await home.readv(number, parts, 0);
            const auto sent = co_await home.sendmsg(sockets.writer.get(), &message);
            const auto taken = co_await home.recvmsg(sockets.reader.get(), &message);
            const auto moved =
                co_await home.splice(number, 0, pipes.writer.get(), current_position, 4);
            const auto drained = co_await home.read(pipes.reader.get(), bytes);
            const auto seen = co_await home.statx(number, "", AT_EMPTY_PATH, STATX_SIZE, &status);
            const auto gone = co_await home.unlinkat(AT_FDCWD, "/nowhere/at/all");
            const auto made = co_await home.socket(AF_UNIX, SOCK_STREAM);
            failures +=
                put && got && sent && taken && moved && drained && seen && !gone && made ? 0 : 1;
        }
        cost = allocations - before;
        EXPECT_EQ(failures, 0);
        home.stop();
    };
    loop.spawn(work(loop, pipe, pair, file.get(), allocated));
    loop.run();
    EXPECT_EQ(allocated, 0);
}

TEST(UringAllocation, DoesNotHappenInExchangesBetweenContexts) {
    tryst::exchanger<int> ex;
    const std::stop_source stop;
    context here;
    context there;
    std::array<long, 2> cost{-1, -1};
    std::array<int, 2> swaps{};
    const auto swap = [](context& home, tryst::exchanger<int>& room, std::stop_token token,
                         long& allocated, int& count) -> task<> {
        static_cast<void>(co_await room.exchange(0)); // now both run
        const long before = allocations;
        for (int i = 0; i != rounds; ++i) {
            const auto plain = co_await room.exchange(i);
            const auto stoppable = co_await room.exchange(i, token);
            const auto timed = co_await room.exchange(i, 1h);
            count += plain && stoppable && timed ? 1 : 0;
        }
        allocated = allocations - before;
        static_cast<void>(co_await room.exchange(0)); // before one thread ends
        home.stop();
    };
    here.spawn(swap(here, ex, stop.get_token(), cost[0], swaps[0]));
    there.spawn(swap(there, ex, stop.get_token(), cost[1], swaps[1]));
    std::thread other([&] { there.run(); });
    here.run();
    other.join();
    EXPECT_EQ(swaps[0], rounds);
    EXPECT_EQ(swaps[1], rounds);
    EXPECT_EQ(cost[0], 0);
    EXPECT_EQ(cost[1], 0);
}

TEST(UringAllocation, DoesNotHappenInBuffers) {
    tryst::uring::buffer_pool pool(4, 4'096);
    const long before = allocations;
    for (int i = 0; i != rounds; ++i) {
        const auto first = pool.acquire();
        auto second = pool.acquire();
        const auto third = std::move(second);
    }
    EXPECT_EQ(allocations - before, 0);
}

} // namespace
