// SPDX-License-Identifier: MIT
/// @file
/// A message as it came off the wire: blocks that are handed on, and never copied.
/// Standard library only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pairing {

/// Bytes in a chain of blocks. It grows by a block when the last one is full, and no block is larger than
/// all before it (but for the first, of 4 KiB): whoever announces much and sends little costs little, and
/// nothing moves when more arrives.
class message {
public:
    static constexpr std::size_t smallest_block = std::size_t{4} * 1024;
    static constexpr std::size_t largest_block = std::size_t{64} * 1024;

    message() noexcept = default;
    explicit message(std::string_view text);
    message(message&&) noexcept = default; ///< What is left can only be assigned or destroyed.
    message& operator=(message&&) noexcept = default;

    /// Where the next bytes go: at most `wanted` of them, at least one unless `wanted` is 0.
    std::span<std::byte> space(std::size_t wanted);

    /// Takes in the first `count` bytes of the last `space`.
    void commit(std::size_t count) noexcept;

    std::size_t size() const noexcept { return size_; }

    /// What is allocated: never more than twice the size and a smallest block.
    std::size_t capacity() const noexcept;

    /// The bytes, block by block.
    std::vector<std::span<const std::byte>> blocks() const;

    /// A copy of the bytes in one piece.
    std::string text() const;

private:
    struct block {
        std::unique_ptr<std::byte[]> bytes;
        std::size_t capacity = 0;
        std::size_t used = 0;
    };

    std::vector<block> blocks_;
    std::size_t size_ = 0;
};

} // namespace pairing
