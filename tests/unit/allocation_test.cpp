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

#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
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

    void expect_none() const {
        EXPECT_EQ(allocated(), 0);
        EXPECT_EQ(freed(), 0);
    }

private:
    long allocations_ = allocations;
    long deallocations_ = deallocations;
    std::size_t bytes_ = allocated_bytes;
};

constexpr int steady = 2'000;

TEST(Allocation, IsCountedHere) {
    const since_now measured;
    ::operator delete(::operator new(100)); // which no compiler may leave out
    EXPECT_EQ(measured.allocated(), 1);
    EXPECT_EQ(measured.freed(), 1);
    EXPECT_EQ(measured.bytes_allocated(), 100U);
}

/// Exchanges in every way with a partner that answers, and then closes.
template <class Coroutine>
Coroutine exchange_steadily(exchanger& ex, std::stop_token stop) {
    // Whatever is allocated once for all, such as the timer thread's heap, is there after a round.
    std::optional<since_now> measured;
    long swaps = 0;
    const auto count = [&swaps](const tryst::exchange_result<int>& got) { swaps += got ? 1 : 0; };
    for (int i = 0; i != 1 + steady; ++i) {
        const auto plain = co_await ex.exchange(i);
        count(plain);
        const auto stoppable = co_await ex.exchange(i, stop);
        count(stoppable);
        const auto timed = co_await ex.exchange(i, 1h);
        count(timed);
        const auto both = co_await ex.exchange(i, 1h, stop);
        count(both);
        const auto until =
            co_await ex.exchange(i, std::chrono::steady_clock::time_point::max(), stop);
        count(until);
        static_cast<void>(co_await ex.exchange(i, 0s));
        static_cast<void>(ex.try_exchange(i));
        if (i == 0) {
            measured.emplace();
        }
    }
    measured->expect_none();
    EXPECT_GE(swaps, 5L * steady);
    ex.close();
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
    for (const bool has_grown : {false, true}) {
        SCOPED_TRACE(has_grown);
        exchanger ex(4);
        std::stop_source stop;
        tryst::run_loop loop;
        if (has_grown) {
            tryst::test::grow(ex, 4);
        }
        loop.spawn(exchange_steadily<tryst::task<>>(ex, stop.get_token()));
        for (int answers = has_grown ? 2 : 1; answers != 0; --answers) { // one waits its turn
            loop.spawn(answer(ex));
        }
        loop.run_until_idle();
        EXPECT_TRUE(ex.is_closed());
    }
}

TEST(Allocation, DoesNotHappenInExchangesBetweenLoops) {
    exchanger ex;
    std::stop_source stop;
    tryst::run_loop loop;
    tryst::test::loop_thread there;
    there->spawn(answer(ex));
    loop.run(exchange_steadily<tryst::task<>>(ex, stop.get_token()));
    there.join();
}

TEST(Allocation, DoesNotHappenInExchangesBetweenThreads) {
    exchanger ex;
    std::stop_source stop;
    std::thread partner([&] {
        while (tryst::sync_wait(ex.exchange(-1))) {
        }
    });
    const std::stop_token token = stop.get_token();
    std::optional<since_now> measured;
    for (int i = 0; i != 1 + steady / 10; ++i) { // each waits for a thread, on a busy machine long
        EXPECT_TRUE(tryst::sync_wait(ex.exchange(i)));
        EXPECT_TRUE(tryst::sync_wait(ex.exchange(i, token)));
        EXPECT_TRUE(tryst::sync_wait(ex.exchange(i, 1h)));
        EXPECT_TRUE(tryst::sync_wait(ex.exchange(i, 1h, token)));
        static_cast<void>(tryst::sync_wait(ex.exchange(i, 1us)));
        if (i == 0) {
            measured.emplace();
        }
    }
    measured->expect_none();
    ex.close();
    partner.join();
}

tryst::task<> fail_steadily(exchanger& ex, std::vector<std::stop_source>& stops) {
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
    measured.expect_none();
}

TEST(Allocation, DoesNotHappenInExchangesThatFail) {
    exchanger ex;
    std::vector<std::stop_source> stops(500);
    tryst::run_loop loop;
    loop.run(fail_steadily(ex, stops));
}

TEST(Allocation, DoesNotHappenInBareCoroutines) {
    exchanger ex;
    std::stop_source stop;
    const auto waiting = exchange_steadily<bare_coroutine>(ex, stop.get_token());
    while (ex.try_exchange(-1)) {
    }
    EXPECT_TRUE(waiting.done());
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
