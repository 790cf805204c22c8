// SPDX-License-Identifier: MIT
// Exchanges allocate nothing once Asio has memory to recycle. A program of its own, because it
// counts all allocations, including Asio's own.
#include "adapters/asio/net.hpp"
#include "support/counted_memory.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::asio::async_wait;
using tryst::test::allocations;
using tryst::test::allocations_fail;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

constexpr int warm_up = 20;
constexpr int rounds = 2'000;

/// Exchanges again and again, and closes when it has done so often enough. `initiate(ex, handler)`.
template <class Initiate>
class swapper {
public:
    swapper(exchanger& ex, Initiate initiate) : ex_(&ex), initiate_(std::move(initiate)) {}

    void start() {
        initiate_(*ex_, [this](const auto& got) {
            if (!got) {
                return;
            }
            if (++count_ == warm_up) {
                before_ = allocations;
            } else if (count_ == warm_up + rounds) {
                allocated_ = allocations - before_;
                ex_->close();
                return;
            }
            start();
        });
    }

    long allocated() const noexcept { return allocated_; }

private:
    exchanger* ex_;
    Initiate initiate_;
    int count_ = 0;
    long before_ = 0;
    long allocated_ = -1;
};

template <class Executor>
auto plainly(const Executor& executor) {
    return [executor](exchanger& ex, auto handler) {
        async_wait(ex.exchange(1), net::bind_executor(executor, std::move(handler)));
    };
}

TEST(AsioAllocation, IsCountedHere) {
    net::io_context io;
    const long before = allocations;
    net::post(io, [] {}); // outside of Asio's threads, where nothing is recycled
    EXPECT_EQ(allocations, before + 1);
}

TEST(AsioAllocation, DoesNotHappenInSwapsOfTwoCallbacks) {
    net::io_context io;
    exchanger ex;
    swapper first(ex, plainly(io.get_executor()));
    swapper second(ex, plainly(io.get_executor()));
    first.start();
    second.start();
    io.run();
    EXPECT_EQ(std::max(first.allocated(), second.allocated()), 0);
}

TEST(AsioAllocation, DoesNotHappenInSwapsOfTwoCallbacksInAStrand) {
    net::io_context io;
    const auto strand = net::make_strand(io);
    exchanger ex;
    swapper first(ex, plainly(strand));
    swapper second(ex, plainly(strand));
    first.start();
    second.start();
    io.run();
    EXPECT_EQ(std::max(first.allocated(), second.allocated()), 0);
}

TEST(AsioAllocation, DoesNotHappenInSwapsWithADeadline) {
    net::io_context io;
    exchanger ex;
    const auto timed = [&io](exchanger& room, auto handler) {
        async_wait(room.exchange(1, 1h), net::bind_executor(io, std::move(handler)));
    };
    swapper first(ex, timed);
    swapper second(ex, timed);
    first.start();
    second.start();
    io.run();
    EXPECT_EQ(std::max(first.allocated(), second.allocated()), 0);
}

TEST(AsioAllocation, DoesNotHappenInSwapsWithAThread) {
    net::io_context io;
    exchanger ex;
    swapper callback(ex, plainly(io.get_executor()));
    callback.start();
    std::thread partner([&ex] {
        while (tryst::sync_wait(ex.exchange(2))) {
        }
    });
    io.run();
    partner.join();
    EXPECT_EQ(callback.allocated(), 0);
}

TEST(AsioAllocation, DoesNotHappenInSwapsOfTwoAwaitables) {
    net::io_context io;
    exchanger ex;
    long allocated = -1;
    const auto swap = [](exchanger& room, int times, long& cost) -> net::awaitable<void> {
        long before = 0;
        for (int i = 0; i != times; ++i) {
            if (i == warm_up) {
                before = allocations;
            }
            static_cast<void>(co_await tryst::asio::wait(room.exchange(i)));
        }
        cost = allocations - before;
        room.close();
    };
    long other = 0;
    net::co_spawn(io, swap(ex, rounds, allocated), net::detached);
    net::co_spawn(io, swap(ex, rounds + 1, other), net::detached);
    io.run();
    EXPECT_EQ(allocated, 0);
}

