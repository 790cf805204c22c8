// SPDX-License-Identifier: MIT
/// @file
/// A message in blocks that are passed on, never copied. Standard library only.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pairing {

/// Bytes in a chain of blocks. A block is added when the last one is full, so bytes never move. No
/// block is larger than all blocks before it together, except that 4 KiB are always allowed. So a
/// client that announces a large message and sends little of it uses little memory.
class message {
public:
    static constexpr std::size_t smallest_block = std::size_t{4} * 1024;
    static constexpr std::size_t largest_block = std::size_t{64} * 1024;

    message() noexcept = default;
    explicit message(std::string_view text);
    message(message&&) noexcept = default; ///< Leaves an object that may be assigned or destroyed.
    message& operator=(message&&) noexcept = default;

    /// Returns room for the next bytes: at most `wanted`, and at least one unless `wanted` is 0.
    std::span<std::byte> space(std::size_t wanted);

    /// Appends the first `count` bytes of the last `space` to the message.
    void commit(std::size_t count) noexcept;

    std::size_t size() const noexcept { return size_; }

    /// The allocated bytes: at most twice the size plus `smallest_block`.
    std::size_t capacity() const noexcept;

    /// The bytes, block by block.
    std::vector<std::span<const std::byte>> blocks() const;

    /// A contiguous copy of the bytes.
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
