// SPDX-License-Identifier: MIT
#include <tryst/uring/operation.hpp>

#include "adapters/uring/expectations.hpp"
#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::buffer;
using tryst::uring::buffer_pool;
using tryst::uring::current_position;
using tryst::uring::result;

class UringOperation : public testing::Test {
public:
    template <class Make>
    auto run(Make make) {
        return run_one(loop, std::move(make));
    }

    context loop;
    std::array<std::byte, 16> bytes{};
};

TEST_F(UringOperation, NopSucceeds) {
    expect_succeeded(run([&] { return loop.nop(); }), "nop");
}

TEST_F(UringOperation, NopSaysWhyItFailed) {
    kernel_faults faults;
    faults.fail(IORING_OP_NOP, -ENOMEM);
    expect_failed(run([&] { return loop.nop(); }), "nop", ENOMEM);
}

// ---- Files

TEST_F(UringOperation, ReadsAtAnOffset) {
    const descriptor file = make_file("0123456789");
    const auto got = run([&] { return loop.read(file.get(), std::span(bytes).first(4), 3); });
    expect_succeeded(got, "read");
    EXPECT_EQ(*got, 4U);
    EXPECT_EQ(text_of(std::span(bytes).first(4)), "3456");
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 0); // the file's own position is unchanged
}

TEST_F(UringOperation, ReadsAtTheCurrentPosition) {
    const descriptor file = make_file("0123456789");
    for (const char* const expected : {"0123", "4567", "89", ""}) {
        const auto got = run([&] { return loop.read(file.get(), std::span(bytes).first(4)); });
        expect_succeeded(got, "read");
        EXPECT_EQ(text_of(std::span(bytes).first(*got)), expected);
    }
}

TEST_F(UringOperation, ReadsBeyondFourGibibytes) {
    constexpr std::uint64_t far = (std::uint64_t{1} << 32) + 5;
    const descriptor file = make_file();
    const auto put = run([&] { return loop.write(file.get(), bytes_of("far"), far); });
    expect_succeeded(put, "write");
    const auto got = run([&] { return loop.read(file.get(), bytes, far - 1); });
    ASSERT_TRUE(got);
    EXPECT_EQ(text_of(std::span(bytes).first(*got)), std::string("\0far", 4));
}

TEST_F(UringOperation, SaysWhyAReadFailed) {
    expect_failed(run([&] { return loop.read(-1, bytes); }), "read", EBADF);
    const file_pair pipe = make_pipe();
    expect_failed(run([&] { return loop.read(pipe.writer.get(), bytes); }), "read", EBADF);
    const descriptor directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    expect_failed(run([&] { return loop.read(directory.get(), bytes, 0); }), "read", EISDIR);
}

TEST_F(UringOperation, WritesAtAnOffset) {
    const descriptor file = make_file("0123456789");
    const auto put = run([&] { return loop.write(file.get(), bytes_of("abc"), 8); });
    expect_succeeded(put, "write");
    EXPECT_EQ(*put, 3U);
    EXPECT_EQ(content_of(file), "01234567abc");
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 0);
}

TEST_F(UringOperation, WritesAtTheCurrentPosition) {
    const descriptor file = make_file();
    for (const char* const text : {"ab", "cd", "e"}) {
        expect_succeeded(run([&] { return loop.write(file.get(), bytes_of(text)); }), "write");
    }
    EXPECT_EQ(content_of(file), "abcde");
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 5);
}

TEST_F(UringOperation, SaysWhyAWriteFailed) {
    expect_failed(run([&] { return loop.write(-1, bytes, 0); }), "write", EBADF);
    const file_pair pipe = make_pipe();
    expect_failed(run([&] { return loop.write(pipe.reader.get(), bytes); }), "write", EBADF);
    const descriptor full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    expect_failed(run([&] { return loop.write(full.get(), bytes); }), "write", ENOSPC);
}

TEST_F(UringOperation, TransfersAllBytesOrNone) {
    const descriptor file = make_file("word");
    const auto none = run([&] { return loop.read(file.get(), {}, 0); });
    expect_succeeded(none, "read");
    EXPECT_EQ(*none, 0U);
    const auto nothing = run([&] { return loop.write(file.get(), {}, 0); });
    expect_succeeded(nothing, "write");
    EXPECT_EQ(*nothing, 0U);
}

