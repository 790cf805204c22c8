// SPDX-License-Identifier: MIT
#include <tryst/detail/meet/protocol.hpp>

#include "support/insides.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

// Every interleaving here is made by hand on one thread: a test plays the partner or the canceller
// that is half way through its step, by doing that half itself.
namespace {

using arena = tryst::detail::basic_arena<tryst::detail::single_slot>;
using tryst::detail::arrival;
using tryst::detail::outcome;
using tryst::detail::signal;
using tryst::detail::slot;
using tryst::detail::waiter;
using tryst::test::arena_of;
using tryst::test::grow;
using tryst::test::waits_in_arena;
using tryst::test::waits_in_list;

using protocol = tryst::detail::protocol<tryst::detail::single_slot>;

/// A waiter that counts how often it was posted.
struct party : tryst::detail::item_waiter<int> {
    explicit party(int value) noexcept : item_waiter(static_cast<int&&>(value)) {
        run = [](tryst::executor_node* node) noexcept { ++static_cast<party*>(node)->posted; };
    }

    int item() noexcept { return result == outcome::exchanged ? theirs() : own(); }
    bool has_failed_to_withdraw() noexcept {
        return state.fail_withdraw(false).has_failed_to_withdraw();
    }

    int posted = 0;
};

/// Takes `w` out of `from`, as a partner does who then stops for a while.
void claim_by_hand(slot& from, party& w) {
    ASSERT_EQ(slot::offered(from.peek()), &w);
    ASSERT_TRUE(from.claim(from.peek()));
}

/// An exchanger that need not be pinned.
struct no_withdrawals {
    void pin() const { ADD_FAILURE() << "a withdrawal is under way"; }
    void unpin() const { ADD_FAILURE() << "a withdrawal was under way"; }
};

/// The rest of what that partner does.
void complete_by_hand(party& w, int item) {
    w.own() = item;
    w.result = outcome::exchanged;
    if (no_withdrawals none; w.state.complete(none).is_parked()) {
        w.run(&w);
    }
}

/// The steps of an arrival that waits if nobody else does.
arrival arrive(protocol& p, party& w, bool spread) {
    return p.try_match(w) ? arrival::completed : p.arrive(w, spread);
}

void offer_in_arena(protocol& p, party& w) {
    ASSERT_EQ(arrive(p, w, true), arrival::offered);
    ASSERT_EQ(arena::index_of(w.place), 1U);
}

/// Puts `w` into a slot that the arena does not lead this thread to.
void offer_by_hand(protocol& p, party& w, std::uint32_t index) {
    w.place = arena::place(arena_of(p).bound(), index);
    ASSERT_TRUE(arena_of(p).at(index).offer(&w));
}

void park_at_home(protocol& p, party& w) {
    ASSERT_EQ(p.arrive(w, false), arrival::waiting);
    w.at = tryst::detail::stage::stoppable; // from now on a stop or a deadline may come
    ASSERT_TRUE(p.park(w));
}

void expect_swapped(party& a, int item_of_a, party& b, int item_of_b) {
    EXPECT_EQ(a.result, outcome::exchanged);
    EXPECT_EQ(b.result, outcome::exchanged);
    EXPECT_EQ(a.item(), item_of_b);
    EXPECT_EQ(b.item(), item_of_a);
}

void expect_failed(party& w, outcome how, int own) {
    EXPECT_EQ(w.result, how);
    EXPECT_EQ(w.item(), own);
}

/// Whether nobody waits anywhere, now.
bool quiet(protocol& p) {
    return !waits_in_list(p) && !waits_in_arena(p);
}

TEST(ProtocolTryMatch, FindsNobodyInAnEmptyExchanger) {
    protocol p(1);
    party a(1);
    EXPECT_FALSE(p.try_match(a));
    EXPECT_EQ(a.result, outcome::pending);
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolTryMatch, SwapsWithWhoeverWaitsAtHome) {
    protocol p(1);
    party a(1);
    party b(2);
    park_at_home(p, a);
    EXPECT_TRUE(p.try_match(b));
    expect_swapped(a, 1, b, 2);
    EXPECT_EQ(a.posted, 1);
    EXPECT_EQ(b.posted, 0);
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolTryMatch, LooksAtTheWaitListAndThenAtTheThreadsOwnSlot) {
    protocol p(1);
    grow(p);
    party in_arena(1);
    offer_in_arena(p, in_arena);
    party in_list(2);
    park_at_home(p, in_list);
    party first(3);
    EXPECT_TRUE(p.try_match(first));
    expect_swapped(in_list, 2, first, 3);
    party second(4);
    EXPECT_TRUE(p.try_match(second));
    EXPECT_EQ(p.expire(in_arena), arrival::completed);
    expect_swapped(in_arena, 1, second, 4);
    party third(5);
    EXPECT_FALSE(p.try_match(third));
}

TEST(ProtocolTryMatch, SettlesWithClosedAfterAClose) {
    protocol p(1);
    party a(1);
    p.close();
    EXPECT_TRUE(p.try_match(a));
    expect_failed(a, outcome::closed, 1);
}

TEST(ProtocolArrive, OffersAtHomeWhileTheArenaHasNotGrown) {
    protocol p(4);
    party a(1);
    EXPECT_EQ(arrive(p, a, true), arrival::waiting);
    EXPECT_EQ(arena::index_of(a.place), 0U);
    EXPECT_TRUE(waits_in_list(p));
    EXPECT_TRUE(p.park(a));
    p.close();
}

TEST(ProtocolArrive, OffersAboveHomeOnceTheArenaHasGrown) {
    protocol p(4);
    grow(p);
    party a(1);
    EXPECT_EQ(arrive(p, a, true), arrival::offered);
    EXPECT_FALSE(waits_in_list(p));
    EXPECT_TRUE(waits_in_arena(p));
    EXPECT_EQ(p.expire(a), arrival::waiting);
    p.close();
}

TEST(ProtocolArrive, StaysAtHomeIfItMayNotSpread) {
    protocol p(4);
    grow(p, 4);
    party a(1);
    EXPECT_EQ(arrive(p, a, false), arrival::waiting);
    EXPECT_TRUE(waits_in_list(p));
    p.close();
}

TEST(ProtocolArrive, PrefersTheWaiterAtHomeToOneInItsOwnSlot) {
    protocol p(1);
    party parked(1);
    park_at_home(p, parked);
    grow(p);
    party offered(2);
    offer_by_hand(p, offered, 1);
    party arriving(3);
    EXPECT_EQ(arrive(p, arriving, true), arrival::completed);
    expect_swapped(parked, 1, arriving, 3);
    EXPECT_EQ(offered.result, outcome::pending);
    p.close();
}

TEST(ProtocolArrive, ClaimsABoundedOfferWithoutAPost) {
    protocol p(1);
    grow(p);
    party a(1);
    party b(2);
    offer_in_arena(p, a);
    EXPECT_EQ(arrive(p, b, true), arrival::completed);
    EXPECT_EQ(a.posted, 0); // its own check finds the outcome
    EXPECT_EQ(p.expire(a), arrival::completed);
    expect_swapped(a, 1, b, 2);
    EXPECT_EQ(p.spread(), 1U); // an offer that was taken shrinks nothing
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolArrive, GoesHomeIfItsOwnSlotIsBeingLeft) {
    protocol p(1);
    grow(p);
    party leaving(1);
    offer_in_arena(p, leaving);
    ASSERT_TRUE(arena_of(p).at(1).begin_move(&leaving));
    party b(2);
    EXPECT_EQ(arrive(p, b, true), arrival::waiting);
    EXPECT_TRUE(waits_in_list(p));
    arena_of(p).at(1).end_move();
    EXPECT_TRUE(p.try_match(leaving)); // as the rest of the move would
    expect_swapped(leaving, 1, b, 2);
}

TEST(ProtocolArrive, IsSettledByAClosedExchangerAtAnySize) {
    for (int slots = 0; slots != 3; ++slots) {
        protocol p(2);
        grow(p, slots);
        p.close();
        party a(1);
        EXPECT_EQ(arrive(p, a, true), arrival::completed);
        expect_failed(a, outcome::closed, 1);
    }
}

TEST(ProtocolPark, GoesOnAtOnceIfAPartnerHasBeenFaster) {
    protocol p(1);
    party a(1);
    party b(2);
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    ASSERT_TRUE(p.try_match(b));
    EXPECT_FALSE(p.park(a));
    EXPECT_EQ(a.posted, 0);
    expect_swapped(a, 1, b, 2);
}

TEST(ProtocolPark, GoesOnAtOnceIfACloseHasBeenFaster) {
    protocol p(1);
    party a(1);
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    p.close();
    EXPECT_FALSE(p.park(a));
    EXPECT_EQ(a.posted, 0);
    expect_failed(a, outcome::closed, 1);
}

TEST(ProtocolPark, StaysForAPartnerWhoHasClaimedButNotFinished) {
    protocol p(1);
    party a(1);
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    claim_by_hand(arena_of(p).list(), a);
    EXPECT_TRUE(p.park(a));
    complete_by_hand(a, 2);
    EXPECT_EQ(a.posted, 1);
    EXPECT_EQ(a.item(), 2);
}

TEST(ProtocolSimple, IsPostedByItsPartnerWithoutTheSignal) {
    protocol p(1);
    party a(1);
    party b(2);
    a.kind = waiter::kind_type::unstoppable;
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    EXPECT_TRUE(p.try_match(b));
    EXPECT_EQ(a.posted, 1);
    EXPECT_TRUE(a.state.begin_withdraw().is_clear());
    expect_swapped(a, 1, b, 2);
}

TEST(ProtocolSimple, IsPostedByAClose) {
    protocol p(1);
    party a(1);
    a.kind = waiter::kind_type::unstoppable;
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    p.close();
    EXPECT_EQ(a.posted, 1);
    expect_failed(a, outcome::closed, 1);
}

TEST(ProtocolSimple, UsesTheSignalAboveHome) {
    protocol p(1);
    grow(p);
    party a(1);
    party b(2);
    a.kind = waiter::kind_type::unstoppable;
    offer_in_arena(p, a);
    EXPECT_EQ(arrive(p, b, true), arrival::completed);
    EXPECT_EQ(a.posted, 0);
    EXPECT_EQ(p.expire(a), arrival::completed);
    expect_swapped(a, 1, b, 2);
}

TEST(ProtocolSimple, NeedsNoSignalAgainAfterItHasGoneHome) {
    protocol p(1);
    grow(p);
    party a(1);
    party b(2);
    a.kind = waiter::kind_type::unstoppable;
    offer_in_arena(p, a);
    ASSERT_EQ(p.expire(a), arrival::waiting);
    EXPECT_TRUE(p.try_match(b));
    EXPECT_EQ(a.posted, 1);
    expect_swapped(a, 1, b, 2);
}

TEST(ProtocolCancel, BeforeTheOwnerParksIsServedByTheOwner) {
    protocol p(1);
    party a(1);
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    p.cancel(a, false);
    EXPECT_TRUE(waits_in_list(p));
    EXPECT_FALSE(p.park(a));
    EXPECT_EQ(a.posted, 0);
    expect_failed(a, outcome::cancelled, 1);
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolCancel, AfterTheOwnerParkedWithdrawsAndPosts) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    p.cancel(a, false);
    EXPECT_EQ(a.posted, 1);
    expect_failed(a, outcome::cancelled, 1);
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolCancel, ByADeadlineIsATimeOut) {
    protocol p(1);
    party early(1);
    ASSERT_EQ(arrive(p, early, false), arrival::waiting);
    p.cancel(early, true);
    EXPECT_FALSE(p.park(early));
    expect_failed(early, outcome::timed_out, 1);

    party late(2);
    park_at_home(p, late);
    p.cancel(late, true);
    EXPECT_EQ(late.posted, 1);
    expect_failed(late, outcome::timed_out, 2);
}

