// SPDX-License-Identifier: MIT
// Operations with several buffers or a message, between two files, and on sockets as a whole.
#include <tryst/uring/context.hpp>

#include "adapters/uring/expectations.hpp"
#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

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

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

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

/// A message of one part, and room for the address that it comes from or goes to.
struct datagram {
    explicit datagram(std::span<std::byte> bytes) noexcept : part(vector_of(bytes)) {
        header.msg_name = &address;
        header.msg_namelen = sizeof(address);
        header.msg_iov = &part;
        header.msg_iovlen = 1;
    }
    datagram(const datagram&) = delete;
    datagram& operator=(const datagram&) = delete;

    sockaddr_in address{};
    iovec part;
    msghdr header{};
};

/// The address of a socket that has a port of 127.0.0.1, which the system chooses.
sockaddr_in bind_somewhere(const descriptor& socket) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    checked(::bind(socket.get(), any, size), "bind");
    checked(::getsockname(socket.get(), any, &size), "getsockname");
    return address;
}

class UringMessages : public testing::Test {
public:
    template <class Make>
    auto run(Make make) {
        return run_one(loop, std::move(make));
    }

    descriptor make_udp() {
        auto made = run([&] { return loop.socket(AF_INET, SOCK_DGRAM); });
        return std::move(made.value());
    }

    context loop;
    std::array<std::byte, 16> bytes{};
};

// ---- Several buffers

TEST_F(UringMessages, ReadsIntoSeveralBuffers) {
    const descriptor file = make_file("0123456789");
    std::array<std::byte, 3> head{};
    const std::array into{vector_of(head), vector_of(std::span(bytes).first(4))};
    const auto got = run([&] { return loop.readv(file.get(), into, 2); });
    expect_succeeded(got, "readv");
    EXPECT_EQ(*got, 7U);
    EXPECT_EQ(text_of(head), "234");
    EXPECT_EQ(text_of(std::span(bytes).first(5)), std::string("5678\0", 5));
    for (const std::size_t expected : {7U, 3U, 0U}) { // at the current position
        const auto next = run([&] { return loop.readv(file.get(), into); });
        expect_succeeded(next, "readv");
        EXPECT_EQ(*next, expected);
    }
}

TEST_F(UringMessages, WritesFromSeveralBuffers) {
    const descriptor file = make_file("0123456789");
    const std::array from{vector_of("ab"), vector_of(""), vector_of("cde")};
    const auto put = run([&] { return loop.writev(file.get(), from, 8); });
    expect_succeeded(put, "writev");
    EXPECT_EQ(*put, 5U);
    EXPECT_EQ(content_of(file), "01234567abcde");
    expect_succeeded(run([&] { return loop.writev(file.get(), from); }), "writev");
    EXPECT_EQ(content_of(file), "abcde567abcde");
    EXPECT_EQ(::lseek(file.get(), 0, SEEK_CUR), 5);
}

TEST_F(UringMessages, TransfersNothingWithoutBuffers) {
    const descriptor file = make_file("word");
    const auto got = run([&] { return loop.readv(file.get(), {}, 0); });
    expect_succeeded(got, "readv");
    EXPECT_EQ(*got, 0U);
    const auto put = run([&] { return loop.writev(file.get(), {}, 0); });
    expect_succeeded(put, "writev");
    EXPECT_EQ(*put, 0U);
}

TEST_F(UringMessages, SaysWhySeveralBuffersFailed) {
    const descriptor file = make_file("word");
    const std::vector too_many(1025, vector_of(bytes));
    const std::array one{vector_of(bytes)};
    const std::array nowhere{iovec{nullptr, 4}};
    const std::array too_long{iovec{bytes.data(), ~std::size_t{0}}};
    const std::span huge(one.data(), std::size_t{1} << 40); // only counted
    expect_failed(run([&] { return loop.readv(-1, one); }), "readv", EBADF);
    expect_failed(run([&] { return loop.writev(-1, one); }), "writev", EBADF);
    expect_failed(run([&] { return loop.readv(file.get(), too_many); }), "readv", EINVAL);
    expect_failed(run([&] { return loop.writev(file.get(), huge); }), "writev", EINVAL);
    expect_failed(run([&] { return loop.readv(file.get(), nowhere, 0); }), "readv", EFAULT);
    expect_failed(run([&] { return loop.readv(file.get(), too_long, 0); }), "readv", EINVAL);
}

// ---- Messages