class UringFixed : public UringOperation, public testing::WithParamInterface<bool> {
public:
    UringFixed() {
        if (GetParam()) {
            EXPECT_TRUE(loop.register_buffers(pool));
        }
    }

    buffer_pool pool{2, 8192};
    buffer whole = pool.acquire();
};

TEST_P(UringFixed, ReadsIntoAPart) {
    const char* const name = GetParam() ? "read_fixed" : "read";
    const descriptor file = make_file("0123456789");
    const auto got =
        run([&] { return loop.read_fixed(file.get(), whole, whole.bytes().subspan(5000, 4), 2); });
    expect_succeeded(got, name);
    EXPECT_EQ(text_of(whole.bytes().subspan(4999, 6)), std::string("\0"
                                                                   "2345"
                                                                   "\0",
                                                                   6));
    const auto next = run([&] { return loop.read_fixed(file.get(), whole, whole.bytes()); });
    expect_succeeded(next, name);
    EXPECT_EQ(*next, 10U);
    expect_failed(run([&] { return loop.read_fixed(-1, whole, whole.bytes()); }), name, EBADF);
}

TEST_P(UringFixed, WritesFromAPart) {
    const char* const name = GetParam() ? "write_fixed" : "write";
    const descriptor file = make_file();
    whole.bytes()[8191] = std::byte{'z'};
    const auto put =
        run([&] { return loop.write_fixed(file.get(), whole, whole.bytes().subspan(8191), 3); });
    expect_succeeded(put, name);
    EXPECT_EQ(*put, 1U);
    EXPECT_EQ(content_of(file), std::string("\0\0\0z", 4));
    const auto next =
        run([&] { return loop.write_fixed(file.get(), whole, whole.bytes().subspan(8191)); });
    expect_succeeded(next, name);
    EXPECT_EQ(content_of(file), std::string("z\0\0z", 4));
    expect_failed(run([&] { return loop.write_fixed(-1, whole, whole.bytes()); }), name, EBADF);
}

INSTANTIATE_TEST_SUITE_P(Pools, UringFixed, testing::Bool(), [](const auto& each) {
    return std::string(each.param ? "Registered" : "Unregistered");
});

TEST_F(UringOperation, SyncsAFile) {
    const descriptor file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    expect_succeeded(run([&] { return loop.fsync(file.get()); }), "fsync");
    expect_succeeded(run([&] { return loop.fsync(file.get(), true); }), "fsync");
    const file_pair pipe = make_pipe();
    expect_failed(run([&] { return loop.fsync(pipe.writer.get()); }), "fsync", EINVAL);
    expect_failed(run([&] { return loop.fsync(-1, true); }), "fsync", EBADF);
}

TEST_F(UringOperation, SyncsDataOnlyIfAskedTo) {
    kernel_faults faults;
    std::vector<unsigned> flags;
    faults.on_request = [&](const io_uring_sqe& entry) {
        if (entry.opcode == IORING_OP_FSYNC) {
            flags.push_back(entry.fsync_flags);
        }
        return 0;
    };
    const descriptor file = make_file();
    expect_succeeded(run([&] { return loop.fsync(file.get()); }), "fsync");
    expect_succeeded(run([&] { return loop.fsync(file.get(), true); }), "fsync");
    EXPECT_EQ(flags, (std::vector<unsigned>{0, IORING_FSYNC_DATASYNC}));
}