TEST(ProtocolCancel, HappensOnceAndTheFirstReasonCounts) {
    protocol p(1);
    party stopped(1);
    park_at_home(p, stopped);
    p.cancel(stopped, false);
    p.cancel(stopped, true);
    EXPECT_EQ(stopped.posted, 1);
    expect_failed(stopped, outcome::cancelled, 1);

    party expired(2);
    park_at_home(p, expired);
    p.cancel(expired, true);
    p.cancel(expired, false);
    EXPECT_EQ(expired.posted, 1);
    expect_failed(expired, outcome::timed_out, 2);
}

TEST(ProtocolCancel, LeavesTheWithdrawalToTheCancellerWhoWasFirst) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    a.state.request_stop(false); // the first has announced itself
    p.cancel(a, true);
    EXPECT_TRUE(waits_in_list(p));
    EXPECT_EQ(a.posted, 0);
    EXPECT_TRUE(arena_of(p).list().withdraw(&a)); // the rest of what the first does
}

TEST(ProtocolCancel, AfterTheMatchChangesNothing) {
    protocol p(1);
    party a(1);
    party b(2);
    park_at_home(p, a);
    ASSERT_TRUE(p.try_match(b));
    p.cancel(a, false);
    p.cancel(a, true);
    EXPECT_EQ(a.posted, 1);
    expect_swapped(a, 1, b, 2);
}

