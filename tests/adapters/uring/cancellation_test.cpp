// SPDX-License-Identifier: MIT
// Ends every operation that can wait, in every way.
#include <tryst/uring/limits.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "adapters/uring/scene.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <liburing.h>
#include <poll.h>
#include <sys/stat.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::test::bare_coroutine;
using tryst::uring::buffer;
using tryst::uring::buffer_pool;
using tryst::uring::current_position;
using tryst::uring::limits;
using tryst::uring::result;

// ---- Operations that wait for an event that does not occur

class waiting_read : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got =
            co_await loop.read(pipe_.reader.get(), bytes_, current_position, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        write_text(pipe_.writer, "x");
        return read_text(pipe_.reader) == "x" && bytes_[0] == std::byte{0};
    }

private:
    file_pair pipe_ = make_pipe();
    std::array<std::byte, 8> bytes_{};
};

class waiting_write : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got = co_await loop.write(pipe_.writer.get(), bytes_of("word"), current_position,
                                             std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        std::size_t size = 0;
        for (std::string text; !(text = read_text(pipe_.reader)).empty();) {
            size += text.size();
        }
        return size == filled_;
    }

private:
    file_pair pipe_ = make_pipe();
    std::size_t filled_ = fill(pipe_.writer);
};

class waiting_fixed_read : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        EXPECT_TRUE(loop.register_buffers(pool_));
        const auto got = co_await loop.read_fixed(pipe_.reader.get(), whole_, whole_.bytes(),
                                                  current_position, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        write_text(pipe_.writer, "x");
        return read_text(pipe_.reader) == "x" && whole_.bytes()[0] == std::byte{0};
    }

private:
    file_pair pipe_ = make_pipe();
    buffer_pool pool_{1, 4096};
    buffer whole_ = pool_.acquire();
};

class waiting_fixed_write : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        EXPECT_TRUE(loop.register_buffers(pool_));
        const auto got = co_await loop.write_fixed(pipe_.writer.get(), whole_, whole_.bytes(),
                                                   current_position, std::move(until));
        co_return got.error();
    }

private:
    file_pair pipe_ = make_pipe();
    std::size_t filled_ = fill(pipe_.writer);
    buffer_pool pool_{1, 4096};
    buffer whole_ = pool_.acquire();
};

class waiting_accept : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got = co_await loop.accept(port_.get(), std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        const descriptor client = port_.connect();
        pollfd ready{port_.get(), POLLIN, 0};
        return ::poll(&ready, 1, 10'000) == 1; // still to be accepted
    }

private:
    listener port_;
};

class waiting_connect : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got = co_await loop.connect(socket_.get(), port_.address(),
                                               busy_listener::size(), std::move(until));
        co_return got.error();
    }

private:
    busy_listener port_;
    descriptor socket_ = listener::make_socket();
};

class waiting_send : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got =
            co_await loop.send(pair_.writer.get(), bytes_of("word"), 0, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        std::size_t size = 0;
        for (std::string text; !(text = read_text(pair_.reader)).empty();) {
            size += text.size();
        }
        return size == filled_;
    }

private:
    file_pair pair_ = make_sockets();
    std::size_t filled_ = fill(pair_.writer);
};

class waiting_recv : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got = co_await loop.recv(pair_.reader.get(), bytes_, 0, std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        write_text(pair_.writer, "x");
        return read_text(pair_.reader) == "x" && bytes_[0] == std::byte{0};
    }

private:
    file_pair pair_ = make_sockets();
    std::array<std::byte, 8> bytes_{};
};

class waiting_poll : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got = co_await loop.poll(pipe_.reader.get(), POLLIN, std::move(until));
        co_return got.error();
    }

private:
    file_pair pipe_ = make_pipe();
};

