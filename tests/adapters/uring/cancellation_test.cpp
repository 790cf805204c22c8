// SPDX-License-Identifier: MIT
// The limits of each operation. Ends every operation that can wait, in every way; and each that
// need not wait, at any moment.
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

// ---- Limits: a time and a stop token, one of them, or both in either order

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
        const request_log requests;
        const auto stop = stopped.get_token();
        EXPECT_EQ(run([&] { return make(stop); }), std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(24h, stop); }), std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(stop, clock::now() + 24h); }),
                  std::errc::operation_canceled);
        EXPECT_EQ(run([&] { return make(limits(24h, stop)); }), std::errc::operation_canceled);
        EXPECT_EQ(requests.count(is_operation), 0);
    }

    /// The same, for an operation that waits until its time is over.
    template <class Make>
    void expect_limits(Make make, std::errc late = std::errc::timed_out) {
        expect_stops(make);
        const auto stop = never.get_token();
        EXPECT_EQ(run([&] { return make(1ms); }), late);
        EXPECT_EQ(run([&] { return make(clock::now(), stop); }), late);
        EXPECT_EQ(run([&] { return make(stop, 1ms); }), late);
    }

    context loop;
    std::stop_source stopped;
    std::stop_source never;
};

TEST_F(UringLimits, OfATimeout) {
    expect_limits([&](auto... limit) { return loop.timeout(limit...); }, std::errc{});
}

TEST_F(UringLimits, OfOperationsThatWait) {
    silence with;
    for_each_waiting_operation([&](const char* name, auto make) {
        SCOPED_TRACE(name);
        expect_limits([&](auto... limit) { return make(with, loop, limit...); });
    });
    {
        tryst::uring::accept_stream connections(loop, with.port.get());
        expect_limits([&](auto... limit) { return connections.next(limit...); });
    }
    {
        tryst::uring::recv_stream pieces(loop, with.sockets.reader.get());
        expect_limits([&](auto... limit) { return pieces.next(limit...); });
    }
    EXPECT_TRUE(with.is_untouched());
}

TEST_F(UringLimits, OfOperationsThatNeedNotWait) {
    std::optional<workplace> at;
    for_each_deed([&](const char* name, auto is_done, auto make) {
        SCOPED_TRACE(name);
        at.emplace(); // with the files that the operation needs
        expect_stops([&](auto... limit) { return make(*at, loop, limit...); });
        if constexpr (!std::is_null_pointer_v<decltype(is_done)>) {
            EXPECT_FALSE(is_done(*at));
        }
        EXPECT_EQ(run([&] { return make(*at, loop, never.get_token(), 24h); }), std::error_code());
    });
    expect_stops([&](auto... limit) { return loop.close(make_file(), limit...); });
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

TEST(UringCancellation, ByAStopOfAnotherThreadEndsTheWait) {
    for (const bool is_asleep : {true, false}) { // or may be anything
        for_each_wait([is_asleep](waiting& it) {
            std::atomic<bool> go{false};
            std::jthread other([&] {
                yield_until([&] { return go.load(); });
                if (is_asleep) {
                    until_asleep();
                }
                it.stop.request_stop();
            });
            it.loop->spawn(it.wait(it.stop.get_token()));
            go = true;
            it.loop->run();
            it.expect_stopped();
        });
    }
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
    for (const bool is_left : {false, true}) {
        for_each_wait([is_left](waiting& it) {
            it.start({24h, it.stop.get_token()});
            if (is_left) {
                leave(*it.loop);
            }
            if (!it.got) { // else it is a connect
                it.stop.request_stop();
                it.loop->run();
            }
            it.expect_stopped();
        });
    }
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

TEST(UringCancellation, ByADeadlineEndsTheWaitThoughTheLoopWasLeft) {
    for_each_wait([](waiting& it) {
        it.loop->spawn(it.wait(2ms));
        leave(*it.loop);
        if (!it.got) {
            it.loop->run();
        }
        ASSERT_TRUE(it.got);
        const bool is_connect{it.with.client}; // which does not start again
        EXPECT_TRUE(*it.got == std::errc::timed_out || is_connect) << it.got->message();
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
    for_each_deed([&]<class Make>(const char* name, auto is_done, Make) {
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

class UringStop : public testing::Test, protected waiting_read {
protected:
    context loop{sleepy};
    std::stop_source stop;
};

TEST_F(UringStop, MayComeAsTheOperationStarts) {
    const auto stopped = run_one(
        loop, [&] { return read_stopped_as_it_starts(loop, pipe.reader.get(), bytes, stop); });
    EXPECT_EQ(stopped.error(), std::errc::operation_canceled);
    write_text(pipe.writer, "x");
    EXPECT_EQ(read_text(pipe.reader), "x");
}

TEST_F(UringStop, LosesToAResultThatHasArrived) {
    start(loop, stop.get_token());
    loop.run_until_idle();
    // The read completes, but the loop has not fetched the completion.
    write_text(pipe.writer, "word");
    stop.request_stop();
    while (!got) {
        loop.run_until_idle();
    }
    expect_word();
}

TEST_F(UringStop, LosesToAResultThatIsReady) {
    std::optional<result<>> other;
    const auto stop_other = [&]() -> task<> {
        const auto nop = co_await loop.nop();
        EXPECT_TRUE(nop);
        EXPECT_FALSE(other); // is over as well, but its coroutine has not had its turn
        stop.request_stop();
    };
    loop.spawn(stop_other()); // asked for first, completed first
    loop.spawn(party_that_stops(loop, other, [&] { return loop.nop(stop.get_token()); }));
    loop.run();
    ASSERT_TRUE(other);
    EXPECT_TRUE(*other) << other->message();
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