TEST(ProtocolCancel, BetweenTheMatchAndTheParkChangesNothing) {
    protocol p(1);
    party a(1);
    party b(2);
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    ASSERT_TRUE(p.try_match(b));
    p.cancel(a, false);
    EXPECT_FALSE(p.park(a));
    EXPECT_EQ(a.posted, 0);
    expect_swapped(a, 1, b, 2);
}

TEST(ProtocolCancel, BeforeTheMatchChangesNothingUntilTheOwnerParks) {
    protocol p(1);
    party a(1);
    party b(2);
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    p.cancel(a, false);
    ASSERT_TRUE(p.try_match(b));
    EXPECT_FALSE(p.park(a));
    expect_swapped(a, 1, b, 2);
}

TEST(ProtocolCancel, LosesToAClaimThatIsNotFinished) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    claim_by_hand(arena_of(p).list(), a);
    p.cancel(a, false);
    EXPECT_EQ(a.posted, 0);
    EXPECT_TRUE(a.has_failed_to_withdraw()); // so the partner has nobody to wait for
    complete_by_hand(a, 2);
    EXPECT_EQ(a.posted, 1);
    EXPECT_EQ(a.item(), 2);
}

TEST(ProtocolCancel, ServedByTheOwnerLosesToAClaimThatIsNotFinished) {
    protocol p(1);
    party a(1);
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    p.cancel(a, false);
    claim_by_hand(arena_of(p).list(), a);
    EXPECT_TRUE(p.park(a)); // suspended: the partner posts it
    EXPECT_TRUE(a.has_failed_to_withdraw());
    complete_by_hand(a, 2);
    EXPECT_EQ(a.posted, 1);
    EXPECT_EQ(a.item(), 2);
}

