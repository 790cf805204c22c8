// SPDX-License-Identifier: MIT
// What exchangers, their operations and their waiters cost in memory, and what happens when there
// is no more. A program of its own: it counts all allocations.
#include <tryst/exchanger.hpp>

#include "support/bare_coroutine.hpp"
#include "support/counted_memory.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"

#include <tryst/channel.hpp>
#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/future.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>
#include <tryst/when_any.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <span>
#include <stop_token>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;
using detail::colour;
using detail::match_result;
using detail::waiter;

/// Counts from its construction on.
class since_now {
public:
    long allocated() const noexcept { return allocations - allocations_; }
    long freed() const noexcept { return deallocations - deallocations_; }
    std::size_t bytes() const noexcept { return allocated_bytes - bytes_; }

private:
    long allocations_ = allocations;
    long deallocations_ = deallocations;
    std::size_t bytes_ = allocated_bytes;
};

TEST(Allocation, IsCountedHere) {
    const since_now measured;
    ::operator delete(::operator new(100)); // which no compiler may leave out
    EXPECT_EQ(measured.allocated(), 1);
    EXPECT_EQ(measured.freed(), 1);
    EXPECT_EQ(measured.bytes(), 100U);
}

// ---- In the steady state, whatever a party does.

/// Two sides that meet, and who waits first.
struct pairs {
    exchanger<int> at{4};
    auto ours(auto... limit) { return at.exchange(1, limit...); }
    auto theirs() { return at.exchange(2); }
    auto try_ours() { return at.try_exchange(1); }
};
template <order Order>
struct sides {
    synchronous_channel<int, Order> at;
    auto ours(auto... limit) { return at.send(1, limit...); }
    auto theirs() { return at.receive(); }
    auto try_ours() { return at.try_send(1); }
};

template <class Meeting>
class SteadyState : public testing::Test {
protected:
    /// Waits in every way, and then closes.
    template <class Coroutine>
    Coroutine wait_in_all_ways() {
        for (int i = 0; i != rounds; ++i) {
            const auto plain = co_await meeting.ours();
            const auto stoppable = co_await meeting.ours(stop.get_token());
            const auto timed = co_await meeting.ours(1h);
            const auto both = co_await meeting.ours(1h, stop.get_token());
            const auto until = co_await meeting.ours(std::chrono::steady_clock::time_point::max());
            met += plain.has_value() + stoppable.has_value() + timed.has_value();
            met += both.has_value() + until.has_value();
            static_cast<void>(co_await meeting.ours(0s));
            static_cast<void>(meeting.try_ours());
            measure(i);
        }
        end();
    }
    task<> answer() {
        bool open = true;
        while (open) {
            const auto got = co_await meeting.theirs();
            open = got.has_value();
        }
    }
    void answer_on_thread() {
        while (sync_wait(meeting.theirs())) {
        }
    }
    /// What is allocated once for all is there then, such as the timer thread's heap, and a second
    /// segment for those who wait.
    void measure(int round) {
        if (round == 50) {
            measured.emplace();
        }
    }
    void end() {
        EXPECT_EQ(measured->allocated(), 0);
        EXPECT_EQ(measured->freed(), 0);
        EXPECT_GE(met, 5 * rounds);
        meeting.at.close();
    }

    static constexpr int rounds = 1'000;
    Meeting meeting;
    std::stop_source stop;
    int met = 0;
    std::optional<since_now> measured;
};

struct buffered {
    channel<int> at{4};
    auto ours(auto... limit) { return at.send(1, limit...); }
    auto theirs() { return at.receive(); }
    auto try_ours() { return at.try_send(1); }
};
using meetings = testing::Types<pairs, sides<order::fifo>, sides<order::lifo>, buffered>;
TYPED_TEST_SUITE(SteadyState, meetings);

TYPED_TEST(SteadyState, OfCoroutinesOnOneLoopAllocatesNothing) {
    run_loop loop;
    loop.spawn(this->template wait_in_all_ways<task<>>());
    loop.spawn(this->answer());
    loop.run_until_idle();
    EXPECT_TRUE(this->meeting.at.is_closed());
}