/// With any token that gives an awaitable.
TEST(AsioAllocation, DoesNotHappenInSwapsOfAwaitablesWithTokens) {
    net::io_context io;
    exchanger ex;
    long allocated = -1;
    const auto swap = [](exchanger& room, int times, auto token,
                         long& cost) -> net::awaitable<void> {
        long before = 0;
        for (int i = 0; i != times; ++i) {
            if (i == warm_up) {
                before = allocations;
            }
            static_cast<void>(co_await async_wait(room.exchange(i), token));
        }
        cost = allocations - before;
        room.close();
    };
    long other = 0;
    net::co_spawn(io, swap(ex, rounds, net::use_awaitable, allocated), net::detached);
    net::co_spawn(io, swap(ex, rounds + 1, tryst::test::as_tuple(net::use_awaitable), other),
                  net::detached);
    io.run();
    EXPECT_EQ(allocated, 0);
}

TEST(AsioAllocation, DoesNotHappenInSwapsOfTwoTasks) {
    net::io_context io;
    tryst::asio::task_executor loop(io);
    exchanger ex;
    long allocated = -1;
    const auto swap = [](exchanger& room, auto& own, long& cost) -> tryst::task<> {
        const long before = allocations;
        for (int i = 0; i != rounds; ++i) {
            const auto got = co_await room.exchange(i);
            EXPECT_TRUE(got);
            co_await own.schedule();
        }
        cost = allocations - before;
    };
    long other = 0;
    loop.spawn(swap(ex, loop, allocated));
    loop.spawn(swap(ex, loop, other));
    io.run();
    EXPECT_EQ(allocated, 0);
    EXPECT_EQ(other, 0);
}

/// A thread that runs no context of Asio has no memory to recycle.
TEST(AsioAllocation, IsNotNeededToWakeAPartnerFromAnotherThread) {
    net::io_context io;
    exchanger ex;
    int met = 0;
    const auto count = [&met](auto&& got) { met += got ? 1 : 0; };
    async_wait(ex.exchange(1), net::bind_executor(io, count));
    net::co_spawn(
        io, [&]() -> net::awaitable<void> { count(co_await tryst::asio::wait(ex.exchange(2))); },
        net::detached);
    io.poll();
    ASSERT_EQ(met, 2);
    exchanger rooms[3];
    async_wait(rooms[0].exchange(1), net::bind_executor(io, count));
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> { count(co_await tryst::asio::wait(rooms[1].exchange(2))); },
        net::detached);
    tryst::asio::task_executor loop(io);
    loop.spawn([](exchanger& room, const auto& counts) -> tryst::task<> {
        counts(co_await room.exchange(3));
    }(rooms[2], count));
    io.restart();
    io.poll();

    const long before = allocations;
    bool all = true;
    for (exchanger& each : rooms) {
        all = each.try_exchange(4).has_value() && all;
    }
    EXPECT_EQ(allocations, before);
    EXPECT_TRUE(all);
    io.restart();
    io.run();
    EXPECT_EQ(met, 5);
}

TEST(AsioAllocation, ThatFailsLetsTheInitiationThrowAndNothingIsOffered) {
    net::io_context io;
    exchanger ex;
    allocations_fail = true;
    EXPECT_THROW(async_wait(ex.exchange(1), net::bind_executor(io, [](const auto&) {})),
                 std::bad_alloc);
    allocations_fail = false;
    EXPECT_EQ(ex.try_exchange(2).error(), tryst::exchange_errc::no_partner);
    EXPECT_EQ(io.run(), 0U);
}

/// Calls `check` with a new context again and again. Each time a later allocation of `attempt`
/// fails, until none does.
template <class Prepare, class Attempt, class Check>
void at_each_allocation(Prepare prepare, Attempt attempt, Check check) {
    bool failed = true;
    for (long n = 1; failed; ++n) {
        net::io_context io;
        exchanger ex;
        auto prepared = prepare(io);
        bool thrown = false;
        tryst::test::failing_allocation = n;
        try {
            attempt(prepared, ex, io);
        } catch (const std::bad_alloc&) {
            thrown = true;
        }
        failed = tryst::test::failing_allocation.exchange(0) == 0;
        check(thrown, ex, io);
        ASSERT_LT(n, 100);
    }
}

/// The first operation of a context creates services in it.
template <class Prepare>
void check_first_operation(Prepare prepare) {
    at_each_allocation(
        prepare,
        [](auto& executor, exchanger& ex, net::io_context&) {
            async_wait(ex.exchange(1), net::bind_executor(executor, [](const auto&) {}));
        },
        [](bool thrown, exchanger& ex, net::io_context& io) {
            EXPECT_EQ(ex.try_exchange(2).has_value(), !thrown);
            EXPECT_EQ(io.run() == 0U, thrown);
        });
}

