// SPDX-License-Identifier: MIT
#include <tryst/detail/meet/slot.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <thread>

namespace {

using tryst::detail::colour;
using tryst::detail::slot;
using tryst::detail::waiter;

/// As who claims `w` has seen it.
slot::word word_of(const waiter& w) {
    return reinterpret_cast<slot::word>(&w);
}

TEST(Slot, StartsEmptyAndOpen) {
    const slot s;
    EXPECT_TRUE(slot::is_empty(s.peek()));
    EXPECT_FALSE(s.is_closed());
    EXPECT_FALSE(s.is_moving());
    EXPECT_EQ(slot::offered(s.peek()), nullptr);
}

TEST(Slot, IsOneWord) {
    EXPECT_EQ(sizeof(slot), sizeof(void*));
}

TEST(SlotOffer, ShowsTheWaiterToWhoeverLooks) {
    slot s;
    waiter w;
    EXPECT_TRUE(s.offer(&w));
    EXPECT_EQ(slot::offered(s.peek()), &w);
    EXPECT_FALSE(slot::is_empty(s.peek()));
    EXPECT_FALSE(slot::is_closed(s.peek()));
}

TEST(SlotOffer, ShowsItsColour) {
    waiter w;
    for (const colour side : {colour::red, colour::blue}) {
        slot s;
        ASSERT_TRUE(s.offer(&w, side));
        const slot::word seen = s.peek();
        EXPECT_EQ(slot::offered(seen), &w);
        EXPECT_FALSE(slot::matches(side, seen));
        EXPECT_TRUE(slot::matches(opposite(side), seen));
        EXPECT_FALSE(s.withdraw(&w, opposite(side)));
        EXPECT_TRUE(s.claim(seen));
    }
}

TEST(SlotOffer, IsRefusedByAnOccupiedSlot) {
    slot s;
    waiter first;
    waiter second;
    ASSERT_TRUE(s.offer(&first));
    EXPECT_FALSE(s.offer(&second));
    EXPECT_EQ(slot::offered(s.peek()), &first);
}

TEST(SlotOffer, IsRefusedByAMovingSlot) {
    slot s;
    waiter first;
    waiter second;
    ASSERT_TRUE(s.offer(&first));
    ASSERT_TRUE(s.begin_move(&first));
    EXPECT_FALSE(s.offer(&second));
    EXPECT_TRUE(s.is_moving());
}

TEST(SlotOffer, IsRefusedByAClosedSlot) {
    slot s;
    waiter w;
    s.close();
    EXPECT_FALSE(s.offer(&w));
    EXPECT_TRUE(s.is_closed());
}

TEST(SlotClaim, EmptiesTheSlotForExactlyOneClaimer) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    EXPECT_TRUE(s.claim(word_of(w)));
    EXPECT_TRUE(slot::is_empty(s.peek()));
    EXPECT_FALSE(s.claim(word_of(w)));
}

TEST(SlotClaim, FailsForAWaiterThatWasReplaced) {
    slot s;
    waiter seen;
    waiter replacement;
    ASSERT_TRUE(s.offer(&replacement));
    EXPECT_FALSE(s.claim(word_of(seen)));
    EXPECT_EQ(slot::offered(s.peek()), &replacement);
}

TEST(SlotClaim, TakesWhateverWaiterReusesTheAddress) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    const slot::word seen = s.peek();
    ASSERT_TRUE(s.withdraw(&w));
    ASSERT_TRUE(s.offer(&w));
    EXPECT_TRUE(s.claim(seen));
    EXPECT_TRUE(slot::is_empty(s.peek()));
}

TEST(SlotClaim, LosesToTheWithdrawalThatAlreadyTookTheWaiter) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    EXPECT_TRUE(s.withdraw(&w));
    EXPECT_FALSE(s.claim(word_of(w)));
}

TEST(SlotWithdraw, LosesToTheClaimThatAlreadyTookTheWaiter) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    ASSERT_TRUE(s.claim(word_of(w)));
    EXPECT_FALSE(s.withdraw(&w));
}

TEST(SlotWithdraw, LeavesAnotherWaiterAlone) {
    slot s;
    waiter mine;
    waiter other;
    ASSERT_TRUE(s.offer(&other));
    EXPECT_FALSE(s.withdraw(&mine));
    EXPECT_EQ(slot::offered(s.peek()), &other);
}

TEST(SlotMove, HidesTheWaiterUntilItEnds) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    ASSERT_TRUE(s.begin_move(&w));
    EXPECT_TRUE(s.is_moving());
    EXPECT_EQ(slot::offered(s.peek()), nullptr);
    EXPECT_FALSE(slot::is_empty(s.peek()));
    EXPECT_FALSE(slot::is_closed(s.peek()));
    EXPECT_FALSE(s.claim(word_of(w)));
    EXPECT_FALSE(s.withdraw(&w));
    s.end_move();
    EXPECT_FALSE(s.is_moving());
    EXPECT_TRUE(slot::is_empty(s.peek()));
    EXPECT_TRUE(s.offer(&w));
}

TEST(SlotMove, LosesToTheClaimThatAlreadyTookTheWaiter) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    ASSERT_TRUE(s.claim(word_of(w)));
    EXPECT_FALSE(s.begin_move(&w));
    EXPECT_TRUE(slot::is_empty(s.peek()));
}

TEST(SlotClose, ReturnsTheWaiterItRemoves) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    EXPECT_EQ(s.close(), &w);
    EXPECT_TRUE(s.is_closed());
    EXPECT_TRUE(slot::is_closed(s.peek()));
}

TEST(SlotClose, ReturnsNobodyIfTheSlotIsEmptyOrAlreadyClosed) {
    slot s;
    EXPECT_EQ(s.close(), nullptr);
    EXPECT_EQ(s.close(), nullptr);
    EXPECT_TRUE(s.is_closed());
}

TEST(SlotClose, DefeatsLaterClaimsAndWithdrawals) {
    slot s;
    waiter w;
    ASSERT_TRUE(s.offer(&w));
    s.close();
    EXPECT_FALSE(s.claim(word_of(w)));
    EXPECT_FALSE(s.withdraw(&w));
    EXPECT_FALSE(s.begin_move(&w));
    EXPECT_TRUE(s.is_closed());
}

TEST(SlotRace, IsWonByExactlyOneOfClaimAndWithdrawal) {
    constexpr int rounds = 5'000;
    slot s;
    waiter w;
    std::atomic<int> winners{0};
    std::barrier round(2);
    std::thread partner([&] {
        for (int i = 0; i != rounds; ++i) {
            round.arrive_and_wait();
            winners += s.claim(word_of(w)) ? 1 : 0;
            round.arrive_and_wait();
        }
    });
    int wrong = 0;
    for (int i = 0; i != rounds; ++i) {
        winners = 0;
        wrong += s.offer(&w) ? 0 : 1;
        round.arrive_and_wait();
        winners += s.withdraw(&w) ? 1 : 0;
        round.arrive_and_wait();
        wrong += winners == 1 && slot::is_empty(s.peek()) ? 0 : 1;
    }
    partner.join();
    EXPECT_EQ(wrong, 0);
}

} // namespace
