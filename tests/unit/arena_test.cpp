// SPDX-License-Identifier: MIT
#include <tryst/detail/meet/arena.hpp>

#include <tryst/detail/meet/single_slot.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <cstdint>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace {

using tryst::detail::line_pair;
using tryst::detail::slot;
using tryst::detail::waiter;
using arena = tryst::detail::basic_arena<tryst::detail::single_slot>;

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

TEST(ArenaBound, StartsAtTheHomeSlotAlone) {
    const arena a(8);
    EXPECT_EQ(highest(a), 0U);
    EXPECT_EQ(arena::index(a.bound()), 0U);
}

TEST(ArenaBound, GrowsByOneWithEachCollision) {
    arena a(8);
    for (std::uint32_t i = 1; i <= 8; ++i) {
        a.collided();
        EXPECT_EQ(highest(a), i);
    }
}

TEST(ArenaBound, StopsAtTheCapacity) {
    arena a(2);
    for (int i = 0; i != 10; ++i) {
        a.collided();
    }
    EXPECT_EQ(highest(a), 2U);
}

TEST(ArenaBound, ShrinksByOneWithEachExpiredOffer) {
    arena a(8);
    grow_to(a, 3);
    a.expired(a.bound());
    EXPECT_EQ(highest(a), 2U);
    a.expired(a.bound());
    EXPECT_EQ(highest(a), 1U);
    a.expired(a.bound());
    EXPECT_EQ(highest(a), 0U);
    a.expired(a.bound());
    EXPECT_EQ(highest(a), 0U);
}

TEST(ArenaBound, IgnoresAnOfferThatWasMadeUnderAnEarlierBound) {
    arena a(8);
    grow_to(a, 2);
    const std::uint32_t stale = a.bound();
    a.collided();
    a.expired(stale);
    EXPECT_EQ(highest(a), 3U);
}

TEST(ArenaBound, TellsApartTheSameSizeAtDifferentTimes) {
    arena a(8);
    grow_to(a, 2);
    const std::uint32_t stale = a.bound();
    a.expired(stale);
    a.collided();
    ASSERT_EQ(highest(a), 2U);
    EXPECT_NE(a.bound(), stale);
    a.expired(stale);
    EXPECT_EQ(highest(a), 2U);
}

