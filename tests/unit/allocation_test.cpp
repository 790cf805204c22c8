// SPDX-License-Identifier: MIT
// What an exchanger and its operations cost in memory. A program of its own: it counts all
// allocations.
#include <tryst/exchanger.hpp>

#include "support/bare_coroutine.hpp"
#include "support/counted_memory.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"

#include <tryst/detail/platform/cpu.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <new>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::test::allocated_bytes;
using tryst::test::allocations;
using tryst::test::bare_coroutine;
using tryst::test::deallocations;
using exchanger = tryst::exchanger<int>;

/// Counts from its construction on.
class since_now {
public:
    long allocated() const noexcept { return allocations - allocations_; }
    long freed() const noexcept { return deallocations - deallocations_; }
    std::size_t bytes_allocated() const noexcept { return allocated_bytes - bytes_; }

private:
    long allocations_ = allocations;
    long deallocations_ = deallocations;
    std::size_t bytes_ = allocated_bytes;
};

constexpr int steady = 2'000;

/// What many exchanges have cost together.
struct cost {
    long swaps = 0;
    long allocated = -1;
    long freed = -1;

    void count(const tryst::exchange_result<int>& got) { swaps += got ? 1 : 0; }

    void expect_none(long least_swaps) const {
        EXPECT_GE(swaps, least_swaps);
        EXPECT_EQ(allocated, 0);
        EXPECT_EQ(freed, 0);
    }
};

/// Exchanges in every way with a partner that answers, and then closes.
tryst::task<> exchange_steadily(exchanger& ex, std::stop_token stop, cost& all) {
    static_cast<void>(co_await ex.exchange(0));
    const since_now measured;
    for (int i = 0; i != steady; ++i) {
        const auto plain = co_await ex.exchange(i);
        all.count(plain);
        const auto stoppable = co_await ex.exchange(i, stop);
        all.count(stoppable);
        const auto timed = co_await ex.exchange(i, 1h);
        all.count(timed);
        const auto both = co_await ex.exchange(i, 1h, stop);
        all.count(both);
        const auto until =
            co_await ex.exchange(i, std::chrono::steady_clock::time_point::max(), stop);
        all.count(until);
        static_cast<void>(co_await ex.exchange(i, 0s));
        static_cast<void>(ex.try_exchange(i));
    }
    all.allocated = measured.allocated();
    all.freed = measured.freed();
    ex.close();
}

TEST(Allocation, IsCountedHere) {
    const since_now measured;
    ::operator delete(::operator new(100)); // which no compiler may leave out
    EXPECT_EQ(measured.allocated(), 1);
    EXPECT_EQ(measured.freed(), 1);
    EXPECT_EQ(measured.bytes_allocated(), 100U);
}

tryst::task<> answer(exchanger& ex) {
    for (;;) {
        const auto got = co_await ex.exchange(-1);
        if (!got) {
            co_return;
        }
    }
}

TEST(Allocation, DoesNotHappenInExchangesOnOneLoop) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    cost all;
    loop.spawn(exchange_steadily(ex, stop.get_token(), all));
    loop.spawn(answer(ex));
    loop.run_until_idle();
    all.expect_none(5L * steady);
}

TEST(Allocation, DoesNotHappenInExchangesOnOneLoopInAGrownArena) {
    exchanger ex(4);
    std::stop_source stop;
    tryst::run_loop loop;
    tryst::test::grow(ex, 4);
    cost all;
    loop.spawn(exchange_steadily(ex, stop.get_token(), all));
    loop.spawn(answer(ex)); // three, so that one always waits its turn
    loop.spawn(answer(ex));
    loop.run_until_idle();
    all.expect_none(5L * steady);
}

tryst::task<> exchange_and_stop(exchanger& ex, std::stop_token stop, cost& all,
                                tryst::run_loop& loop) {
    co_await exchange_steadily(ex, std::move(stop), all);
    loop.stop();
}

TEST(Allocation, DoesNotHappenInExchangesBetweenLoops) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    tryst::test::loop_thread there;
    cost all;
    there->spawn(answer(ex));
    loop.spawn(exchange_and_stop(ex, stop.get_token(), all, loop));
    loop.run();
    there.join();
    all.expect_none(5L * steady);
}

TEST(Allocation, DoesNotHappenInExchangesBetweenThreads) {
    exchanger ex;
    std::stop_source stop;
    std::thread partner([&] {
        while (tryst::sync_wait(ex.exchange(-1))) {
        }
    });
    cost all;
    const std::stop_token token = stop.get_token();
    static_cast<void>(tryst::sync_wait(ex.exchange(0)));
    static_cast<void>(tryst::sync_wait(ex.exchange(0, 1us)));
    const since_now measured;
    for (int i = 0; i != steady; ++i) {
        all.count(tryst::sync_wait(ex.exchange(i)));
        all.count(tryst::sync_wait(ex.exchange(i, token)));
        all.count(tryst::sync_wait(ex.exchange(i, 1h)));
        all.count(tryst::sync_wait(ex.exchange(i, 1h, token)));
        static_cast<void>(tryst::sync_wait(ex.exchange(i, 1us)));
    }
    all.allocated = measured.allocated();
    all.freed = measured.freed();
    ex.close();
    partner.join();
    all.expect_none(4L * steady);
}