TEST(ProtocolCancel, LeavesTheNextWaiterAlone) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    claim_by_hand(arena_of(p).list(), a);
    party next(3);
    park_at_home(p, next);
    p.cancel(a, false);
    EXPECT_TRUE(waits_in_list(p));
    complete_by_hand(a, 2);
    party b(4);
    EXPECT_TRUE(p.try_match(b));
    expect_swapped(next, 3, b, 4);
}

TEST(ProtocolExpire, TakesALoneOfferHome) {
    protocol p(1);
    grow(p);
    party a(1);
    offer_in_arena(p, a);
    EXPECT_EQ(p.expire(a), arrival::waiting);
    EXPECT_EQ(arena::index_of(a.place), 0U);
    EXPECT_TRUE(waits_in_list(p));
    EXPECT_FALSE(waits_in_arena(p));
    EXPECT_FALSE(arena_of(p).at(1).is_moving());
    EXPECT_TRUE(p.park(a));
    p.cancel(a, false);
    EXPECT_EQ(a.posted, 1); // the announcement of the move is over
    expect_failed(a, outcome::cancelled, 1);
}

TEST(ProtocolExpire, ShrinksTheArena) {
    protocol p(4);
    grow(p, 3);
    party a(1);
    ASSERT_EQ(arrive(p, a, true), arrival::offered);
    EXPECT_EQ(p.expire(a), arrival::waiting);
    EXPECT_EQ(p.spread(), 2U);
    p.close();
}

TEST(ProtocolExpire, DoesNotShrinkAnArenaThatHasChangedSinceTheOffer) {
    protocol p(4);
    grow(p, 3);
    party a(1);
    ASSERT_EQ(arrive(p, a, true), arrival::offered);
    grow(p);
    EXPECT_EQ(p.expire(a), arrival::waiting);
    EXPECT_EQ(p.spread(), 4U);
    p.close();
}

TEST(ProtocolExpire, MeetsWhoeverWaitsAtHome) {
    protocol p(1);
    grow(p);
    party a(1);
    offer_in_arena(p, a);
    party b(2);
    park_at_home(p, b);
    EXPECT_EQ(p.expire(a), arrival::completed);
    expect_swapped(a, 1, b, 2);
    EXPECT_EQ(b.posted, 1);
    EXPECT_TRUE(quiet(p));
    EXPECT_FALSE(arena_of(p).at(1).is_moving());
}

TEST(ProtocolExpire, WaitsForAPartnerWhoHasClaimedButNotFinished) {
    protocol p(1);
    grow(p);
    party a(1);
    offer_in_arena(p, a);
    claim_by_hand(arena_of(p).at(1), a);
    EXPECT_EQ(p.expire(a), arrival::claimed);
    EXPECT_EQ(p.expire(a), arrival::claimed);
    complete_by_hand(a, 2);
    EXPECT_EQ(p.expire(a), arrival::completed);
    EXPECT_EQ(a.posted, 0);
    EXPECT_EQ(a.item(), 2);
}

TEST(ProtocolExpire, FindsTheExchangerClosedIfTheOfferCameLater) {
    protocol p(1);
    p.close();
    party a(1);
    offer_by_hand(p, a, 1); // as if it had looked at slot 0 before the close, and offered after
    EXPECT_EQ(p.expire(a), arrival::completed);
    expect_failed(a, outcome::closed, 1);
    EXPECT_FALSE(arena_of(p).at(1).is_moving());
}

TEST(ProtocolTryMatchAll, FindsNobodyInAnEmptyExchanger) {
    protocol p(4);
    grow(p, 4);
    party a(1);
    EXPECT_FALSE(p.try_match_all(a));
    EXPECT_EQ(a.result, outcome::pending);
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolTryMatchAll, TakesWhoeverWaitsAtHome) {
    protocol p(1);
    party a(1);
    party b(2);
    park_at_home(p, a);
    EXPECT_TRUE(p.try_match_all(b));
    expect_swapped(a, 1, b, 2);
    EXPECT_EQ(a.posted, 1);
}

