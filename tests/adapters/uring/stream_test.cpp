// SPDX-License-Identifier: MIT
#include <tryst/uring/accept_stream.hpp>
#include <tryst/uring/recv_stream.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <sys/resource.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::accept_stream;
using tryst::uring::received;
using tryst::uring::recv_stream;
using tryst::uring::result;

/// The size of a buffer, rounded up to pages.
constexpr std::size_t pieces_size = 4'096;

/// Counts the requests of multishot operations, and the others of the same kind.
class request_counter {
public:
    request_counter() {
        faults_.on_request = [this](const io_uring_sqe& entry) {
            if (entry.opcode == IORING_OP_ACCEPT) {
                ++((entry.ioprio & IORING_ACCEPT_MULTISHOT) != 0 ? multishot_ : single_);
            } else if (entry.opcode == IORING_OP_RECV) {
                ++((entry.ioprio & IORING_RECV_MULTISHOT) != 0 ? multishot_ : single_);
            }
            return 0;
        };
    }
    int multishot() const noexcept { return multishot_; }
    int single() const noexcept { return single_; }

private:
    std::atomic<int> multishot_{0};
    std::atomic<int> single_{0};
    kernel_faults faults_;
};

/// The parameter chooses a kernel without multishot operations.
class UringStream : public testing::TestWithParam<bool> {
protected:
    UringStream() {
        if (!GetParam()) {
            faults_.emplace();
            faults_->on_request = [](const io_uring_sqe& entry) {
                const bool unknown =
                    (entry.opcode == IORING_OP_ACCEPT &&
                     (entry.ioprio & IORING_ACCEPT_MULTISHOT) != 0) ||
                    (entry.opcode == IORING_OP_RECV && (entry.ioprio & IORING_RECV_MULTISHOT) != 0);
                return unknown ? -EINVAL : 0;
            };
        }
    }

    /// Runs a task that stops the loop at its end.
    void run(task<> work) {
        loop_.spawn([](context& home, task<> body) -> task<> {
            co_await std::move(body);
            home.stop();
        }(loop_, std::move(work)));
        loop_.run();
    }

    std::optional<kernel_faults> faults_;
    context loop_{sleepy};
};

INSTANTIATE_TEST_SUITE_P(Kernel, UringStream, testing::Bool(), [](const auto& each) {
    return std::string(each.param ? "WithMultishot" : "WithoutMultishot");
});

/// Lets the loop fetch the kernel's completions.
task<> let_all_come(context& loop) {
    for (int i = 0; i != 3; ++i) {
        const auto nop = co_await loop.nop();
        EXPECT_TRUE(nop);
    }
}

/// Whether these are the two ends of one connection.
bool are_connected(const descriptor& client, const descriptor& peer) {
    write_text(peer, "?");
    char byte = 0;
    return ::recv(client.get(), &byte, 1, 0) == 1 && byte == '?';
}

// ---- Connections

TEST(UringAcceptStream, AsksTheKernelOnce) {
    const request_counter requests;
    context loop(sleepy);
    const listener port;
    loop.spawn([](context& home, const listener& at) -> task<> {
        accept_stream connections(home, at.get());
        for (int i = 0; i != 50; ++i) {
            const descriptor client = at.connect();
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer) << peer.message();
        }
        home.stop();
    }(loop, port));
    loop.run();
    EXPECT_EQ(requests.multishot(), 1);
    TRYST_NEEDS(requests.single() == 0, "multishot accept");
}

TEST_P(UringStream, AcceptsConnectionsInTheirOrder) {
    const long before = count_open();
    {
        const listener port;
        run([](context& home, const listener& at) -> task<> {
            accept_stream connections(home, at.get());
            for (int burst = 1; burst != 40; ++burst) {
                std::vector<descriptor> clients;
                for (int i = 0; i != burst; ++i) {
                    clients.push_back(at.connect());
                }
                for (const descriptor& client : clients) {
                    const auto peer = co_await connections.next();
                    EXPECT_TRUE(peer) << peer.message();
                    EXPECT_STREQ(peer.operation(), "accept");
                    EXPECT_NE(::fcntl(peer->get(), F_GETFD) & FD_CLOEXEC, 0);
                    EXPECT_TRUE(are_connected(client, *peer));
                }
            }
        }(loop_, port));
    }
    EXPECT_EQ(count_open(), before);
}