/// A FIFO without a writer. With O_CREAT, the kernel opens it on one of its threads, which blocks.
class waiting_openat : public scene {
public:
    waiting_openat() {
        if (::mkdtemp(directory_.data()) == nullptr) {
            throw std::system_error(errno, std::system_category(), "mkdtemp");
        }
        path_ = directory_ + "/fifo";
        checked(::mkfifo(path_.c_str(), 0600), "mkfifo");
    }
    ~waiting_openat() override {
        ::unlink(path_.c_str());
        ::rmdir(directory_.c_str());
    }
    task<std::error_code> wait(context& loop, limits until) override {
        const auto got = co_await loop.openat(AT_FDCWD, path_.c_str(), O_RDONLY | O_CREAT, 0600,
                                              std::move(until));
        co_return got.error();
    }

private:
    std::string directory_ = "/tmp/tryst-uring-XXXXXX";
    std::string path_;
};

class waiting_accept_stream : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        tryst::uring::accept_stream connections(loop, port_.get());
        const auto got = co_await connections.next(std::move(until));
        co_return got.error();
    }

private:
    listener port_;
};

class waiting_recv_stream : public scene {
public:
    task<std::error_code> wait(context& loop, limits until) override {
        tryst::uring::recv_stream pieces(loop, pair_.reader.get());
        const auto got = co_await pieces.next(std::move(until));
        co_return got.error();
    }
    bool is_untouched() const override {
        write_text(pair_.writer, "x");
        return read_text(pair_.reader) == "x";
    }

private:
    file_pair pair_ = make_sockets();
};

/// Counts the operations that the kernel is asked for.
class operation_counter {
public:
    operation_counter() {
        faults_.on_request = [this](const io_uring_sqe& entry) {
            // The user_data of an operation is its address.
            count_ += entry.user_data > 7 && entry.user_data % 8 == 0 ? 1 : 0;
            return 0;
        };
    }
    int count() const noexcept { return count_; }

private:
    std::atomic<int> count_{0};
    kernel_faults faults_;
};

/// One operation that waits, and its outcome.
class UringCancellation : public testing::TestWithParam<operation_that_waits> {
protected:
    /// Awaits it, and stops the loop.
    task<> wait(limits until) {
        got_ = co_await scene_->wait(loop_, std::move(until));
        loop_.stop();
    }

    /// Lets it wait in the kernel.
    void start(limits until) {
        loop_.spawn(wait(std::move(until)));
        loop_.run_until_idle();
        ASSERT_FALSE(got_);
    }

    void expect_ended(std::errc why) {
        ASSERT_TRUE(got_);
        EXPECT_EQ(*got_, why) << got_->message();
        EXPECT_TRUE(scene_->is_untouched());
    }

    std::unique_ptr<scene> scene_ = GetParam().make();
    std::stop_source stop_;
    std::optional<std::error_code> got_;
    context loop_{sleepy};
};

TEST_P(UringCancellation, StopBeforeItsStartIsFinal) {
    const operation_counter operations;
    stop_.request_stop();
    loop_.spawn(wait(stop_.get_token()));
    loop_.run();
    expect_ended(std::errc::operation_canceled);
    EXPECT_EQ(operations.count(), 0);
}

TEST_P(UringCancellation, StopOfAnotherThreadEndsTheWait) {
    loop_.spawn(wait(stop_.get_token()));
    std::thread other([&] {
        until_asleep();
        stop_.request_stop();
    });
    loop_.run();
    other.join();
    expect_ended(std::errc::operation_canceled);
}

TEST_P(UringCancellation, StopOfAnotherThreadAtAnyTimeEndsTheWait) {
    std::atomic<bool> go{false};
    std::thread other([&] {
        while (!go) {
        }
        stop_.request_stop();
    });
    loop_.spawn(wait(stop_.get_token()));
    go = true;
    loop_.run();
    other.join();
    expect_ended(std::errc::operation_canceled);
}

TEST_P(UringCancellation, StopOfItsOwnLoopEndsTheWait) {
    loop_.spawn(wait(stop_.get_token()));
    loop_.spawn([](std::stop_source source) -> task<> {
        source.request_stop();
        co_return;
    }(stop_));
    loop_.run();
    expect_ended(std::errc::operation_canceled);
}

