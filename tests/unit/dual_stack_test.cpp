// SPDX-License-Identifier: MIT
#include <tryst/detail/dual_stack.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

namespace {

using tryst::detail::colour;
using tryst::detail::sight;
using tryst::detail::waiter;
using stack = tryst::detail::dual_stack;

constexpr colour red = colour::red;
constexpr colour blue = colour::blue;

/// What an arrival does that waits.
sight arrive(stack& s, waiter& w, colour side) {
    const sight seen = s.look(side);
    return seen.what == sight::partner || seen.what == sight::closed ? seen : s.settle(w, side);
}

TEST(DualStack, StartsEmptyAndOpen) {
    stack s;
    EXPECT_EQ(s.look(red).what, sight::nobody);
    EXPECT_EQ(s.look(blue).what, sight::nobody);
    EXPECT_EQ(s.search(blue).what, sight::nobody);
    EXPECT_FALSE(s.is_closed());
}

TEST(DualStack, TellsWhoseSideWaits) {
    stack s;
    waiter w;
    EXPECT_EQ(arrive(s, w, red).what, sight::offered);
    EXPECT_EQ(s.look(red).what, sight::own_side);
    const sight seen = s.look(blue);
    EXPECT_EQ(seen.what, sight::partner);
    EXPECT_EQ(seen.claimed, &w);
    EXPECT_FALSE(s.withdraw(w, red)) << "it was claimed";
    EXPECT_EQ(s.look(red).what, sight::nobody);
}

TEST(DualStack, ServesTheLastThatHasNotWithdrawn) {
    stack s;
    std::vector<waiter> reds(10);
    for (waiter& w : reds) {
        ASSERT_EQ(arrive(s, w, red).what, sight::offered);
    }
    for (const std::size_t i : {0U, 1U, 3U, 4U, 5U, 9U}) {
        EXPECT_TRUE(s.withdraw(reds[i], red));
        EXPECT_FALSE(s.withdraw(reds[i], red));
    }
    for (const std::size_t i : {8U, 7U, 6U, 2U}) {
        EXPECT_EQ(s.look(blue).claimed, &reds[i]);
    }
    EXPECT_EQ(s.look(blue).what, sight::nobody);
}

TEST(DualStack, SearchesPastThoseWhoHaveWithdrawn) {
    stack s;
    std::vector<waiter> blues(7);
    for (waiter& w : blues) {
        ASSERT_EQ(arrive(s, w, blue).what, sight::offered);
    }
    for (std::size_t i = 0; i != 6; ++i) {
        ASSERT_TRUE(s.withdraw(blues[i], blue));
    }
    EXPECT_EQ(s.search(red).claimed, &blues[6]);
    EXPECT_EQ(s.search(red).what, sight::nobody);
}

TEST(DualStack, PutsTheNextInThePlaceOfOneWhoHasWithdrawn) {
    stack s;
    std::vector<waiter> reds(4);
    for (std::size_t i = 0; i != 3; ++i) {
        ASSERT_EQ(arrive(s, reds[i], red).what, sight::offered);
    }
    ASSERT_TRUE(s.withdraw(reds[1], red));
    ASSERT_EQ(arrive(s, reds[3], red).what, sight::offered);
    EXPECT_EQ(reds[3].place, reds[1].place);
    for (const std::size_t i : {2U, 3U, 0U}) {
        EXPECT_EQ(s.look(blue).claimed, &reds[i]);
    }
    EXPECT_EQ(s.look(blue).what, sight::nobody);
}

TEST(DualStack, TheOtherColourFindsNoUseForAPlaceThatIsStillOnTheStack) {
    stack s;
    waiter first;
    waiter second;
    ASSERT_EQ(arrive(s, first, red).what, sight::offered);
    ASSERT_TRUE(s.withdraw(first, red));
    // As if it had looked before `first` came.
    EXPECT_EQ(s.settle(second, blue).what, sight::nobody);
    EXPECT_EQ(s.look(blue).what, sight::nobody);
    EXPECT_EQ(s.settle(second, blue).what, sight::offered);
    EXPECT_EQ(s.look(red).claimed, &second);
    EXPECT_EQ(s.look(red).what, sight::nobody);
}

TEST(DualStack, ClosingHandsOverAllWhoWait) {
    stack s;
    std::vector<waiter> blues(9);
    for (waiter& w : blues) {
        ASSERT_EQ(arrive(s, w, blue).what, sight::offered);
    }
    ASSERT_TRUE(s.withdraw(blues[4], blue));
    ASSERT_EQ(s.look(red).claimed, &blues[8]);
    std::vector<waiter*> expelled;
    s.close([&](waiter& w) { expelled.push_back(&w); });
    EXPECT_EQ(expelled, (std::vector<waiter*>{&blues[7], &blues[6], &blues[5], &blues[3], &blues[2],
                                              &blues[1], &blues[0]}));
    EXPECT_TRUE(s.is_closed());
    EXPECT_FALSE(s.withdraw(blues[3], blue));
    for (const colour side : {red, blue}) {
        waiter late;
        EXPECT_EQ(s.look(side).what, sight::closed);
        EXPECT_EQ(s.search(side).what, sight::closed);
        EXPECT_EQ(s.settle(late, side).what, sight::nobody);
    }
    s.close([&](waiter& /*w*/) { FAIL() << "nobody is left"; });
}

/// Over many turns of its places, with roles that change; who is met is somebody who waits.
TEST(DualStack, KeepsWhoWaits) {
    stack s;
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
            ASSERT_EQ(arrive(s, *w, side).what, sight::offered);
            idle.pop_front();
            waiting.push_back(w);
        } else if (dice < 65 && !waiting.empty()) {
            const std::size_t at = random() % waiting.size();
            waiter* const w = waiting[at];
            ASSERT_TRUE(s.withdraw(*w, side));
            waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(at));
            idle.push_back(w);
        } else {
            const sight seen = dice % 2 == 0 ? s.look(opposite(side)) : s.search(opposite(side));
            if (waiting.empty()) {
                ASSERT_EQ(seen.what, sight::nobody);
            } else {
                const auto met = std::find(waiting.begin(), waiting.end(), seen.claimed);
                ASSERT_NE(met, waiting.end());
                idle.push_back(*met);
                waiting.erase(met);
            }
        }
    }
}

} // namespace