TEST_F(UringMessages, SendsAMessageOfSeveralParts) {
    const file_pair pair = make_sockets();
    std::array parts{vector_of("hel"), vector_of("lo")};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const auto sent = run([&] { return loop.sendmsg(pair.writer.get(), &message); });
    expect_succeeded(sent, "sendmsg");
    EXPECT_EQ(*sent, 5U);
    datagram into(bytes);
    const auto got = run([&] { return loop.recvmsg(pair.reader.get(), &into.header); });
    expect_succeeded(got, "recvmsg");
    EXPECT_EQ(text_of(std::span(bytes).first(*got)), "hello");
}

TEST_F(UringMessages, PassesAFile) {
    const file_pair pair = make_sockets();
    const descriptor file = make_file("word");
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
    std::array parts{vector_of("x")};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    cmsghdr& part = *CMSG_FIRSTHDR(&message);
    part.cmsg_level = SOL_SOCKET;
    part.cmsg_type = SCM_RIGHTS;
    part.cmsg_len = CMSG_LEN(sizeof(int));
    const int number = file.get();
    std::memcpy(CMSG_DATA(&part), &number, sizeof(number));
    expect_succeeded(run([&] { return loop.sendmsg(pair.writer.get(), &message); }), "sendmsg");

    control = {};
    parts = {vector_of(bytes)}; // writable
    const auto got =
        run([&] { return loop.recvmsg(pair.reader.get(), &message, MSG_CMSG_CLOEXEC); });
    expect_succeeded(got, "recvmsg");
    ASSERT_EQ(message.msg_controllen, control.size());
    int passed = -1;
    std::memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(passed));
    const descriptor copy(passed);
    EXPECT_NE(copy.get(), file.get());
    EXPECT_EQ(content_of(copy), "word");
}

TEST_F(UringMessages, SaysThatAMessageWasTooLong) {
    const descriptor socket = make_udp();
    datagram from(bytes);
    from.address = bind_somewhere(socket);
    expect_succeeded(run([&] { return loop.sendmsg(socket.get(), &from.header); }), "sendmsg");
    std::array<std::byte, 4> little{};
    datagram into(little);
    const auto got = run([&] { return loop.recvmsg(socket.get(), &into.header); });
    expect_succeeded(got, "recvmsg");
    EXPECT_EQ(*got, little.size());
    EXPECT_NE(into.header.msg_flags & MSG_TRUNC, 0);
}

