// SPDX-License-Identifier: MIT
// The limits of each operation: a time and a stop token, one of them, or both in either order.
#include "adapters/uring/harness.hpp"

#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::uring::current_position;
using tryst::uring::limits;
using clock = std::chrono::steady_clock;

class UringLimits : public testing::Test {
public:
    UringLimits() { stopped.request_stop(); }

    template <class Make>
    std::error_code run(Make make) {
        return run_one(loop, std::move(make)).error();
    }

    /// `make(limit...)` makes an operation. A stop has been requested, so it does not start.
    template <class Make>
    void expect_stops(Make make) {
        const auto stop = stopped.get_token();
        EXPECT_EQ(run([&] { return make(stop); }), std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(24h, stop); }), std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(stop, 24h); }), std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(stop, clock::now() + 24h); }),
                  std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(limits(24h, stop)); }), std::errc::operation_canceled);
    }

    /// The same, for an operation that waits until its time is over.
    template <class Make>
    void expect_limits(Make make, std::errc late = std::errc::timed_out) {
        expect_stops(make);
        const auto stop = never.get_token();
        EXPECT_EQ(run([&] { return make(1ms); }), late);
        EXPECT_EQ(run([&] { return make(clock::now()); }), late);
        EXPECT_EQ(run([&] { return make(1ms, stop); }), late);
        EXPECT_EQ(run([&] { return make(stop, 1ms); }), late);
        EXPECT_EQ(run([&] { return make(limits(stop, 1ms)); }), late);
    }

    /// The same, for an operation that does not wait.
    template <class Make>
    void expect_stops_only(Make make) {
        expect_stops(make);
        const auto stop = never.get_token();
        EXPECT_EQ(run([&] { return make(24h); }), std::error_code());
        EXPECT_EQ(run([&] { return make(24h, stop); }), std::error_code());
        EXPECT_EQ(run([&] { return make(stop, 24h); }), std::error_code());
    }

    context loop;
    std::stop_source stopped;
    std::stop_source never;
    std::array<std::byte, 8> bytes{};
};

TEST_F(UringLimits, OfATimeout) {
    expect_limits([&](auto... limit) { return loop.timeout(limit...); }, std::errc{});
}

TEST_F(UringLimits, OfReads) {
    const file_pair pipe = make_pipe();
    const int file = pipe.reader.get();
    tryst::uring::buffer_pool pool(1, 4096);
    const tryst::uring::buffer whole = pool.acquire();
    const iovec into{bytes.data(), bytes.size()};
    expect_limits(
        [&](auto... limit) { return loop.read(file, bytes, current_position, limit...); });
    expect_limits([&](auto... limit) {
        return loop.read_fixed(file, whole, whole.bytes(), current_position, limit...);
    });
    expect_limits([&](auto... limit) {
        return loop.readv(file, std::span(&into, 1), current_position, limit...);
    });
    expect_limits([&](auto... limit) { return loop.poll(file, POLLIN, limit...); });
}

TEST_F(UringLimits, OfWrites) {
    const file_pair pipe = make_pipe();
    fill(pipe.writer);
    const int file = pipe.writer.get();
    tryst::uring::buffer_pool pool(1, 4096);
    const tryst::uring::buffer whole = pool.acquire();
    const iovec from{bytes.data(), bytes.size()};
    expect_limits(
        [&](auto... limit) { return loop.write(file, bytes, current_position, limit...); });
    expect_limits([&](auto... limit) {
        return loop.write_fixed(file, whole, whole.bytes(), current_position, limit...);
    });
    expect_limits([&](auto... limit) {
        return loop.writev(file, std::span(&from, 1), current_position, limit...);
    });
}

