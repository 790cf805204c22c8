// SPDX-License-Identifier: MIT
/// @file
/// A pool of nodes, which are allocated and released by number and never move.
/// Standard library only. Allocates while it grows; never throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>

namespace tryst::detail {

/// Waits longer after each failed attempt on a contended word, up to a bound.
class back_off {
public:
    void pause() noexcept {
        for (unsigned i = 0; i != pauses_; ++i) {
            spin_pause();
        }
        pauses_ = (std::min)(2 * pauses_, 128U);
    }

private:
    unsigned pauses_ = 1;
};

/* The pool
 * Free nodes form a stack (Treiber, "Systems Programming: Coping with Parallelism", 1986). Its head
 * contains a counter of its changes. So the CAS of a stale `allocate` fails, even if the same node
 * is on top again. Numbers begin at 1. The nodes from 2^i to 2^(i+1) - 1 are one block. Its memory
 * is not touched before a node is used for the first time: several parties may make the same large
 * block at once, and all but one give it back.
 *
 * I7. Nodes are freed only with the pool, so a stale reader may dereference one, but must detect
 *     its reuse by a counter or an id.
 *
 * @tparam Node  has an atomic `link`, which belongs to the pool while the node is free.
 * @tparam Bits  the width of a node's number. */
template <class Node, unsigned Bits>
class node_pool {
public:
    using number = std::uint32_t;
    static constexpr number none = 0;

    node_pool() = default;
    node_pool(const node_pool&) = delete;
    node_pool& operator=(const node_pool&) = delete;
    ~node_pool() {
        if constexpr (!std::is_trivially_destructible_v<Node>) {
            for (number n = size(); n != none; --n) {
                std::destroy_at(&(*this)[n]);
            }
        }
        for (const auto& block : blocks_) {
            // Relaxed: no other thread uses the pool any more.
            delete[] to_memory(block.load(std::memory_order_relaxed));
        }
    }

    Node& operator[](number n) const noexcept {
        return *std::launder(reinterpret_cast<Node*>(memory_of(n)));
    }

    /// Allocates a node. A reused node is in the state in which it was released.
    /// @returns `none` if there is no memory.
    number allocate() noexcept {
        // [N3] acquire, pairs with [N4]: the link, and everything that the node's last user did.
        std::uint64_t head = free_.load(std::memory_order_acquire);
        back_off contended;
        while (number_of(head) != none) {
            const number n = number_of(head);
            // Relaxed: acquired with the head. If the node is not free any more (I7), [N5] fails.
            const number next = (*this)[n].link.load(std::memory_order_relaxed);
            // [N5] relaxed: takes the node, which the read of `head` has acquired. Failure relaxed:
            // retried.
            if (free_.compare_exchange_weak(head, changed(head, next), std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
                return n;
            }
            contended.pause();
            // [N6] acquire, pairs with [N4], as [N3].
            head = free_.load(std::memory_order_acquire);
        }
        // Relaxed: the CAS re-reads it.
        number fresh = fresh_.load(std::memory_order_relaxed);
        do {
            if (fresh >> Bits != 0 || !has_block(block_of(fresh))) {
                return none;
            }
            // Relaxed: only a count; [N2] publishes the block. Failure relaxed: retried.
        } while (!fresh_.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed,
                                               std::memory_order_relaxed));
        // Whoever passes the number on publishes the node.
        std::construct_at(reinterpret_cast<Node*>(memory_of(fresh)));
        return fresh;
    }

    /// Releases a node. Precondition: no other party writes to it any more.
    void release(number n) noexcept { release(n, (*this)[n]); }
    void release(number n, Node& node) noexcept {
        // Relaxed: the CAS re-reads it.
        std::uint64_t head = free_.load(std::memory_order_relaxed);
        for (back_off contended;; contended.pause()) {
            // Relaxed: released by [N4].
            node.link.store(number_of(head), std::memory_order_relaxed);
            // [N4] release, pairs with [N3] and [N6]: the link, and everything that its user
            // did. Failure relaxed: retried.
            if (free_.compare_exchange_weak(head, changed(head, n), std::memory_order_release,
                                            std::memory_order_relaxed)) {
                return;
            }
        }
    }

    /// The number of nodes, free or not.
    number size() const noexcept {
        // Relaxed: only a count.
        return fresh_.load(std::memory_order_relaxed) - 1;
    }

private:
    static unsigned block_of(number n) noexcept {
        return static_cast<unsigned>(std::numeric_limits<number>::digits - 1 - std::countl_zero(n));
    }
    struct alignas(Node) memory {
        std::array<std::byte, sizeof(Node)> of_node;
    };
    static memory* to_memory(std::uintptr_t block) noexcept {
        return reinterpret_cast<memory*>(block);
    }

    memory* memory_of(number n) const noexcept {
        const unsigned i = block_of(n);
        // [N1] acquire, pairs with [N2]: the block.
        return to_memory(blocks_[i].load(std::memory_order_acquire)) + (n - (number{1} << i));
    }

    // The head: the number of the first free node, and above it the number of changes.
    static_assert(Bits <= 24, "the changes would wrap while a thread has lost its processor");
    static number number_of(std::uint64_t head) noexcept {
        return static_cast<number>(head & ((std::uint64_t{1} << Bits) - 1));
    }
    static std::uint64_t changed(std::uint64_t head, number n) noexcept {
        return (((head >> Bits) + 1) << Bits) | n;
    }

    /// Makes block `i` if it does not exist. @returns false if there is no memory.
    bool has_block(unsigned i) noexcept {
        // Relaxed: only checks whether the block exists; users of its nodes acquire it with [N1].
        std::uintptr_t seen = blocks_[i].load(std::memory_order_relaxed);
        if (seen != 0) {
            return true;
        }
        auto* const made = new (std::nothrow) memory[std::size_t{1} << i];
        if (made == nullptr) {
            // Relaxed: as above. Another thread may have got the memory, and made the block.
            return blocks_[i].load(std::memory_order_relaxed) != 0;
        }
        // [N2] release, pairs with [N1]: the block. Failure relaxed: another thread has made it.
        if (!blocks_[i].compare_exchange_strong(seen, reinterpret_cast<std::uintptr_t>(made),
                                                std::memory_order_release,
                                                std::memory_order_relaxed)) {
            delete[] made;
        }
        return true;
    }

    // Read by every access to a node, and written once for each block.
    std::array<atomic<std::uintptr_t>, Bits> blocks_{};
    alignas(line_pair) atomic<std::uint64_t> free_{0};
    atomic<number> fresh_{1}; // the first number that has never been allocated
};

} // namespace tryst::detail
