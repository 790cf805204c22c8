// SPDX-License-Identifier: MIT
#include <tryst/uring/accept_stream.hpp>
#include <tryst/uring/recv_stream.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
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

/// Whether these are the two ends of one connection.
bool are_connected(const descriptor& client, const descriptor& peer) {
    write_text(peer, "?");
    char byte = 0;
    return ::recv(client.get(), &byte, 1, 0) == 1 && byte == '?';
}

/// Lets the loop fetch the kernel's completions.
task<> let_all_come(context& loop) {
    for (int i = 0; i != 3; ++i) {
        const auto nop = co_await loop.nop();
        EXPECT_TRUE(nop);
    }
}

/// A context, perhaps on a kernel without multishot operations.
class stream_test : public testing::Test {
protected:
    explicit stream_test(bool has_multishot) {
        faults_.on_request = [this, has_multishot](const io_uring_sqe& entry) {
            if (is_multishot(entry)) {
                ++multishots_;
                return has_multishot ? 0 : -EINVAL;
            }
            singles_ += entry.opcode == IORING_OP_ACCEPT || entry.opcode == IORING_OP_RECV ? 1 : 0;
            return 0;
        };
    }

    /// Runs a task to its end.
    void run(task<> work) { loop_.run(std::move(work)); }

    std::atomic<int> multishots_{0};
    std::atomic<int> singles_{0};
    kernel_faults faults_;
    context loop_{sleepy};
};

// ---- What both streams promise

/// Connections to a port.
struct connections {
    using item = descriptor; ///< The client, which knows its peer.
    static constexpr const char* operation = "accept";

    accept_stream stream(context& home) const { return {home, port.get()}; }
    static accept_stream stream(context& home, int file) { return {home, file}; }
    item send() const { return port.connect(); }
    static bool is_this(const item& client, const result<descriptor>& got) {
        return got && are_connected(client, *got) &&
               (::fcntl(got->get(), F_GETFD) & FD_CLOEXEC) != 0;
    }

    listener port;
};

/// Pieces that arrive on a socket.
struct pieces {
    using item = int; ///< Not used: all are the same.
    static constexpr const char* operation = "recv";

    recv_stream stream(context& home) const { return {home, pair.reader.get(), 4, 16}; }
    static recv_stream stream(context& home, int file) { return {home, file}; }
    item send() const {
        write_text(pair.writer, "piece");
        return 0;
    }
    static bool is_this(const item&, const result<received>& got) {
        return got && text_of(got->bytes()) == "piece";
    }

    file_pair pair = make_sockets();
};

template <class Source, bool Multishot>
struct scene {
    using source = Source;
    static constexpr bool has_multishot = Multishot;
};

template <class Scene>
class UringStream : public stream_test {
protected:
    using source = typename Scene::source;
    using item = typename source::item;

    UringStream() : stream_test(Scene::has_multishot) {}

    source source_;
};

struct scene_names {
    template <class Scene>
    static std::string GetName(int) {
        return std::string(Scene::source::operation) + (Scene::has_multishot ? "" : "_singly");
    }
};
using scenes = testing::Types<scene<connections, true>, scene<connections, false>,
                              scene<pieces, true>, scene<pieces, false>>;
TYPED_TEST_SUITE(UringStream, scenes, scene_names);

TYPED_TEST(UringStream, AsksTheKernelOnceIfItKnowsMultishot) {
    constexpr int count = 50;
    this->run([&]() -> task<> {
        auto stream = this->source_.stream(this->loop_);
        for (int i = 0; i != count; ++i) {
            const auto sent = this->source_.send();
            const auto got = co_await stream.next();
            EXPECT_TRUE(this->source_.is_this(sent, got)) << got.message();
            EXPECT_STREQ(got.operation(), TypeParam::source::operation);
        }
    }());
    EXPECT_EQ(this->multishots_, 1);
    if (TypeParam::has_multishot) {
        TRYST_NEEDS(this->singles_ == 0, "multishot operations");
    } else {
        EXPECT_EQ(this->singles_, count);
    }
}