TYPED_TEST(SteadyState, OfABareCoroutineAllocatesNothing) {
    const auto waiting = this->template wait_in_all_ways<bare_coroutine>();
    this->answer_on_thread();
    EXPECT_TRUE(waiting.done());
}

// A thread that is held keeps a segment of the wait list of a channel, but nothing of an exchanger.
using SteadyStateOfPairs = SteadyState<pairs>;

TEST_F(SteadyStateOfPairs, OnTwoLoopsAllocatesNothing) {
    run_loop loop;
    loop_thread there;
    there->spawn(answer());
    loop.run(wait_in_all_ways<task<>>());
    there.join();
}

TEST_F(SteadyStateOfPairs, OfThreadsAllocatesNothing) {
    std::jthread partner([this] { answer_on_thread(); });
    const std::stop_token token = stop.get_token();
    const auto count = [this](const auto& got) { met += got ? 1 : 0; };
    for (int i = 0; i != rounds; ++i) {
        count(sync_wait(meeting.ours()));
        count(sync_wait(meeting.ours(token)));
        count(sync_wait(meeting.ours(1h)));
        count(sync_wait(meeting.ours(1h, token)));
        count(sync_wait(meeting.ours(std::chrono::steady_clock::time_point::max())));
        static_cast<void>(sync_wait(meeting.ours(1us)));
        measure(i);
    }
    end();
}

task<> fail_steadily(exchanger<int>& ex, std::vector<std::stop_source>& stops) {
    static_cast<void>(co_await ex.exchange(1, 1us));
    const since_now measured;
    for (std::stop_source& stop : stops) {
        static_cast<void>(co_await ex.exchange(1, 1us));
        static_cast<void>(co_await ex.exchange(1, 1us, stop.get_token()));
        stop.request_stop();
        static_cast<void>(co_await ex.exchange(1, stop.get_token()));
    }
    ex.close();
    static_cast<void>(co_await ex.exchange(1));
    EXPECT_EQ(measured.allocated(), 0);
    EXPECT_EQ(measured.freed(), 0);
}

task<> wait_for_replies() {
    const since_now measured;
    for (const bool drops : {false, true}) {
        future<int> reply;
        promise<int> given = reply.get_promise();
        const auto late = co_await reply.get(1us);
        EXPECT_EQ(late.error(), exchange_errc::timed_out);
        promise<int> moved = std::move(given);
        if (drops) {
            moved = {};
        } else {
            EXPECT_TRUE(moved.set(1));
        }
        const auto got = co_await reply.get(1h);
        EXPECT_EQ(got.has_value(), !drops);
    }
    EXPECT_EQ(measured.allocated(), 0);
}

TEST(Allocation, DoesNotHappenInFutures) {
    run_loop loop;
    loop.run(wait_for_replies());
}

TEST(Allocation, OfWhenAnyIsOneFrameIfItAwaitsExchanges) {
    run_loop loop;
    exchanger<int> one;
    exchanger<int> other;
    const auto swap = [&](auto stop) { return one.exchange(1, stop); };
    const auto swap_there = [&](auto stop) { return other.exchange(1, stop); };
    loop.spawn([](const auto& a, const auto& b) -> task<> {
        const since_now before;
        auto got = co_await when_any(a, b);
        EXPECT_EQ(got.index(), 0U);
        EXPECT_EQ(before.allocated(), 1);
    }(swap, swap_there));
    loop.run_until_idle();
    EXPECT_TRUE(one.try_exchange(2));
    loop.run_until_idle();
}

TEST(Allocation, DoesNotHappenInExchangesThatFail) {
    for (const int slots : {0, 4}) {
        exchanger<int> ex(4);
        grow(ex, slots);
        std::vector<std::stop_source> stops(500);
        run_loop loop;
        loop.run(fail_steadily(ex, stops));
    }
}

// ---- Sizes.