TEST_F(UringLimits, OfSockets) {
    const listener port;
    const busy_listener busy;
    descriptor client;
    const file_pair pair = make_sockets();
    const file_pair empty = make_sockets();
    fill(pair.writer);
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    expect_limits([&](auto... limit) { return loop.accept(port.get(), limit...); });
    expect_limits([&](auto... limit) {
        client = listener::make_socket();
        return loop.connect(client.get(), busy.address(), busy_listener::size(), limit...);
    });
    expect_limits([&](auto... limit) { return loop.send(pair.writer.get(), bytes, 0, limit...); });
    expect_limits([&](auto... limit) { return loop.recv(empty.reader.get(), bytes, 0, limit...); });
    expect_limits(
        [&](auto... limit) { return loop.sendmsg(pair.writer.get(), &message, 0, limit...); });
    expect_limits(
        [&](auto... limit) { return loop.recvmsg(empty.reader.get(), &message, 0, limit...); });
    expect_stops_only(
        [&](auto... limit) { return loop.socket(AF_UNIX, SOCK_STREAM, 0, limit...); });
    expect_stops_only(
        [&](auto... limit) { return loop.shutdown(pair.reader.get(), SHUT_RD, limit...); });
}

TEST_F(UringLimits, OfStreams) {
    const listener port;
    tryst::uring::accept_stream connections(loop, port.get());
    expect_limits([&](auto... limit) { return connections.next(limit...); });
    const file_pair pair = make_sockets();
    tryst::uring::recv_stream pieces(loop, pair.reader.get());
    expect_limits([&](auto... limit) { return pieces.next(limit...); });
}

TEST_F(UringLimits, OfASplice) {
    const file_pair from = make_pipe();
    const file_pair into = make_pipe();
    expect_limits([&](auto... limit) {
        return loop.splice(from.reader.get(), current_position, into.writer.get(), current_position,
                           1, 0, limit...);
    });
}

TEST_F(UringLimits, OfOperationsThatDoNotWait) {
    const descriptor file = make_file("word");
    struct statx status{};
    expect_stops_only([&](auto... limit) { return loop.nop(limit...); });
    expect_stops_only([&](auto... limit) { return loop.fsync(file.get(), true, limit...); });
    expect_stops_only([&](auto... limit) {
        return loop.openat(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0, limit...);
    });
    expect_stops_only(
        [&](auto... limit) { return loop.close(descriptor(::dup(file.get())), limit...); });
    expect_stops_only([&](auto... limit) {
        return loop.statx(file.get(), "", AT_EMPTY_PATH, STATX_SIZE, &status, limit...);
    });
    expect_stops_only([&](auto... limit) { return loop.fallocate(file.get(), 0, 0, 8, limit...); });
}

TEST_F(UringLimits, OfChangesOfADirectory) {
    constexpr int nowhere = -1;
    expect_stops([&](auto... limit) { return loop.unlinkat(nowhere, "a", 0, limit...); });
    expect_stops([&](auto... limit) { return loop.mkdirat(nowhere, "a", 0700, limit...); });
    expect_stops(
        [&](auto... limit) { return loop.renameat(nowhere, "a", nowhere, "b", 0, limit...); });
}

TEST_F(UringLimits, MayBeStored) {
    const auto stop = never.get_token();
    const auto deadline = clock::now() + 1h;
    const limits none;
    EXPECT_FALSE(none.has_deadline());
    EXPECT_FALSE(none.stop().stop_possible());
    const limits both(deadline, stop);
    const limits swapped(stop, deadline);
    EXPECT_EQ(both.deadline(), deadline);
    EXPECT_EQ(swapped.deadline(), deadline);
    EXPECT_EQ(both.stop(), stop);
    EXPECT_EQ(swapped.stop(), stop);

    const limits brief(1ms); // begins here, so that it is over for the second operation
    EXPECT_EQ(run([&] { return loop.timeout(brief); }), std::error_code());
    EXPECT_LE(brief.deadline(), clock::now());
    EXPECT_EQ(run([&] { return loop.timeout(brief); }), std::error_code());
    EXPECT_EQ(limits((std::chrono::hours::max)()).deadline(), (clock::time_point::max)());
}

static_assert(std::is_convertible_v<std::chrono::hours, limits>);
static_assert(std::is_nothrow_copy_constructible_v<limits>);

} // namespace
