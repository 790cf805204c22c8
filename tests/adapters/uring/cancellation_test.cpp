// SPDX-License-Identifier: MIT
// Ends every operation that can wait, in every way; and each that need not wait, at any moment.
#include <tryst/uring/limits.hpp>

#include "adapters/uring/harness.hpp"
#include "adapters/uring/kernel_faults.hpp"
#include "adapters/uring/operations.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <optional>
#include <span>
#include <stop_token>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include <poll.h>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::task;
using tryst::uring::current_position;
using tryst::uring::limits;
using tryst::uring::result;
using clock = std::chrono::steady_clock;

// ---- Operations that wait for an event that does not occur

using await_silence = task<std::error_code> (*)(silence&, context&, limits);

template <class Make>
task<std::error_code> await(silence& with, context& loop, limits until) {
    const auto got = co_await Make{}(with, loop, std::move(until));
    co_return got.error();
}

task<std::error_code> await_connection(silence& with, context& loop, limits until) {
    tryst::uring::accept_stream connections(loop, with.port.get());
    const auto got = co_await connections.next(std::move(until));
    co_return got.error();
}

task<std::error_code> await_piece(silence& with, context& loop, limits until) {
    tryst::uring::recv_stream pieces(loop, with.sockets.reader.get());
    const auto got = co_await pieces.next(std::move(until));
    co_return got.error();
}

/// One operation that waits, and its outcome.
struct waiting {
    explicit waiting(await_silence how) : start_it(how) {}

    /// Awaits it, and stops the loop.
    task<> wait(limits until) {
        got = co_await start_it(with, *loop, std::move(until));
        loop->stop();
    }

    void run(limits until) {
        loop->spawn(wait(std::move(until)));
        loop->run();
    }

    /// Lets it wait in the kernel.
    void start(limits until) {
        loop->spawn(wait(std::move(until)));
        loop->run_until_idle();
        EXPECT_FALSE(got);
    }

    void expect_ended(std::errc why) {
        ASSERT_TRUE(got);
        EXPECT_EQ(*got, why) << got->message();
        EXPECT_TRUE(with.is_untouched());
    }
    void expect_stopped() { expect_ended(std::errc::operation_canceled); }

    await_silence start_it;
    silence with;
    std::stop_source stop;
    std::optional<std::error_code> got;
    std::optional<context> loop{std::in_place, sleepy};
};

/// Calls `body` for each operation.
template <class Body>
void for_each_wait(Body body) {
    const auto check = [&body](const char* name, await_silence how) {
        SCOPED_TRACE(name);
        waiting fresh(how);
        body(fresh);
    };
    for_each_waiting_operation(
        [&]<class Make>(const char* name, Make) { check(name, await<Make>); });
    check("accept_stream", await_connection);
    check("recv_stream", await_piece);
}

TEST(UringCancellation, ByAStopBeforeTheStartIsFinal) {
    for_each_wait([](waiting& it) {
        const request_log requests;
        it.stop.request_stop();
        it.run(it.stop.get_token());
        it.expect_stopped();
        EXPECT_EQ(requests.count(is_operation), 0);
    });
}

TEST(UringCancellation, ByAStopOfAnotherThreadEndsTheWait) {
    for_each_wait([](waiting& it) {
        std::jthread other([&] {
            until_asleep();
            it.stop.request_stop();
        });
        it.run(it.stop.get_token());
        it.expect_stopped();
    });
}

TEST(UringCancellation, ByAStopOfAnotherThreadAtAnyTimeEndsTheWait) {
    for_each_wait([](waiting& it) {
        std::atomic<bool> go{false};
        std::jthread other([&] {
            yield_until([&] { return go.load(); });
            it.stop.request_stop();
        });
        it.loop->spawn(it.wait(it.stop.get_token()));
        go = true;
        it.loop->run();
        it.expect_stopped();
    });
}

TEST(UringCancellation, ByAStopOfItsOwnLoopEndsTheWait) {
    for_each_wait([](waiting& it) {
        it.loop->spawn(it.wait(it.stop.get_token()));
        it.loop->spawn(call([&] { it.stop.request_stop(); }));
        it.loop->run();
        it.expect_stopped();
    });
}

TEST(UringCancellation, ByAStopBetweenTwoRunsEndsTheWait) {
    for_each_wait([](waiting& it) {
        it.start({24h, it.stop.get_token()});
        it.stop.request_stop();
        it.loop->run();
        it.expect_stopped();
    });
}

TEST(UringCancellation, ByAStopAfterTheLoopWasLeftEndsTheWait) {
    for_each_wait([](waiting& it) {
        it.start(it.stop.get_token());
        leave(*it.loop);
        if (!it.got) { // a connect is over already
            it.stop.request_stop();
            it.loop->run();
        }
        it.expect_stopped();
    });
}

TEST(UringCancellation, ByADeadlineIsNeverEarly) {
    for_each_wait([](waiting& it) {
        const auto begin = clock::now();
        it.run({begin + 2ms, it.stop.get_token()});
        EXPECT_GE(clock::now() - begin, 2ms);
        it.expect_ended(std::errc::timed_out);
        it.stop.request_stop(); // too late to have an effect
        it.loop->run_until_idle();
    });
}

