// SPDX-License-Identifier: MIT
#include <tryst/detail/meet/node_pool.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

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

TEST(NodePool, GivesNoNodeToTwo) {
    tryst::detail::node_pool<node, 10> p;
    const auto work = [&] {
        for (int i = 0; i != 20'000; ++i) {
            std::vector<std::uint32_t> mine;
            for (int k = 0; k != 1 + i % 3; ++k) {
                mine.push_back(p.allocate());
                ++p[mine.back()].value;
            }
            for (const auto n : mine) {
                EXPECT_EQ(p[n].value--, 1);
                p.release(n);
            }
        }
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_LE(p.size(), 6U);
}

} // namespace