TEST_P(UringStream, AcceptsMoreThanItHasRoomFor) {
    constexpr std::size_t count = 200; // the stream has room for 64
    const listener port;
    run([](context& home, const listener& at) -> task<> {
        accept_stream connections(home, at.get());
        const long before = count_open();
        std::vector<descriptor> clients;
        clients.push_back(at.connect());
        const auto first = co_await connections.next(); // the source is in the kernel now
        EXPECT_TRUE(first);
        while (clients.size() != count) {
            clients.push_back(at.connect());
            co_await let_all_come(home);
        }
        // The rest wait in the backlog, but for one or two that came before the kernel was told.
        EXPECT_LE(count_open() - before, static_cast<long>(count) + 1 + 64 + 2);
        for (std::size_t i = 1; i != count; ++i) {
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer) << peer.message();
            EXPECT_TRUE(are_connected(clients[i], *peer));
        }
        const auto nobody = co_await connections.next(1ms);
        EXPECT_EQ(nobody.error(), std::errc::timed_out);
    }(loop_, port));
}

TEST_P(UringStream, ClosesTheConnectionsThatNobodyTook) {
    const listener port;
    const long before = count_open();
    run([](context& home, const listener& at) -> task<> {
        accept_stream connections(home, at.get());
        std::vector<descriptor> clients;
        for (int i = 0; i != 10; ++i) {
            clients.push_back(at.connect());
        }
        const auto first = co_await connections.next();
        EXPECT_TRUE(first);
        co_await let_all_come(home);
    }(loop_, port));
    EXPECT_EQ(count_open(), before);
}

TEST_P(UringStream, ClosesTheConnectionsThatNobodyTookWithTheContext) {
    const listener port;
    const long before = count_open();
    {
        context_thread other(sleepy);
        std::atomic<bool> accepted{false};
        const auto serve = [](context& home, const listener& at,
                              std::atomic<bool>& flag) -> task<> {
            accept_stream connections(home, at.get());
            std::vector<descriptor> clients;
            for (int i = 0; i != 10; ++i) {
                clients.push_back(at.connect());
            }
            const auto first = co_await connections.next();
            EXPECT_TRUE(first);
            co_await let_all_come(home);
            flag = true;
            static_cast<void>(co_await home.timeout(tryst::uring::limits()));
        };
        other->spawn(serve(*other, port, accepted));
        while (!accepted) {
            std::this_thread::yield();
        }
    }
    EXPECT_EQ(count_open(), before);
}

TEST_P(UringStream, ClosesNoOtherFileWhenItIsDestroyedWhileSomebodyWaits) {
    if (!is_open(0)) {
        // Occupies number 0, which the destructor must not close.
        ASSERT_EQ(::open("/dev/null", O_RDONLY), 0);
    }
    const listener port;
    const long before = count_open();
    {
        context other(sleepy);
        std::optional<result<descriptor>> got;
        const auto serve = [](context& home, const listener& at, auto& into) -> task<> {
            accept_stream connections(home, at.get());
            into.emplace(co_await connections.next());
        };
        other.spawn(serve(other, port, got));
        other.run_until_idle();
        EXPECT_FALSE(got);
    }
    EXPECT_TRUE(is_open(0));
    EXPECT_EQ(count_open(), before);
}

TEST_P(UringStream, MustNotBeDestroyedBeforeTheOperationThatWaitsForIt) {
#ifndef NDEBUG
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [] {
        const listener port;
        context other(sleepy);
        std::optional<accept_stream> connections(std::in_place, other, port.get());
        other.spawn([](std::optional<accept_stream>& stream) -> task<> {
            static_cast<void>(co_await stream->next());
        }(connections));
        other.run_until_idle();
        connections.reset();
    };
    EXPECT_DEATH(misuse(), "a stream was destroyed while an operation waited for it");
#endif
}