TEST_P(UringCancellation, StopBetweenTwoRunsEndsTheWait) {
    start(stop_.get_token());
    stop_.request_stop();
    loop_.run();
    expect_ended(std::errc::operation_canceled);
}

TEST_P(UringCancellation, StopAfterTheLoopWasLeftEndsTheWait) {
    start(stop_.get_token());
    loop_.stop();
    loop_.run();
    if (!got_) { // a connect is over already
        stop_.request_stop();
        loop_.run();
    }
    expect_ended(std::errc::operation_canceled);
}

TEST_P(UringCancellation, DeadlineEndsTheWait) {
    const auto begin = std::chrono::steady_clock::now();
    loop_.spawn(wait(begin + 2ms));
    loop_.run();
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 2ms);
    expect_ended(std::errc::timed_out);
}

TEST_P(UringCancellation, DeadlineAtTheEpochOfTheClockEndsTheWait) {
    loop_.spawn(wait(std::chrono::steady_clock::time_point()));
    loop_.run();
    expect_ended(std::errc::timed_out);
}

TEST_P(UringCancellation, DeadlineBeforeTheEpochOfTheClockEndsTheWait) {
    loop_.spawn(wait(std::chrono::steady_clock::time_point::min()));
    loop_.run();
    expect_ended(std::errc::timed_out);
}

TEST_P(UringCancellation, StopBeforeTheDeadlineEndsTheWait) {
    start({24h, stop_.get_token()});
    stop_.request_stop();
    loop_.run();
    expect_ended(std::errc::operation_canceled);
}

TEST_P(UringCancellation, DeadlineWithoutAStopEndsTheWait) {
    loop_.spawn(wait({2ms, stop_.get_token()}));
    loop_.run();
    expect_ended(std::errc::timed_out);
    stop_.request_stop(); // too late to have an effect
    loop_.run_until_idle();
}

TEST_P(UringCancellation, DeadlineEndsTheWaitIfTheStopCannotComeAnyMore) {
    std::stop_token orphan;
    {
        const std::stop_source gone;
        orphan = gone.get_token();
    }
    loop_.spawn(wait({2ms, orphan}));
    loop_.run();
    expect_ended(std::errc::timed_out);
}

TEST_P(UringCancellation, DoesNotEndIfTheStopSourceIsDestroyed) {
    stop_ = std::stop_source();
    start(std::exchange(stop_, std::stop_source(std::nostopstate)).get_token());
    loop_.run_until_idle();
    EXPECT_FALSE(got_);
}

TEST_P(UringCancellation, FrameMayBeDestroyedWhileItWaits) {
    start({24h, stop_.get_token()});
    // The context goes before the scene.
}

TEST_P(UringCancellation, FrameMayBeDestroyedWithAStopPostedAndNotYetServed) {
    start({24h, stop_.get_token()});
    std::thread([&] { stop_.request_stop(); }).join();
}

TEST_P(UringCancellation, FrameMayBeDestroyedOnItsLoop) {
    for (const bool stopped : {false, true}) {
        const auto fresh = GetParam().make();
        loop_.spawn([](context& home, scene& what, bool stop) -> task<> {
            std::stop_source source;
            bool resumed = false;
            {
                const auto wait = [](context& here, scene& on, std::stop_token token,
                                     bool& over) -> bare_coroutine {
                    static_cast<void>(co_await on.wait(here, std::move(token)));
                    over = true;
                };
                const auto waiting = wait(home, what, source.get_token(), resumed);
                co_await home.schedule();
                co_await home.schedule();
                if (stop) {
                    source.request_stop(); // posts, and comes too late
                }
            }
            source.request_stop();
            co_await home.schedule();
            EXPECT_FALSE(resumed);
            home.stop();
        }(loop_, *fresh, stopped));
        loop_.run();
        EXPECT_TRUE(fresh->is_untouched());
    }
}