TYPED_TEST(UringStream, LosesNothingToAStopOrADeadline) {
    this->run([&]() -> task<> {
        auto stream = this->source_.stream(this->loop_);
        for (int i = 0; i != 30; ++i) {
            std::stop_source stop;
            const auto late = co_await stream.next(0ms);
            EXPECT_EQ(late.error(), std::errc::timed_out);
            EXPECT_STREQ(late.operation(), TypeParam::source::operation);
            std::jthread stopper([&stop] { stop.request_stop(); });
            const auto stopped = co_await stream.next(stop.get_token());
            EXPECT_EQ(stopped.error(), std::errc::operation_canceled);
            const auto sent = this->source_.send();
            if (i % 2 == 0) {
                co_await let_all_come(this->loop_);
            }
            const auto final_stop = co_await stream.next(stop.get_token());
            EXPECT_EQ(final_stop.error(), std::errc::operation_canceled);
            const auto got = co_await stream.next();
            EXPECT_TRUE(this->source_.is_this(sent, got)) << got.message();
        }
    }());
}

TYPED_TEST(UringStream, LosesNothingThatRacesWithAStop) {
    constexpr int rounds = 300;
    const long before = count_open();
    int stops = 0;
    this->run([&]() -> task<> {
        auto stream = this->source_.stream(this->loop_);
        for (int i = 0; i != rounds; ++i) {
            std::stop_source stop;
            std::optional<typename TestFixture::item> sent;
            std::jthread other([&, i] {
                if (i % 4 != 0) {
                    sent.emplace(this->source_.send()); // wins, or races
                }
                if (i % 4 != 1) {
                    stop.request_stop();
                }
            });
            auto got = co_await stream.next(stop.get_token());
            other.join();
            if (!got) {
                EXPECT_EQ(got.error(), std::errc::operation_canceled);
                ++stops;
                if (!sent) {
                    sent.emplace(this->source_.send());
                }
                auto next = co_await stream.next();
                got = std::move(next);
            }
            EXPECT_TRUE(this->source_.is_this(*sent, got)) << got.message();
        }
    }());
    EXPECT_EQ(count_open(), before);
    EXPECT_GE(stops, 1);
    EXPECT_LT(stops, rounds);
}

TYPED_TEST(UringStream, DeliversWhatHasArrivedThoughTheDeadlineHasPassed) {
    this->run([&]() -> task<> {
        auto stream = this->source_.stream(this->loop_);
        for (int i = 0; i != 10; ++i) {
            const auto sent = this->source_.send();
            const auto got = co_await stream.next(-1s);
            EXPECT_TRUE(this->source_.is_this(sent, got)) << got.message();
            const auto nothing = co_await stream.next(0ms);
            EXPECT_EQ(nothing.error(), std::errc::timed_out);
        }
    }());
}

TYPED_TEST(UringStream, GoesOnAfterAStopOfTheLoop) {
    int served = 0;
    const auto serve = [&]() -> task<> {
        auto stream = this->source_.stream(this->loop_);
        for (;;) {
            const auto got = co_await stream.next();
            EXPECT_TRUE(got) << got.message();
            ++served;
        }
    };
    this->loop_.spawn(serve());
    for (int i = 0; i != 10; ++i) {
        leave(this->loop_);
        [[maybe_unused]] const auto sent = this->source_.send(); // while nobody runs it
        yield_until([&] { return this->loop_.run_until_idle(), served == i + 1; });
    }
}

TYPED_TEST(UringStream, SaysWhyItFailed) {
    const descriptor file = make_file();
    this->run([&]() -> task<> {
        auto stream = this->source_.stream(this->loop_, file.get());
        const auto got = co_await stream.next();
        EXPECT_EQ(got.error(), std::errc::not_a_socket);
        EXPECT_STREQ(got.operation(), TypeParam::source::operation);
        EXPECT_THROW(static_cast<void>(got.value()), std::system_error);
    }());
}

