// SPDX-License-Identifier: MIT
/// @file
/// What the stages exchange, and where.
#pragma once

#include <tryst/exchanger.hpp>
#include <tryst/uring/buffer_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

namespace uring_zstd {

/// A piece of a file in a buffer, on its way from one stage to the next. An empty block comes
/// back for it. An empty block that goes forward marks the end of its lane.
struct block {
    tryst::uring::buffer memory;
    std::size_t size = 0;
    std::uint64_t offset = 0; ///< In the file.

    std::size_t capacity() const noexcept { return memory.size(); }
    bool is_full() const noexcept { return size == capacity(); }
    std::span<std::byte> bytes() const noexcept { return memory.bytes().first(size); }
    std::span<std::byte> room() const noexcept { return memory.bytes().subspan(size); }
};

/// The way from one stage to the next. Block k takes lane k modulo their number. So
/// blocks arrive in order even if several coroutines send, or receive, every n-th block each.
class lanes {
public:
    using lane = tryst::exchanger<block>;

    explicit lanes(std::size_t count) {
        while (lanes_.size() != count) {
            lanes_.emplace_back(0); // one slot: only two will ever meet there
        }
    }

    std::size_t count() const noexcept { return lanes_.size(); }
    lane& of(std::size_t block_number) noexcept { return lanes_[block_number % lanes_.size()]; }

private:
    std::deque<lane> lanes_; // which, unlike a vector, does not ask to move them
};

} // namespace uring_zstd