TEST(Allocation, OfAnIdleExchangerIsOneLinePairForEachSlotAndOne) {
    for (const std::size_t capacity : {0U, 1U, 2U, 8U, 255U}) {
        const since_now measured;
        std::optional<exchanger<int>> ex(std::in_place, capacity);
        EXPECT_LE(measured.bytes(), (capacity + 1) * detail::line_pair);
        EXPECT_LE(measured.allocated(), 2);
        ex.reset();
        EXPECT_EQ(measured.allocated(), measured.freed());
    }
    EXPECT_EQ(sizeof(exchanger<int>), sizeof(void*));
}

TEST(OperationSize, BeyondItsItemIsWithinALinePair) {
    struct payload {
        explicit payload(int n) : number(n) {}
        payload(payload&&) = default;
        payload& operator=(payload&&) = default;
        ~payload() = default;
        long long number;
    };
    const auto overhead = [](auto... limit) {
        using ex = exchanger<payload>;
        return sizeof(decltype(std::declval<ex&>().exchange(payload(1), limit...))) -
               sizeof(payload);
    };
    EXPECT_LE(overhead(std::stop_token()), 128U);
    EXPECT_LE(overhead(1h), 128U);
    EXPECT_LT(overhead(), overhead(std::stop_token()));
    EXPECT_LT(overhead(), overhead(1h));
    // The price of having both; of no consequence but to be known.
    EXPECT_LE(overhead(1h, std::stop_token()), 192U);
    EXPECT_EQ(sizeof(task<int>), sizeof(void*));
}

// ---- Where parties of two colours wait.

template <class List>
class WaitListAllocation : public testing::Test {
protected:
    static constexpr bool is_queue = std::is_same_v<List, detail::dual_queue>;

    static void offer(List& list, waiter& w) {
        ASSERT_EQ(list.enqueue_or_match(w, colour::red).kind, match_result::offered);
    }
    static void withdraw(List& list, waiter& w) { ASSERT_TRUE(list.withdraw(w, colour::red)); }

    /// What an arrival does that waits.
    static match_result arrive(List& list, waiter& w, colour side) {
        while (true) {
            match_result seen{match_result::empty};
            if (!is_queue) {
                seen = list.try_match(side);
            }
            if (seen.kind == match_result::empty || seen.kind == match_result::own_side) {
                seen = list.enqueue_or_match(w, side);
            }
            if (seen.kind != match_result::empty) {
                return seen;
            }
        }
    }

    List list;
};

using wait_lists = testing::Types<detail::dual_queue, detail::dual_stack>;
TYPED_TEST_SUITE(WaitListAllocation, wait_lists);