INSTANTIATE_TEST_SUITE_P(
    Operations, UringCancellation,
    testing::Values(operation_that_waits{"Read", make<waiting_read>},
                    operation_that_waits{"Write", make<waiting_write>},
                    operation_that_waits{"ReadFixed", make<waiting_fixed_read>},
                    operation_that_waits{"WriteFixed", make<waiting_fixed_write>},
                    operation_that_waits{"Openat", make<waiting_openat>},
                    operation_that_waits{"Accept", make<waiting_accept>},
                    operation_that_waits{"Connect", make<waiting_connect>},
                    operation_that_waits{"Send", make<waiting_send>},
                    operation_that_waits{"Recv", make<waiting_recv>},
                    operation_that_waits{"Poll", make<waiting_poll>},
                    operation_that_waits{"AcceptStream", make<waiting_accept_stream>},
                    operation_that_waits{"RecvStream", make<waiting_recv_stream>}),
    [](const auto& each) { return std::string(each.param.name); });

INSTANTIATE_TEST_SUITE_P(Messages, UringCancellation,
                         testing::ValuesIn(message_operations_that_wait()),
                         [](const auto& each) { return std::string(each.param.name); });

// ---- Timeouts, whose deadline is a success

TEST(UringTimeout, EndsWithAStop) {
    context loop(sleepy);
    std::stop_source stop;
    std::thread other([&] {
        until_asleep();
        stop.request_stop();
    });
    const auto got = run_one(loop, [&] { return loop.timeout(24h, stop.get_token()); });
    other.join();
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
    EXPECT_STREQ(got.operation(), "timeout");
}

TEST(UringTimeout, WithoutADeadlineWaitsForTheStop) {
    context loop(sleepy);
    std::stop_source stop;
    std::thread other([&] {
        until_asleep();
        stop.request_stop();
    });
    const auto got = run_one(loop, [&] { return loop.timeout(stop.get_token()); });
    other.join();
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
}

TEST(UringTimeout, MayBeDestroyedWhileItWaits) {
    std::stop_source stop;
    std::optional<result<>> got;
    {
        context loop(sleepy);
        loop.spawn(party(got, [&] { return loop.timeout(1ms, stop.get_token()); }));
        loop.spawn(party(got, [&] { return loop.timeout(24h, stop.get_token()); }));
        loop.spawn([](context& home) -> task<> {
            home.stop();
            co_return;
        }(loop));
        loop.run();
        stop.request_stop();
    }
    EXPECT_FALSE(got);
}

// ---- Operations that do not wait

/// The outcome of each of them, one after the other.
task<> use_what_does_not_wait(context& loop, limits until, std::vector<std::error_code>& got) {
    const descriptor file = make_file("word");
    const auto nop = co_await loop.nop(until);
    got.push_back(nop.error());
    const auto synced = co_await loop.fsync(file.get(), false, until);
    got.push_back(synced.error());
    const auto data = co_await loop.fsync(file.get(), true, until);
    got.push_back(data.error());
    auto copy = descriptor(::dup(file.get()));
    const int number = copy.get();
    const auto closed = co_await loop.close(std::move(copy), until);
    got.push_back(closed.error());
    EXPECT_FALSE(is_open(number));
    loop.stop();
}

TEST(UringStop, BeforeTheStartAlsoEndsAnOperationThatNeedNotWait) {
    const operation_counter operations;
    context loop(sleepy);
    std::stop_source stop;
    stop.request_stop();
    std::vector<std::error_code> got;
    loop.spawn(use_what_does_not_wait(loop, stop.get_token(), got));
    loop.run();
    EXPECT_EQ(got.size(), 4U);
    for (const std::error_code& each : got) {
        EXPECT_EQ(each, std::errc::operation_canceled);
    }
    EXPECT_EQ(operations.count(), 0);
}

TEST(UringDeadline, InThePastDoesNotEndAnOperationThatNeedNotWait) {
    context loop(sleepy);
    for (int i = 0; i != 20; ++i) {
        std::vector<std::error_code> got;
        loop.spawn(use_what_does_not_wait(loop, -1s, got));
        loop.run();
        EXPECT_EQ(got.size(), 4U);
        for (const std::error_code& each : got) { // fsync may not have begun
            EXPECT_TRUE(!each || each == std::errc::timed_out) << each.message();
        }
        EXPECT_FALSE(got.at(0)) << got.at(0).message();
    }
}

