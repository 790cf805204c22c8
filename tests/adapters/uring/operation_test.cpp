// SPDX-License-Identifier: MIT
// What each operation does, and how it fails. How it ends early: see cancellation_test.cpp.
#include <tryst/uring/operation.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::current_position;
using tryst::uring::result;

iovec vector_of(std::span<std::byte> bytes) noexcept {
    return {bytes.data(), bytes.size()};
}
/// For writing: the kernel does not change the bytes.
iovec vector_of(std::string_view text) noexcept {
    return {const_cast<char*>(text.data()), text.size()};
}

/// A failure says which operation it was, in each of its three ways.
template <class T>
void expect_failed(const result<T>& got, const char* operation, int code) {
    const std::error_code error(code, std::system_category());
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error(), error);
    EXPECT_STREQ(got.operation(), operation);
    EXPECT_EQ(got.message(), std::string(operation) + ": " + error.message());
    try {
        static_cast<void>(got.value());
        ADD_FAILURE() << operation << " has a value";
    } catch (const std::system_error& thrown) {
        EXPECT_EQ(thrown.code(), error);
        EXPECT_EQ(std::string(thrown.what()).find(operation), 0U) << thrown.what();
    }
}

template <class T>
void expect_succeeded(const result<T>& got, const char* operation) {
    EXPECT_TRUE(got) << got.message();
    EXPECT_FALSE(got.error());
    EXPECT_STREQ(got.operation(), operation);
    EXPECT_NO_THROW(static_cast<void>(got.value()));
}

class UringOperation : public testing::Test {
protected:
    /// Runs the operation that `make` returns, and expects that it succeeds.
    template <class Make>
    void succeeds(const char* operation, Make make) {
        expect_succeeded(run_one(loop, std::move(make)), operation);
    }

    template <class Make>
    auto value_of(const char* operation, Make make) {
        auto got = run_one(loop, std::move(make));
        expect_succeeded(got, operation);
        return std::move(got).value();
    }

    template <class Make>
    void fails(const char* operation, int code, Make make) {
        expect_failed(run_one(loop, std::move(make)), operation, code);
    }

    std::string text(std::size_t size) const { return text_of(std::span(bytes).first(size)); }

    context loop;
    std::array<std::byte, 16> bytes{};
};

TEST_F(UringOperation, SaysThatANopSucceededOrFailed) {
    succeeds("nop", [&] { return loop.nop(); });
    kernel_faults faults;
    faults.fail(IORING_OP_NOP, -ENOMEM);
    fails("nop", ENOMEM, [&] { return loop.nop(); });
}

// ---- Files

TEST_F(UringOperation, ReadsAndWritesAtAnOffset) {
    const descriptor file = make_file("0123456789");
    const auto first = std::span(bytes).first(4);
    EXPECT_EQ(value_of("read", [&] { return loop.read(file.get(), first, 3); }), 4U);
    EXPECT_EQ(text(5), std::string("3456\0", 5));
    EXPECT_EQ(value_of("write", [&] { return loop.write(file.get(), bytes_of("abc"), 8); }), 3U);
    EXPECT_EQ(content_of(file), "01234567abc");
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 0); // the file's own position is unchanged

    constexpr std::uint64_t far = (std::uint64_t{1} << 32) + 5;
    const descriptor big = make_file();
    succeeds("write", [&] { return loop.write(big.get(), bytes_of("far"), far); });
    EXPECT_EQ(value_of("read", [&] { return loop.read(big.get(), bytes, far - 1); }), 4U);
    EXPECT_EQ(text(4), std::string("\0far", 4));
}

TEST_F(UringOperation, ReadsAndWritesAtTheCurrentPosition) {
    const descriptor file = make_file();
    for (const char* const part : {"0123", "45"}) {
        succeeds("write", [&] { return loop.write(file.get(), bytes_of(part)); });
    }
    EXPECT_EQ(content_of(file), "012345");
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
    const auto first = std::span(bytes).first(4);
    for (const char* const expected : {"0123", "45", ""}) {
        const auto got = value_of("read", [&] { return loop.read(file.get(), first); });
        EXPECT_EQ(text(got), expected);
    }
}

