// SPDX-License-Identifier: MIT
// What exchangers of two colours cost in memory. Of the program that counts all allocations.
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/synchronous_channel.hpp>

#include "support/counted_memory.hpp"

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::order;
using tryst::run_loop;
using tryst::task;
using tryst::detail::colour;
using tryst::detail::match_result;
using tryst::detail::waiter;
using tryst::test::allocated_bytes;
using tryst::test::allocations;
using tryst::test::allocations_fail;
using tryst::test::deallocations;

template <order Order>
struct in_order {
    using wait_list = typename tryst::detail::two_sides<int, int, Order>::wait_list;
    using meeting = tryst::red_blue_exchanger<int, int, Order>;
    using channel = tryst::synchronous_channel<int, Order>;
    static constexpr bool keeps_segments = Order != order::lifo;
    static constexpr std::size_t bytes_per_waiter = Order == order::lifo ? 16 : 10;
};
template <class Order>
class RedBlueAllocation : public testing::Test {};
using orders = testing::Types<in_order<order::fifo>, in_order<order::lifo>>;
TYPED_TEST_SUITE(RedBlueAllocation, orders);

template <class Channel>
task<> send(Channel& to, std::stop_token stop, int times, long& done) {
    for (int i = 0; i != times; ++i) {
        const auto plain = co_await to.send(i);
        const auto stoppable = co_await to.send(i, stop);
        const auto timed = co_await to.send(i, 1h, stop);
        done += plain.has_value() + stoppable.has_value() + timed.has_value();
    }
}
template <class Channel>
task<> receive(Channel& from, std::stop_token stop, int times, long& done) {
    for (int i = 0; i != times; ++i) {
        const auto plain = co_await from.receive();
        const auto stoppable = co_await from.receive(stop);
        const auto timed = co_await from.receive(1h, stop);
        done += plain.has_value() + stoppable.has_value() + timed.has_value();
    }
}
task<> note_allocations(long& count) {
    count = allocations;
    co_return;
}

TYPED_TEST(RedBlueAllocation, DoesNotHappenInTheSteadyState) {
    typename TypeParam::channel c;
    run_loop loop;
    const std::stop_source stop;
    constexpr int parties = 20;
    long done = 0;
    long before = -1;
    for (int p = 0; p != parties; ++p) {
        loop.spawn(send(c, stop.get_token(), 200, done));
    }
    loop.run_until_idle(); // there is room for all of them
    for (int p = 0; p != parties; ++p) {
        loop.spawn(receive(c, stop.get_token(), 200, done));
    }
    loop.spawn(note_allocations(before));
    loop.run_until_idle();
    EXPECT_EQ(done, 2L * 3 * 200 * parties);
    EXPECT_LE(allocations - before, 1) << "a second segment, perhaps";
}