TYPED_TEST(UringStream, NeedNotBeAwaitedNorTakenFrom) {
    const long before = count_open();
    {
        [[maybe_unused]] const auto sent = this->source_.send();
        const auto unused = this->source_.stream(this->loop_);
    }
    this->run([&]() -> task<> {
        std::vector<typename TestFixture::item> sent;
        auto stream = this->source_.stream(this->loop_);
        for (int i = 0; i != 3; ++i) {
            sent.push_back(this->source_.send());
        }
        const auto first = co_await stream.next();
        EXPECT_TRUE(first);
        co_await let_all_come(this->loop_);
    }());
    EXPECT_EQ(count_open(), before);
}

/// Takes what has arrived, and waits for its turn to look at it.
template <class Stream>
bare_coroutine take(Stream& stream) {
    static_cast<void>(co_await stream.next());
    ADD_FAILURE() << "resumed";
}

TYPED_TEST(UringStream, KeepsNothingThatADestroyedFrameHasNotSeen) {
    const long before = count_open();
    this->run([&]() -> task<> {
        auto stream = this->source_.stream(this->loop_);
        const auto start = co_await stream.next(0ms);
        EXPECT_EQ(start.error(), std::errc::timed_out);
        for (int i = 0; i != 6; ++i) { // more than there are buffers
            [[maybe_unused]] const auto sent = this->source_.send();
            co_await let_all_come(this->loop_);
            const auto unseen = take(stream);
        }
        [[maybe_unused]] const auto sent = this->source_.send();
        const auto got = co_await stream.next();
        EXPECT_TRUE(got) << got.message();
    }());
    EXPECT_EQ(count_open(), before);
}

TYPED_TEST(UringStream, MayBeDestroyedByAnotherThreadWithTheContext) {
    const long before = count_open();
    {
        context_thread other(sleepy);
        std::atomic<bool> ready{false};
        const auto serve = [&]() -> task<> {
            std::vector<typename TestFixture::item> sent;
            auto stream = this->source_.stream(*other);
            for (int i = 0; i != 10; ++i) {
                sent.push_back(this->source_.send());
            }
            const auto first = co_await stream.next();
            EXPECT_TRUE(first) << first.message();
            co_await let_all_come(*other);
            ready = true;
            static_cast<void>(co_await other->timeout(tryst::uring::limits()));
        };
        other->spawn(serve());
        yield_until([&] { return ready.load(); });
    }
    EXPECT_EQ(count_open(), before);
}

TYPED_TEST(UringStream, ClosesNoOtherFileWhenItIsDestroyedWhileSomebodyWaits) {
    if (!is_open(0)) {
        // Occupies number 0, which the destructor must not close.
        ASSERT_EQ(::open("/dev/null", O_RDONLY), 0);
    }
    const long before = count_open();
    {
        context other(sleepy);
        bool resumed = false;
        const auto serve = [&]() -> task<> {
            auto stream = this->source_.stream(other);
            static_cast<void>(co_await stream.next());
            resumed = true;
        };
        other.spawn(serve());
        other.run_until_idle();
        EXPECT_FALSE(resumed);
    }
    EXPECT_TRUE(is_open(0));
    EXPECT_EQ(count_open(), before);
}

TYPED_TEST(UringStream, MustNotBeDestroyedBeforeTheOperationThatWaitsForIt) {
#ifndef NDEBUG
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto misuse = [&] {
        std::optional<context> other(std::in_place, sleepy);
        using stream_type = decltype(this->source_.stream(*other));
        std::unique_ptr<stream_type> stream(new stream_type(this->source_.stream(*other)));
        const auto wait = [&]() -> task<> { static_cast<void>(co_await stream->next()); };
        other->spawn(wait());
        other->run_until_idle();
        stream.reset();
    };
    EXPECT_DEATH(misuse(), "a stream was destroyed while an operation waited for it");
#endif
}

// ---- Connections

class on_kernel : public stream_test, public testing::WithParamInterface<bool> {
protected:
    on_kernel() : stream_test(GetParam()) {}
};
const auto name_of_kernel = [](const auto& each) {
    return std::string(each.param ? "WithMultishot" : "WithoutMultishot");
};