TEST(ProtocolTryMatchAll, FindsABoundedOfferInAnySlot) {
    for (std::uint32_t where = 1; where <= 4; ++where) {
        protocol p(4);
        grow(p, 4);
        party a(1);
        offer_by_hand(p, a, where);
        party b(2);
        EXPECT_TRUE(p.try_match_all(b));
        EXPECT_EQ(p.expire(a), arrival::completed);
        expect_swapped(a, 1, b, 2);
        EXPECT_EQ(a.posted, 0);
    }
}

TEST(ProtocolTryMatchAll, TakesOneOfTwo) {
    protocol p(1);
    grow(p);
    party offered(1);
    offer_in_arena(p, offered);
    party parked(2);
    park_at_home(p, parked);
    party b(3);
    EXPECT_TRUE(p.try_match_all(b));
    expect_swapped(parked, 2, b, 3);
    party c(4);
    EXPECT_TRUE(p.try_match_all(c));
    EXPECT_EQ(p.expire(offered), arrival::completed);
    expect_swapped(offered, 1, c, 4);
}

TEST(ProtocolTryMatchAll, SettlesWithClosedAfterAClose) {
    protocol p(1);
    p.close();
    party a(1);
    EXPECT_TRUE(p.try_match_all(a));
    expect_failed(a, outcome::closed, 1);
}

TEST(ProtocolTryMatchAll, FindsAnOfferAboveABoundThatHasShrunk) {
    protocol with(2);
    grow(with, 2);
    const auto set_probe = [](std::uint32_t probe) {
        auto& here = tryst::detail::per_thread<tryst::detail::thread_state>();
        here.probe = probe;
        here.place = 0;
    };
    party low(1);
    party high(2);
    set_probe(2); // slot 1 of two
    ASSERT_EQ(arrive(with, low, true), arrival::offered);
    set_probe(~0U); // slot 2
    ASSERT_EQ(arrive(with, high, true), arrival::offered);
    ASSERT_EQ(with.expire(low), arrival::waiting); // and there is one slot
    ASSERT_EQ(with.spread(), 1U);
    party first(3);
    EXPECT_TRUE(with.try_match_all(first)) << "slot 0";
    party second(4);
    EXPECT_TRUE(with.try_match_all(second)) << "slot 2";
    EXPECT_EQ(second.item(), 2);
}

TEST(ProtocolTryMatchAll, PassesOverASlotThatIsBeingLeft) {
    protocol p(1);
    grow(p);
    party a(1);
    offer_in_arena(p, a);
    ASSERT_TRUE(arena_of(p).at(1).begin_move(&a));
    party b(2);
    EXPECT_FALSE(p.try_match_all(b));
    arena_of(p).at(1).end_move();
}

TEST(ProtocolExpire, FollowsThePartnerThatAThreadFindsInTheWaitList) {
    protocol with(4);
    grow(with, 4);
    auto& probe = tryst::detail::per_thread<tryst::detail::thread_state>().probe;
    party first(1);
    probe = 2;
    ASSERT_EQ(with.arrive<true>(first, false), arrival::waiting);
    party second(2);
    probe = 3;
    second.place = arena::place(arena_of(with).bound(), 4);
    ASSERT_TRUE(arena_of(with).at(4).offer(&second));
    EXPECT_EQ(with.expire<true>(second), arrival::completed);
    EXPECT_EQ(probe, 2U);
}

TEST(ProtocolClose, CompletesWhoeverWaitsAnywhere) {
    protocol p(2);
    grow(p, 2);
    party first(1);
    offer_by_hand(p, first, 1);
    party second(2);
    offer_by_hand(p, second, 2);
    party parked(3);
    park_at_home(p, parked);

    p.close();
    EXPECT_TRUE(p.is_closed());
    EXPECT_EQ(parked.posted, 1);
    expect_failed(parked, outcome::closed, 3);
    EXPECT_EQ(p.expire(first), arrival::completed);
    expect_failed(first, outcome::closed, 1);
    EXPECT_EQ(p.expire(second), arrival::completed);
    expect_failed(second, outcome::closed, 2);
    EXPECT_EQ(first.posted + second.posted, 0);
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolClose, ReachesSlotsThatTheArenaHasShrunkAwayFrom) {
    protocol p(2);
    party a(1);
    offer_by_hand(p, a, 2);
    ASSERT_EQ(p.spread(), 0U);
    p.close();
    EXPECT_FALSE(waits_in_arena(p));
    EXPECT_TRUE(a.state.is_done());
    EXPECT_EQ(p.expire(a), arrival::completed);
    expect_failed(a, outcome::closed, 1);
}