TEST(ArenaBound, ShrinksOnceForAllOffersOfOneBound) {
    arena a(8);
    grow_to(a, 4);
    const std::uint32_t seen = a.bound();
    a.expired(seen);
    a.expired(seen);
    a.expired(seen);
    EXPECT_EQ(highest(a), 3U);
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

TEST(ArenaCapacity, OfZeroIsOneSlotThatNeverGrows) {
    arena a(0);
    EXPECT_EQ(a.capacity(), 0U);
    a.collided();
    a.collided();
    EXPECT_EQ(highest(a), 0U);
    EXPECT_EQ(arena::index(a.bound()), 0U);
    a.drain();
}

TEST(ArenaCapacity, OfOneGivesEveryThreadSlotOne) {
    arena a(1);
    a.collided();
    a.collided();
    EXPECT_EQ(highest(a), 1U);
    std::uint32_t elsewhere = 0;
    std::thread([&] { elsewhere = arena::index(a.bound()); }).join();
    EXPECT_EQ(elsewhere, 1U);
    EXPECT_EQ(arena::index(a.bound()), 1U);
}

TEST(ArenaCapacity, IsAtMostTheLargestIndexOfABound) {
    arena largest(255);
    EXPECT_EQ(largest.capacity(), 255U);
    for (int i = 0; i != 300; ++i) {
        largest.collided();
    }
    EXPECT_EQ(highest(largest), 255U);
    const arena more(1'000);
    EXPECT_EQ(more.capacity(), 255U);
}

TEST(ArenaIndex, IsAlwaysASlotInUseAndNeverHome) {
    arena a(255);
    for (std::uint32_t slots = 1; slots <= 255; ++slots) {
        a.collided();
        ASSERT_EQ(highest(a), slots);
        const std::uint32_t i = arena::index(a.bound());
        EXPECT_GE(i, 1U);
        EXPECT_LE(i, slots);
    }
}

TEST(ArenaIndex, StaysWhileTheThreadDoesNotCollide) {
    arena a(255);
    grow_to(a, 255);
    const std::uint32_t mine = arena::index(a.bound());
    for (int i = 0; i != 100; ++i) {
        EXPECT_EQ(arena::index(a.bound()), mine);
    }
}

TEST(ArenaIndex, StaysWhenTheThreadLosesARaceAtHome) {
    arena a(4);
    grow_to(a, 4);
    const std::uint32_t mine = arena::index(a.bound());
    for (int i = 0; i != 100; ++i) {
        a.grow();
        EXPECT_EQ(arena::index(a.bound()), mine);
    }
}

TEST(ArenaIndex, OfFewThreadsIsAnotherWhenTheBoundChanges) {
    auto& here = tryst::detail::per_thread<tryst::detail::thread_state>();
    constexpr std::uint32_t threads = 1'000;
    arena a(255);
    grow_to(a, 1);
    for (std::uint32_t slots = 1; slots != 255; ++slots) {
        const std::uint32_t before = a.bound();
        a.grow();
        std::set<std::uint32_t> left;
        for (here.probe = 1; here.probe <= threads; ++here.probe) {
            here.place = 0;
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

TEST(ArenaMet, MovesAThreadThatMeetsOnlyStrangers) {
    arena a(4);
    int contexts[5];
    const tryst::executor_vtable table{};
    for (int& each : contexts) {
        a.met({&each, &table});
    }
    EXPECT_GE(highest(a), 1U);
}

TEST(ArenaMet, LeavesAThreadThatMeetsOnePartnerWhereItIs) {
    arena a(4);
    int contexts[2];
    const tryst::executor_vtable table{};
    a.met({&contexts[0], &table});
    a.met({&contexts[0], &table}); // forgets the partners of other tests
    const std::uint32_t before = highest(a);
    for (int i = 0; i != 100; ++i) { // now and then another thread comes by
        a.met({&contexts[i % 4 == 0 ? 1 : 0], &table});
    }
    EXPECT_EQ(highest(a), before);
}

TEST(ArenaFollow, SelectsTheSlotOfTheThreadThatIsFollowed) {
    auto& probe = tryst::detail::per_thread<tryst::detail::thread_state>().probe;
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
    EXPECT_NE(probe, 0U);
}

TEST(ArenaFollow, ChangesNothingIfThatThreadHasNoSlot) {
    auto& probe = tryst::detail::per_thread<tryst::detail::thread_state>().probe;
    const arena a(4);
    probe = 7;
    arena::follow(arena::place_in_list(a.bound()));
    EXPECT_EQ(probe, 7U);
}

TEST(ArenaIndex, DiffersBetweenThreads) {
    constexpr int threads = 16;
    arena a(255);
    grow_to(a, 255);
    std::mutex mutex;
    std::set<std::uint32_t> indices;
    std::barrier all_alive(threads); // a thread's state may be where a dead one's was
    std::vector<std::thread> running;
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
    for (std::thread& each : running) {
        each.join();
    }
    EXPECT_GE(indices.size(), threads / 2U);
}

TEST(ArenaPlacement, GivesEachSlotALinePairOfItsOwn) {
    arena a(4);
    std::set<std::uintptr_t> pairs{address(&a.list()) / line_pair};
    for (std::uint32_t i = 1; i <= 4; ++i) {
        EXPECT_EQ(address(&a.at(i)) % line_pair, 0U);
        pairs.insert(address(&a.at(i)) / line_pair);
    }
    EXPECT_EQ(pairs.size(), 5U);
    EXPECT_EQ(address(&a.at(4)) - address(&a.at(1)), 3 * line_pair);
}

TEST(ArenaPlacement, KeepsTheBoundBesideTheHomeSlot) {
    EXPECT_EQ(sizeof(arena), line_pair);
    EXPECT_EQ(alignof(arena), line_pair);
}

TEST(ArenaDrain, ReturnsAtOnceWhenNobodyIsInside) {
    arena a(3);
    a.pin();
    a.unpin();
    a.unpin(); // either may come first
    a.pin();
    a.drain();
}

/// Drains on a thread, and lets the last one out only when that has begun.
template <class LetGo>
bool drains_only_after(arena& a, LetGo let_go) {
    std::atomic<bool> gone{false};
    std::barrier started(2);
    bool waited = false;
    std::thread destroyer([&] {
        started.arrive_and_wait();
        a.drain();
        waited = gone;
    });
    started.arrive_and_wait();
    for (int i = 0; i != 1'000; ++i) { // ample room for a drain that does not wait to return
        std::this_thread::yield();
    }
    gone = true;
    let_go();
    destroyer.join();
    return waited;
}

TEST(ArenaDrain, WaitsForAStraggler) {
    arena a(1);
    a.pin();
    EXPECT_TRUE(drains_only_after(a, [&] { a.unpin(); }));
}

TEST(ArenaDrain, WaitsForAWaiterOnItsWayHome) {
    arena a(3);
    waiter w;
    ASSERT_TRUE(a.at(3).offer(&w));
    ASSERT_TRUE(a.at(3).begin_move(&w));
    EXPECT_TRUE(drains_only_after(a, [&] { a.at(3).end_move(); }));
}

} // namespace
