// SPDX-License-Identifier: MIT
/// @file
/// The items inside a channel, first in, first out.
/// Standard library only. Never throws; allocates only in `make_block`. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace tryst::detail {

/// A list of blocks. Blocks are kept for later items until the queue is destroyed. So that adding
/// an item takes constant time, and allocates nothing under a lock, the caller makes the blocks.
template <class Item>
class item_queue {
    static constexpr std::size_t page = 4096;
    static constexpr std::size_t per_block = std::clamp<std::size_t>(page / sizeof(Item), 4, 64);

public:
    struct block {
        block() noexcept {}
        block(const block&) = delete;
        block& operator=(const block&) = delete;
        ~block() {}

        block* next = nullptr;
        union {
            Item items[per_block];
        };
    };

    item_queue() = default;
    item_queue(item_queue&& other) noexcept { swap(other); }
    item_queue& operator=(item_queue&&) = delete;
    ~item_queue() {
        while (!empty()) {
            pop();
        }
        while (spare_ != nullptr) {
            delete std::exchange(spare_, spare_->next);
        }
        delete first_;
    }

    /// @returns null if there is no memory.
    static block* make_block() noexcept { return new (std::nothrow) block; }

    void add_block(block& made) noexcept {
        made.next = spare_;
        spare_ = &made;
    }

    bool empty() const noexcept { return size_ == 0; }
    std::size_t size() const noexcept { return size_; }

    /// Whether `push` has a place.
    bool has_place() const noexcept { return end_ != full || spare_ != nullptr; }

    /// Precondition: `has_place()`.
    template <class... Given>
    void push(Given&&... given) noexcept {
        if (end_ == full) {
            append_spare();
        }
        std::construct_at(last_->items + end_, std::forward<Given>(given)...);
        ++end_;
        ++size_;
    }

    /// The oldest item. Precondition: not empty.
    Item& front() noexcept { return first_->items[begin_]; }

    void pop() noexcept {
        std::destroy_at(first_->items + begin_);
        ++begin_;
        if (--size_ == 0) {
            begin_ = end_ = 0; // the same cache lines again; the first block is the last one
        } else if (begin_ == full) {
            begin_ = 0;
            add_block(*std::exchange(first_, first_->next));
        }
    }

    void swap(item_queue& other) noexcept {
        std::swap(first_, other.first_);
        std::swap(last_, other.last_);
        std::swap(spare_, other.spare_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(size_, other.size_);
    }

private:
    static constexpr std::size_t full = per_block;

    void append_spare() noexcept {
        block* const added = std::exchange(spare_, spare_->next);
        added->next = nullptr;
        (first_ == nullptr ? first_ : last_->next) = added;
        last_ = added;
        end_ = 0;
    }

    block* first_ = nullptr;
    block* last_ = nullptr;
    block* spare_ = nullptr;
    std::size_t begin_ = 0; ///< Of the oldest item in the first block.
    std::size_t end_ = full; ///< Behind the latest item in the last block.
    std::size_t size_ = 0;
};

} // namespace tryst::detail