TEST_F(UringOperation, ReadsAndWritesAPartOfABuffer) {
    tryst::uring::buffer_pool pool(1, 8192);
    const tryst::uring::buffer whole = pool.acquire();
    const auto part = whole.bytes().subspan(5000, 4);
    for (const bool registered : {false, true}) {
        const char* const read = registered ? "read_fixed" : "read";
        const char* const write = registered ? "write_fixed" : "write";
        EXPECT_TRUE(!registered || loop.register_buffers(pool));
        const descriptor file = make_file("0123456789");
        std::ranges::fill(whole.bytes(), std::byte{'-'});
        succeeds(read, [&] { return loop.read_fixed(file.get(), whole, part, 2); });
        EXPECT_EQ(text_of(whole.bytes().subspan(4999, 6)), "-2345-");
        succeeds(write, [&] { return loop.write_fixed(file.get(), whole, part, 7); });
        EXPECT_EQ(content_of(file), "01234562345");
        succeeds(write, [&] { return loop.write_fixed(file.get(), whole, part); });
        EXPECT_EQ(content_of(file), "23454562345");
        const auto rest =
            value_of(read, [&] { return loop.read_fixed(file.get(), whole, whole.bytes()); });
        EXPECT_EQ(text_of(whole.bytes().first(rest)), "4562345");
        fails(read, EBADF, [&] { return loop.read_fixed(-1, whole, part); });
        fails(write, EBADF, [&] { return loop.write_fixed(-1, whole, part); });
    }
}

TEST_F(UringOperation, ReadsAndWritesSeveralBuffers) {
    const descriptor file = make_file("0123456789");
    std::array<std::byte, 3> head{};
    const std::array into{vector_of(head), vector_of(std::span(bytes).first(4))};
    EXPECT_EQ(value_of("readv", [&] { return loop.readv(file.get(), into, 2); }), 7U);
    EXPECT_EQ(text_of(head), "234");
    EXPECT_EQ(text(5), std::string("5678\0", 5));
    for (const std::size_t expected : {7U, 3U, 0U}) { // at the current position
        EXPECT_EQ(value_of("readv", [&] { return loop.readv(file.get(), into); }), expected);
    }
    const std::array from{vector_of("ab"), vector_of(""), vector_of("cde")};
    EXPECT_EQ(value_of("writev", [&] { return loop.writev(file.get(), from, 8); }), 5U);
    EXPECT_EQ(content_of(file), "01234567abcde");
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_SET), 0);
    succeeds("writev", [&] { return loop.writev(file.get(), from); });
    EXPECT_EQ(content_of(file), "abcde567abcde");
}

