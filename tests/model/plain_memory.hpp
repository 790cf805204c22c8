// SPDX-License-Identifier: MIT
/// @file
/// The model threads' heap and stacks, and for each byte the thread that used it last: finds data
/// races and uses after free.
#pragma once

#include "model/views.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace tryst::model {

enum class access : std::uint8_t { read, write, allocation, release };

/// Where and how two accesses conflict.
struct conflict {
    bool found = false;
    access earlier{};
    std::size_t thread = 0; ///< Who made the earlier one.
};

/* Every execution starts with all memory fresh. A freed block is handed out again at once, to the
 * thread that freed it: addresses are reused as soon as a real allocator might. Freeing counts as
 * a write, and so does allocation; therefore a stale access is found as a race even in a schedule
 * in which it happens to come first, unless it is ordered by happens-before. */
class plain_memory {
public:
    plain_memory();
    plain_memory(const plain_memory&) = delete;
    plain_memory& operator=(const plain_memory&) = delete;
    ~plain_memory();

    /// Forgets everything, in constant time.
    void begin_execution() noexcept;

    std::span<std::byte> stack(std::size_t thread) noexcept;

    bool contains(const void* address) const noexcept {
        const auto* const at = static_cast<const std::byte*>(address);
        return at >= base_ && at < base_ + total_size;
    }

    /// Enters that `thread`, which knows `now`, accesses the bytes. Only what `contains`.
    conflict enter(access kind, const void* address, std::size_t size, std::size_t thread,
                   const view& now) noexcept;

    /// Forgets the accesses to `block` that `known` has seen: to `thread`, to whom it now belongs,
    /// they are ordered.
    void hand_over(std::span<std::byte> block, const view& known, std::size_t thread) noexcept;

    /// Memory from the heap of `thread`, or null if that is exhausted.
    void* allocate(std::size_t size, std::size_t alignment, std::size_t thread) noexcept;
    /// The size of a block, to `enter` its release by, and then to give it back to `thread`'s heap.
    static std::size_t size_of(const void* block) noexcept;
    void give_back(void* block, std::size_t thread) noexcept;

    /// The block of the heap that `address` is in; nothing if it is on a stack.
    std::span<std::byte> block_of(const void* address) noexcept;

    /// How many blocks have not been given back.
    std::size_t live_blocks() const noexcept { return live_count_; }

    /// The address, relative to the whole: for people to read.
    std::size_t offset_of(const void* address) const noexcept {
        return static_cast<std::size_t>(static_cast<const std::byte*>(address) - base_);
    }

private:
    struct header {
        std::byte* start; // of the room, the header and what alignment wastes included
        std::size_t room;
        std::size_t size;
    };
    struct cell { // of one byte, or of eight that have always been used together
        std::uint8_t writer;
        access last_write;
        std::uint8_t readers; // since then, a bit for each thread
        moment written;
        moment read[max_threads]; // by those

        bool was_read_by(std::size_t thread) const noexcept {
            return (readers >> thread & 1U) != 0;
        }
    };
    static_assert(max_threads <= 8);
    struct granule { // eight bytes
        std::uint32_t execution;
        bool split; // into `bytes_`
        cell whole;
    };
    struct free_block {
        std::byte* start;
        std::size_t room;
    };
    static constexpr std::size_t max_live_blocks = 256;
    struct heap {
        std::byte* next;
        std::size_t free_count;
        free_block free[max_live_blocks];
    };

    static header& header_of(const void* block) noexcept;
    /// The granule, fresh if this execution has not used it yet.
    granule& granule_at(std::size_t index, std::size_t thread) noexcept;
    static conflict enter(cell& used, access kind, std::size_t thread, const view& now) noexcept;

    static constexpr std::size_t stack_size = std::size_t{64} << 10U;
    static constexpr std::size_t heap_size = std::size_t{64} << 10U;
    static constexpr std::size_t total_size = max_threads * (stack_size + heap_size);

    std::byte* base_;
    granule* granules_;
    cell* bytes_;
    heap heaps_[max_threads];
    std::uint32_t execution_ = 0;
    std::size_t live_count_ = 0;
    std::byte* live_[max_live_blocks];
};

} // namespace tryst::model