class UringAcceptStream : public on_kernel {
protected:
    const listener port;
};
INSTANTIATE_TEST_SUITE_P(Kernel, UringAcceptStream, testing::Bool(), name_of_kernel);

TEST_P(UringAcceptStream, AcceptsMoreThanItHasRoomForInTheirOrder) {
    constexpr std::size_t count = 200; // the stream has room for 64
    run([&]() -> task<> {
        accept_stream connections(loop_, port.get());
        const long before = count_open();
        std::vector<descriptor> clients;
        clients.push_back(port.connect());
        const auto first = co_await connections.next(); // the source is in the kernel now
        EXPECT_TRUE(first);
        while (clients.size() != count) {
            clients.push_back(port.connect());
            co_await let_all_come(loop_);
        }
        // The rest wait in the backlog, but for one or two that came before the kernel was told.
        EXPECT_LE(count_open() - before, static_cast<long>(count) + 1 + 64 + 2);
        for (std::size_t i = 1; i != count; ++i) {
            const auto peer = co_await connections.next();
            EXPECT_TRUE(peer && are_connected(clients[i], *peer)) << peer.message();
        }
        const auto nobody = co_await connections.next(1ms);
        EXPECT_EQ(nobody.error(), std::errc::timed_out);
    }());
}

TEST_P(UringAcceptStream, GoesOnAfterThereWereTooManyFiles) {
    run([&]() -> task<> {
        accept_stream connections(loop_, port.get());
        const descriptor client = port.connect();
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        const rlimit few{static_cast<rlim_t>(client.get()) + 1, limit.rlim_max};
        ::setrlimit(RLIMIT_NOFILE, &few);
        for (int i = 0; i != 3; ++i) {
            const auto failed = co_await connections.next();
            EXPECT_EQ(failed.error(), std::errc::too_many_files_open);
        }
        ::setrlimit(RLIMIT_NOFILE, &limit);
        const auto peer = co_await connections.next();
        EXPECT_TRUE(peer && are_connected(client, *peer)) << peer.message();
    }());
}

// ---- Pieces

/// Receives until the end of the data.
task<> receive_all(context& home, int socket, unsigned buffers, std::string& text) {
    recv_stream stream(home, socket, buffers, 256);
    for (;;) {
        const auto piece = co_await stream.next();
        EXPECT_TRUE(piece) << piece.message();
        if (!piece || piece->is_end()) {
            break;
        }
        text += text_of(piece->bytes());
    }
    const auto again = co_await stream.next();
    EXPECT_TRUE(again && again->is_end());
}

class UringRecvStream : public on_kernel {
protected:
    file_pair pair = make_sockets();
};
INSTANTIATE_TEST_SUITE_P(Kernel, UringRecvStream, testing::Bool(), name_of_kernel);

