// SPDX-License-Identifier: MIT
#include <tryst/detail/item.hpp>
#include <tryst/detail/waiter.hpp>

#include "support/tracked.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace {

using tryst::detail::item;
using tryst::detail::item_waiter;
using tryst::detail::outcome;
using tryst::test::census;
using tryst::test::tracked;

template <std::size_t Alignment>
struct alignas(Alignment) aligned_value {
    explicit aligned_value(census& kept, long id) noexcept : counted(kept, id) {}
    tracked counted;
};

/// Can be moved to a new object, but not assigned.
struct fixed {
    explicit fixed(int from) noexcept : value(from) {}
    fixed(fixed&&) noexcept = default;
    fixed& operator=(fixed&&) = delete;
    const int value;
};

struct empty {};

template <class Aligned>
bool well_placed(Aligned& value) {
    return reinterpret_cast<std::uintptr_t>(&value) % alignof(Aligned) == 0;
}

/// Puts an item at every place that a coroutine frame could give it, and looks where its value is.
template <std::size_t Alignment>
void expect_aligned_everywhere() {
    using value = aligned_value<Alignment>;
    using stored = item<value>;
    static_assert(alignof(stored) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__,
                  "a coroutine frame is aligned no better than this");
    alignas(Alignment) std::byte room[sizeof(stored) + Alignment];
    census kept;
    for (std::size_t at = 0; at != Alignment; at += __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        auto* const placed = ::new (static_cast<void*>(room + at)) stored(value(kept, 1));
        EXPECT_TRUE(well_placed(placed->get()));
        EXPECT_GE(reinterpret_cast<std::byte*>(&placed->get()), room + at);
        EXPECT_LE(reinterpret_cast<std::byte*>(&placed->get() + 1), room + at + sizeof(stored));
        EXPECT_EQ(placed->get().counted.id(), 1);
        std::destroy_at(placed);
        EXPECT_EQ(kept.alive, 0);
    }
}

} // namespace

TEST(Item, HoldsWhatItWasGiven) {
    item<std::unique_ptr<int>> held(std::make_unique<int>(7));
    EXPECT_EQ(*held.get(), 7);
    const std::unique_ptr<int> taken = std::move(held.get());
    EXPECT_EQ(*taken, 7);
}

TEST(Item, AlignsAnOverAlignedValueWhereverItIsPlaced) {
    expect_aligned_everywhere<32>();
    expect_aligned_everywhere<64>();
    expect_aligned_everywhere<512>();
}

TEST(Item, SpendsNoRoomOnAlignmentThatNeedsNoHelp) {
    EXPECT_EQ(sizeof(item<int>), sizeof(int));
    EXPECT_EQ(sizeof(item<empty>), sizeof(empty));
    EXPECT_EQ(sizeof(item<std::max_align_t>), sizeof(std::max_align_t));
}

TEST(Item, MovesAnOverAlignedValueBetweenPlaces) {
    using value = aligned_value<128>;
    census kept;
    {
        item<value> first(value(kept, 1));
        item<value> second(std::move(first));
        EXPECT_TRUE(well_placed(second.get()));
        EXPECT_EQ(second.get().counted.id(), 1);
        EXPECT_EQ(first.get().counted.id(), -1); // NOLINT(bugprone-use-after-move): is what we test

        item<value> third(value(kept, 3));
        third = std::move(second);
        EXPECT_TRUE(well_placed(third.get()));
        EXPECT_EQ(third.get().counted.id(), 1);
        EXPECT_EQ(kept.alive, 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

/// What a partner does once it has claimed the other.
template <class A, class B>
void meet(A& a, B& b) {
    a.swap_items(b);
    a.result = b.result = outcome::exchanged;
}

TEST(SwapItems, GivesEachTheOthersValue) {
    census kept;
    {
        item_waiter<tracked> a(tracked(kept, 1));
        item_waiter<tracked> b(tracked(kept, 2));
        meet(a, b);
        EXPECT_EQ(a.theirs().id(), 2);
        EXPECT_EQ(b.theirs().id(), 1);
        EXPECT_EQ(kept.alive, 2);
    }
    EXPECT_EQ(kept.alive, 0);
    EXPECT_EQ(kept.created, 2) << "a swap moves; it makes no new values";
}

TEST(SwapItems, NeedsNothingButAMoveConstructor) {
    static_assert(!std::is_move_assignable_v<fixed>);
    item_waiter<fixed> a(fixed(1));
    item_waiter<fixed> b(fixed(2));
    meet(a, b);
    EXPECT_EQ(a.theirs().value, 2);
    EXPECT_EQ(b.theirs().value, 1);
}

TEST(SwapItems, KeepsOverAlignedValuesWhereTheyAre) {
    using value = aligned_value<64>;
    census kept;
    {
        item_waiter<value> a(value(kept, 1));
        item_waiter<value> b(value(kept, 2));
        value* const place = &a.own();
        meet(a, b);
        EXPECT_EQ(&a.theirs(), place);
        EXPECT_EQ(a.theirs().counted.id(), 2);
        EXPECT_EQ(b.theirs().counted.id(), 1);
    }
    EXPECT_EQ(kept.alive, 0);
}

TEST(SwapItems, CrossesTwoTypes) {
    using tryst::detail::colour;
    census kept;
    {
        item_waiter<tracked, aligned_value<64>, colour::red> a(tracked(kept, 1));
        item_waiter<aligned_value<64>, tracked, colour::blue> b(aligned_value<64>(kept, 2));
        meet(a, b);
        EXPECT_TRUE(well_placed(a.theirs()));
        EXPECT_EQ(a.theirs().counted.id(), 2);
        EXPECT_EQ(b.theirs().id(), 1);
        const item_waiter<tracked, aligned_value<64>, colour::red> alone(tracked(kept, 3));
        EXPECT_EQ(kept.alive, 3);
    }
    EXPECT_EQ(kept.alive, 0);
}
