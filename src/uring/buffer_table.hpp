// SPDX-License-Identifier: MIT
/// @file
/// The kernel's table of registered buffers, with one entry for each pool.
#pragma once

#include "ring.hpp"

#include <tryst/uring/buffer_pool.hpp>
#include <tryst/uring/context.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace tryst::uring::detail {

/// The entries of the pools. An entry covers the whole memory of its pool, so an operation may use
/// any part of it.
class buffer_table {
public:
    explicit buffer_table(ring& owners) noexcept : ring_(owners) {}
    buffer_table(const buffer_table&) = delete;
    buffer_table& operator=(const buffer_table&) = delete;
    ~buffer_table();

    /// The entry of a pool; -1 if it has none.
    int find(const buffer_pool* pool) const noexcept;

    /// Registers a pool, unless it is registered. @returns an error number; 0 for success.
    int add(const buffer_pool& pool) noexcept;

    /// Clears an entry that no operation uses. @returns an error number; 0 for success.
    int remove(int entry) noexcept;

private:
    int update(int entry, std::span<std::byte> memory) noexcept;

    ring& ring_;
    /// The serial numbers of the registered pools; 0 for a free entry.
    std::array<std::uint64_t, context::max_pools> pools_{};
    bool exists_ = false; ///< The kernel has the table.
};

} // namespace tryst::uring::detail