TEST(ProtocolClose, TwiceIsOnce) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    EXPECT_FALSE(p.is_closed());
    p.close();
    p.close();
    EXPECT_EQ(a.posted, 1);
    EXPECT_TRUE(p.is_closed());
}

TEST(ProtocolClose, LosesToAClaimThatIsNotFinished) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    claim_by_hand(arena_of(p).list(), a);
    p.close();
    EXPECT_EQ(a.posted, 0);
    complete_by_hand(a, 2);
    EXPECT_EQ(a.posted, 1);
    EXPECT_EQ(a.result, outcome::exchanged);
}

TEST(ProtocolClose, WinsAgainstALaterStop) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    p.close();
    p.cancel(a, false);
    EXPECT_EQ(a.posted, 1);
    expect_failed(a, outcome::closed, 1);
}

TEST(ProtocolAbandon, TakesBackASimpleOfferAtHome) {
    protocol p(1);
    party a(1);
    a.kind = waiter::kind_type::unstoppable;
    ASSERT_EQ(arrive(p, a, false), arrival::waiting);
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), false));
    EXPECT_TRUE(quiet(p));
    EXPECT_EQ(a.posted, 0);
}

TEST(ProtocolAbandon, TakesBackAParkedOfferAtHome) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), false));
    EXPECT_TRUE(quiet(p));
    EXPECT_EQ(a.posted, 0);
}

TEST(ProtocolAbandon, WaitsForThePostOfAClaimAtHome) {
    protocol p(1);
    party a(1);
    park_at_home(p, a);
    claim_by_hand(arena_of(p).list(), a);
    EXPECT_FALSE(p.abandon(a, tryst::detail::is_limited(a.at), false));
    complete_by_hand(a, 2);
    EXPECT_EQ(a.posted, 1);

    party simple(3);
    simple.kind = waiter::kind_type::unstoppable;
    ASSERT_EQ(arrive(p, simple, false), arrival::waiting);
    claim_by_hand(arena_of(p).list(), simple);
    EXPECT_FALSE(p.abandon(simple, tryst::detail::is_limited(simple.at), false));
}

TEST(ProtocolAbandon, TakesBackAnOfferAtHomeInItsFirstTurn) {
    protocol p(1);
    party a(1);
    ASSERT_EQ(arrive(p, a, true), arrival::waiting);
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), true));
    EXPECT_TRUE(quiet(p));
    EXPECT_EQ(a.posted, 0);
}

TEST(ProtocolAbandon, AcceptsThatAnOfferAtHomeWasTakenInItsFirstTurn) {
    protocol p(1);
    party a(1);
    party b(2);
    ASSERT_EQ(arrive(p, a, true), arrival::waiting);
    ASSERT_TRUE(p.try_match(b));
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), true));
    EXPECT_EQ(a.posted, 0);
}

TEST(ProtocolAbandon, HasNothingToDoIfTheResumptionWasQueued) {
    protocol p(1);
    party a(1);
    party b(2);
    park_at_home(p, a);
    ASSERT_TRUE(p.try_match(b));
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), true));
}

TEST(ProtocolAbandon, TakesBackABoundedOffer) {
    protocol p(1);
    grow(p);
    party a(1);
    offer_in_arena(p, a);
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), true));
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolAbandon, AcceptsThatABoundedOfferWasTaken) {
    protocol p(1);
    grow(p);
    party a(1);
    party b(2);
    offer_in_arena(p, a);
    ASSERT_EQ(arrive(p, b, true), arrival::completed);
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), true));
    EXPECT_TRUE(quiet(p));
}

TEST(ProtocolAbandon, WaitsUntilTheClaimerOfABoundedOfferHasFinished) {
    protocol p(1);
    grow(p);
    party a(1);
    offer_in_arena(p, a);
    claim_by_hand(arena_of(p).at(1), a);
    ASSERT_EQ(p.expire(a), arrival::claimed);
    std::atomic<bool> finished{false};
    std::barrier started(2);
    std::thread partner([&] {
        started.arrive_and_wait();
        for (int i = 0; i != 1'000; ++i) {
            std::this_thread::yield();
        }
        finished = true;
        no_withdrawals none;
        a.state.complete(none);
    });
    started.arrive_and_wait();
    EXPECT_TRUE(p.abandon(a, tryst::detail::is_limited(a.at), true));
    EXPECT_TRUE(finished);
    partner.join();
}

// ---- What the destructor waits for.

/// Destroys `p` on a thread, and lets the last one out only when that has begun.
/// @returns whether the destructor has waited.
bool destroys_only_after(std::unique_ptr<protocol> p, const std::function<void()>& let_go) {
    std::atomic<bool> gone{false};
    std::barrier started(2);
    bool waited = false;
    std::thread destroyer([&] {
        started.arrive_and_wait();
        p.reset();
        waited = gone;
    });
    started.arrive_and_wait();
    for (int i = 0; i != 1'000; ++i) { // ample room for a destructor that does not wait to return
        std::this_thread::yield();
    }
    gone = true;
    let_go();
    destroyer.join();
    return waited;
}