TEST_F(UringOperation, TransfersAtMostWhatTheKernelDoesAtOnce) {
    constexpr std::size_t three_gibibytes = std::size_t{3} << 30;
    constexpr unsigned most = 0x7fff'f000;
    void* const memory = ::mmap(nullptr, three_gibibytes, PROT_READ,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    const std::span<std::byte> huge(static_cast<std::byte*>(memory), three_gibibytes);
    kernel_faults faults;
    std::vector<unsigned> lengths;
    faults.on_request = [&](const io_uring_sqe& entry) {
        if (!is_operation(entry)) {
            return 0;
        }
        lengths.push_back(entry.len);
        return entry.opcode == IORING_OP_WRITE ? 0 : -EIO;
    };
    const descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const int file = nowhere.get();
    EXPECT_EQ(value_of("write", [&] { return loop.write(file, huge, 0); }), most);
    fails("read", EIO, [&] { return loop.read(file, huge, 0); });
    fails("send", EIO, [&] { return loop.send(file, huge); });
    fails("recv", EIO, [&] { return loop.recv(file, huge); });
    fails("read", EIO, [&] { return loop.read(file, huge.first(most - 1), 0); });
    EXPECT_EQ(lengths, (std::vector<unsigned>{most, most, most, most, most - 1}));
    ::munmap(memory, three_gibibytes);
}

TEST_F(UringOperation, SyncsDataOnlyIfAskedTo) {
    const request_log requests;
    const directory here;
    const descriptor file = here.make("file");
    succeeds("fsync", [&] { return loop.fsync(file.get()); });
    succeeds("fsync", [&] { return loop.fsync(file.get(), true); });
    std::vector<unsigned> flags;
    for (const io_uring_sqe& each : requests.entries) {
        if (each.opcode == IORING_OP_FSYNC) {
            flags.push_back(each.fsync_flags);
        }
    }
    EXPECT_EQ(flags, (std::vector<unsigned>{0, IORING_FSYNC_DATASYNC}));
}

TEST_F(UringOperation, OpensAFile) {
    const directory here;
    const int flags = O_CREAT | O_EXCL | O_RDWR;
    const auto made =
        value_of("openat", [&] { return loop.openat(here.get(), "new", flags, 0600); });
    struct stat status{};
    ASSERT_EQ(::fstat(made.get(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    EXPECT_NE(::fcntl(made.get(), F_GETFD) & FD_CLOEXEC, 0);
    write_text(made, "word");
    const std::string path = here.path_to("new");
    const auto again =
        value_of("openat", [&] { return loop.openat(AT_FDCWD, path.c_str(), O_RDONLY); });
    EXPECT_EQ(content_of(again), "word");
    fails("openat", EEXIST, [&] { return loop.openat(here.get(), "new", flags, 0600); });
}

TEST_F(UringOperation, TellsAFilesSize) {
    const directory here;
    const descriptor file = here.make("file");
    write_text(file, "word");
    struct statx status{};
    const unsigned mask = STATX_SIZE | STATX_TYPE;
    succeeds("statx", [&] { return loop.statx(here.get(), "file", 0, mask, &status); });
    EXPECT_EQ(status.stx_mask & mask, mask);
    EXPECT_EQ(status.stx_size, 4U);
    EXPECT_TRUE(S_ISREG(status.stx_mode));
    status = {};
    succeeds("statx", [&] { return loop.statx(file.get(), "", AT_EMPTY_PATH, mask, &status); });
    EXPECT_EQ(status.stx_size, 4U);
}

TEST_F(UringOperation, MakesRenamesAndRemoves) {
    const directory here;
    const int at = here.get();
    succeeds("mkdirat", [&] { return loop.mkdirat(at, "old", 0500); });
    struct stat status{};
    ASSERT_EQ(::fstatat(at, "old", &status, 0), 0);
    EXPECT_EQ(status.st_mode, unsigned{S_IFDIR | 0500});
    const std::string path = here.path_to("new");
    succeeds("renameat", [&] { return loop.renameat(at, "old", AT_FDCWD, path.c_str()); });
    EXPECT_FALSE(here.has("old"));
    EXPECT_TRUE(here.has("new"));
    fails("unlinkat", EISDIR, [&] { return loop.unlinkat(at, "new"); });
    succeeds("unlinkat", [&] { return loop.unlinkat(at, "new", AT_REMOVEDIR); });
    EXPECT_FALSE(here.has("new"));

    write_text(here.make("a"), "from a");
    write_text(here.make("b"), "from b");
    fails("renameat", EEXIST, [&] { return loop.renameat(at, "a", at, "b", RENAME_NOREPLACE); });
    succeeds("renameat", [&] { return loop.renameat(at, "a", at, "b", RENAME_EXCHANGE); });
    EXPECT_EQ(content_of(here.make("a")), "from b");
    succeeds("renameat", [&] { return loop.renameat(at, "b", at, "a"); });
    EXPECT_EQ(content_of(here.make("a")), "from a");
}

TEST_F(UringOperation, AllocatesRoom) {
    const descriptor file = make_file("word");
    succeeds("fallocate", [&] { return loop.fallocate(file.get(), 0, 5, 2'000); });
    EXPECT_EQ(content_of(file).size(), 2'005U);
    const int hole = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    succeeds("fallocate", [&] { return loop.fallocate(file.get(), hole, 1, 2); });
    EXPECT_EQ(content_of(file).substr(0, 4), std::string("w\0\0d", 4));
}

TEST_F(UringOperation, SplicesAPipeIntoAFileAndBack) {
    const directory here;
    const file_pair pipe = make_pipe();
    const descriptor file = here.make("file");
    const int in = pipe.writer.get();
    const int out = pipe.reader.get();
    const auto splice = [&](int from, std::uint64_t at, int into, std::uint64_t to,
                            std::size_t length) {
        return value_of("splice", [&] { return loop.splice(from, at, into, to, length); });
    };
    write_text(pipe.writer, "0123456789");
    EXPECT_EQ(splice(out, current_position, file.get(), 5, 8), 8U);
    EXPECT_EQ(content_of(file), std::string(5, '\0') + "01234567");
    EXPECT_EQ(splice(out, current_position, file.get(), current_position, 100), 2U);
    EXPECT_EQ(content_of(file), std::string("89\0\0\0", 5) + "01234567");
    EXPECT_EQ(splice(file.get(), 7, in, current_position, 1000), 6U);
    EXPECT_EQ(read_text(pipe.reader), "234567");
    EXPECT_EQ(splice(file.get(), 100, in, current_position, 1000), 0U); // the end
}

TEST_F(UringOperation, SaysWhyAFileFailed) {
    const directory here;
    const int at = here.get();
    const file_pair pipe = make_pipe();
    const descriptor file = make_file("word");
    const descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    const std::array one{vector_of(bytes)};
    const std::span huge(one.data(), std::size_t{1} << 40); // only counted
    const std::uint64_t most = ~std::uint64_t{0};
    struct statx status{};
    fails("read", EBADF, [&] { return loop.read(pipe.writer.get(), bytes); });
    fails("write", ENOSPC, [&] { return loop.write(full.get(), bytes); });
    fails("readv", EBADF, [&] { return loop.readv(-1, one); });
    fails("writev", EINVAL, [&] { return loop.writev(file.get(), huge); });
    fails("fsync", EINVAL, [&] { return loop.fsync(pipe.writer.get()); });
    fails("openat", ENOENT, [&] { return loop.openat(at, "missing", O_RDONLY); });
    fails("statx", ENOENT, [&] { return loop.statx(at, "missing", 0, STATX_SIZE, &status); });
    fails("unlinkat", ENOENT, [&] { return loop.unlinkat(at, "missing"); });
    fails("mkdirat", ENOENT, [&] { return loop.mkdirat(at, "missing/new", 0700); });
    fails("renameat", EBADF, [&] { return loop.renameat(at, "missing", -1, "new"); });
    fails("fallocate", EINVAL, [&] { return loop.fallocate(file.get(), 0, most, 1); });
    fails("fallocate", EINVAL, [&] { return loop.fallocate(file.get(), 0, 0, most); });
    // A request has 16 bits for the flags.
    for (const unsigned unknown : {0x10U, 0x1'0000U, 0x8000'0000U}) {
        fails("splice", EINVAL, [&] {
            return loop.splice(file.get(), 0, pipe.writer.get(), current_position, 4, unknown);
        });
    }
}

TEST_F(UringOperation, SaysThatTheKernelDoesNotKnowIt) {
    const directory here;
    const file_pair pipe = make_pipe();
    const auto splice = [&] {
        return loop.splice(pipe.reader.get(), current_position, pipe.writer.get(), current_position,
                           1);
    };
    {
        kernel_faults faults;
        faults.unknown_operation = IORING_OP_SOCKET;
        fails("socket", ENOSYS, [&] { return loop.socket(AF_INET, SOCK_STREAM); });
        faults.unknown_operation = IORING_OP_SPLICE;
        fails("splice", ENOSYS, splice);
        faults.unknown_operation = IORING_OP_MKDIRAT;
        fails("mkdirat", ENOSYS, [&] { return loop.mkdirat(here.get(), "new", 0700); });
        fails("unlinkat", EINVAL, [&] { return loop.unlinkat(here.get(), "new", 1); });
        fails("socket", EINVAL, [&] { return loop.socket(AF_INET, 99); });
    }
    succeeds("socket", [&] { return loop.socket(AF_INET, SOCK_STREAM); });
}

// ---- Descriptors: each is closed once

TEST_F(UringOperation, ClosesAFile) {
    const request_log requests;
    std::stop_source stop;
    stop.request_stop();
    for (const char* const how : {"plain", "not awaited", "stopped before", "late"}) {
        SCOPED_TRACE(how);
        descriptor file = make_file();
        const int number = file.get();
        if (how[0] == 'p') {
            succeeds("close", [&] { return loop.close(std::move(file)); });
        } else if (how[0] == 'n') {
            const auto unused = loop.close(std::move(file));
            EXPECT_TRUE(is_open(number));
        } else if (how[0] == 's') {
            fails("close", ECANCELED,
                  [&] { return loop.close(std::move(file), stop.get_token()); });
        } else {
            const auto got = run_one(loop, [&] { return loop.close(std::move(file), -1s); });
            EXPECT_TRUE(got || got.error() == std::errc::timed_out) << got.message();
        }
        EXPECT_FALSE(file); // NOLINT(bugprone-use-after-move)
        EXPECT_FALSE(is_open(number));
    }
    EXPECT_EQ(requests.count(IORING_OP_ASYNC_CANCEL), 0); // a close cannot be undone
    fails("close", EBADF, [&] { return loop.close(descriptor()); });
}

TEST_F(UringOperation, ClosesAFileThoughTheLoopIsLeft) {
    const request_log requests;
    descriptor file = make_file();
    const int number = file.get();
    std::optional<result<>> got;
    loop.spawn(party(got, [&] { return loop.close(std::move(file)); }));
    leave(loop);
    loop.run_until_idle();
    ASSERT_TRUE(got);
    expect_succeeded(*got, "close");
    EXPECT_FALSE(is_open(number));
    EXPECT_EQ(requests.count(IORING_OP_ASYNC_CANCEL), 0);
}

TEST_F(UringOperation, LeavesNoFileOpenForADestroyedFrame) {
    const listener port;
    const long before = count_open();
    for (const bool ready : {false, true}) { // or not yet submitted
        context other(sleepy);
        std::optional<result<descriptor>> accepted;
        std::optional<result<>> closed;
        const descriptor client = port.connect();
        other.spawn(party(accepted, [&] { return other.accept(port.get()); }));
        other.spawn(party(closed, [&] { return other.close(make_file()); }));
        other.spawn([](context& home, bool wait) -> task<> {
            if (wait) {
                co_await home.schedule();
            }
            home.stop();
        }(other, ready));
        other.run();
    }
    EXPECT_EQ(count_open(), before);
}

TEST_F(UringOperation, ClosesTheFileThatAnAcceptInTheKernelMakesForADestroyedFrame) {
    const listener port;
    const long before = count_open();
    for (int i = 0; i != 20; ++i) {
        context other;
        std::optional<result<descriptor>> got;
        other.spawn(party(got, [&] { return other.accept(port.get()); }));
        other.run_until_idle();
        const descriptor client = port.connect(); // accepted, but not seen by the loop yet
    }
    EXPECT_EQ(count_open(), before);
}

// ---- Sockets

TEST_F(UringOperation, ConnectsAndAcceptsAndShutsDown) {
    const listener port;
    const auto socket = value_of("socket", [&] { return loop.socket(AF_INET, SOCK_STREAM); });
    const auto connect = [&] { return loop.connect(socket.get(), port.address(), port.size()); };
    succeeds("connect", connect);
    const auto peer = value_of("accept", [&] { return loop.accept(port.get()); });
    EXPECT_NE(::fcntl(socket.get(), F_GETFD) & FD_CLOEXEC, 0);
    EXPECT_NE(::fcntl(peer.get(), F_GETFD) & FD_CLOEXEC, 0);
    fails("connect", EISCONN, connect);
    succeeds("shutdown", [&] { return loop.shutdown(socket.get(), SHUT_WR); });
    EXPECT_EQ(value_of("recv", [&] { return loop.recv(peer.get(), bytes); }), 0U);
    succeeds("send", [&] { return loop.send(peer.get(), bytes_of("word")); });
    EXPECT_EQ(value_of("recv", [&] { return loop.recv(socket.get(), bytes); }), 4U);
}

TEST_F(UringOperation, SendsAndReceives) {
    const file_pair pair = make_sockets();
    const int reader = pair.reader.get();
    const auto send = [&] { return loop.send(pair.writer.get(), bytes_of("hello")); };
    EXPECT_EQ(value_of("send", send), 5U);
    EXPECT_EQ(value_of("recv", [&] { return loop.recv(reader, bytes, MSG_PEEK); }), 5U);
    EXPECT_EQ(text(5), "hello");
    EXPECT_EQ(value_of("recv", [&] { return loop.recv(reader, std::span(bytes).first(2)); }), 2U);
    EXPECT_EQ(read_text(pair.reader), "llo");
}

TEST_F(UringOperation, SendsAMessageOfSeveralParts) {
    const file_pair pair = make_sockets();
    std::array parts{vector_of("hel"), vector_of("lo")};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const auto send = [&] { return loop.sendmsg(pair.writer.get(), &message); };
    EXPECT_EQ(value_of("sendmsg", send), 5U);
    std::array into{vector_of(bytes)};
    message.msg_iov = into.data();
    message.msg_iovlen = into.size();
    for (const int flags : {int{MSG_PEEK}, 0}) {
        const auto receive = [&] { return loop.recvmsg(pair.reader.get(), &message, flags); };
        EXPECT_EQ(value_of("recvmsg", receive), 5U);
        EXPECT_EQ(text(5), "hello");
    }
}

TEST_F(UringOperation, SaysWhyASocketFailed) {
    file_pair pair = make_sockets();
    const descriptor file = make_file();
    const descriptor unconnected = listener::make_socket();
    listener port;
    msghdr message{};
    fails("socket", EAFNOSUPPORT, [&] { return loop.socket(-1, SOCK_STREAM); });
    fails("socket", EPROTONOSUPPORT,
          [&] { return loop.socket(AF_INET, SOCK_STREAM, IPPROTO_UDP); });
    fails("accept", EINVAL, [&] { return loop.accept(unconnected.get()); });
    fails("recv", EAGAIN, [&] { return loop.recv(pair.reader.get(), bytes, MSG_DONTWAIT); });
    fails("recvmsg", ENOTSOCK, [&] { return loop.recvmsg(file.get(), &message); });
    fails("shutdown", ENOTCONN, [&] { return loop.shutdown(unconnected.get(), SHUT_WR); });
    port.close();
    fails("connect", ECONNREFUSED,
          [&] { return loop.connect(unconnected.get(), port.address(), port.size()); });
    // SIGPIPE would end the program.
    pair.reader.reset();
    for (const int flags : {0, int{MSG_DONTWAIT}}) {
        fails("send", EPIPE, [&] { return loop.send(pair.writer.get(), bytes, flags); });
        fails("sendmsg", EPIPE, [&] { return loop.sendmsg(pair.writer.get(), &message, flags); });
    }
}

// ---- Readiness and time

TEST_F(UringOperation, PollsForEvents) {
    file_pair pipe = make_pipe();
    ::fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);
    const auto poll = [&](const descriptor& file, short events) {
        return value_of("poll", [&] { return loop.poll(file.get(), events); });
    };
    EXPECT_EQ(poll(pipe.writer, POLLOUT), unsigned{POLLOUT});
    std::optional<result<unsigned>> ready;
    loop.spawn(party_that_stops(loop, ready,
                                [&] { return loop.poll(pipe.reader.get(), POLLIN | POLLPRI); }));
    loop.run_until_idle();
    EXPECT_FALSE(ready);
    write_text(pipe.writer, "word");
    loop.run();
    ASSERT_TRUE(ready && *ready);
    EXPECT_EQ(**ready, unsigned{POLLIN});
    EXPECT_EQ(value_of("read", [&] { return loop.read(pipe.reader.get(), bytes); }), 4U);
    pipe.reader.reset();
    EXPECT_EQ(poll(pipe.writer, 0), unsigned{POLLERR});
    fails("poll", EBADF, [&] { return loop.poll(-1, POLLIN); });
}

} // namespace