TEST(UringCancellation, ByADeadlineEndsTheWaitIfAStopCannotComeAnyMore) {
    for_each_wait([](waiting& it) {
        it.run({2ms, std::stop_source().get_token()});
        it.expect_ended(std::errc::timed_out);
    });
}

TEST(UringCancellation, ByADeadlineAtTheEpochOfTheClockOrBeforeEndsTheWait) {
    for (const auto deadline : {clock::time_point(), (clock::time_point::min)()}) {
        for_each_wait([deadline](waiting& it) {
            it.run(deadline);
            it.expect_ended(std::errc::timed_out);
        });
    }
}

TEST(UringCancellation, DoesNotHappenIfTheStopSourceIsDestroyed) {
    for_each_wait([](waiting& it) {
        it.start(std::exchange(it.stop, std::stop_source(std::nostopstate)).get_token());
        it.loop->run_until_idle();
        EXPECT_FALSE(it.got);
    });
}

TEST(UringCancellation, HappensWhenTheFrameIsDestroyedWithItsContext) {
    for (const bool stopped : {false, true}) {
        for_each_wait([stopped](waiting& it) {
            it.start({24h, it.stop.get_token()});
            if (stopped) { // posts, and is not served
                std::thread([&] { it.stop.request_stop(); }).join();
            }
            it.loop.reset();
            EXPECT_FALSE(it.got);
            EXPECT_TRUE(it.with.is_untouched());
        });
    }
}

TEST(UringCancellation, HappensWhenTheFrameIsDestroyedOnItsLoop) {
    for (const bool stopped : {false, true}) {
        for_each_wait([stopped](waiting& it) {
            bool resumed = false;
            const auto wait = [&](std::stop_token token) -> bare_coroutine {
                static_cast<void>(co_await it.start_it(it.with, *it.loop, std::move(token)));
                resumed = true;
            };
            const auto destroy = [&]() -> task<> {
                {
                    const auto frame = wait(it.stop.get_token());
                    co_await it.loop->schedule();
                    co_await it.loop->schedule();
                    if (stopped) {
                        it.stop.request_stop(); // posts, and comes too late
                    }
                }
                it.stop.request_stop();
                co_await it.loop->schedule();
                it.loop->stop();
            };
            it.loop->spawn(destroy());
            it.loop->run();
            EXPECT_FALSE(resumed);
            EXPECT_TRUE(it.with.is_untouched());
        });
    }
}

// ---- Timeouts, whose deadline is a success

TEST(UringTimeout, EndsWithAStop) {
    for (const bool has_deadline : {true, false}) {
        context loop(sleepy);
        std::stop_source stop;
        std::jthread other([&] {
            until_asleep();
            stop.request_stop();
        });
        const limits until =
            has_deadline ? limits(24h, stop.get_token()) : limits(stop.get_token());
        const auto got = run_one(loop, [&] { return loop.timeout(until); });
        EXPECT_EQ(got.error(), std::errc::operation_canceled);
        EXPECT_STREQ(got.operation(), "timeout");
    }
}

TEST(UringTimeout, MayBeDestroyedWhileItWaits) {
    std::stop_source stop;
    std::optional<result<>> got;
    {
        context loop(sleepy);
        loop.spawn(party(got, [&] { return loop.timeout(1ms, stop.get_token()); }));
        loop.spawn(party(got, [&] { return loop.timeout(24h, stop.get_token()); }));
        loop.spawn(stop_loop(loop));
        loop.run();
        stop.request_stop();
    }
    EXPECT_FALSE(got);
}

// ---- Operations that need not wait: each either succeeds or has no effect

/// One of them, and its outcome.
struct deed {
    using await_work = task<std::error_code> (*)(workplace&, context&, limits);

    task<> start(limits until) {
        got = co_await start_it(*at, loop, std::move(until));
        loop.stop();
    }

    /// Expects that it has been done, or has failed with `why` and without an effect.
    void expect_done_or(std::errc why) {
        ASSERT_TRUE(got);
        EXPECT_TRUE(!*got || *got == why) << got->message();
        if (is_done != nullptr) {
            EXPECT_EQ(is_done(*at), !*got);
        }
    }

    await_work start_it;
    bool (*is_done)(const workplace&);
    context loop{}; // has its files before the deed counts
    std::optional<workplace> at{std::in_place};
    std::optional<std::error_code> got{};
};

template <class Make>
task<std::error_code> work(workplace& at, context& loop, limits until) {
    auto got = co_await Make{}(at, loop, std::move(until));
    if constexpr (std::is_same_v<decltype(got), result<descriptor>>) {
        if (got) {
            at.made = std::move(*got);
        }
    }
    co_return got.error();
}

