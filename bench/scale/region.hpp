// SPDX-License-Identifier: MIT
/// @file
/// The memory of the simulated machine, which replaces operator new. Addresses depend only on the
/// order of allocations, and each allocation begins on a line of its own.
#pragma once

#include <cstddef>

namespace tryst::scale::region {

inline constexpr std::size_t size = std::size_t{32} << 20U;
inline constexpr std::size_t line_size = 64;
inline constexpr std::size_t line_count = size / line_size;

/// Empties the region. Until `end`, allocations come from it.
void begin();

/// Discards the region's contents.
void end() noexcept;

/// @throws std::bad_alloc.
void* allocate(std::size_t bytes, std::size_t alignment);

/// Returns how many lines are in use.
std::size_t lines_in_use() noexcept;

/// Returns the line of an address, or `line_count` for an address outside of the region.
std::size_t line_of(const void* address) noexcept;

/// In this scope, memory comes from the real heap.
class outside {
public:
    outside() noexcept;
    outside(const outside&) = delete;
    outside& operator=(const outside&) = delete;
    ~outside();

private:
    bool was_inside_;
};

} // namespace tryst::scale::region