TEST(AsioAllocation, ThatFailsInTheFirstOperationOfAContextLetsTheInitiationThrow) {
    check_first_operation([](net::io_context& io) { return io.get_executor(); });
    check_first_operation(
        [](net::io_context& io) { return net::any_io_executor(io.get_executor()); });
    check_first_operation([](net::io_context& io) { return net::make_strand(io); });
    check_first_operation([](net::io_context& io) {
        return net::make_strand(net::any_io_executor(io.get_executor()));
    });
}

TEST(AsioAllocation, ThatFailsDoesNotLoseTheDeadlineOfAnOperation) {
    bool ended = false;
    at_each_allocation(
        [&](net::io_context& io) {
            ended = false;
            return io.get_executor();
        },
        [&](auto& executor, exchanger& ex, net::io_context& io) {
            async_wait(ex.exchange(1, 1ms), net::bind_executor(executor, [&](const auto& got) {
                           ended = got.error() == std::errc::timed_out;
                       }));
            io.run();
        },
        [&](bool thrown, exchanger&, net::io_context&) { EXPECT_EQ(ended, !thrown); });
}

#ifndef _WIN32 // where the handler of an expired timer does not always run: docs/install.md
TEST(AsioAllocation, ThatFailsDoesNotLoseTheDeadlineOfATask) {
    using executor = tryst::asio::task_executor<net::io_context::executor_type>;
    int ended = 0;
    exchanger rooms[3];
    at_each_allocation(
        [&](net::io_context& io) {
            ended = 0;
            auto loop = std::make_unique<executor>(io);
            for (exchanger& room : rooms) {
                loop->spawn([](exchanger& alone, int& timed_out) -> tryst::task<> {
                    for (int turn = 0; turn != 3; ++turn) {
                        const auto got = co_await alone.exchange(1, 1ms);
                        timed_out += got.error() == tryst::exchange_errc::timed_out ? 1 : 0;
                    }
                }(room, ended));
            }
            return loop;
        },
        [](auto&, exchanger&, net::io_context& io) { io.run(); },
        [&](bool thrown, exchanger&, net::io_context&) {
            EXPECT_FALSE(thrown);
            EXPECT_EQ(ended, 9);
        });
}
#endif

/// As the queue of an executor without memory.
struct no_queue {
    template <class Function>
    void push(Function /*function*/, bool /*continues*/) {
        throw std::bad_alloc();
    }
};

/// The timers of a context when there is no memory for the alarm: they move to the timer thread,
/// and later ones use the alarm again.
TEST(AsioAllocation, ThatFailsMovesTheTimersOfAContextToTheTimerThread) {
    struct counted : tryst::timer_node {
        counted(std::chrono::nanoseconds from_now, std::atomic<int>& fired) : count(&fired) {
            deadline = time_point::clock::now() + from_now;
            fire = [](tryst::timer_node* node) noexcept {
                auto& self = *static_cast<counted*>(node);
                self.thread = std::this_thread::get_id();
                self.count->fetch_add(1);
                self.count->notify_all();
            };
        }
        std::atomic<int>* count;
        std::thread::id thread;
    };
    net::io_context io;
    tryst::asio::detail::context_timers timers(io);
    std::atomic<int> fired = 0;
    counted late(1h, fired);
    counted soon(1ms, fired);
    counted later(2h, fired);
    timers.arm(&late);
    EXPECT_EQ(io.poll(), 0U);
    allocations_fail = true;
    timers.arm(&soon);
    timers.arm(&later);
    allocations_fail = false;
    fired.wait(0);
    timers.disarm(&soon, no_queue());
    EXPECT_NE(soon.thread, std::this_thread::get_id());
    timers.disarm(&late, no_queue());
    timers.disarm(&later, no_queue());
    EXPECT_EQ(fired, 1);
    counted again(1ms, fired);
    timers.arm(&again);
    io.restart();
    EXPECT_NE(io.run(), 0U);
    EXPECT_EQ(again.thread, std::this_thread::get_id());
    timers.disarm(&again, no_queue());
    timers.shutdown();
}

} // namespace