TEST_P(UringRecvStream, GoesOnAfterAllBuffersWereHeld) {
    run([&]() -> task<> {
        recv_stream pieces(loop_, pair.reader.get(), 4, 16);
        std::string text;
        for (int round = 0; round != 10; ++round) {
            std::vector<received> held;
            write_text(pair.writer, std::string(4 * pieces_size, 'x'));
            write_text(pair.writer, "rest");
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
    }());
}

TEST_P(UringRecvStream, DoesNotRunOutOfBuffersForAReaderWhoGivesThemBack) {
    run([&]() -> task<> {
        recv_stream pieces(loop_, pair.reader.get(), 4, pieces_size);
        for (int round = 0; round != 20; ++round) {
            constexpr std::size_t size = 10 * pieces_size;
            write_text(pair.writer, std::string(size, 'x'));
            co_await let_all_come(loop_); // more pieces than buffers, while no operation waits
            for (std::size_t got = 0; got != size;) {
                const auto piece = co_await pieces.next();
                EXPECT_TRUE(piece) << piece.message();
                if (!piece) {
                    co_return;
                }
                got += piece->bytes().size();
                if (got % (3 * pieces_size) == 0) {
                    co_await let_all_come(loop_);
                }
            }
        }
    }());
}

TEST_P(UringRecvStream, MovesPiecesAndGivesBuffersBackOnce) {
    run([&]() -> task<> {
        recv_stream pieces(loop_, pair.reader.get(), 2, 16);
        for (int i = 0; i != 20; ++i) {
            write_text(pair.writer, "one");
            auto one = co_await pieces.next();
            EXPECT_TRUE(one);
            write_text(pair.writer, "two!");
            auto two = co_await pieces.next();
            EXPECT_TRUE(two);
            received kept = std::move(*one);
            EXPECT_TRUE(one->is_end()); // NOLINT(bugprone-use-after-move): that is what it says
            EXPECT_TRUE(one->bytes().empty());
            kept = std::move(*two);
            EXPECT_EQ(text_of(kept.bytes()), "two!");
            received& alias = kept;
            kept = std::move(alias);
            EXPECT_EQ(text_of(kept.bytes()), "two!");
        }
    }());
}

TEST_P(UringRecvStream, DoesNotRememberThatItWasShortOfBuffers) {
    run([&]() -> task<> {
        recv_stream pieces(loop_, pair.reader.get(), 1, 16);
        for (int i = 0; i != 5; ++i) {
            write_text(pair.writer, "held");
            {
                const auto held = co_await pieces.next();
                EXPECT_TRUE(held) << held.message();
                write_text(pair.writer, "next");
                co_await let_all_come(loop_); // the buffers run out, and the source ends
                std::stop_source stop;
                // After the kernel was asked, before it has answered.
                loop_.spawn(call([&] { stop.request_stop(); }));
                const auto stopped = co_await pieces.next(stop.get_token());
                EXPECT_FALSE(stopped);
                co_await let_all_come(loop_);
            }
            const auto next = co_await pieces.next();
            EXPECT_TRUE(next) << next.message();
            EXPECT_EQ(text_of(next->bytes()), "next");
        }
    }());
}

TEST_P(UringRecvStream, LosesNothingThatTheRingHasNoRoomFor) {
    constexpr std::size_t sockets = 20;
    std::string expected;
    for (const char letter : {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}) {
        expected += std::string(pieces_size, letter);
    }
    std::vector<file_pair> pairs;
    std::vector<std::string> texts(sockets);
    std::size_t left = sockets;
    context small({.entries = 1, .max_spins = 0}); // 8 completions
    const auto receive = [&](std::size_t index) -> task<> {
        co_await receive_all(small, pairs[index].reader.get(), 2, texts[index]);
        if (--left == 0) {
            small.stop();
        }
    };
    for (std::size_t i = 0; i != sockets; ++i) {
        pairs.push_back(make_sockets());
        small.spawn(receive(i));
    }
    small.run_until_idle();
    for (file_pair& each : pairs) {
        for (std::size_t at = 0; at != expected.size(); at += pieces_size) {
            write_text(each.writer, std::string_view(expected).substr(at, pieces_size));
        }
        each.writer.reset();
    }
    const long overflows_before = overflows;
    small.run();
    EXPECT_GT(overflows, overflows_before);
    EXPECT_EQ(std::ranges::count(texts, expected), std::ptrdiff_t{sockets});
}

TEST(UringRecvStreamBuffers, HaveAlmostFourGibibytes) {
    context loop;
    const file_pair pair = make_sockets();
    std::optional<recv_stream> pieces;
    try {
        pieces.emplace(loop, pair.reader.get(), 1, (std::size_t{1} << 32) - 1);
    } catch (const std::bad_alloc&) {
        GTEST_SKIP() << "there is not so much memory";
    }
    write_text(pair.writer, "piece");
    const auto piece = run_one(loop, [&] { return pieces->next(); });
    ASSERT_TRUE(piece) << piece.message();
    EXPECT_EQ(text_of(piece->bytes()), "piece");
}

TEST(UringRecvStreamBuffers, AreNeitherNoneNorTooMany) {
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