TEST(ProtocolDestructor, ClosesAndCompletesWhoeverWaits) {
    std::optional<protocol> p(std::in_place, 1U);
    grow(*p);
    party offered(1);
    offer_in_arena(*p, offered);
    party parked(2);
    park_at_home(*p, parked);
    p.reset();
    EXPECT_EQ(parked.posted, 1);
    expect_failed(parked, outcome::closed, 2);
    EXPECT_TRUE(offered.state.is_done());
    expect_failed(offered, outcome::closed, 1);
}

TEST(ProtocolDestructor, WaitsForACancellerThatLostToAPartner) {
    auto p = std::make_unique<protocol>(1);
    arena& inside = arena_of(*p);
    party a(1);
    party b(2);
    park_at_home(*p, a);
    a.state.request_stop(false); // a canceller has announced itself
    ASSERT_TRUE(p->try_match(b));
    expect_swapped(a, 1, b, 2);
    EXPECT_TRUE(destroys_only_after(std::move(p), [&] {
        EXPECT_FALSE(inside.list().withdraw(&a));
        EXPECT_TRUE(a.state.fail_withdraw(false).is_done());
        inside.unpin();
    }));
}

TEST(ProtocolDestructor, WaitsForACancellerThatLostToAClose) {
    auto p = std::make_unique<protocol>(1);
    arena& inside = arena_of(*p);
    party a(1);
    park_at_home(*p, a);
    a.state.request_stop(false); // a canceller has announced itself
    p->close();
    EXPECT_TRUE(destroys_only_after(std::move(p), [&] {
        EXPECT_FALSE(inside.list().withdraw(&a));
        a.state.fail_withdraw(false);
        inside.unpin();
    }));
    expect_failed(a, outcome::closed, 1);
}

TEST(ProtocolDestructor, WaitsForAnOwnerWhoseExpiryLostToAPartner) {
    auto p = std::make_unique<protocol>(1);
    grow(*p);
    arena& inside = arena_of(*p);
    party a(1);
    party b(2);
    offer_in_arena(*p, a);
    a.state.begin_withdraw(); // the owner has announced its withdrawal
    ASSERT_EQ(p->arrive(b, true), arrival::completed);
    EXPECT_TRUE(destroys_only_after(std::move(p), [&] {
        EXPECT_FALSE(inside.at(1).begin_move(&a));
        EXPECT_TRUE(a.state.fail_withdraw(false).is_done());
        inside.unpin();
    }));
}

TEST(ProtocolDestructor, WaitsForAnOwnerOnItsWayHome) {
    auto p = std::make_unique<protocol>(1);
    grow(*p);
    arena& inside = arena_of(*p);
    party a(1);
    offer_in_arena(*p, a);
    ASSERT_TRUE(inside.at(1).begin_move(&a));
    EXPECT_TRUE(destroys_only_after(std::move(p), [&] { inside.at(1).end_move(); }));
}

TEST(ProtocolDestructor, DoesNotWaitForAWithdrawalThatIsOver) {
    for (const bool canceller_first : {true, false}) {
        auto p = std::make_unique<protocol>(1);
        party a(1);
        park_at_home(*p, a);
        if (canceller_first) {
            claim_by_hand(arena_of(*p).list(), a);
            p->cancel(a, false); // comes too late, and leaves before the partner finishes
            complete_by_hand(a, 2);
        } else {
            party b(2);
            ASSERT_TRUE(p->try_match(b));
            p->cancel(a, false);
        }
        p.reset(); // would hang
    }
}

// ---- A waiter whose executor is the one that completes it.

struct serial_executor {
    int posts = 0;

    tryst::executor_ref ref() noexcept {
        static constexpr tryst::executor_vtable vtable{
            .post =
                [](void* self, tryst::executor_node* node) noexcept {
                    ++static_cast<serial_executor*>(self)->posts;
                    node->run(node);
                },
            .serial = true};
        return {this, &vtable};
    }
};

TEST(ProtocolComplete, PostsAParkedWaiterToItsExecutor) {
    serial_executor loop;
    protocol p(1);
    party a(1);
    party b(2);
    a.executor = loop.ref();
    park_at_home(p, a);
    ASSERT_TRUE(p.try_match(b));
    EXPECT_EQ(loop.posts, 1);
    EXPECT_EQ(a.posted, 1);
}