TEST_F(UringOperation, OpensAFile) {
    std::string path = "/tmp/tryst-uring-XXXXXX";
    ASSERT_NE(::mkdtemp(path.data()), nullptr);
    const descriptor directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    {
        const auto made =
            run([&] { return loop.openat(directory.get(), "new", O_CREAT | O_RDWR, 0640); });
        expect_succeeded(made, "openat");
        struct stat status{};
        ASSERT_EQ(::fstat(made->get(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777U & ~0027U, 0640U & ~0027U);
        EXPECT_NE(::fcntl(made->get(), F_GETFD) & FD_CLOEXEC, 0);
        write_text(*made, "word");
    }
    const auto again =
        run([&] { return loop.openat(AT_FDCWD, (path + "/new").c_str(), O_RDONLY); });
    expect_failed(
        run([&] { return loop.openat(directory.get(), "new", O_CREAT | O_EXCL | O_RDWR, 0600); }),
        "openat", EEXIST);
    expect_failed(run([&] { return loop.openat(directory.get(), "other", O_RDONLY); }), "openat",
                  ENOENT);
    expect_failed(run([&] { return loop.openat(-1, "other", O_RDONLY); }), "openat", EBADF);
    ::unlinkat(directory.get(), "new", 0);
    ::rmdir(path.c_str());
}

TEST_F(UringOperation, ClosesAFileThatIsOpenedAndNotTaken) {
    const long before = count_open();
    {
        context other;
        std::optional<result<descriptor>> got;
        other.spawn(party(got, [&] { return other.openat(AT_FDCWD, "/", O_RDONLY); }));
        while (!got) {
            other.run_until_idle();
        }
        EXPECT_EQ(count_open(), before + 3);
    }
    EXPECT_EQ(count_open(), before);
}

// ---- Close

TEST_F(UringOperation, ClosesAFile) {
    descriptor file = make_file();
    const int number = file.get();
    expect_succeeded(run([&] { return loop.close(std::move(file)); }), "close");
    EXPECT_FALSE(file);
    EXPECT_FALSE(is_open(number));
    expect_failed(run([&] { return loop.close(descriptor()); }), "close", EBADF);
}

TEST_F(UringOperation, ClosesAFileThoughItIsNotAwaited) {
    descriptor file = make_file();
    const int number = file.get();
    {
        const auto unused = loop.close(std::move(file));
        EXPECT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

TEST_F(UringOperation, ClosesAFileThoughItIsStoppedBefore) {
    descriptor file = make_file();
    const int number = file.get();
    std::stop_source stop;
    stop.request_stop();
    expect_failed(run([&] { return loop.close(std::move(file), stop.get_token()); }), "close",
                  ECANCELED);
    EXPECT_FALSE(is_open(number));
}

/// Counts the requests to cancel something.
class cancel_counter {
public:
    cancel_counter() {
        faults_.on_request = [this](const io_uring_sqe& entry) {
            count_ += entry.opcode == IORING_OP_ASYNC_CANCEL ? 1 : 0;
            return 0;
        };
    }
    int count() const noexcept { return count_; }

private:
    int count_ = 0;
    kernel_faults faults_;
};

TEST_F(UringOperation, ClosesAFileThoughItIsLate) {
    const cancel_counter cancels; // expects none: a close cannot be undone
    for (int i = 0; i != 50; ++i) {
        descriptor file = make_file();
        const int number = file.get();
        const auto got = run([&] { return loop.close(std::move(file), -1s); });
        EXPECT_TRUE(got || got.error() == std::errc::timed_out) << got.message();
        EXPECT_FALSE(is_open(number));
    }
    EXPECT_EQ(cancels.count(), 0);
}

TEST_F(UringOperation, ClosesAFileThoughTheLoopIsLeft) {
    const cancel_counter cancels;
    descriptor file = make_file();
    const int number = file.get();
    std::optional<result<>> got;
    loop.spawn(party(got, [&] { return loop.close(std::move(file)); }));
    loop.stop();
    loop.run();
    loop.run_until_idle();
    ASSERT_TRUE(got);
    expect_succeeded(*got, "close");
    EXPECT_FALSE(is_open(number));
    EXPECT_EQ(cancels.count(), 0);
}

TEST_F(UringOperation, ClosesAFileOnceThoughItsFrameIsDestroyed) {
    const long before = count_open();
    {
        context other;
        descriptor file = make_file();
        std::optional<result<>> got;
        other.spawn(party(got, [&] { return other.close(std::move(file)); }));
        other.spawn([](context& home) -> task<> {
            home.stop();
            co_return;
        }(other));
        other.run();
    }
    EXPECT_EQ(count_open(), before);
}

// ---- Sockets

TEST_F(UringOperation, AcceptsAConnection) {
    const listener port;
    const descriptor client = port.connect();
    const auto peer = run([&] { return loop.accept(port.get()); });
    expect_succeeded(peer, "accept");
    EXPECT_NE(::fcntl(peer->get(), F_GETFD) & FD_CLOEXEC, 0);
    write_text(client, "word");
    const auto got = run([&] { return loop.recv(peer->get(), bytes); });
    expect_succeeded(got, "recv");
    EXPECT_EQ(*got, 4U);
}

TEST_F(UringOperation, SaysWhyAnAcceptFailed) {
    expect_failed(run([&] { return loop.accept(-1); }), "accept", EBADF);
    const descriptor file = make_file();
    expect_failed(run([&] { return loop.accept(file.get()); }), "accept", ENOTSOCK);
    const descriptor socket = listener::make_socket();
    expect_failed(run([&] { return loop.accept(socket.get()); }), "accept", EINVAL);
}

TEST_F(UringOperation, AcceptsAndClosesForADestroyedFrame) {
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

TEST_F(UringOperation, AcceptsAndClosesForAFrameDestroyedWhenItWasReady) {
    const listener port;
    const long before = count_open();
    {
        context other(sleepy);
        std::optional<result<descriptor>> got;
        const descriptor client = port.connect();
        other.spawn(party(got, [&] { return other.accept(port.get()); }));
        other.spawn([](context& home) -> task<> {
            co_await home.schedule();
            home.stop();
        }(other));
        other.run();
    }
    EXPECT_EQ(count_open(), before);
}

TEST_F(UringOperation, Connects) {
    const listener port;
    const descriptor socket = listener::make_socket();
    expect_succeeded(run([&] { return loop.connect(socket.get(), port.address(), port.size()); }),
                     "connect");
    const auto peer = run([&] { return loop.accept(port.get()); });
    expect_succeeded(peer, "accept");
    expect_failed(run([&] { return loop.connect(socket.get(), port.address(), port.size()); }),
                  "connect", EISCONN);
}

TEST_F(UringOperation, SaysWhyAConnectFailed) {
    listener port;
    port.close();
    const descriptor socket = listener::make_socket();
    expect_failed(run([&] { return loop.connect(socket.get(), port.address(), port.size()); }),
                  "connect", ECONNREFUSED);
    expect_failed(run([&] { return loop.connect(-1, port.address(), port.size()); }), "connect",
                  EBADF);
}

TEST_F(UringOperation, SendsAndReceives) {
    const file_pair pair = make_sockets();
    const auto sent = run([&] { return loop.send(pair.writer.get(), bytes_of("hello")); });
    expect_succeeded(sent, "send");
    EXPECT_EQ(*sent, 5U);
    const auto peeked = run([&] { return loop.recv(pair.reader.get(), bytes, MSG_PEEK); });
    expect_succeeded(peeked, "recv");
    EXPECT_EQ(text_of(std::span(bytes).first(*peeked)), "hello");
    const auto got = run([&] { return loop.recv(pair.reader.get(), std::span(bytes).first(2)); });
    expect_succeeded(got, "recv");
    EXPECT_EQ(*got, 2U);
    EXPECT_EQ(read_text(pair.reader), "llo");
}

TEST_F(UringOperation, ReceivesNothingAtTheEnd) {
    file_pair pair = make_sockets();
    pair.writer.reset();
    const auto got = run([&] { return loop.recv(pair.reader.get(), bytes); });
    expect_succeeded(got, "recv");
    EXPECT_EQ(*got, 0U);
}

TEST_F(UringOperation, SendsToAClosedSocketWithoutASignal) {
    file_pair pair = make_sockets();
    pair.reader.reset();
    // SIGPIPE would end the program.
    expect_failed(run([&] { return loop.send(pair.writer.get(), bytes_of("x")); }), "send", EPIPE);
    expect_failed(run([&] { return loop.send(pair.writer.get(), bytes_of("x"), MSG_DONTWAIT); }),
                  "send", EPIPE);
}

TEST_F(UringOperation, SaysWhyASendOrARecvFailed) {
    const descriptor file = make_file();
    expect_failed(run([&] { return loop.send(file.get(), bytes); }), "send", ENOTSOCK);
    expect_failed(run([&] { return loop.recv(file.get(), bytes); }), "recv", ENOTSOCK);
    const file_pair pair = make_sockets();
    expect_failed(run([&] { return loop.recv(pair.reader.get(), bytes, MSG_DONTWAIT); }), "recv",
                  EAGAIN);
    fill(pair.writer);
    expect_failed(run([&] { return loop.send(pair.writer.get(), bytes, MSG_DONTWAIT); }), "send",
                  EAGAIN);
    const descriptor unconnected = listener::make_socket();
    expect_failed(run([&] { return loop.recv(unconnected.get(), bytes); }), "recv", ENOTCONN);
}

// ---- Readiness and time

TEST_F(UringOperation, PollsForEvents) {
    file_pair pipe = make_pipe();
    const auto writable = run([&] { return loop.poll(pipe.writer.get(), POLLOUT); });
    expect_succeeded(writable, "poll");
    EXPECT_EQ(*writable, unsigned{POLLOUT});
    write_text(pipe.writer, "x");
    const auto readable = run([&] { return loop.poll(pipe.reader.get(), POLLIN | POLLPRI); });
    expect_succeeded(readable, "poll");
    EXPECT_EQ(*readable, unsigned{POLLIN});
    pipe.reader.reset();
    const auto hung_up = run([&] { return loop.poll(pipe.writer.get(), 0); });
    expect_succeeded(hung_up, "poll");
    EXPECT_EQ(*hung_up, unsigned{POLLERR});
    expect_failed(run([&] { return loop.poll(-1, POLLIN); }), "poll", EBADF);
}

TEST_F(UringOperation, PollsAndThenReadsAFileThatDoesNotBlock) {
    const file_pair pipe = make_pipe();
    ::fcntl(pipe.reader.get(), F_SETFL, O_NONBLOCK);
    std::optional<result<unsigned>> ready;
    loop.spawn(party_that_stops(loop, ready, [&] { return loop.poll(pipe.reader.get(), POLLIN); }));
    loop.run_until_idle();
    EXPECT_FALSE(ready);
    write_text(pipe.writer, "word");
    loop.run();
    ASSERT_TRUE(ready && *ready);
    const auto got = run([&] { return loop.read(pipe.reader.get(), bytes); });
    expect_succeeded(got, "read");
    EXPECT_EQ(*got, 4U);
}

TEST_F(UringOperation, TimesOutInTime) {
    const auto start = std::chrono::steady_clock::now();
    expect_succeeded(run([&] { return loop.timeout(5ms); }), "timeout");
    EXPECT_GE(std::chrono::steady_clock::now() - start, 5ms);
    expect_succeeded(run([&] { return loop.timeout(start); }), "timeout"); // long ago
    std::stop_source stop;
    stop.request_stop();
    expect_failed(run([&] { return loop.timeout(start, stop.get_token()); }), "timeout", ECANCELED);
}

// ---- Lengths

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
        if (entry.opcode != IORING_OP_READ && entry.opcode != IORING_OP_WRITE &&
            entry.opcode != IORING_OP_SEND && entry.opcode != IORING_OP_RECV) {
            return 0;
        }
        lengths.push_back(entry.len);
        return entry.opcode == IORING_OP_WRITE ? 0 : -EIO;
    };
    const descriptor nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC));
    const auto put = run([&] { return loop.write(nowhere.get(), huge, 0); });
    expect_succeeded(put, "write");
    EXPECT_EQ(*put, most);
    expect_failed(run([&] { return loop.read(nowhere.get(), huge, 0); }), "read", EIO);
    expect_failed(run([&] { return loop.send(nowhere.get(), huge); }), "send", EIO);
    expect_failed(run([&] { return loop.recv(nowhere.get(), huge); }), "recv", EIO);
    expect_failed(run([&] { return loop.read(nowhere.get(), huge.first(most - 1), 0); }), "read",
                  EIO);
    EXPECT_EQ(lengths, (std::vector<unsigned>{most, most, most, most, most - 1}));
    ::munmap(memory, three_gibibytes);
}

} // namespace
