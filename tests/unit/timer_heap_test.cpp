// SPDX-License-Identifier: MIT
#include <tryst/detail/run/timer_heap.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace {

using tryst::timer_node;
using tryst::detail::timer_heap;
using time_point = timer_node::time_point;
using namespace std::chrono_literals;

constexpr time_point at(int nanoseconds) {
    return time_point(std::chrono::nanoseconds(nanoseconds));
}

timer_node due(int nanoseconds) {
    timer_node node;
    node.deadline = at(nanoseconds);
    return node;
}

/// A heap beside a sorted reference; each step is taken in both, and their answers compared.
class checked_heap {
public:
    explicit checked_heap(std::size_t nodes) : nodes_(nodes) {}

    std::size_t size() const { return nodes_.size(); }
    bool holds(std::size_t i) const { return reference_.contains(&nodes_[i]); }

    void insert(std::size_t i, time_point deadline) {
        timer_node& node = nodes_[i];
        node.deadline = deadline;
        heap_.insert(&node);
        reference_.insert(&node);
        by_deadline_.emplace(deadline, &node);
        check();
    }

    void remove(std::size_t i) {
        timer_node& node = nodes_[i];
        const bool held = forget(&node);
        ASSERT_EQ(heap_.remove(&node), held);
        check();
    }

    void pop(time_point now) {
        timer_node* const node = heap_.pop_due(now);
        const bool any_due = !by_deadline_.empty() && by_deadline_.begin()->first <= now;
        ASSERT_EQ(node != nullptr, any_due);
        if (node != nullptr) {
            ASSERT_EQ(node->deadline, by_deadline_.begin()->first);
            ASSERT_TRUE(forget(node)) << "popped a node that was not in the heap";
        }
        check();
    }

private:
    bool forget(timer_node* node) {
        if (reference_.erase(node) == 0) {
            return false;
        }
        auto [same, end] = by_deadline_.equal_range(node->deadline);
        while (same != end && same->second != node) {
            ++same;
        }
        by_deadline_.erase(same);
        return true;
    }

    void check() {
        ASSERT_EQ(heap_.empty(), by_deadline_.empty());
        if (!heap_.empty()) {
            ASSERT_EQ(heap_.earliest(), by_deadline_.begin()->first);
        }
    }

    std::vector<timer_node> nodes_;
    timer_heap heap_;
    std::set<const timer_node*> reference_;
    std::multimap<time_point, timer_node*> by_deadline_;
};

} // namespace

TEST(TimerHeap, IsEmptyAtFirstAndAfterItsLastNode) {
    timer_heap heap;
    EXPECT_TRUE(heap.empty());
    EXPECT_EQ(heap.pop_due(time_point::max()), nullptr);
    timer_node node = due(1);
    heap.insert(&node);
    EXPECT_FALSE(heap.empty());
    EXPECT_EQ(heap.pop_due(at(1)), &node);
    EXPECT_TRUE(heap.empty());
}

TEST(TimerHeap, PopsANodeAtItsDeadlineAndNotBefore) {
    timer_heap heap;
    timer_node node = due(10);
    heap.insert(&node);
    EXPECT_EQ(heap.pop_due(at(9)), nullptr);
    EXPECT_EQ(heap.pop_due(at(10)), &node);
}

TEST(TimerHeap, PopsInTheOrderOfDeadlinesWhateverTheOrderOfInsertion) {
    timer_heap heap;
    std::vector<timer_node> nodes;
    nodes.reserve(101);
    for (int i = 0; i != 101; ++i) {
        nodes.push_back(due(i * 37 % 101)); // each of 0..100 once
    }
    for (timer_node& node : nodes) {
        heap.insert(&node);
    }
    for (int i = 0; i != 101; ++i) {
        EXPECT_EQ(heap.earliest(), at(i));
        timer_node* const next = heap.pop_due(time_point::max());
        ASSERT_NE(next, nullptr);
        EXPECT_EQ(next->deadline, at(i));
    }
    EXPECT_TRUE(heap.empty());
}

TEST(TimerHeap, RemovesAnyNodeAndKeepsTheRestInOrder) {
    constexpr int count = 32;
    for (int removed = 0; removed != count; ++removed) {
        timer_heap heap;
        std::vector<timer_node> nodes;
        nodes.reserve(count);
        for (int i = 0; i != count; ++i) {
            nodes.push_back(due(i * 13 % count));
            heap.insert(&nodes.back());
        }
        // One node popped, so that the others are linked in more than one level.
        timer_node* const first = heap.pop_due(time_point::max());
        timer_node* const target = &nodes[static_cast<std::size_t>(removed)];
        EXPECT_EQ(heap.remove(target), target != first);
        time_point last{};
        int left = 0;
        while (timer_node* const next = heap.pop_due(time_point::max())) {
            EXPECT_NE(next, target);
            EXPECT_GT(next->deadline, last);
            last = next->deadline;
            ++left;
        }
        EXPECT_EQ(left, target == first ? count - 1 : count - 2);
    }
}

TEST(TimerHeap, SaysThatANodeItDoesNotHoldWasNotRemoved) {
    timer_heap heap;
    timer_node other = due(1);
    timer_node node = due(2);
    heap.insert(&other);
    EXPECT_FALSE(heap.remove(&node)) << "never inserted";
    heap.insert(&node);
    EXPECT_TRUE(heap.remove(&node));
    EXPECT_FALSE(heap.remove(&node)) << "removed before";
    EXPECT_EQ(heap.pop_due(at(1)), &other);
    EXPECT_FALSE(heap.remove(&other)) << "popped before";
}

TEST(TimerHeap, TakesANodeAgainAfterItWasRemovedOrPopped) {
    timer_heap heap;
    timer_node node = due(1);
    for (int round = 0; round != 3; ++round) {
        heap.insert(&node);
        EXPECT_TRUE(heap.remove(&node));
        heap.insert(&node);
        EXPECT_EQ(heap.pop_due(at(1)), &node);
    }
}

TEST(TimerHeap, PopsEachOfManyEqualDeadlinesOnce) {
    timer_heap heap;
    std::vector<timer_node> nodes(50, due(5));
    for (timer_node& node : nodes) {
        heap.insert(&node);
    }
    EXPECT_EQ(heap.pop_due(at(4)), nullptr);
    std::set<timer_node*> popped;
    while (timer_node* const node = heap.pop_due(at(5))) {
        EXPECT_TRUE(popped.insert(node).second);
    }
    EXPECT_EQ(popped.size(), nodes.size());
}

TEST(TimerHeap, AgreesWithASortedReferenceInEveryRandomHistory) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto below = [&random](int bound) {
            return std::uniform_int_distribution<int>(0, bound - 1)(random);
        };
        checked_heap heap(200);
        for (int step = 0; step != 5'000; ++step) {
            const auto i = static_cast<std::size_t>(below(static_cast<int>(heap.size())));
            switch (below(4)) {
            case 0:
            case 1:
                if (!heap.holds(i)) {
                    heap.insert(i, at(below(100))); // so few deadlines that ties are common
                }
                break;
            case 2:
                heap.remove(i);
                break;
            default:
                heap.pop(at(below(100)));
            }
            if (HasFatalFailure()) {
                return;
            }
        }
    }
}