TEST(ProtocolComplete, OnTheWaitersOwnLoopLeavesItToItsPendingCheck) {
    serial_executor loop;
    const tryst::executor_scope here(loop.ref());
    protocol p(1);
    party in_wait_list(1);
    party b(2);
    in_wait_list.executor = loop.ref();
    ASSERT_EQ(arrive(p, in_wait_list, true), arrival::waiting);
    ASSERT_TRUE(p.try_match(b));
    EXPECT_EQ(loop.posts, 0);
    EXPECT_EQ(p.expire(in_wait_list), arrival::completed);
    expect_swapped(in_wait_list, 1, b, 2);

    grow(p);
    party above(3);
    party c(4);
    above.executor = loop.ref();
    offer_in_arena(p, above);
    EXPECT_EQ(arrive(p, c, true), arrival::completed);
    EXPECT_EQ(loop.posts, 0);
    EXPECT_EQ(p.expire(above), arrival::completed);
    expect_swapped(above, 3, c, 4);
}

TEST(ProtocolComplete, OnTheWaitersOwnLoopStillPostsOneThatIsParked) {
    serial_executor loop;
    const tryst::executor_scope here(loop.ref());
    protocol p(1);
    party limited(1);
    party b(2);
    limited.executor = loop.ref();
    ASSERT_EQ(arrive(p, limited, true), arrival::waiting);
    ASSERT_EQ(p.expire(limited), arrival::waiting);
    limited.at = tryst::detail::stage::stoppable;
    ASSERT_TRUE(p.park(limited));
    ASSERT_TRUE(p.try_match(b));
    EXPECT_EQ(loop.posts, 1);
    expect_swapped(limited, 1, b, 2);
}

TEST(ProtocolComplete, OnTheWaitersOwnLoopSeesItsCanceller) {
    serial_executor loop;
    const tryst::executor_scope here(loop.ref());
    auto p = std::make_unique<protocol>(1);
    arena& inside = arena_of(*p);
    party a(1);
    party b(2);
    a.executor = loop.ref();
    a.at = tryst::detail::stage::stoppable;
    park_at_home(*p, a);
    a.state.request_stop(false); // on another thread
    ASSERT_TRUE(p->try_match(b));
    EXPECT_EQ(loop.posts, 1);
    EXPECT_TRUE(destroys_only_after(std::move(p), [&] {
        a.state.fail_withdraw(false);
        inside.unpin();
    }));
}

TEST(ProtocolSignal, CountsAWithdrawalFromItsAnnouncementToItsEnd) {
    const auto is_withdrawing = [](int seen) {
        return signal::view(static_cast<signal::bits>(seen)).is_withdrawing();
    };
    EXPECT_FALSE(is_withdrawing(0));
    EXPECT_FALSE(is_withdrawing(signal::parked));
    EXPECT_FALSE(is_withdrawing(signal::stop));
    EXPECT_FALSE(is_withdrawing(signal::stop | signal::expired));
    EXPECT_TRUE(is_withdrawing(signal::stop | signal::parked));
    EXPECT_FALSE(is_withdrawing(signal::stop | signal::parked | signal::withdraw_failed));
    EXPECT_TRUE(is_withdrawing(signal::withdrawing));
    EXPECT_TRUE(is_withdrawing(signal::withdrawing | signal::stop));
    EXPECT_FALSE(is_withdrawing(signal::withdrawing | signal::withdraw_failed));
    EXPECT_FALSE(is_withdrawing(signal::withdrawing | signal::withdraw_failed | signal::parked));
}

// ---- A partner that was let go may end everything at once.

TEST(ProtocolLifetime, APartnerResumedInlineMayDestroyTheExchanger) {
    struct heir : party {
        using party::party;
        std::unique_ptr<protocol> all;
    };
    const auto inherit = [](tryst::executor_node* node) noexcept {
        static_cast<heir*>(node)->all.reset();
    };
    for (const bool by_expiry : {false, true}) {
        heir a(1);
        a.run = inherit;
        a.all = std::make_unique<protocol>(1);
        protocol& p = *a.all;
        grow(p);
        party b(2);
        if (by_expiry) {
            offer_in_arena(p, b);
            park_at_home(p, a);
            EXPECT_EQ(p.expire(b), arrival::completed);
        } else {
            park_at_home(p, a);
            EXPECT_EQ(arrive(p, b, true), arrival::completed);
        }
        EXPECT_EQ(a.all, nullptr);
        expect_swapped(a, 1, b, 2);
    }
    for (const bool by_close : {false, true}) {
        heir a(1);
        a.run = inherit;
        a.all = std::make_unique<protocol>(1);
        protocol& p = *a.all;
        park_at_home(p, a);
        if (by_close) {
            p.close();
            expect_failed(a, outcome::closed, 1);
        } else {
            p.cancel(a, false);
            expect_failed(a, outcome::cancelled, 1);
        }
        EXPECT_EQ(a.all, nullptr);
    }
}

} // namespace
