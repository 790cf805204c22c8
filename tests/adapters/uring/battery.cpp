// SPDX-License-Identifier: MIT
#include "adapters/uring/battery.hpp"

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <poll.h>

namespace tryst::test {

namespace {

using namespace std::chrono_literals;
using uring::current_position;

task<> use_files(context& loop) {
    const auto nop = co_await loop.nop();
    EXPECT_TRUE(nop);

    const auto opened = co_await loop.openat(AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600);
    EXPECT_TRUE(opened) << opened.message();
    if (!opened) {
        co_return;
    }
    const int file = opened->get();
    const auto written = co_await loop.write(file, bytes_of("0123456789"), 0);
    EXPECT_TRUE(written && *written == 10U);
    const auto over = co_await loop.write(file, bytes_of("xx"), 4);
    EXPECT_TRUE(over && *over == 2U);
    const auto synced = co_await loop.fsync(file);
    EXPECT_TRUE(synced) << synced.message();
    std::array<std::byte, 5> bytes{};
    const auto read = co_await loop.read(file, bytes, 3);
    EXPECT_TRUE(read && *read == 5U);
    EXPECT_EQ(text_of(bytes), "3xx67");

    uring::buffer_pool pool(1, 100);
    static_cast<void>(loop.register_buffers(pool)); // or without, on an old kernel
    const auto buffer = pool.acquire();
    const auto fixed_read = co_await loop.read_fixed(file, buffer, buffer.bytes().first(4), 0);
    EXPECT_TRUE(fixed_read && *fixed_read == 4U);
    EXPECT_EQ(text_of(buffer.bytes().first(4)), "0123");
    const auto fixed = co_await loop.write_fixed(file, buffer, buffer.bytes().first(4), 6);
    EXPECT_TRUE(fixed && *fixed == 4U);

    auto copy = descriptor(::dup(file));
    const int number = copy.get();
    const auto closed = co_await loop.close(std::move(copy));
    EXPECT_TRUE(closed) << closed.message();
    EXPECT_FALSE(is_open(number));

    const auto missing = co_await loop.openat(AT_FDCWD, "/nowhere/at/all", O_RDONLY);
    EXPECT_EQ(missing.error(), std::errc::no_such_file_or_directory);
}

task<> answer(context& loop, int port) {
    const auto peer = co_await loop.accept(port);
    EXPECT_TRUE(peer) << peer.message();
    std::array<std::byte, 16> bytes{};
    for (;;) {
        const auto got = co_await loop.recv(peer->get(), bytes);
        EXPECT_TRUE(got) << got.message();
        if (!got || *got == 0) {
            co_return;
        }
        const auto sent = co_await loop.send(peer->get(), std::span(bytes).first(*got));
        EXPECT_TRUE(sent) << sent.message();
    }
}

task<> ask(context& loop, const listener& port) {
    const descriptor socket = listener::make_socket();
    const auto connected = co_await loop.connect(socket.get(), port.address(), port.size());
    EXPECT_TRUE(connected) << connected.message();
    for (int i = 0; i != 10; ++i) {
        const std::string text = "hello " + std::to_string(i);
        const auto sent = co_await loop.send(socket.get(), bytes_of(text));
        EXPECT_TRUE(sent && *sent == text.size());
        const auto ready = co_await loop.poll(socket.get(), POLLIN);
        EXPECT_TRUE(ready && (*ready & POLLIN) != 0);
        std::array<std::byte, 16> bytes{};
        const auto got = co_await loop.recv(socket.get(), bytes);
        EXPECT_TRUE(got);
        EXPECT_EQ(text_of(std::span(bytes).first(*got)), text);
    }
}

task<> use_sockets(context& loop) {
    const listener port;
    co_await when_all(answer(loop, port.get()), ask(loop, port));
}

task<> use_streams(context& loop) {
    const listener port;
    const file_pair pair = make_sockets();
    {
        uring::accept_stream connections(loop, port.get());
        for (int i = 0; i != 5; ++i) {
            const descriptor client = port.connect();
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer) << peer.message();
        }
        const auto nobody = co_await connections.next(1ms);
        EXPECT_EQ(nobody.error(), std::errc::timed_out);
    }
    try {
        uring::recv_stream pieces(loop, pair.reader.get(), 4, 16);
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

task<> use_limits(context& loop) {
    const file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    const auto late = co_await loop.read(pipe.reader.get(), bytes, current_position, 1ms);
    EXPECT_EQ(late.error(), std::errc::timed_out);
    const auto woken = co_await loop.timeout(1ms);
    EXPECT_TRUE(woken);
    std::stop_source stop;
    {
        const std::jthread stopper([&stop] { stop.request_stop(); });
        const auto stopped =
            co_await loop.read(pipe.reader.get(), bytes, current_position, stop.get_token());
        EXPECT_EQ(stopped.error(), std::errc::operation_canceled);
    }
    const std::jthread writer([&pipe] { write_text(pipe.writer, "word"); });
    const auto got = co_await loop.read(pipe.reader.get(), bytes);
    EXPECT_TRUE(got && *got == 4U);
}

task<> use_all(context& loop) {
    co_await use_files(loop);
    co_await use_sockets(loop);
    co_await use_streams(loop);
    co_await use_limits(loop);
    loop.stop();
}

void swap_between_two() {
    constexpr int rounds = 100;
    exchanger<int> ex;
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

/// Many reads of one byte, while the loop is stopped again and again.
void have_many_and_go_on_after_stops() {
    constexpr std::size_t count = 200;
    const file_pair pipe = make_pipe();
    context loop({.entries = 4});
    std::size_t done = 0;
    const auto read = [&]() -> task<> {
        std::array<std::byte, 1> byte{};
        const auto got = co_await loop.read(pipe.reader.get(), byte);
        EXPECT_TRUE(got && *got == 1U);
        if (++done == count) {
            loop.stop();
        }
    };
    for (std::size_t i = 0; i != count; ++i) {
        loop.spawn(read());
    }
    loop.run_until_idle();
    for (int i = 0; i != 5; ++i) {
        leave(loop);
        write_text(pipe.writer, "x");
    }
    write_text(pipe.writer, std::string(count - 5, 'x'));
    loop.run();
    EXPECT_EQ(done, count);
}

} // namespace

void run_battery() {
    const long before = count_open();
    for (const unsigned spins : {0U, 100U}) {
        context loop({.entries = 16, .max_spins = spins});
        loop.spawn(use_all(loop));
        loop.run();
    }
    swap_between_two();
    have_many_and_go_on_after_stops();
    EXPECT_EQ(count_open(), before);
}

} // namespace tryst::test