TYPED_TEST(WaitListAllocation, IsSmallForEachWhoWaits) {
    std::vector<waiter> reds(100'000);
    const since_now measured;
    for (waiter& w : reds) {
        this->offer(this->list, w);
    }
    const std::size_t bytes_per_waiter = this->is_queue ? 10 : 16;
    // Blocks double: at most half of it is in use.
    EXPECT_LE(measured.bytes(), 21 * bytes_per_waiter * reds.size() / 10);
}

/// Many at a time wait in vain.
TYPED_TEST(WaitListAllocation, IsBoundedByTheMostWhoWaitAtATime) {
    for (const std::size_t most : {1U, 2U, 20U, 64U, 65U, 1'000U}) {
        SCOPED_TRACE(most);
        std::vector<waiter> reds(most);
        const since_now measured;
        TypeParam fresh;
        const auto all_give_up = [&](std::size_t times) {
            for (; times != 0; --times) {
                for (waiter& w : reds) {
                    this->offer(fresh, w);
                }
                for (waiter& w : reds) {
                    this->withdraw(fresh, w);
                }
            }
        };
        all_give_up(1);
        const std::size_t first = measured.bytes();
        all_give_up(10'000 / most + 10);
        const std::size_t settled = measured.bytes();
        all_give_up(10'000 / most + 90);
        EXPECT_EQ(measured.bytes(), settled);
        // Of the segments of a queue the waiters need some cells.
        const std::size_t segments = 1 + (most + 62) / 64;
        EXPECT_LE(settled, this->is_queue ? 640 * (std::bit_ceil(2 * segments + 11) - 1) : first);
    }
}

/// Nobody comes, all give up, each after the next has come; and the first stays for ever.
TYPED_TEST(WaitListAllocation, DoesNotGrowWithThoseWhoGiveUp) {
    waiter first;
    this->offer(this->list, first);
    for (const std::size_t overlap : {1U, 2U, 50U, 500U}) {
        SCOPED_TRACE(overlap);
        std::vector<waiter> reds(overlap + 1);
        const auto come_and_go = [&](std::size_t times) {
            for (std::size_t i = 0; i != times + overlap; ++i) {
                if (i < times) {
                    this->offer(this->list, reds[i % reds.size()]);
                }
                if (i >= overlap) {
                    this->withdraw(this->list, reds[(i - overlap) % reds.size()]);
                }
            }
        };
        come_and_go(10'000);
        const since_now settled;
        come_and_go(2'500'000);
        EXPECT_EQ(settled.bytes(), 0U);
    }
    EXPECT_EQ(this->list.try_match(colour::blue).claimed, &first);
    EXPECT_EQ(this->list.try_match(colour::blue).kind, match_result::empty);
}

/// One in 64 stays: the worst that can happen to segments.
TYPED_TEST(WaitListAllocation, IsBoundedByThoseWhoStay) {
    std::vector<waiter> staying(1'000);
    waiter passing;
    const since_now measured;
    for (waiter& w : staying) {
        for (int i = 0; i != 63; ++i) {
            this->offer(this->list, passing);
            this->withdraw(this->list, passing);
        }
        this->offer(this->list, w);
    }
    EXPECT_LE(measured.bytes(), 21U * 640 * staying.size() / 10);
    std::size_t met = 0;
    while (this->list.try_match(colour::blue).kind == match_result::partner) {
        ++met;
    }
    EXPECT_EQ(met, staying.size());
}

// ---- When there is no more memory.

template <class Meeting>
class MemoryFails : public testing::Test {
protected:
    task<> red(int mine) {
        auto got = co_await at.red(mine);
        if (got.error() == exchange_errc::out_of_memory) {
            EXPECT_EQ(got.returned(), mine);
            --waiting;
        }
    }

    Meeting at;
    int waiting = 200;
    run_loop loop;
};
using coloured = testing::Types<red_blue_exchanger<int, int, order::fifo>,
                                red_blue_exchanger<int, int, order::lifo>>;
TYPED_TEST_SUITE(MemoryFails, coloured);

TYPED_TEST(MemoryFails, AndWhoGetsNoPlaceGetsItsItemBack) {
    for (int i = 0; i != 200; ++i) {
        this->loop.spawn(this->red(i));
    }
    allocations_fail = true;
    this->loop.run_until_idle();
    allocations_fail = false;
    EXPECT_LT(this->waiting, 200);
    for (; this->waiting > 0; --this->waiting) {
        EXPECT_TRUE(this->at.try_blue(1));
    }
    EXPECT_FALSE(this->at.try_blue(1));
    this->loop.spawn(this->red(7)); // it is as good as before
    this->loop.run_until_idle();
    EXPECT_EQ(this->at.try_blue(8), 7);
    this->loop.run_until_idle();
}

/// Memory fails at the k-th allocation, for every k, and then returns.
TYPED_TEST(WaitListAllocation, MayFailAnywhere) {
    for (long k = 0; k != 12; ++k) {
        SCOPED_TRACE(k);
        TypeParam fresh;
        std::vector<waiter> reds(2'000);
        std::size_t waiting = 0;
        const since_now measured;
        for (waiter& w : reds) {
            allocations_fail = measured.allocated() >= k;
            const match_result seen = this->arrive(fresh, w, colour::red);
            allocations_fail = false;
            waiting += seen.kind == match_result::offered ? 1 : 0;
            ASSERT_TRUE(seen.kind == match_result::offered ||
                        seen.kind == match_result::out_of_memory);
        }
        EXPECT_TRUE(waiting != reds.size() || k > 4);
        // All who wait are met, and the next arrivals wait.
        for (std::size_t i = 0; i != reds.size(); ++i) {
            waiter blue;
            const match_result seen = this->arrive(fresh, blue, colour::blue);
            const bool met = i < waiting;
            ASSERT_EQ(seen.kind, met ? match_result::partner : match_result::offered);
            ASSERT_TRUE(met || fresh.withdraw(blue, colour::blue));
        }
        ASSERT_EQ(this->arrive(fresh, reds[0], colour::red).kind, match_result::offered);
        EXPECT_EQ(fresh.try_match(colour::blue).claimed, reds.data());
    }
}

/// There is no more memory. What there is can be used for ever, although many get no place.
TYPED_TEST(WaitListAllocation, LosesNoPlaceWhenItFails) {
    waiter red;
    waiter blue;
    std::vector<waiter> many(2'000);
    const auto meet = [&](int times) {
        for (int i = 0; i != times; ++i) {
            ASSERT_EQ(this->arrive(this->list, red, colour::red).kind, match_result::offered);
            ASSERT_EQ(this->arrive(this->list, blue, colour::blue).claimed, &red);
        }
    };
    meet(1'000);
    allocations_fail = true;
    std::size_t least = many.size();
    std::size_t most = 0;
    for (int number = 0; number != 300 && !this->HasFatalFailure(); ++number) {
        const colour own = number % 2 == 0 ? colour::red : colour::blue;
        std::size_t waiting = 0;
        for (waiter& w : many) {
            waiting += this->arrive(this->list, w, own).kind == match_result::offered ? 1U : 0U;
        }
        least = std::min(least, waiting);
        most = std::max(most, waiting);
        for (; waiting != 0; --waiting) {
            ASSERT_EQ(this->list.try_match(opposite(own)).kind, match_result::partner);
        }
        ASSERT_NE(this->list.try_match(opposite(own)).kind, match_result::partner);
        meet(1 + number % 150);
    }
    allocations_fail = false;
    EXPECT_LT(most, many.size());
    EXPECT_GE(least + 3 * 64, most) << "only parts of segments are lost";
    EXPECT_GE(least, 1U);
    meet(1'000);
}

// ---- A channel with a buffer.

TEST(ChannelAllocation, IsInTheConstructorAndForMoreItemsThanEver) {
    const since_now measured;
    {
        channel<int> ch(100);
        const long made = measured.allocated();
        run_loop loop;
        const auto send_and_receive = [&](int count) -> task<> {
            for (int i = 0; i != count; ++i) {
                const auto sent = co_await ch.send(i);
                EXPECT_TRUE(sent);
            }
            for (int i = 0; i != count; ++i) {
                const auto got = co_await ch.receive(1h);
                EXPECT_EQ(got, i);
            }
        };
        loop.run(send_and_receive(1)); // what is allocated once for all
        EXPECT_EQ(made, 3);
        const since_now steady;
        for (int i = 0; i != 1'000; ++i) {
            ASSERT_TRUE(ch.try_send(i));
            ASSERT_TRUE(ch.try_send(i));
            ASSERT_TRUE(ch.try_receive());
            ASSERT_TRUE(ch.try_receive());
        }
        for (int i = 0; i != 30; ++i) { // in two blocks, and never empty
            ASSERT_TRUE(ch.try_send(i));
        }
        for (int i = 0; i != 1'000; ++i) {
            ASSERT_TRUE(ch.try_send(i));
            ASSERT_EQ(*ch.try_receive() >= 0, true);
        }
        EXPECT_EQ(steady.allocated(), 0);
        ch.set_limit(1'000);
        while (ch.try_send(1)) {
        }
        const long grown = steady.allocated();
        EXPECT_LE(grown, 1'000 / 64);
        EXPECT_GE(grown, 1'000 / 64 - 2);
        while (ch.try_receive()) {
        }
        while (ch.try_send(1)) {
        }
        EXPECT_EQ(steady.allocated(), grown);
    }
    EXPECT_EQ(measured.allocated(), measured.freed());
    const since_now rendezvous;
    EXPECT_FALSE(channel<int>(0).try_send(1));
    EXPECT_EQ(rendezvous.allocated(), 1);
}

/// Fills the blocks that the channel has.
void fill(channel<int>& ch) {
    allocations_fail = true;
    auto refused = ch.try_send(0);
    while (refused) {
        refused = ch.try_send(0);
    }
    allocations_fail = false;
    EXPECT_EQ(refused, exchange_errc::out_of_memory);
    EXPECT_EQ(refused.returned(), 0);
}

TEST(ChannelWithoutMemory, HandsTheItemBack) {
    channel<int> ch(unlimited);
    fill(ch);
    EXPECT_EQ(ch.size(), 128U);
    std::vector<int> many{1, 2, 3};
    allocations_fail = true;
    const auto sent = sync_wait(ch.send(7));
    auto rest = sync_wait(ch.send_all(many));
    allocations_fail = false;
    EXPECT_EQ(sent, exchange_errc::out_of_memory);
    EXPECT_EQ(sent.error(), std::errc::not_enough_memory);
    EXPECT_EQ(rest.returned().size(), 3U);
    EXPECT_EQ(ch.size(), 128U);
    EXPECT_TRUE(ch.try_send(9)); // it is as good as before
    EXPECT_TRUE(ch.try_receive());
}

/// A limit that is raised, or a receiver, admits senders for which there is no block.
TEST(ChannelWithoutMemory, HandsItBackToASenderThatIsAdmitted) {
    channel<int> ch(unlimited);
    fill(ch);
    ch.set_limit(0);
    run_loop loop;
    std::optional<exchange_result<void, int>> one;
    std::optional<exchange_result<void, std::span<int>>> more;
    std::optional<exchange_result<void, int>> last;
    std::vector<int> many{1, 2, 3};
    const auto await = [](auto& got, auto make) -> task<> { got.emplace(co_await make()); };
    loop.spawn(await(one, [&] { return ch.send(5); }));
    loop.spawn(await(more, [&] { return ch.send_all(many); }));
    loop.spawn(await(last, [&] { return ch.send(6); }));
    loop.run_until_idle();
    EXPECT_FALSE(one || more || last);
    allocations_fail = true;
    ch.set_limit(129);
    loop.run_until_idle();
    EXPECT_EQ(one.value(), exchange_errc::out_of_memory);
    EXPECT_EQ(one->returned(), 5);
    EXPECT_EQ(more.value(), exchange_errc::out_of_memory);
    EXPECT_EQ(more->returned().size(), 3U);
    EXPECT_EQ(last.value(), exchange_errc::out_of_memory);
    allocations_fail = false;
    EXPECT_EQ(ch.size(), 128U);
    EXPECT_TRUE(ch.try_send(7));
    EXPECT_FALSE(ch.try_send(8));
}

TEST(ChannelWithoutMemory, ThrowsOnlyInTheConstructor) {
    for (long k = 1; k != 4; ++k) {
        failing_allocation = k;
        EXPECT_THROW(channel<int>(1), std::bad_alloc);
    }
    failing_allocation = 0;
    channel<int> ch(1);
    std::vector<int> into{1};
    EXPECT_TRUE(ch.try_send(2));
    allocations_fail = true;
    bool thrown = false;
    try {
        static_cast<void>(ch.receive_all(into, 10));
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    allocations_fail = false;
    EXPECT_TRUE(thrown);
    EXPECT_EQ(into, std::vector{1});
    EXPECT_EQ(sync_wait(ch.receive_all(into, 10)), 1U);
    EXPECT_EQ(into, (std::vector{1, 2}));
}

} // namespace
} // namespace tryst::test
