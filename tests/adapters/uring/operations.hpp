// SPDX-License-Identifier: MIT
/// @file
/// Every operation, with the files that it uses: for tests that end each of them in some way.
#pragma once

#include "adapters/uring/harness.hpp"

#include <tryst/task.hpp>
#include <tryst/uring.hpp>

#include <array>
#include <cstddef>
#include <string>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>

namespace tryst::test {

/// Reads all data that has arrived. @returns its size.
inline std::size_t drain(const descriptor& file) {
    std::size_t size = 0;
    for (std::string text; !(text = read_text(file)).empty();) {
        size += text.size();
    }
    return size;
}

// ---- Operations that wait

/// Files on which nothing happens, so that each operation waits.
struct silence {
    silence() {
        unnamed.msg_iov = parts.data();
        unnamed.msg_iovlen = parts.size();
        message = unnamed;
        message.msg_name = name.data();
        message.msg_namelen = sizeof(name);
        message.msg_flags = MSG_EOR;
    }
    silence(const silence&) = delete;
    silence& operator=(const silence&) = delete;

    /// Breaks the silence: each operation but a connect goes on.
    void end() {
        write_text(pipe.writer, "xyz");
        write_text(sockets.writer, "xyz");
        drain(full_pipe.reader);
        drain(full_sockets.reader);
        partner.reset(checked(::open(fifo.c_str(), O_RDWR | O_CLOEXEC), "open"));
        caller = port.connect();
    }

    /// All that arrived since, wherever an operation may have put it.
    std::string take_all() const {
        std::string all = text_of(bytes) + text_of(more) + text_of(whole.bytes().first(8));
        std::erase(all, '\0');
        return all + read_text(pipe.reader) + read_text(target.reader) + read_text(sockets.reader);
    }

