// SPDX-License-Identifier: MIT
#include <tryst/detail/run/timer_heap.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace tryst::test {
namespace {

using detail::timer_heap;
using time_point = timer_node::time_point;

constexpr time_point at(int nanoseconds) {
    return time_point(std::chrono::nanoseconds(nanoseconds));
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

/// Also if they are due at different times, and if one arms the next.
TEST(TimerHeap, FiresAllThatAreDueInTheirOrder) {
    static timer_heap heap;
    static std::vector<int> fired;
    static timer_node armed;
    const auto record = [](timer_node* node) noexcept {
        const auto due = static_cast<int>(node->deadline.time_since_epoch().count());
        fired.push_back(due);
        if (due == 2) {
            armed.deadline = at(3);
            armed.fire = node->fire;
            heap.insert(&armed);
        }
    };
    std::vector<timer_node> nodes(4);
    for (int due = 1; timer_node & each : nodes) {
        each.deadline = at(due++);
        each.fire = record;
        heap.insert(&each);
    }
    heap.fire_due([] { return at(3); });
    EXPECT_EQ(fired, (std::vector{1, 2, 3, 3}));
    EXPECT_EQ(heap.earliest(), at(4));
    EXPECT_TRUE(heap.remove(&nodes.back()));
}

} // namespace
} // namespace tryst::test