TYPED_TEST(RedBlueAllocation, IsOverWhenTheRoomIsThere) {
    typename TypeParam::wait_list list;
    std::vector<waiter> reds(1'000);
    const auto cycle = [&] {
        for (waiter& w : reds) {
            ASSERT_EQ(list.enqueue_or_match(w, colour::red).kind, match_result::offered);
        }
        for (std::size_t i = 0; i < reds.size(); i += 3) {
            ASSERT_TRUE(list.withdraw(reds[i], colour::red));
        }
        while (list.try_match(colour::blue).kind == match_result::partner) {
        }
    };
    cycle();
    cycle(); // a cell that was begun is not begun again: one segment more
    const long before = allocations;
    for (int i = 0; i != 20; ++i) {
        cycle();
    }
    EXPECT_EQ(allocations, before);
}

TYPED_TEST(RedBlueAllocation, IsSmallForEachWhoWaits) {
    const std::size_t before = allocated_bytes;
    typename TypeParam::wait_list list;
    std::vector<waiter> reds(100'000);
    const std::size_t room = allocated_bytes;
    for (waiter& w : reds) {
        ASSERT_EQ(list.enqueue_or_match(w, colour::red).kind, match_result::offered);
    }
    EXPECT_LE(room - before, sizeof(waiter) * reds.size() + 1'000);
    // Blocks double: at most half of it is in use.
    EXPECT_LE(allocated_bytes - room, 21 * TypeParam::bytes_per_waiter * reds.size() / 10);
}

/// Many at a time wait in vain.
TYPED_TEST(RedBlueAllocation, IsBoundedByTheMostWhoWaitAtATime) {
    for (const std::size_t most : {1U, 2U, 20U, 64U, 65U, 1'000U}) {
        std::vector<waiter> reds(most);
        const std::size_t before = allocated_bytes;
        typename TypeParam::wait_list list;
        std::size_t first = 0;
        std::size_t settled = 0;
        for (std::size_t round = 0; round != 20'000 / most + 100; ++round) {
            for (waiter& w : reds) {
                ASSERT_EQ(list.enqueue_or_match(w, colour::red).kind, match_result::offered);
            }
            for (waiter& w : reds) {
                ASSERT_TRUE(list.withdraw(w, colour::red));
            }
            if (round == 0) {
                first = allocated_bytes;
            }
            if (round == 10'000 / most + 10) {
                settled = allocated_bytes;
            }
        }
        EXPECT_EQ(allocated_bytes, settled) << most;
        if (TypeParam::keeps_segments) {
            const std::size_t segments =
                1 + (most + 62) / 64; // of which the waiters need some cells
            EXPECT_LE(settled - before, 640 * (std::bit_ceil(2 * segments + 11) - 1)) << most;
        } else {
            EXPECT_EQ(settled, first) << most;
        }
    }
}

/// Nobody comes, all give up, each after the next has come; and the first stays for ever.
TYPED_TEST(RedBlueAllocation, DoesNotGrowWithThoseWhoGiveUp) {
    for (const std::size_t overlap : {1U, 2U, 50U, 500U}) {
        typename TypeParam::wait_list list;
        waiter first;
        ASSERT_EQ(list.enqueue_or_match(first, colour::blue).kind, match_result::offered);
        std::vector<waiter> blues(overlap + 1);
        const auto come_and_go = [&](long times) {
            for (long i = 0; i != times; ++i) {
                const auto at = static_cast<std::size_t>(i);
                ASSERT_EQ(list.enqueue_or_match(blues[at % blues.size()], colour::blue).kind,
                          match_result::offered);
                ASSERT_TRUE(i < static_cast<long>(overlap) ||
                            list.withdraw(blues[(at + 1) % blues.size()], colour::blue));
            }
            for (std::size_t k = 0; k != overlap; ++k) {
                const auto at = static_cast<std::size_t>(times) - 1 - k;
                ASSERT_TRUE(list.withdraw(blues[at % blues.size()], colour::blue));
            }
        };
        come_and_go(10'000);
        const std::size_t before = allocated_bytes;
        come_and_go(2'500'000);
        EXPECT_EQ(allocated_bytes, before) << overlap << " wait at a time";
        EXPECT_EQ(list.try_match(colour::red).claimed, &first);
        EXPECT_EQ(list.try_match(colour::red).kind, match_result::empty);
    }
}

/// One in 64 stays: the worst that can happen to segments.
TYPED_TEST(RedBlueAllocation, IsBoundedByThoseWhoStay) {
    typename TypeParam::wait_list list;
    std::vector<waiter> staying(1'000);
    waiter passing;
    const std::size_t before = allocated_bytes;
    for (waiter& w : staying) {
        for (int i = 0; i != 63; ++i) {
            ASSERT_EQ(list.enqueue_or_match(passing, colour::red).kind, match_result::offered);
            ASSERT_TRUE(list.withdraw(passing, colour::red));
        }
        ASSERT_EQ(list.enqueue_or_match(w, colour::red).kind, match_result::offered);
    }
    EXPECT_LE(allocated_bytes - before, 21U * 640 * staying.size() / 10);
    std::size_t met = 0;
    while (list.try_match(colour::blue).kind == match_result::partner) {
        ++met;
    }
    EXPECT_EQ(met, staying.size());
}

TYPED_TEST(RedBlueAllocation, FailsWithoutLoss) {
    typename TypeParam::meeting at;
    run_loop loop;
    std::array<std::optional<tryst::exchange_result<int>>, 200> ends;
    for (std::size_t i = 0; i != ends.size(); ++i) {
        loop.spawn([](auto& x, int mine, auto& end) -> task<> {
            end.emplace(co_await x.red(mine));
        }(at, static_cast<int>(i), ends.at(i)));
    }
    allocations_fail = true;
    loop.run_until_idle();
    allocations_fail = false;
    long waiting = 0;
    for (std::size_t i = 0; i != ends.size(); ++i) {
        if (!ends.at(i)) {
            ++waiting;
            continue;
        }
        EXPECT_EQ(ends.at(i)->error(), tryst::exchange_errc::out_of_memory);
        EXPECT_EQ(ends.at(i)->returned(), static_cast<int>(i));
    }
    EXPECT_LT(waiting, 200);
    const bool some_wait = waiting != 0;
    EXPECT_EQ(at.try_blue(1).has_value(), some_wait);
    // It is as good as before.
    for (; waiting > 1; --waiting) {
        EXPECT_TRUE(at.try_blue(1));
    }
    EXPECT_FALSE(at.try_blue(1));
    std::optional<tryst::exchange_result<int>> later;
    loop.spawn([](auto& x, auto& end) -> task<> { end.emplace(co_await x.blue(7)); }(at, later));
    loop.run_until_idle();
    EXPECT_FALSE(later);
    EXPECT_TRUE(at.try_red(8));
    loop.run_until_idle();
    EXPECT_TRUE(*later);
}

/// What an arrival does that waits.
template <class List>
match_result arrive(List& list, waiter& w, colour side) {
    while (true) {
        match_result seen{match_result::empty};
        if (List::spreads) {
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

/// Memory fails at the k-th allocation, for every k, and then returns.
TYPED_TEST(RedBlueAllocation, FailsAnywhereAndGoesOn) {
    for (long k = 0; k != 12; ++k) {
        typename TypeParam::wait_list list;
        std::vector<waiter> reds(2'000);
        std::vector<waiter> blues(reds.size());
        std::size_t failed = 0;
        std::size_t waiting = 0;
        const long end = allocations + k;
        for (waiter& w : reds) {
            allocations_fail = allocations >= end;
            const match_result seen = arrive(list, w, colour::red);
            allocations_fail = false;
            ASSERT_TRUE(seen.kind == match_result::offered ||
                        seen.kind == match_result::out_of_memory);
            (seen.kind == match_result::offered ? waiting : failed) += 1;
        }
        EXPECT_TRUE(failed != 0 || k > 4) << k;
        // All who wait are met, and the next arrival waits.
        for (waiter& w : blues) {
            const match_result seen = arrive(list, w, colour::blue);
            const bool met = waiting != 0;
            ASSERT_EQ(seen.kind, met ? match_result::partner : match_result::offered);
            waiting -= met ? 1 : 0;
            ASSERT_TRUE(met || list.withdraw(w, colour::blue));
        }
        waiter red;
        ASSERT_EQ(arrive(list, red, colour::red).kind, match_result::offered);
        EXPECT_EQ(list.try_match(colour::blue).claimed, &red);
    }
}

/// There is no more memory. What there is can be used for ever, although many get no place.
TYPED_TEST(RedBlueAllocation, LosesNoPlaceWhenItFails) {
    typename TypeParam::wait_list list;
    waiter red;
    waiter blue;
    std::vector<waiter> many(2'000);
    const auto meet = [&](int times) {
        for (int i = 0; i != times; ++i) {
            ASSERT_EQ(arrive(list, red, colour::red).kind, match_result::offered);
            ASSERT_EQ(arrive(list, blue, colour::blue).claimed, &red);
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
            waiting += arrive(list, w, own).kind == match_result::offered ? 1U : 0U;
        }
        least = std::min(least, waiting);
        most = std::max(most, waiting);
        for (; waiting != 0; --waiting) {
            ASSERT_EQ(list.try_match(opposite(own)).kind, match_result::partner);
        }
        ASSERT_NE(list.try_match(opposite(own)).kind, match_result::partner);
        meet(1 + number % 150);
    }
    allocations_fail = false;
    EXPECT_LT(most, many.size());
    EXPECT_GE(least, most - std::min<std::size_t>(most, 3 * 64))
        << "only parts of segments are lost";
    EXPECT_GE(least, 1U);
    meet(1'000);
}

TYPED_TEST(RedBlueAllocation, EndsWithTheExchanger) {
    const long allocated = allocations;
    const long freed = deallocations;
    {
        typename TypeParam::channel c;
        std::vector<waiter> none;
        run_loop loop;
        for (int i = 0; i != 100; ++i) {
            loop.spawn([](auto& to, int mine) -> task<> {
                static_cast<void>(co_await to.send(mine));
            }(c, i));
        }
        loop.run_until_idle();
    }
    EXPECT_EQ(allocations - allocated, deallocations - freed);
}

} // namespace