    /// Whether no operation has transferred anything. Call it once.
    bool is_untouched() const {
        const std::array<std::byte, 8> zeros{};
        write_text(pipe.writer, "xyz");
        write_text(sockets.writer, "xyz");
        const descriptor late_caller = port.connect();
        pollfd ready{port.get(), POLLIN, 0};
        return read_text(pipe.reader) == "xyz" && read_text(sockets.reader) == "xyz" &&
               drain(full_pipe.reader) == pipe_size && drain(full_sockets.reader) == socket_size &&
               read_text(target.reader).empty() && bytes == zeros && more == zeros &&
               whole.bytes()[0] == std::byte{0} && ::poll(&ready, 1, 10'000) == 1 &&
               message.msg_namelen == sizeof(name) && message.msg_flags == MSG_EOR;
    }

    file_pair pipe = make_pipe();
    file_pair target = make_pipe(); ///< Of a splice.
    file_pair sockets = make_sockets();
    file_pair full_pipe = make_pipe();
    file_pair full_sockets = make_sockets();
    std::size_t pipe_size = fill(full_pipe.writer);
    std::size_t socket_size = fill(full_sockets.writer);
    listener port;
    busy_listener busy;
    descriptor client;
    descriptor caller; ///< Of the port.
    directory here;
    std::string fifo = here.make_fifo();
    descriptor partner; ///< At the FIFO.
    uring::buffer_pool pool{1, 4096};
    uring::buffer whole = pool.acquire();
    std::array<std::byte, 8> bytes{};
    std::array<std::byte, 8> more{};
    std::array<iovec, 2> parts{iovec{bytes.data(), 1}, iovec{more.data(), more.size()}};
    std::array<char, 16> name{};
    msghdr message{}; ///< With room for an address.
    msghdr unnamed{};
};

/// Calls `visit(name, make)` for each operation, which `make(with, loop, limit...)` makes.
template <class Visit>
void for_each_waiting_operation(Visit visit) {
    using uring::current_position;
    visit("read", [](silence& with, context& loop, auto... limit) {
        return loop.read(with.pipe.reader.get(), with.bytes, current_position, limit...);
    });
    visit("write", [](silence& with, context& loop, auto... limit) {
        return loop.write(with.full_pipe.writer.get(), with.bytes, current_position, limit...);
    });
    visit("read_fixed", [](silence& with, context& loop, auto... limit) {
        EXPECT_TRUE(loop.register_buffers(with.pool));
        return loop.read_fixed(with.pipe.reader.get(), with.whole, with.whole.bytes(),
                               current_position, limit...);
    });
    visit("write_fixed", [](silence& with, context& loop, auto... limit) {
        EXPECT_TRUE(loop.register_buffers(with.pool));
        return loop.write_fixed(with.full_pipe.writer.get(), with.whole, with.whole.bytes(),
                                current_position, limit...);
    });
    visit("readv", [](silence& with, context& loop, auto... limit) {
        return loop.readv(with.pipe.reader.get(), with.parts, current_position, limit...);
    });
    visit("writev", [](silence& with, context& loop, auto... limit) {
        return loop.writev(with.full_pipe.writer.get(), with.parts, current_position, limit...);
    });
    // With O_CREAT, the kernel opens a FIFO on one of its threads, which blocks.
    visit("openat", [](silence& with, context& loop, auto... limit) {
        return loop.openat(AT_FDCWD, with.fifo.c_str(), O_RDONLY | O_CREAT, 0600, limit...);
    });
    visit("accept", [](silence& with, context& loop, auto... limit) {
        return loop.accept(with.port.get(), limit...);
    });
    visit("connect", [](silence& with, context& loop, auto... limit) {
        with.client = listener::make_socket();
        return loop.connect(with.client.get(), with.busy.address(), listener::size(), limit...);
    });
    visit("send", [](silence& with, context& loop, auto... limit) {
        return loop.send(with.full_sockets.writer.get(), with.bytes, 0, limit...);
    });
    visit("recv", [](silence& with, context& loop, auto... limit) {
        return loop.recv(with.sockets.reader.get(), with.bytes, 0, limit...);
    });
    visit("sendmsg", [](silence& with, context& loop, auto... limit) {
        return loop.sendmsg(with.full_sockets.writer.get(), &with.unnamed, 0, limit...);
    });
    visit("recvmsg", [](silence& with, context& loop, auto... limit) {
        return loop.recvmsg(with.sockets.reader.get(), &with.message, 0, limit...);
    });
    visit("splice", [](silence& with, context& loop, auto... limit) {
        return loop.splice(with.pipe.reader.get(), current_position, with.target.writer.get(),
                           current_position, 100, 0, limit...);
    });
    visit("poll", [](silence& with, context& loop, auto... limit) {
        return loop.poll(with.pipe.reader.get(), POLLIN, limit...);
    });
}

// ---- Operations that need not wait

struct workplace {
    directory here;
    descriptor file = here.make("old");
    file_pair sockets = make_sockets();
    struct ::statx status{};
    long open_before = count_open();
    descriptor made; ///< By the operation.
};

/// Calls `visit(name, is_done, make)` for each operation but `close`, which is done in any case.
/// `is_done(at)` says whether it has had an effect; null: nobody can tell.
template <class Visit>
void for_each_deed(Visit visit) {
    const auto cannot_tell = nullptr;
    const auto has_status = [](const workplace& at) { return at.status.stx_mask != 0; };
    const auto has_no_old = [](const workplace& at) { return !at.here.has("old"); };
    const auto has_new = [](const workplace& at) { return at.here.has("new"); };
    const auto has_content = [](const workplace& at) { return !content_of(at.file).empty(); };
    const auto has_made_file = [](const workplace& at) { return count_open() != at.open_before; };
    const auto cannot_send = [](const workplace& at) {
        return ::send(at.sockets.writer.get(), "x", 1, MSG_NOSIGNAL) < 0;
    };
    visit("nop", cannot_tell,
          [](workplace&, context& loop, auto... limit) { return loop.nop(limit...); });
    visit("fsync", cannot_tell, [](workplace& at, context& loop, auto... limit) {
        return loop.fsync(at.file.get(), false, limit...);
    });
    visit("openat", has_made_file, [](workplace& at, context& loop, auto... limit) {
        return loop.openat(at.here.get(), "old", O_RDONLY, 0, limit...);
    });
    visit("statx", has_status, [](workplace& at, context& loop, auto... limit) {
        return loop.statx(at.here.get(), "old", 0, STATX_TYPE, &at.status, limit...);
    });
    visit("unlinkat", has_no_old, [](workplace& at, context& loop, auto... limit) {
        return loop.unlinkat(at.here.get(), "old", 0, limit...);
    });
    visit("renameat", has_new, [](workplace& at, context& loop, auto... limit) {
        return loop.renameat(at.here.get(), "old", at.here.get(), "new", 0, limit...);
    });
    visit("mkdirat", has_new, [](workplace& at, context& loop, auto... limit) {
        return loop.mkdirat(at.here.get(), "new", 0700, limit...);
    });
    visit("fallocate", has_content, [](workplace& at, context& loop, auto... limit) {
        return loop.fallocate(at.file.get(), 0, 0, 10, limit...);
    });
    visit("shutdown", cannot_send, [](workplace& at, context& loop, auto... limit) {
        return loop.shutdown(at.sockets.writer.get(), SHUT_WR, limit...);
    });
    visit("socket", has_made_file, [](workplace&, context& loop, auto... limit) {
        return loop.socket(AF_INET, SOCK_STREAM, 0, limit...);
    });
}

} // namespace tryst::test
