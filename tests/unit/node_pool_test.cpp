// SPDX-License-Identifier: MIT
#include <tryst/detail/meet/node_pool.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <type_traits>
#include <utility>

namespace {

struct node {
    tryst::detail::atomic<std::uint32_t> link{0};
    int value = 0;
};
using pool = tryst::detail::node_pool<node, 4>;

TEST(NodePool, HandsOutEachNodeOnce) {
    pool p;
    std::set<pool::number> numbers;
    std::set<const node*> nodes;
    for (int i = 0; i != 15; ++i) {
        const auto n = p.allocate();
        ASSERT_NE(n, pool::none);
        numbers.insert(n);
        nodes.insert(&p[n]);
    }
    EXPECT_EQ(numbers.size(), 15U);
    EXPECT_EQ(nodes.size(), 15U);
    EXPECT_EQ(p.allocate(), pool::none) << "there are no more numbers";
    EXPECT_EQ(p.size(), 15U);
}

TEST(NodePool, KeepsANodeWhereItIsAndAsItIs) {
    pool p;
    const auto first = p.allocate();
    p[first].value = 7;
    const node* const place = &p[first];
    for (int i = 0; i != 10; ++i) {
        p.allocate();
    }
    EXPECT_EQ(&p[first], place);
    p.release(first);
    EXPECT_EQ(p.allocate(), first) << "what was released last comes first";
    EXPECT_EQ(p[first].value, 7);
}

/// A link during whose first read other parties use the pool.
struct interrupted_link {
    std::atomic<std::uint32_t> value{0};
    static inline std::function<void()> interruption;

    std::uint32_t load(std::memory_order order) const {
        const auto seen = value.load(order);
        if (const auto interrupt = std::exchange(interruption, nullptr)) {
            interrupt();
        }
        return seen;
    }
    void store(std::uint32_t desired, std::memory_order order) { value.store(desired, order); }
};
struct interrupted_node {
    interrupted_link link;
};

template <class Pool>
using head = tryst::detail::atomic<std::uint64_t> Pool::*;

/// Names the head of a pool, which is private, as support/insides.cpp does.
template <class Pool, head<Pool> Head>
struct opened {
    friend constexpr head<Pool> head_of(std::type_identity<Pool> /*of*/) noexcept { return Head; }
};
using interrupted_pool = tryst::detail::node_pool<interrupted_node, 24>;
constexpr head<interrupted_pool> head_of(std::type_identity<interrupted_pool> of) noexcept;
template struct opened<interrupted_pool, &interrupted_pool::free_>;
constexpr head<pool> head_of(std::type_identity<pool> of) noexcept;
template struct opened<pool, &pool::free_>;

// A party has read which node is behind the first one. It goes on after 3 changes, 2^32, or as many
// as can be counted, when the first node is the same again and the second one is in use.
TEST(NodePool, GivesNoNodeToTwoAfterManyChanges) {
    for (const std::uint64_t changes :
         {3ULL, 1ULL << 16, 1ULL << 24, 1ULL << 31, 1ULL << 32, 1ULL << 33, 1ULL << 39}) {
        interrupted_pool p;
        const auto second = p.allocate();
        const auto first = p.allocate();
        p.release(second);
        p.release(first);
        interrupted_link::interruption = [&] {
            ASSERT_EQ(p.allocate(), first);
            ASSERT_EQ(p.allocate(), second);
            p.release(first); // three changes
            (p.*head_of(std::type_identity<interrupted_pool>()))
                .fetch_add((changes - 3) << 24U, std::memory_order_relaxed);
        };
        EXPECT_EQ(p.allocate(), first) << changes;
        EXPECT_NE(p.allocate(), second) << "it is in use: " << changes << " changes";
    }
}

TEST(NodePool, CountsOnWhenItsChangesWrap) {
    pool p;
    const auto n = p.allocate();
    p.release(n);
    (p.*head_of(std::type_identity<pool>()))
        .fetch_or(~std::uint64_t{0xF}, std::memory_order_relaxed);
    for (int i = 0; i != 4; ++i) {
        ASSERT_EQ(p.allocate(), n);
        ASSERT_EQ(p.allocate(), n + 1);
        p.release(n + 1);
        p.release(n);
    }
}

} // namespace