/// Calls `body` with each, `times` times, and the number of the time.
template <class Body>
void for_each_work(int times, Body body) {
    for_each_deed([&]<class Make>(const char* name, Make, auto is_done) {
        SCOPED_TRACE(name);
        deed it{.start_it = work<Make>, .is_done = is_done};
        for (int i = 0; i != times; ++i) {
            it.at.reset(); // one at a time, as it counts open files
            it.at.emplace();
            it.got.reset();
            body(it, i);
        }
    });
}

TEST(UringDeed, IsNotBegunAfterAStop) {
    for_each_work(1, [](deed& it, int) {
        const request_log requests;
        std::stop_source stop;
        stop.request_stop();
        it.loop.spawn(it.start(stop.get_token()));
        it.loop.run();
        it.expect_done_or(std::errc::operation_canceled);
        EXPECT_EQ(*it.got, std::errc::operation_canceled);
        EXPECT_EQ(requests.count(is_operation), 0);
    });
}

TEST(UringDeed, IsDoneOrTimesOutAfterItsDeadline) {
    for_each_work(20, [](deed& it, int) {
        it.loop.spawn(it.start(-1s));
        it.loop.run();
        it.expect_done_or(std::errc::timed_out);
    });
    context loop;
    EXPECT_TRUE(run_one(loop, [&] { return loop.nop(-1s); })); // does not wait at all
}

TEST(UringDeed, IsDoneOrStoppedWhileItRuns) {
    for_each_work(20, [](deed& it, int i) {
        std::stop_source stop;
        it.loop.spawn(it.start(stop.get_token()));
        if (i % 2 == 0) {
            it.loop.run_until_idle();
        }
        stop.request_stop();
        it.loop.run();
        it.expect_done_or(std::errc::operation_canceled);
    });
}

TEST(UringDeed, IsDoneOnceThoughTheLoopIsLeft) {
    for_each_work(20, [](deed& it, int) {
        it.loop.spawn(it.start({}));
        it.loop.spawn(stop_loop(it.loop));
        it.loop.run();
        while (!it.got) {
            it.loop.run();
        }
        it.loop.run_until_idle();
        it.expect_done_or(std::errc{});
    });
}

TEST(UringDeed, RefersToNothingAfterItsFrameIsDestroyed) {
    for_each_work(1, [](deed& it, int) {
        {
            context other;
            const auto begin = [&]() -> task<> {
                static_cast<void>(co_await it.start_it(*it.at, other, {}));
            };
            other.spawn(begin());
            other.spawn(stop_loop(other));
            other.run();
        }
        it.at->made.reset();
        EXPECT_EQ(count_open(), it.at->open_before);
    });
}

// ---- Races between a result and a stop

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

class UringStop : public testing::Test {
protected:
    context loop{sleepy};
    const file_pair pipe = make_pipe();
    std::array<std::byte, 8> bytes{};
    std::stop_source stop;
};

TEST_F(UringStop, MayComeAsTheOperationStarts) {
    const auto got = run_one(
        loop, [&] { return read_stopped_as_it_starts(loop, pipe.reader.get(), bytes, stop); });
    EXPECT_EQ(got.error(), std::errc::operation_canceled);
    write_text(pipe.writer, "x");
    EXPECT_EQ(read_text(pipe.reader), "x");
}

TEST_F(UringStop, LosesToAResultThatHasArrived) {
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

TEST_F(UringStop, LosesToAResultThatIsReady) {
    std::optional<result<>> got;
    const auto stop_other = [&]() -> task<> {
        const auto nop = co_await loop.nop();
        EXPECT_TRUE(nop);
        EXPECT_FALSE(got); // is over as well, but its coroutine has not had its turn
        stop.request_stop();
    };
    loop.spawn(stop_other()); // asked for first, completed first
    loop.spawn(party_that_stops(loop, got, [&] { return loop.nop(stop.get_token()); }));
    loop.run();
    ASSERT_TRUE(got);
    EXPECT_TRUE(*got) << got->message();
}

TEST(UringRace, OfAStopWithAConnectionLosesNoConnection) {
    constexpr int rounds = 300;
    context_thread loop;
    const listener port;
    const long before = count_open();
    std::array<int, 2> outcomes{};
    for (int i = 0; i != rounds; ++i) {
        std::stop_source stop;
        std::optional<result<descriptor>> got;
        std::atomic<bool> over{false};
        const auto accept = [&]() -> task<> {
            got.emplace(co_await loop->accept(port.get(), stop.get_token()));
            over = true;
        };
        loop->spawn(accept());
        until_asleep();
        const auto until_over = [&] { yield_until([&] { return over.load(); }); };
        std::jthread stopper([&] {
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
        ++outcomes[*got ? 1 : 0];
        if (!*got) {
            ASSERT_EQ(got->error(), std::errc::operation_canceled);
            pollfd ready{port.get(), POLLIN, 0};
            ASSERT_EQ(::poll(&ready, 1, 10'000), 1);
            const descriptor peer(::accept(port.get(), nullptr, nullptr));
            ASSERT_TRUE(peer);
        }
    }
    EXPECT_EQ(count_open(), before);
    EXPECT_GE(outcomes[0], 1);
    EXPECT_GE(outcomes[1], 1);
}

} // namespace
