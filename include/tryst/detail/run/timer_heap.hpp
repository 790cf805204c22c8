// SPDX-License-Identifier: MIT
/// @file
/// A priority queue of timers, linked through the nodes.
/// Standard library only. Never allocates, blocks or throws. Not thread-safe.
#pragma once

#include <tryst/executor.hpp>

#include <utility>

namespace tryst::detail {

/* A pairing heap (Fredman, Sedgewick, Sleator and Tarjan, "The pairing heap: a new form of
 * self-adjusting heap", Algorithmica 1, 1986), with the two-pass merge of its section 2. Insertion
 * is one comparison. Removal is amortised O(log n), and O(1) for a node without children, such as
 * a recently inserted one. Rejected: a binary heap in an array, which may have to allocate. Arming
 * a timer must not fail. Most timers of a busy exchanger are disarmed soon after they were armed.
 *
 * `previous` is the left sibling; for a leftmost child it is the parent, and for the root the node
 * itself. Null means that the node is in no heap. */
class timer_heap {
public:
    using time_point = timer_node::time_point;

    bool empty() const noexcept { return root_ == nullptr; }

    /// Precondition: not empty.
    time_point earliest() const noexcept { return root_->deadline; }

    void insert(timer_node* node) noexcept {
        node->child = nullptr;
        node->sibling = nullptr;
        set_root(root_ == nullptr ? node : meld(root_, node));
    }

    /// Takes `node` out. @returns false if it is not in the heap.
    bool remove(timer_node* node) noexcept {
        if (node->previous == nullptr) {
            return false;
        }
        timer_node* const orphans = merge_pairs(node->child);
        if (node == root_) {
            set_root(orphans);
        } else {
            if (node->previous->child == node) {
                node->previous->child = node->sibling;
            } else {
                node->previous->sibling = node->sibling;
            }
            if (node->sibling != nullptr) {
                node->sibling->previous = node->previous;
            }
            if (orphans != nullptr) {
                set_root(meld(root_, orphans));
            }
        }
        node->previous = nullptr;
        return true;
    }

    /// Takes out the earliest node if its deadline is not after `now`, else returns null.
    timer_node* pop_due(time_point now) noexcept {
        timer_node* const node = root_;
        if (node == nullptr || node->deadline > now) {
            return nullptr;
        }
        remove(node);
        return node;
    }

    /// Fires all timers that are due. `now()` reads the clock, if there are timers.
    template <class Now>
    void fire_due(Now now) noexcept {
        if (!empty()) {
            const time_point time = now();
            while (timer_node* const due = pop_due(time)) {
                due->fire(due); // may end the node's lifetime
            }
        }
    }

private:
    void set_root(timer_node* node) noexcept {
        root_ = node;
        if (node != nullptr) {
            node->previous = node;
            node->sibling = nullptr;
        }
    }

    /// Makes the later of two roots the leftmost child of the earlier; if equal, `a` stays on top.
    static timer_node* meld(timer_node* a, timer_node* b) noexcept {
        if (b->deadline < a->deadline) {
            std::swap(a, b);
        }
        b->sibling = a->child;
        b->previous = a;
        if (a->child != nullptr) {
            a->child->previous = b;
        }
        a->child = b;
        return a;
    }

    /// Melds a list of siblings into one tree: first pairs from left to right, then all of them
    /// from right to left.
    static timer_node* merge_pairs(timer_node* first) noexcept {
        timer_node* pairs = nullptr; // linked through `sibling`, last pair first
        while (first != nullptr) {
            timer_node* tree = first;
            timer_node* const second = first->sibling;
            first = second == nullptr ? nullptr : second->sibling;
            if (second != nullptr) {
                tree = meld(tree, second);
            }
            tree->sibling = pairs;
            pairs = tree;
        }
        if (pairs == nullptr) {
            return nullptr;
        }
        timer_node* whole = pairs;
        pairs = pairs->sibling;
        while (pairs != nullptr) {
            timer_node* const next = pairs->sibling;
            whole = meld(whole, pairs);
            pairs = next;
        }
        return whole;
    }

    timer_node* root_ = nullptr;
};

} // namespace tryst::detail