TEST_F(UringMessages, SaysWhyAMessageFailed) {
    datagram message(bytes);
    expect_failed(run([&] { return loop.sendmsg(-1, &message.header); }), "sendmsg", EBADF);
    expect_failed(run([&] { return loop.recvmsg(-1, &message.header); }), "recvmsg", EBADF);
    const descriptor file = make_file();
    expect_failed(run([&] { return loop.sendmsg(file.get(), &message.header); }), "sendmsg",
                  ENOTSOCK);
    expect_failed(run([&] { return loop.recvmsg(file.get(), &message.header); }), "recvmsg",
                  ENOTSOCK);
    const descriptor socket = make_udp();
    expect_failed(run([&] { return loop.sendmsg(socket.get(), nullptr); }), "sendmsg", EFAULT);
    expect_failed(run([&] { return loop.recvmsg(socket.get(), nullptr); }), "recvmsg", EFAULT);
    datagram nowhere(bytes);
    nowhere.header.msg_namelen = 0; // not connected either
    expect_failed(run([&] { return loop.sendmsg(socket.get(), &nowhere.header); }), "sendmsg",
                  EDESTADDRREQ);
    const descriptor other = make_udp();
    std::vector<std::byte> long_text(70'000);
    datagram too_long(long_text);
    too_long.address = bind_somewhere(other);
    expect_failed(run([&] { return loop.sendmsg(socket.get(), &too_long.header); }), "sendmsg",
                  EMSGSIZE);
}

TEST_F(UringMessages, SendsAMessageToAClosedSocketWithoutASignal) {
    file_pair pair = make_sockets();
    pair.reader.reset();
    std::array parts{vector_of("x")};
    msghdr message{};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    // SIGPIPE would end the program.
    expect_failed(run([&] { return loop.sendmsg(pair.writer.get(), &message); }), "sendmsg", EPIPE);
}

// ---- UDP between two coroutines

task<> echo(context& loop, int socket, int times) {
    for (int i = 0; i != times; ++i) {
        std::array<std::byte, 64> bytes{};
        datagram message(bytes);
        const auto got = co_await loop.recvmsg(socket, &message.header);
        EXPECT_TRUE(got) << got.message();
        message.part.iov_len = got ? *got : 0;
        const auto sent = co_await loop.sendmsg(socket, &message.header); // back to the sender
        EXPECT_TRUE(sent && got && *sent == *got);
    }
}

task<> ask(context& loop, int socket, sockaddr_in server, int times, int& answers) {
    for (int i = 0; i != times; ++i) {
        std::string text = "question " + std::to_string(i);
        datagram question(std::as_writable_bytes(std::span(text)));
        question.address = server;
        const auto sent = co_await loop.sendmsg(socket, &question.header);
        EXPECT_TRUE(sent) << sent.message();
        std::array<std::byte, 64> bytes{};
        datagram answer(bytes);
        const auto got = co_await loop.recvmsg(socket, &answer.header, 0, 10s);
        EXPECT_TRUE(got) << got.message();
        if (got && text_of(std::span(bytes).first(*got)) == text) {
            EXPECT_EQ(answer.address.sin_port, server.sin_port);
            ++answers;
        }
    }
    loop.stop();
}

TEST_F(UringMessages, EchoesBetweenTwoCoroutines) {
    constexpr int times = 100;
    const descriptor server = make_udp();
    const sockaddr_in address = bind_somewhere(server);
    const descriptor client = make_udp();
    int answers = 0;
    loop.spawn(echo(loop, server.get(), times));
    loop.spawn(ask(loop, client.get(), address, times, answers));
    loop.run();
    EXPECT_EQ(answers, times);
}

TEST_F(UringMessages, ReceivesAfterTheLoopWasLeft) {
    const descriptor socket = make_udp();
    datagram from(std::span<std::byte>(bytes).first(3));
    from.address = bind_somewhere(socket);
    std::array<std::byte, 8> room{};
    datagram into(room);
    std::optional<result<std::size_t>> got;
    loop.spawn(
        party_that_stops(loop, got, [&] { return loop.recvmsg(socket.get(), &into.header); }));
    loop.run_until_idle();
    loop.stop();
    loop.run(); // cancels the operation and queues it again
    EXPECT_FALSE(got);
    EXPECT_EQ(::sendmsg(socket.get(), &from.header, 0), 3);
    loop.run();
    ASSERT_TRUE(got);
    expect_succeeded(*got, "recvmsg");
    EXPECT_EQ(**got, 3U);
    EXPECT_EQ(into.address.sin_port, from.address.sin_port);
}

// ---- From file to file

TEST_F(UringMessages, SplicesAPipeIntoAFileAndBack) {
    const file_pair pipe = make_pipe();
    const descriptor file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    write_text(pipe.writer, "0123456789");
    const auto in =
        run([&] { return loop.splice(pipe.reader.get(), current_position, file.get(), 5, 8); });
    expect_succeeded(in, "splice");
    EXPECT_EQ(*in, 8U);
    EXPECT_EQ(content_of(file), std::string(5, '\0') + "01234567");
    EXPECT_EQ(read_text(pipe.reader), "89");

    const auto out =
        run([&] { return loop.splice(file.get(), 7, pipe.writer.get(), current_position, 1000); });
    expect_succeeded(out, "splice");
    EXPECT_EQ(*out, 6U);
    EXPECT_EQ(read_text(pipe.reader), "234567");
    const auto end = run(
        [&] { return loop.splice(file.get(), 100, pipe.writer.get(), current_position, 1000); });
    expect_succeeded(end, "splice");
    EXPECT_EQ(*end, 0U);
}

TEST_F(UringMessages, SplicesAtTheCurrentPositions) {
    const file_pair pipe = make_pipe();
    const descriptor file(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
    ASSERT_TRUE(file);
    for (const char* const text : {"ab", "cde"}) {
        write_text(pipe.writer, text);
        expect_succeeded(run([&] {
                             return loop.splice(pipe.reader.get(), current_position, file.get(),
                                                current_position, 100, SPLICE_F_MOVE);
                         }),
                         "splice");
    }
    EXPECT_EQ(content_of(file), "abcde");
}

TEST_F(UringMessages, SaysWhyASpliceFailed) {
    const file_pair pipe = make_pipe();
    const descriptor file = make_file("word");
    const descriptor other = make_file("word");
    const auto splice = [&](int from, std::uint64_t at, int into, std::uint64_t to,
                            unsigned flags = 0) {
        return run([&, flags] { return loop.splice(from, at, into, to, 4, flags); });
    };
    expect_failed(splice(-1, current_position, pipe.writer.get(), current_position), "splice",
                  EBADF);
    expect_failed(splice(file.get(), 0, -1, current_position), "splice", EBADF);
    expect_failed(splice(file.get(), 0, other.get(), 0), "splice", EINVAL); // no pipe
    expect_failed(splice(file.get(), 0, pipe.writer.get(), 0), "splice", ESPIPE);
    for (const unsigned unknown : {0x10U, 0x1'0000U, 0x8000'0000U}) {
        expect_failed(splice(file.get(), 0, pipe.writer.get(), current_position, unknown), "splice",
                      EINVAL);
    }
    EXPECT_EQ(read_text(pipe.reader), "");
}

// ---- Sockets as a whole

TEST_F(UringMessages, MakesASocketAndShutsItDown) {
    auto socket = run([&] { return loop.socket(AF_INET, SOCK_STREAM); });
    expect_succeeded(socket, "socket");
    EXPECT_NE(::fcntl(socket->get(), F_GETFD) & FD_CLOEXEC, 0);
    const listener port;
    expect_succeeded(run([&] { return loop.connect(socket->get(), port.address(), port.size()); }),
                     "connect");
    const auto peer = run([&] { return loop.accept(port.get()); });
    expect_succeeded(run([&] { return loop.shutdown(socket->get(), SHUT_WR); }), "shutdown");
    const auto end = run([&] { return loop.recv(peer->get(), bytes); });
    expect_succeeded(end, "recv");
    EXPECT_EQ(*end, 0U);
    expect_succeeded(run([&] { return loop.send(peer->get(), bytes_of("word")); }), "send");
    const auto answer = run([&] { return loop.recv(socket->get(), bytes); });
    expect_succeeded(answer, "recv");
    EXPECT_EQ(*answer, 4U);
}

TEST_F(UringMessages, EndsAReceiveByAShutdown) {
    const file_pair pair = make_sockets();
    std::optional<result<std::size_t>> got;
    loop.spawn(party_that_stops(loop, got, [&] { return loop.recv(pair.reader.get(), bytes); }));
    std::optional<result<>> down;
    loop.spawn(party(down, [&] { return loop.shutdown(pair.reader.get(), SHUT_RD); }));
    loop.run();
    ASSERT_TRUE(got);
    expect_succeeded(*got, "recv");
    EXPECT_EQ(**got, 0U);
}

TEST_F(UringMessages, SaysWhyASocketOrAShutdownFailed) {
    expect_failed(run([&] { return loop.socket(-1, SOCK_STREAM); }), "socket", EAFNOSUPPORT);
    expect_failed(run([&] { return loop.socket(AF_INET, 99); }), "socket", EINVAL);
    expect_failed(run([&] { return loop.socket(AF_INET, SOCK_STREAM, IPPROTO_UDP); }), "socket",
                  EPROTONOSUPPORT);
    expect_failed(run([&] { return loop.shutdown(-1, SHUT_RD); }), "shutdown", EBADF);
    const descriptor file = make_file();
    expect_failed(run([&] { return loop.shutdown(file.get(), SHUT_RD); }), "shutdown", ENOTSOCK);
    const file_pair pair = make_sockets();
    expect_failed(run([&] { return loop.shutdown(pair.reader.get(), 7); }), "shutdown", EINVAL);
    const descriptor unconnected = listener::make_socket();
    expect_failed(run([&] { return loop.shutdown(unconnected.get(), SHUT_WR); }), "shutdown",
                  ENOTCONN);
}

TEST_F(UringMessages, ClosesASocketThatNobodyTakes) {
    const long before = count_open();
    {
        context other;
        std::optional<result<descriptor>> got;
        other.spawn(party(got, [&] { return other.socket(AF_INET, SOCK_STREAM); }));
        other.spawn([](context& home) -> task<> {
            home.stop();
            co_return;
        }(other));
        other.run();
    }
    EXPECT_EQ(count_open(), before);
}

// ---- Kernels that know fewer operations

TEST_F(UringMessages, SaysThatTheKernelDoesNotKnowAnOperation) {
    {
        kernel_faults faults;
        faults.unknown_operation = IORING_OP_SOCKET;
        expect_failed(run([&] { return loop.socket(AF_INET, SOCK_STREAM); }), "socket", ENOSYS);
        faults.unknown_operation = IORING_OP_SPLICE;
        const file_pair pipe = make_pipe();
        expect_failed(run([&] {
                          return loop.splice(pipe.reader.get(), current_position, pipe.writer.get(),
                                             current_position, 1);
                      }),
                      "splice", ENOSYS);
        expect_failed(run([&] { return loop.socket(AF_INET, 99); }), "socket", EINVAL);
    }
    EXPECT_TRUE(run([&] { return loop.socket(AF_INET, SOCK_STREAM); }));
}

} // namespace