TEST_P(UringStream, LosesNoConnectionToAStopOrADeadline) {
    const listener port;
    run([](context& home, const listener& at) -> task<> {
        accept_stream connections(home, at.get());
        for (int i = 0; i != 30; ++i) {
            std::stop_source stop;
            const auto late = co_await connections.next(0ms);
            EXPECT_EQ(late.error(), std::errc::timed_out);
            EXPECT_STREQ(late.operation(), "accept");
            std::jthread stopper([&stop] { stop.request_stop(); });
            const auto stopped = co_await connections.next(stop.get_token());
            EXPECT_EQ(stopped.error(), std::errc::operation_canceled);
            const descriptor client = at.connect();
            if (i % 2 == 0) {
                co_await let_all_come(home);
            }
            const auto final_stop = co_await connections.next(stop.get_token());
            EXPECT_EQ(final_stop.error(), std::errc::operation_canceled);
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer) << peer.message();
            EXPECT_TRUE(are_connected(client, *peer));
        }
    }(loop_, port));
}

TEST_P(UringStream, LosesNoConnectionThatRacesWithAStop) {
    constexpr int rounds = 300;
    const listener port;
    const long before = count_open();
    int stopped = 0;
    run([](context& home, const listener& at, int& stops) -> task<> {
        accept_stream connections(home, at.get());
        for (int i = 0; i != rounds; ++i) {
            std::stop_source stop;
            descriptor client;
            {
                std::jthread other([&, i] {
                    if (i % 4 == 0) {
                        stop.request_stop(); // wins: the connection comes later
                    } else if (i % 4 == 1) {
                        client = at.connect(); // wins
                    } else if (i % 4 == 2) {
                        client = at.connect();
                        stop.request_stop();
                    } else {
                        stop.request_stop();
                        client = at.connect();
                    }
                });
                const auto first = co_await connections.next(stop.get_token());
                if (first) {
                    other.join();
                    EXPECT_TRUE(are_connected(client, *first));
                    continue;
                }
                EXPECT_EQ(first.error(), std::errc::operation_canceled);
            }
            ++stops;
            if (!client) {
                client = at.connect();
            }
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer) << peer.message();
            EXPECT_TRUE(are_connected(client, *peer));
        }
    }(loop_, port, stopped));
    EXPECT_EQ(count_open(), before);
    EXPECT_GE(stopped, 1);
    EXPECT_LT(stopped, rounds);
}

TEST_P(UringStream, GoesOnAfterAStopOfTheLoop) {
    const listener port;
    const file_pair pair = make_sockets();
    std::atomic<int> served{0};
    const auto serve = [](context& home, const listener& at, std::atomic<int>& count) -> task<> {
        accept_stream connections(home, at.get());
        for (;;) {
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer) << peer.message();
            ++count;
        }
    };
    const auto receive = [](context& home, int socket, std::atomic<int>& count) -> task<> {
        recv_stream pieces(home, socket);
        for (;;) {
            const auto piece = co_await pieces.next();
            EXPECT_TRUE(piece) << piece.message();
            EXPECT_EQ(text_of(piece->bytes()), "piece");
            ++count;
        }
    };
    loop_.spawn(serve(loop_, port, served));
    loop_.spawn(receive(loop_, pair.reader.get(), served));
    for (int i = 0; i != 10; ++i) {
        loop_.stop();
        loop_.run();
        const descriptor client = port.connect(); // while nobody runs it
        write_text(pair.writer, "piece");
        while (served != 2 * (i + 1)) {
            loop_.run_until_idle();
        }
    }
}

