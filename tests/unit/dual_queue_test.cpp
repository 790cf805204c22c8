// SPDX-License-Identifier: MIT
#include <tryst/detail/dual_queue.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace {

using tryst::detail::colour;
using tryst::detail::sight;
using tryst::detail::waiter;
using queue = tryst::detail::basic_dual_queue<1>; // two cells to a segment

constexpr colour red = colour::red;
constexpr colour blue = colour::blue;

/// What an arrival does that waits.
sight arrive(queue& q, waiter& w, colour side) {
    const sight seen = q.look(side);
    return seen.what == sight::partner || seen.what == sight::closed ? seen : q.settle(w, side);
}

TEST(DualQueue, StartsEmptyAndOpen) {
    queue q;
    EXPECT_EQ(q.look(red).what, sight::nobody);
    EXPECT_EQ(q.look(blue).what, sight::nobody);
    EXPECT_EQ(q.search(blue).what, sight::nobody);
    EXPECT_FALSE(q.is_closed());
}

TEST(DualQueue, TellsWhoseSideWaits) {
    queue q;
    waiter w;
    EXPECT_EQ(arrive(q, w, red).what, sight::offered);
    EXPECT_EQ(q.look(red).what, sight::own_side);
    const sight seen = q.look(blue);
    EXPECT_EQ(seen.what, sight::partner);
    EXPECT_EQ(seen.claimed, &w);
    EXPECT_FALSE(q.withdraw(w, red)) << "it was claimed";
    EXPECT_EQ(q.look(red).what, sight::nobody);
}

TEST(DualQueue, ServesTheFirstThatHasNotWithdrawn) {
    queue q;
    std::vector<waiter> reds(10);
    for (waiter& w : reds) {
        ASSERT_EQ(arrive(q, w, red).what, sight::offered);
    }
    for (const std::size_t i : {0U, 1U, 3U, 4U, 5U, 9U}) {
        EXPECT_TRUE(q.withdraw(reds[i], red));
        EXPECT_FALSE(q.withdraw(reds[i], red));
    }
    for (const std::size_t i : {2U, 6U, 7U, 8U}) {
        EXPECT_EQ(q.look(blue).claimed, &reds[i]);
    }
    EXPECT_EQ(q.look(blue).what, sight::nobody);
}

TEST(DualQueue, SearchesPastThoseWhoHaveWithdrawn) {
    queue q;
    std::vector<waiter> blues(7);
    for (waiter& w : blues) {
        ASSERT_EQ(arrive(q, w, blue).what, sight::offered);
    }
    for (std::size_t i = 0; i != 6; ++i) {
        ASSERT_TRUE(q.withdraw(blues[i], blue));
    }
    EXPECT_EQ(q.search(red).claimed, &blues[6]);
    EXPECT_EQ(q.search(red).what, sight::nobody);
}

TEST(DualQueue, ClosingHandsOverAllWhoWaitInOrder) {
    queue q;
    std::vector<waiter> blues(9);
    for (waiter& w : blues) {
        ASSERT_EQ(arrive(q, w, blue).what, sight::offered);
    }
    ASSERT_TRUE(q.withdraw(blues[4], blue));
    ASSERT_EQ(q.look(red).claimed, &blues[0]);
    std::vector<waiter*> expelled;
    q.close([&](waiter& w) { expelled.push_back(&w); });
    EXPECT_EQ(expelled, (std::vector<waiter*>{&blues[1], &blues[2], &blues[3], &blues[5], &blues[6],
                                              &blues[7], &blues[8]}));
    EXPECT_TRUE(q.is_closed());
    EXPECT_FALSE(q.withdraw(blues[8], blue));
    for (const colour side : {red, blue}) {
        waiter late;
        EXPECT_EQ(q.look(side).what, sight::closed);
        EXPECT_EQ(q.search(side).what, sight::closed);
        EXPECT_EQ(q.settle(late, side).what, sight::closed);
    }
    q.close([&](waiter& /*w*/) { FAIL() << "nobody is left"; });
}

/// Against a plain queue, over many turns of its segments, with roles that change.
TEST(DualQueue, IsAQueue) {
    queue q;
    std::vector<waiter> all(40);
    std::deque<waiter*> idle;
    for (waiter& w : all) {
        idle.push_back(&w);
    }
    std::deque<waiter*> waiting;
    colour side = red;
    std::minstd_rand random(7); // NOLINT(cert-msc51-cpp): the same every time
    for (int i = 0; i != 200'000; ++i) {
        const auto dice = random() % 100;
        if (dice < 45 && !idle.empty()) {
            if (waiting.empty()) {
                side = random() % 2 == 0 ? red : blue;
            }
            waiter* const w = idle.front();
            ASSERT_EQ(arrive(q, *w, side).what, sight::offered);
            idle.pop_front();
            waiting.push_back(w);
        } else if (dice < 65 && !waiting.empty()) {
            const std::size_t at = random() % waiting.size();
            waiter* const w = waiting[at];
            ASSERT_TRUE(q.withdraw(*w, side));
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
            idle.push_back(w);
        } else {
            const sight seen = dice % 2 == 0 ? q.look(opposite(side)) : q.search(opposite(side));
            if (waiting.empty()) {
                ASSERT_EQ(seen.what, sight::nobody);
            } else {
                ASSERT_EQ(seen.claimed, waiting.front());
                idle.push_back(waiting.front());
                waiting.pop_front();
            }
        }
    }
}

} // namespace
