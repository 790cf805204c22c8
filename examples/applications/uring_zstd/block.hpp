// SPDX-License-Identifier: MIT
/// @file
/// The blocks that stages exchange, and the lanes through which they pass.
#pragma once

#include <tryst/exchanger.hpp>
#include <tryst/uring/buffer_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>

namespace uring_zstd {

/// A piece of a file in a buffer that passes from one stage to the next. In return the stage gets
/// an empty block. An empty block that a stage passes forward marks the end of its lane.
struct block {
    tryst::uring::buffer memory;
    std::size_t size = 0;
    std::uint64_t offset = 0; ///< Position in the file.

    std::size_t capacity() const noexcept { return memory.size(); }
    bool is_full() const noexcept { return size == capacity(); }
    std::span<std::byte> bytes() const noexcept { return memory.bytes().first(size); }
    std::span<std::byte> room() const noexcept { return memory.bytes().subspan(size); }
};

/// The connection from one stage to the next. Block k takes lane k modulo the number of lanes. So
/// blocks stay in order even if n coroutines each send, or receive, every n-th block.
class lanes {
public:
    using lane = tryst::exchanger<block>;

    explicit lanes(std::size_t count) {
        while (lanes_.size() != count) {
            lanes_.emplace_back(0); // one slot is enough: a lane has two parties
        }
    }

    std::size_t count() const noexcept { return lanes_.size(); }
    lane& of(std::size_t block_number) noexcept { return lanes_[block_number % lanes_.size()]; }

private:
    std::deque<lane> lanes_; // a vector would require movable lanes
};

} // namespace uring_zstd