// ---- Races between a result and a stop or a deadline

/// A read that is stopped after `await_ready`, and before it is started.
class read_stopped_as_it_starts {
public:
    read_stopped_as_it_starts(context& home, int file, std::span<std::byte> into,
                              std::stop_source& stop)
        : read_(home.read(file, into, current_position, stop.get_token())), stop_(stop) {}

    bool await_ready() noexcept {
        const bool is_over = read_.await_ready();
        stop_.request_stop();
        return is_over;
    }
    void await_suspend(std::coroutine_handle<> coroutine) noexcept {
        read_.await_suspend(coroutine);
    }
    auto await_resume() noexcept { return read_.await_resume(); }

private:
    tryst::uring::operation<std::size_t> read_;
    std::stop_source& stop_;
};

TEST(UringStop, MayComeAsTheOperationStarts) {
    context loop(sleepy);
    const file_pair pipe = make_pipe();
    std::optional<result<std::size_t>> got;
    loop.spawn([](context& home, int file, auto& into) -> task<> {
        std::array<std::byte, 8> bytes{};
        std::stop_source stop;
        into.emplace(co_await read_stopped_as_it_starts(home, file, bytes, stop));
        home.stop();
    }(loop, pipe.reader.get(), got));
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), std::errc::operation_canceled);
    write_text(pipe.writer, "x");
    EXPECT_EQ(read_text(pipe.reader), "x");
}

TEST(UringStop, LosesToAResultThatHasArrived) {
    context loop(sleepy);
    const file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    std::stop_source stop;
    std::optional<result<std::size_t>> got;
    loop.spawn(party(got, [&] {
        return loop.read(pipe.reader.get(), bytes, current_position, stop.get_token());
    }));
    loop.run_until_idle();
    // The read completes, but the loop has not fetched the completion.
    write_text(pipe.writer, "word");
    stop.request_stop();
    while (!got) {
        loop.run_until_idle();
    }
    ASSERT_TRUE(*got) << got->message();
    EXPECT_EQ(**got, 4U);
}

TEST(UringStop, LosesToAResultThatIsReady) {
    context loop(sleepy);
    std::stop_source stop;
    std::optional<result<>> got;
    const auto stopper = [](context& home, std::stop_source& source,
                            const std::optional<result<>>& other) -> task<> {
        const auto nop = co_await home.nop();
        EXPECT_TRUE(nop);
        EXPECT_FALSE(other); // is over as well, but its coroutine has not had its turn
        source.request_stop();
    };
    loop.spawn(stopper(loop, stop, got)); // asked for first, completed first
    loop.spawn(party_that_stops(loop, got, [&] { return loop.nop(stop.get_token()); }));
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_TRUE(*got) << got->message();
}

TEST(UringStop, RacesWithAByteThatIsNeverLost) {
    constexpr int rounds = 2'000;
    context_thread loop;
    const file_pair pipe = make_pipe();
    int read = 0;
    int stopped = 0;
    for (int i = 0; i != rounds; ++i) {
        std::array<std::byte, 8> bytes{};
        std::stop_source stop;
        std::optional<result<std::size_t>> got;
        std::atomic<bool> over{false};
        const auto wait = [](context& home, int file, std::span<std::byte> into,
                             std::stop_token token, auto& outcome,
                             std::atomic<bool>& flag) -> task<> {
            outcome.emplace(co_await home.read(file, into, current_position, std::move(token)));
            flag = true;
        };
        loop->spawn(wait(*loop, pipe.reader.get(), bytes, stop.get_token(), got, over));
        if (i % 4 < 2) {
            until_asleep(); // or not
        }
        const auto until_over = [&] {
            while (!over) {
                std::this_thread::yield();
            }
        };
        std::thread writer([&] {
            if (i % 5 == 0) {
                until_over(); // the stop wins
            }
            write_text(pipe.writer, "x");
        });
        if (i % 5 == 1) {
            until_over(); // the byte wins
        } else if (i % 5 == 2) {
            writer.join();
        }
        stop.request_stop();
        until_over();
        if (writer.joinable()) {
            writer.join();
        }
        if (*got) {
            ++read;
            ASSERT_EQ(**got, 1U);
            ASSERT_EQ(read_text(pipe.reader), "");
        } else {
            ++stopped;
            ASSERT_EQ(got->error(), std::errc::operation_canceled);
            ASSERT_EQ(read_text(pipe.reader), "x");
        }
    }
    EXPECT_GE(read, 1);
    EXPECT_GE(stopped, 1);
}

