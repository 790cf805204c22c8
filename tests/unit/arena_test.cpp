// SPDX-License-Identifier: MIT
// Where parties look for each other: a policy, which costs time if it is wrong, but loses no item.
// The steps of the protocol are explored in tests/model.
#include <tryst/detail/meet/arena.hpp>
#include <tryst/detail/meet/swap.hpp>

#include "support/insides.hpp"

#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/single_slot.hpp>

#include <gtest/gtest.h>

#include <barrier>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace tryst::test {
namespace {

using detail::arrival;
using detail::line_pair;
using detail::outcome;
using protocol = detail::protocol<detail::single_slot>;

std::uint32_t highest(const arena& a) {
    return arena::highest(a.bound());
}

void grow_to(arena& a, std::uint32_t slots) {
    while (highest(a) != slots) {
        a.collided();
    }
}

std::uintptr_t address(const void* object) {
    return reinterpret_cast<std::uintptr_t>(object);
}

/// What the thread remembers of where it has met others.
detail::thread_state& this_thread() {
    return detail::per_thread<detail::thread_state>();
}
void set_probe(std::uint32_t probe) {
    this_thread().probe = probe;
    this_thread().place = 0;
}

// ---- How many slots are in use.

TEST(ArenaBound, GrowsByOneWithEachCollisionAndShrinksByOneWithEachExpiredOffer) {
    for (const std::uint32_t capacity : {0U, 1U, 2U, 255U, 1'000U}) {
        SCOPED_TRACE(capacity);
        arena a(capacity);
        EXPECT_EQ(highest(a), 0U);
        EXPECT_EQ(arena::index(a.bound()), 0U);
        const std::uint32_t most = capacity > 255 ? 255 : capacity;
        EXPECT_EQ(a.capacity(), most);
        for (std::uint32_t i = 1; i != most + 3; ++i) {
            a.collided();
            EXPECT_EQ(highest(a), i < most ? i : most);
        }
        for (std::uint32_t i = 1; i != most + 3; ++i) {
            a.expired(a.bound());
            EXPECT_EQ(highest(a), i < most ? most - i : 0);
        }
    }
}

TEST(ArenaBound, IgnoresAnOfferThatWasMadeUnderAnEarlierBound) {
    arena a(8);
    grow_to(a, 2);
    const std::uint32_t two = a.bound();
    a.collided();
    a.expired(two);
    EXPECT_EQ(highest(a), 3U);
    a.expired(a.bound()); // two slots again, but another time
    EXPECT_NE(a.bound(), two);
    a.expired(two);
    EXPECT_EQ(highest(a), 2U);
    const std::uint32_t shared = a.bound();
    a.expired(shared);
    a.expired(shared);
    EXPECT_EQ(highest(a), 1U) << "all offers of one bound shrink it once";
}

TEST(ArenaBound, SurvivesTheWrapOfItsSequenceNumber) {
    constexpr int changes_until_wrap = 1 << 16;
    arena a(1);
    for (int i = 0; i != changes_until_wrap / 2 + 2; ++i) {
        a.collided();
        a.expired(a.bound());
    }
    EXPECT_EQ(highest(a), 0U);
    a.collided();
    EXPECT_EQ(highest(a), 1U);
}

TEST(ArenaPlace, HoldsBothTheBoundAndTheSlot) {
    arena a(255);
    grow_to(a, 255);
    for (const std::uint32_t index : {0U, 1U, 128U, 255U}) {
        EXPECT_EQ(arena::index_of(arena::place(a.bound(), index)), index);
    }
    a.expired(arena::place(a.bound(), 255));
    EXPECT_EQ(highest(a), 254U);
}

// ---- Which of them a thread uses.

TEST(ArenaIndex, IsAlwaysASlotInUseAndNeverHome) {
    arena a(255);
    for (std::uint32_t slots = 1; slots <= 255; ++slots) {
        a.collided();
        const std::uint32_t i = arena::index(a.bound());
        EXPECT_GE(i, 1U);
        EXPECT_LE(i, slots);
    }
}

TEST(ArenaIndex, StaysUntilTheThreadCollidesAboveHome) {
    arena a(4);
    grow_to(a, 4);
    const std::uint32_t mine = arena::index(a.bound());
    for (int i = 0; i != 100; ++i) {
        a.grow(); // it has lost a race at home
        EXPECT_EQ(arena::index(a.bound()), mine);
    }
}

TEST(ArenaIndex, OfFewThreadsIsAnotherWhenTheBoundChanges) {
    constexpr std::uint32_t threads = 1'000;
    arena a(255);
    grow_to(a, 1);
    for (std::uint32_t slots = 1; slots != 255; ++slots) {
        const std::uint32_t before = a.bound();
        a.grow();
        std::set<std::uint32_t> left;
        for (std::uint32_t probe = 1; probe <= threads; ++probe) {
            set_probe(probe);
            if (arena::index(before) != arena::index(a.bound())) {
                left.insert(arena::index(before));
                EXPECT_EQ(arena::index(a.bound()), slots + 1);
            }
        }
        EXPECT_EQ(left.size(), 1U) << "who moves, comes from one slot to the new one";
    }
}

TEST(ArenaIndex, VisitsEverySlotAsTheThreadCollides) {
    constexpr std::uint32_t slots = 16;
    arena a(slots);
    grow_to(a, slots);
    std::set<std::uint32_t> visited;
    for (int i = 0; i != 1'000; ++i) {
        a.collided();
        visited.insert(arena::index(a.bound()));
    }
    EXPECT_EQ(visited.size(), slots);
}

TEST(ArenaIndex, DiffersBetweenThreads) {
    constexpr int threads = 16;
    arena a(255);
    grow_to(a, 255);
    std::mutex mutex;
    std::set<std::uint32_t> indices;
    std::barrier all_alive(threads); // a thread's state may be where a dead one's was
    std::vector<std::jthread> running;
    for (int i = 0; i != threads; ++i) {
        running.emplace_back([&] {
            all_alive.arrive_and_wait();
            const std::uint32_t mine = arena::index(a.bound());
            {
                const std::scoped_lock lock(mutex);
                indices.insert(mine);
            }
            all_alive.arrive_and_wait();
        });
    }
    running.clear();
    EXPECT_GE(indices.size(), threads / 2U);
}

TEST(ArenaMet, MovesAThreadThatMeetsOnlyStrangers) {
    arena a(4);
    int contexts[5];
    const executor_vtable table{};
    for (int& each : contexts) {
        a.met({&each, &table});
    }
    EXPECT_GE(highest(a), 1U);
}

TEST(ArenaMet, LeavesAThreadThatMeetsOnePartnerWhereItIs) {
    arena a(4);
    int contexts[2];
    const executor_vtable table{};
    a.met({&contexts[0], &table});
    a.met({&contexts[0], &table}); // forgets the partners of other tests
    const std::uint32_t before = highest(a);
    for (int i = 0; i != 100; ++i) { // now and then another thread comes by
        a.met({&contexts[i % 4 == 0 ? 1 : 0], &table});
    }
    EXPECT_EQ(highest(a), before);
}

TEST(ArenaFollow, SelectsTheSlotOfTheThreadThatIsFollowed) {
    arena a(255);
    grow_to(a, 255);
    const std::uint32_t followed = arena::index(a.bound());
    const std::uint32_t place = arena::place_in_list(a.bound());
    EXPECT_EQ(arena::index_of(place), 0U);
    while (arena::index(a.bound()) == followed) {
        a.collided();
    }
    arena::follow(place);
    EXPECT_EQ(arena::index(a.bound()), followed);
    EXPECT_NE(this_thread().probe, 0U);
}

TEST(ArenaFollow, ChangesNothingIfThatThreadHasNoSlot) {
    const arena a(4);
    set_probe(7);
    arena::follow(arena::place_in_list(a.bound()));
    EXPECT_EQ(this_thread().probe, 7U);
}

TEST(ArenaPlacement, GivesEachSlotALinePairOfItsOwnAndKeepsTheBoundBesideTheHomeSlot) {
    EXPECT_EQ(sizeof(detail::slot), sizeof(void*));
    EXPECT_EQ(sizeof(arena), line_pair);
    EXPECT_EQ(alignof(arena), line_pair);
    arena a(4);
    std::set<std::uintptr_t> pairs{address(&a.list()) / line_pair};
    for (std::uint32_t i = 1; i <= 4; ++i) {
        EXPECT_EQ(address(&a.at(i)) % line_pair, 0U);
        pairs.insert(address(&a.at(i)) / line_pair);
    }
    EXPECT_EQ(pairs.size(), 5U);
    EXPECT_EQ(address(&a.at(4)) - address(&a.at(1)), 3 * line_pair) << "nothing is between them";
}

// ---- Where a party looks for a partner, and where it offers its item.

/// A waiter that counts how often it was posted.
struct party : detail::item_waiter<int> {
    explicit party(int value) noexcept : item_waiter(static_cast<int&&>(value)) {
        run = [](executor_node* node) noexcept { ++static_cast<party*>(node)->posted; };
    }
    int posted = 0;
};

struct Meeting : testing::Test {
    explicit Meeting(std::size_t capacity = 4) : p(capacity) {
        // Else whom the thread has met in an earlier test, and the clock, decide.
        arena other(1);
        other.met({});
        other.met({}); // the same one again: not one stranger after the other
        this_thread() = {};
        this_thread().random = 1;
    }
    ~Meeting() override { p.close(); }

    /// The steps of an arrival that waits if nobody else does.
    arrival arrive(party& w, bool spread) {
        return p.try_match(w) ? arrival::completed : p.arrive(w, spread);
    }
    void park_at_home(party& w) {
        ASSERT_EQ(p.arrive(w, false), arrival::waiting);
        w.at = detail::stage::stoppable; // from now on a stop or a deadline may come
        ASSERT_TRUE(p.park(w));
    }
    /// Puts `w` into a slot that the arena does not lead this thread to.
    void offer_by_hand(party& w, std::uint32_t index) {
        w.place = arena::place(arena_of(p).bound(), index);
        ASSERT_TRUE(arena_of(p).at(index).offer(&w));
    }
    /// Whether they have swapped; one that was in the arena learns it when its offer is over.
    bool have_met(party& waited, party& came) {
        return came.result == outcome::exchanged && p.expire(waited) == arrival::completed &&
               waited.result == outcome::exchanged;
    }

    protocol p;
    party a{1};
    party b{2};
    party c{3};
    party d{4};
};

TEST_F(Meeting, IsAtHomeUntilTheArenaHasGrownAndTheWaiterMaySpread) {
    for (const int slots : {0, 1, 4}) {
        for (const bool spread : {false, true}) {
            SCOPED_TRACE(slots);
            protocol other(4);
            party w(1);
            grow(other, slots);
            const bool above = slots != 0 && spread;
            EXPECT_EQ(other.arrive(w, spread), above ? arrival::offered : arrival::waiting);
            EXPECT_EQ(waits_in_list(other), !above);
            EXPECT_EQ(waits_in_arena(other), above);
            EXPECT_EQ(arena::index_of(w.place) != 0, above);
            other.close();
        }
    }
}

TEST_F(Meeting, OfAnArrivalIsWithTheWaiterAtHomeAndThenWithTheOneInItsOwnSlot) {
    for (const bool on_thread : {false, true}) {
        SCOPED_TRACE(on_thread ? "thread" : "coroutine");
        protocol other(4);
        party high(1);
        party home(2);
        party first(3);
        party second(4);
        const auto come = [&](party& w) {
            return on_thread            ? other.arrive<detail::thread_party>(w, true)
                   : other.try_match(w) ? arrival::completed
                                        : other.arrive(w, true);
        };
        grow(other);
        ASSERT_EQ(come(high), arrival::offered);
        ASSERT_EQ(other.arrive(home, false), arrival::waiting);
        EXPECT_EQ(come(first), arrival::completed);
        EXPECT_EQ(home.result, outcome::exchanged);
        EXPECT_EQ(high.result, outcome::pending);
        EXPECT_EQ(come(second), arrival::completed);
        EXPECT_EQ(high.result, outcome::exchanged);
        EXPECT_EQ(other.spread(), 1U) << "an offer that was taken shrinks nothing";
    }
}

TEST_F(Meeting, OfATryIsWithTheWaiterAtHomeAndThenWithOneInAnySlot) {
    for (std::uint32_t where = 1; where <= 4; ++where) {
        SCOPED_TRACE(where);
        party high(1);
        party home(2);
        party first(3);
        party second(4);
        party third(5);
        grow(p, 4);
        offer_by_hand(high, where);
        park_at_home(home);
        EXPECT_TRUE(p.try_match_all(first));
        EXPECT_TRUE(have_met(home, first));
        EXPECT_TRUE(p.try_match_all(second));
        EXPECT_TRUE(have_met(high, second));
        EXPECT_FALSE(p.try_match_all(third));
    }
}

TEST_F(Meeting, IsPossibleInASlotAboveABoundThatHasShrunk) {
    grow(p, 2);
    set_probe(2); // slot 1 of two
    ASSERT_EQ(arrive(a, true), arrival::offered);
    set_probe(~0U); // slot 2
    ASSERT_EQ(arrive(b, true), arrival::offered);
    ASSERT_EQ(p.expire(a), arrival::waiting);
    ASSERT_EQ(p.spread(), 1U);
    EXPECT_TRUE(p.try_match_all(c)) << "slot 0";
    EXPECT_TRUE(p.try_match_all(d)) << "slot 2";
    EXPECT_TRUE(have_met(b, d));
}

TEST_F(Meeting, EndsInAllSlotsWithAClose) {
    grow(p, 2);
    offer_by_hand(a, 2);
    p.expire(a); // at home, and slot 2 is above the bound
    offer_by_hand(b, 4);
    p.close();
    EXPECT_FALSE(waits_in_arena(p));
    EXPECT_EQ(p.expire(b), arrival::completed);
    EXPECT_EQ(b.result, outcome::closed);
}

TEST_F(Meeting, InTheWaitListLeadsAThreadToTheSlotOfItsPartner) {
    grow(p, 4);
    set_probe(2);
    ASSERT_EQ(p.arrive<detail::thread_party>(a, false), arrival::waiting);
    set_probe(3);
    offer_by_hand(b, 4);
    EXPECT_EQ(p.expire<detail::thread_party>(b), arrival::completed);
    EXPECT_EQ(this_thread().probe, 2U);
}

// ---- Who is posted, and how.

struct serial_executor {
    int posts = 0;

    executor_ref ref() noexcept {
        static constexpr executor_vtable vtable{
            .post =
                [](void* self, executor_node* node) noexcept {
                    ++static_cast<serial_executor*>(self)->posts;
                    node->run(node);
                },
            .serial = true};
        return {this, &vtable};
    }
};

TEST_F(Meeting, PostsNobodyWhoseCheckIsPending) {
    serial_executor loop;
    const executor_scope here(loop.ref());
    a.executor = loop.ref();
    ASSERT_EQ(arrive(a, true), arrival::waiting);
    EXPECT_EQ(arrive(b, true), arrival::completed);
    EXPECT_TRUE(have_met(a, b));
    grow(p);
    c.executor = loop.ref();
    ASSERT_EQ(arrive(c, true), arrival::offered);
    EXPECT_EQ(arrive(d, true), arrival::completed);
    EXPECT_TRUE(have_met(c, d));
    EXPECT_EQ(loop.posts, 0);
}

TEST_F(Meeting, NeedsNoSignalForAnUnstoppableWaiterAtHome) {
    for (const int slots : {0, 1}) {
        party waits(1);
        party comes(2);
        waits.kind = detail::waiter::kind_type::unstoppable;
        grow(p, slots);
        if (arrive(waits, true) == arrival::offered) {
            ASSERT_EQ(p.expire(waits), arrival::waiting); // it has gone home
        }
        EXPECT_TRUE(p.try_match(comes));
        EXPECT_EQ(waits.posted, 1);
        EXPECT_TRUE(waits.state.begin_withdraw().is_clear());
    }
}

} // namespace
} // namespace tryst::test