tryst::task<> fail_steadily(exchanger& ex, std::vector<std::stop_source>& stops, long& allocated,
                            long& freed, tryst::run_loop& loop) {
    static_cast<void>(co_await ex.exchange(1, 1us));
    const since_now measured;
    for (std::stop_source& stop : stops) {
        static_cast<void>(co_await ex.exchange(1, 1us));
        static_cast<void>(co_await ex.exchange(1, 1us, stop.get_token()));
        stop.request_stop();
        static_cast<void>(co_await ex.exchange(1, stop.get_token()));
    }
    ex.close();
    for (int i = 0; i != steady; ++i) {
        static_cast<void>(co_await ex.exchange(1));
    }
    allocated = measured.allocated();
    freed = measured.freed();
    loop.stop();
}

TEST(Allocation, DoesNotHappenInExchangesThatFail) {
    exchanger ex;
    std::vector<std::stop_source> stops(500);
    tryst::run_loop loop;
    long allocated = -1;
    long freed = -1;
    loop.spawn(fail_steadily(ex, stops, allocated, freed, loop));
    loop.run();
    EXPECT_EQ(allocated, 0);
    EXPECT_EQ(freed, 0);
}

bare_coroutine exchange_bare(exchanger& ex, int times, std::stop_token stop,
                             std::atomic<int>& ended) {
    for (int i = 0; i != times; ++i) {
        static_cast<void>(co_await ex.exchange(i));
        static_cast<void>(co_await ex.exchange(i, stop));
        static_cast<void>(co_await ex.exchange(i, 1h)); // on the timer thread
        static_cast<void>(co_await ex.exchange(i, 1h, stop));
    }
    ended = 1;
}

TEST(Allocation, DoesNotHappenInBareCoroutines) {
    exchanger ex;
    std::stop_source stop;
    std::atomic<int> ended{0};
    const auto waiting = exchange_bare(ex, 1 + steady, stop.get_token(), ended);
    for (int i = 0; i != 4; ++i) {
        EXPECT_TRUE(ex.try_exchange(1)); // starts the timer thread
    }
    const since_now measured;
    for (int i = 0; i != 4 * steady; ++i) {
        static_cast<void>(ex.try_exchange(1));
    }
    EXPECT_EQ(measured.allocated(), 0);
    EXPECT_EQ(measured.freed(), 0);
    EXPECT_EQ(ended, 1);
}

TEST(Allocation, OfAnIdleExchangerIsOneLinePairForEachSlotAndOne) {
    for (const std::size_t capacity : {0U, 1U, 2U, 8U, 255U}) {
        const since_now measured;
        const exchanger ex(capacity);
        EXPECT_LE(measured.bytes_allocated(), (capacity + 1) * tryst::detail::line_pair);
        EXPECT_LE(measured.allocated(), 2);
    }
    EXPECT_EQ(sizeof(exchanger), sizeof(void*));
}

TEST(Allocation, OfAnExchangerEndsWithIt) {
    const since_now measured;
    {
        const exchanger ex(8);
    }
    EXPECT_EQ(measured.allocated(), measured.freed());
}

struct payload {
    explicit payload(int n) : number(n) {}
    payload(payload&& other) noexcept = default;
    payload& operator=(payload&& other) noexcept = default;
    ~payload() = default;
    long long number;
};

template <class Operation>
constexpr std::size_t overhead = sizeof(Operation) - sizeof(payload);

TEST(OperationSize, BeyondItsItemIsWithinALinePair) {
    using ex = tryst::exchanger<payload>;
    using plain = decltype(std::declval<ex&>().exchange(payload(1)));
    using stoppable = decltype(std::declval<ex&>().exchange(payload(1), std::stop_token()));
    using timed = decltype(std::declval<ex&>().exchange(payload(1), 1h));
    using both = decltype(std::declval<ex&>().exchange(payload(1), 1h, std::stop_token()));
    EXPECT_LE(overhead<plain>, 128U);
    EXPECT_LE(overhead<stoppable>, 128U);
    EXPECT_LE(overhead<timed>, 128U);
    // The price of having both; of no consequence but to be known.
    EXPECT_LE(overhead<both>, 192U);
    EXPECT_LT(overhead<plain>, overhead<stoppable>);
    EXPECT_LT(overhead<plain>, overhead<timed>);
    RecordProperty("plain", static_cast<int>(overhead<plain>));
    RecordProperty("stoppable", static_cast<int>(overhead<stoppable>));
    RecordProperty("timed", static_cast<int>(overhead<timed>));
    RecordProperty("both", static_cast<int>(overhead<both>));
}

TEST(OperationSize, OfATaskIsThatOfAPointer) {
    EXPECT_EQ(sizeof(tryst::task<int>), sizeof(void*));
}

} // namespace