TEST(UringDeadline, RacesWithAByteThatIsNeverLost) {
    constexpr int rounds = 1'000;
    context loop;
    const file_pair pipe = make_pipe();
    file_pair turns = make_pipe();
    std::thread writer([&] {
        char turn = 0;
        while (::read(turns.reader.get(), &turn, 1) == 1) {
            write_text(pipe.writer, "x");
        }
    });
    int read = 0;
    int late = 0;
    for (int i = 0; i != rounds; ++i) {
        std::array<std::byte, 8> bytes{};
        const bool too_late = i % 10 == 0;
        const bool in_time = i % 10 == 1;
        if (!too_late) {
            write_text(turns.writer, "t");
        }
        const auto got = run_one(loop, [&] {
            return loop.read(pipe.reader.get(), bytes, current_position,
                             in_time ? limits(24h) : limits(std::chrono::microseconds(i % 50)));
        });
        if (too_late) {
            write_text(turns.writer, "t");
        }
        if (got) {
            ++read;
            ASSERT_EQ(*got, 1U);
        } else {
            ++late;
            ASSERT_EQ(got.error(), std::errc::timed_out);
            pollfd ready{pipe.reader.get(), POLLIN, 0};
            ASSERT_EQ(::poll(&ready, 1, 10'000), 1);
            ASSERT_EQ(read_text(pipe.reader), "x");
        }
    }
    turns.writer.reset();
    writer.join();
    EXPECT_GE(read, 1);
    EXPECT_GE(late, 1);
}

TEST(UringStop, RacesWithAConnectionThatIsNeverLost) {
    constexpr int rounds = 300;
    context_thread loop;
    const listener port;
    const long before = count_open();
    int accepted = 0;
    int stopped = 0;
    for (int i = 0; i != rounds; ++i) {
        std::stop_source stop;
        std::optional<result<descriptor>> got;
        std::atomic<bool> over{false};
        const auto wait = [](context& home, int listening, std::stop_token token, auto& outcome,
                             std::atomic<bool>& flag) -> task<> {
            outcome.emplace(co_await home.accept(listening, std::move(token)));
            flag = true;
        };
        loop->spawn(wait(*loop, port.get(), stop.get_token(), got, over));
        until_asleep();
        const auto until_over = [&] {
            while (!over) {
                std::this_thread::yield();
            }
        };
        std::thread stopper([&] {
            if (i % 3 == 0) {
                until_over(); // the connection wins
            }
            stop.request_stop();
        });
        if (i % 3 == 1) {
            until_over(); // the stop wins
        }
        const descriptor client = port.connect();
        stopper.join();
        until_over();
        if (*got) {
            ++accepted;
        } else {
            ++stopped;
            ASSERT_EQ(got->error(), std::errc::operation_canceled);
            pollfd ready{port.get(), POLLIN, 0};
            ASSERT_EQ(::poll(&ready, 1, 10'000), 1);
            const descriptor peer(::accept(port.get(), nullptr, nullptr));
            ASSERT_TRUE(peer);
        }
    }
    EXPECT_EQ(count_open(), before);
    EXPECT_GE(accepted, 1);
    EXPECT_GE(stopped, 1);
}

} // namespace