TEST_P(UringStream, GoesOnAfterThereWereTooManyFiles) {
    const listener port;
    run([](context& home, const listener& at) -> task<> {
        accept_stream connections(home, at.get());
        const descriptor client = at.connect();
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        const rlimit few{static_cast<rlim_t>(client.get()) + 1, limit.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
        for (int i = 0; i != 3; ++i) {
            const auto failed = co_await connections.next();
            EXPECT_EQ(failed.error(), std::errc::too_many_files_open);
            EXPECT_STREQ(failed.operation(), "accept");
        }
        ::setrlimit(RLIMIT_NOFILE, &limit);
        const auto peer = co_await connections.next();
        EXPECT_TRUE(peer) << peer.message();
        EXPECT_TRUE(are_connected(client, *peer));
    }(loop_, port));
}

TEST_P(UringStream, SaysThatItDoesNotListen) {
    const descriptor file = make_file();
    run([](context& home, int socket) -> task<> {
        accept_stream connections(home, socket);
        const auto peer = co_await connections.next();
        EXPECT_EQ(peer.error(), std::errc::not_a_socket);
        EXPECT_THROW(static_cast<void>(peer.value()), std::system_error);
    }(loop_, file.get()));
}

TEST_P(UringStream, NeedNotBeAwaited) {
    const listener port;
    const long before = count_open();
    {
        const descriptor client = port.connect();
        const accept_stream unused(loop_, port.get());
    }
    EXPECT_EQ(count_open(), before);
}

// ---- Pieces

TEST(UringRecvStream, AsksTheKernelOnce) {
    const request_counter requests;
    context loop(sleepy);
    const file_pair pair = make_sockets();
    loop.spawn([](context& home, const file_pair& sockets) -> task<> {
        recv_stream pieces(home, sockets.reader.get());
        for (int i = 0; i != 50; ++i) {
            write_text(sockets.writer, "piece");
            const auto piece = co_await pieces.next();
            EXPECT_TRUE(piece) << piece.message();
        }
        home.stop();
    }(loop, pair));
    loop.run();
    EXPECT_EQ(requests.multishot(), 1);
    TRYST_NEEDS(requests.single() == 0, "multishot recv");
}

TEST_P(UringStream, ReceivesAllPiecesAndTheEnd) {
    const file_pair pair = make_sockets();
    std::string sent;
    std::string got;
    for (int i = 0; i != 20'000; ++i) {
        sent += std::to_string(i);
    }
    std::thread writer([&] {
        std::size_t done = 0;
        while (done != sent.size()) {
            done += static_cast<std::size_t>(
                checked(static_cast<int>(::write(pair.writer.get(), sent.data() + done,
                                                 std::min<std::size_t>(997, sent.size() - done))),
                        "write"));
        }
        ::shutdown(pair.writer.get(), SHUT_WR);
    });
    run([](context& home, int socket, std::string& text) -> task<> {
        recv_stream pieces(home, socket, 4, 256);
        for (;;) {
            const auto piece = co_await pieces.next();
            EXPECT_TRUE(piece) << piece.message();
            EXPECT_STREQ(piece.operation(), "recv");
            if (!piece || piece->is_end()) {
                break;
            }
            text += text_of(piece->bytes());
        }
        const auto again = co_await pieces.next();
        EXPECT_TRUE(again && again->is_end());
    }(loop_, pair.reader.get(), got));
    writer.join();
    EXPECT_TRUE(got == sent);
}

TEST_P(UringStream, LosesNoPieceToAStopOrADeadline) {
    const file_pair pair = make_sockets();
    run([](context& home, const file_pair& sockets) -> task<> {
        recv_stream pieces(home, sockets.reader.get());
        for (int i = 0; i != 30; ++i) {
            std::stop_source stop;
            const auto late = co_await pieces.next(0ms);
            EXPECT_EQ(late.error(), std::errc::timed_out);
            EXPECT_STREQ(late.operation(), "recv");
            std::jthread stopper([&stop] { stop.request_stop(); });
            const auto stopped = co_await pieces.next(stop.get_token());
            EXPECT_EQ(stopped.error(), std::errc::operation_canceled);
            write_text(sockets.writer, "piece");
            if (i % 2 == 0) {
                co_await let_all_come(home);
            }
            const auto final_stop = co_await pieces.next(stop.get_token());
            EXPECT_EQ(final_stop.error(), std::errc::operation_canceled);
            const auto piece = co_await pieces.next();
            EXPECT_TRUE(piece) << piece.message();
            EXPECT_EQ(text_of(piece->bytes()), "piece");
        }
    }(loop_, pair));
}

TEST_P(UringStream, GoesOnAfterAllBuffersWereHeld) {
    const file_pair pair = make_sockets();
    run([](context& home, const file_pair& sockets) -> task<> {
        recv_stream pieces(home, sockets.reader.get(), 4, 16);
        std::string text;
        for (int round = 0; round != 10; ++round) {
            std::vector<received> held;
            write_text(sockets.writer, std::string(4 * pieces_size, 'x'));
            write_text(sockets.writer, "rest");
            std::optional<std::error_code> failed;
            while (!failed) {
                auto piece = co_await pieces.next();
                if (piece) {
                    EXPECT_LE(held.size(), 4U);
                    text += text_of(piece->bytes());
                    held.push_back(std::move(*piece));
                } else {
                    failed = piece.error();
                }
            }
            EXPECT_EQ(*failed, std::errc::no_buffer_space);
            const auto still = co_await pieces.next();
            EXPECT_EQ(still.error(), std::errc::no_buffer_space);
            held.clear();
            const auto rest = co_await pieces.next();
            EXPECT_TRUE(rest) << rest.message();
            EXPECT_EQ(text_of(rest->bytes()), "rest");
        }
        EXPECT_EQ(text.size(), 40 * pieces_size);
    }(loop_, pair));
}

TEST_P(UringStream, DoesNotRunOutOfBuffersForAReaderWhoGivesThemBack) {
    const file_pair pair = make_sockets();
    run([](context& home, const file_pair& sockets) -> task<> {
        recv_stream pieces(home, sockets.reader.get(), 4, pieces_size);
        for (int round = 0; round != 20; ++round) {
            constexpr std::size_t size = 10 * pieces_size;
            write_text(sockets.writer, std::string(size, 'x'));
            co_await let_all_come(home); // more pieces than buffers, while no operation waits
            for (std::size_t got = 0; got != size;) {
                const auto piece = co_await pieces.next();
                EXPECT_TRUE(piece) << piece.message();
                if (!piece) {
                    co_return;
                }
                got += piece->bytes().size();
                if (got % (3 * pieces_size) == 0) {
                    co_await let_all_come(home);
                }
            }
        }
    }(loop_, pair));
}

TEST_P(UringStream, MovesPiecesAndGivesBuffersBackOnce) {
    const file_pair pair = make_sockets();
    run([](context& home, const file_pair& sockets) -> task<> {
        recv_stream pieces(home, sockets.reader.get(), 2, 16);
        for (int i = 0; i != 20; ++i) {
            write_text(sockets.writer, "one");
            auto one = co_await pieces.next();
            EXPECT_TRUE(one);
            write_text(sockets.writer, "two!");
            auto two = co_await pieces.next();
            EXPECT_TRUE(two);
            received kept = std::move(*one);
            kept = std::move(*two);
            EXPECT_EQ(text_of(kept.bytes()), "two!");
            received& alias = kept;
            kept = std::move(alias);
            EXPECT_EQ(text_of(kept.bytes()), "two!");
        }
    }(loop_, pair));
}

TEST_P(UringStream, LeavesTheEndInAPieceThatIsMovedFrom) {
    const file_pair pair = make_sockets();
    run([](context& home, const file_pair& sockets) -> task<> {
        recv_stream pieces(home, sockets.reader.get(), 2, 16);
        write_text(sockets.writer, "piece");
        auto got = co_await pieces.next();
        EXPECT_TRUE(got);
        const received kept = std::move(*got);
        EXPECT_EQ(text_of(kept.bytes()), "piece");
        EXPECT_TRUE(got->is_end()); // NOLINT(bugprone-use-after-move): that is what it says
        EXPECT_TRUE(got->bytes().empty());
    }(loop_, pair));
}

TEST_P(UringStream, DoesNotRememberThatItWasShortOfBuffers) {
    const file_pair pair = make_sockets();
    run([](context& home, const file_pair& sockets) -> task<> {
        recv_stream pieces(home, sockets.reader.get(), 1, 16);
        for (int i = 0; i != 5; ++i) {
            write_text(sockets.writer, "held");
            {
                const auto held = co_await pieces.next();
                EXPECT_TRUE(held) << held.message();
                write_text(sockets.writer, "next");
                co_await let_all_come(home); // the buffers run out, and the source ends
                std::stop_source stop;
                home.spawn([](std::stop_source& source) -> task<> {
                    source.request_stop(); // after the kernel was asked, before it has answered
                    co_return;
                }(stop));
                const auto stopped = co_await pieces.next(stop.get_token());
                EXPECT_FALSE(stopped);
                co_await let_all_come(home);
            }
            const auto next = co_await pieces.next();
            EXPECT_TRUE(next) << next.message();
            EXPECT_EQ(text_of(next->bytes()), "next");
        }
    }(loop_, pair));
}

TEST_P(UringStream, DeliversAPieceThatHasArrivedThoughTheDeadlineHasPassed) {
    const listener port;
    const file_pair pair = make_sockets();
    run([](context& home, const listener& at, const file_pair& sockets) -> task<> {
        accept_stream connections(home, at.get());
        recv_stream pieces(home, sockets.reader.get());
        for (int i = 0; i != 10; ++i) {
            const descriptor client = at.connect();
            const auto peer = co_await connections.next(-1s);
            EXPECT_TRUE(peer) << peer.message();
            write_text(sockets.writer, "piece");
            const auto piece = co_await pieces.next(0ms);
            EXPECT_TRUE(piece) << piece.message();
            const auto nobody = co_await connections.next(-1s);
            EXPECT_EQ(nobody.error(), std::errc::timed_out);
            const auto nothing = co_await pieces.next(0ms);
            EXPECT_EQ(nothing.error(), std::errc::timed_out);
        }
    }(loop_, port, pair));
}

TEST_P(UringStream, ReceivesFromManySocketsAtOnce) {
    constexpr int count = 50;
    std::vector<file_pair> pairs;
    for (int i = 0; i != count; ++i) {
        pairs.push_back(make_sockets());
    }
    int ended = 0;
    const auto receive = [](context& home, int socket, std::size_t index, int& ends) -> task<> {
        recv_stream pieces(home, socket, 2, 8);
        std::string text;
        for (;;) {
            const auto piece = co_await pieces.next();
            EXPECT_TRUE(piece) << piece.message();
            if (!piece || piece->is_end()) {
                break;
            }
            text += text_of(piece->bytes());
        }
        EXPECT_EQ(text, "of the pair " + std::to_string(index));
        if (++ends == count) {
            home.stop();
        }
    };
    for (std::size_t i = 0; i != pairs.size(); ++i) {
        loop_.spawn(receive(loop_, pairs[i].reader.get(), i, ended));
    }
    loop_.run_until_idle();
    for (std::size_t i = 0; i != pairs.size(); ++i) {
        write_text(pairs[i].writer, "of the pair " + std::to_string(i));
        pairs[i].writer.reset();
    }
    loop_.run();
    EXPECT_EQ(ended, count);
}

TEST_P(UringStream, LosesNothingThatTheRingHasNoRoomFor) {
    constexpr int connections = 60;
    constexpr std::size_t sockets = 20;
    constexpr int pieces = 8;
    const listener port;
    const long before = count_open();
    {
        context small({.entries = 1, .max_spins = 0}); // 8 completions
        std::vector<file_pair> pairs;
        int left = sockets + 1;
        const auto accept = [](context& home, const listener& at, int& running) -> task<> {
            accept_stream incoming(home, at.get());
            for (int i = 0; i != connections; ++i) {
                const auto peer = co_await incoming.next();
                EXPECT_TRUE(peer) << peer.message();
            }
            const auto nobody = co_await incoming.next(1ms);
            EXPECT_EQ(nobody.error(), std::errc::timed_out);
            if (--running == 0) {
                home.stop();
            }
        };
        const auto receive = [](context& home, int socket, int& running) -> task<> {
            recv_stream incoming(home, socket, 2, 16);
            std::string text;
            for (;;) {
                const auto piece = co_await incoming.next();
                EXPECT_TRUE(piece) << piece.message();
                if (!piece || piece->is_end()) {
                    break;
                }
                text += text_of(piece->bytes());
            }
            std::string expected;
            for (int i = 0; i != pieces; ++i) {
                expected += std::string(pieces_size, static_cast<char>('a' + i));
            }
            EXPECT_TRUE(text == expected) << text.size();
            if (--running == 0) {
                home.stop();
            }
        };
        small.spawn(accept(small, port, left));
        for (std::size_t i = 0; i != sockets; ++i) {
            pairs.push_back(make_sockets());
            small.spawn(receive(small, pairs.back().reader.get(), left));
        }
        small.run_until_idle();
        std::vector<descriptor> clients;
        for (int i = 0; i != connections; ++i) {
            clients.push_back(port.connect());
        }
        for (file_pair& each : pairs) {
            for (int i = 0; i != pieces; ++i) {
                write_text(each.writer, std::string(pieces_size, static_cast<char>('a' + i)));
            }
            each.writer.reset();
        }
        const long overflows_before = overflows;
        small.run();
        EXPECT_GT(overflows, overflows_before);
    }
    EXPECT_EQ(count_open(), before);
}

TEST_P(UringStream, MayBeDestroyedWithPiecesThatNobodyTook) {
    const file_pair pair = make_sockets();
    for (int i = 0; i != 10; ++i) {
        run([](context& home, const file_pair& sockets) -> task<> {
            recv_stream pieces(home, sockets.reader.get(), 4, 16);
            write_text(sockets.writer, "one");
            const auto one = co_await pieces.next();
            EXPECT_TRUE(one);
            write_text(sockets.writer, "two");
            co_await let_all_come(home);
        }(loop_, pair));
        static_cast<void>(read_text(pair.reader)); // what a kernel without multishot left there
    }
}

TEST_P(UringStream, MayBeDestroyedByAnotherThreadWithTheContext) {
    const file_pair pair = make_sockets();
    {
        context_thread other(sleepy);
        const auto receive = [](context& home, int socket) -> task<> {
            recv_stream pieces(home, socket, 4, 16);
            for (;;) {
                const auto piece = co_await pieces.next();
                EXPECT_TRUE(piece) << piece.message();
            }
        };
        other->spawn(receive(*other, pair.reader.get()));
        write_text(pair.writer, "piece");
        until_asleep();
    }
    write_text(pair.writer, "later");
    EXPECT_NE(read_text(pair.reader).find("later"), std::string::npos);
}

TEST_P(UringStream, SaysThatItCannotReceive) {
    const descriptor file = make_file();
    run([](context& home, int socket) -> task<> {
        recv_stream pieces(home, socket);
        const auto piece = co_await pieces.next();
        EXPECT_EQ(piece.error(), std::errc::not_a_socket);
        EXPECT_STREQ(piece.operation(), "recv");
    }(loop_, file.get()));
}

TEST(UringRecvStream, HasBuffersOfAlmostFourGibibytes) {
    context loop;
    const file_pair pair = make_sockets();
    std::optional<recv_stream> pieces;
    try {
        pieces.emplace(loop, pair.reader.get(), 1, (std::size_t{1} << 32) - 1);
    } catch (const std::bad_alloc&) {
        GTEST_SKIP() << "there is not so much memory";
    }
    write_text(pair.writer, "piece");
    std::string text;
    loop.spawn([](context& home, recv_stream& from, std::string& into) -> task<> {
        const auto piece = co_await from.next();
        EXPECT_TRUE(piece) << piece.message();
        into = text_of(piece->bytes());
        home.stop();
    }(loop, *pieces, text));
    loop.run();
    EXPECT_EQ(text, "piece");
}

TEST(UringRecvStream, RefusesABadNumberOfBuffers) {
    context loop;
    const file_pair pair = make_sockets();
    EXPECT_THROW(recv_stream(loop, pair.reader.get(), 3, 16), std::system_error);
    EXPECT_ANY_THROW(recv_stream(loop, pair.reader.get(), 0, 16));
    EXPECT_ANY_THROW(recv_stream(loop, pair.reader.get(), 4, 0));
    // The kernel's lengths have 32 bits.
    EXPECT_THROW(recv_stream(loop, pair.reader.get(), 1, std::size_t{1} << 32),
                 std::invalid_argument);
}

} // namespace
