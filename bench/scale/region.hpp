// SPDX-License-Identifier: MIT
/// @file
/// The memory of the simulated machine, which replaces operator new: what lies where depends on nothing but
/// the order of allocations, and each begins on a line of its own.
#pragma once

#include <cstddef>

namespace tryst::scale::region {

inline constexpr std::size_t size = std::size_t{32} << 20U;
inline constexpr std::size_t line_size = 64;
inline constexpr std::size_t line_count = size / line_size;

/// From here to `end`, allocations come from the region, which is empty now.
void begin();

/// Forgets what is in the region.
void end() noexcept;

/// @throws std::bad_alloc.
void* allocate(std::size_t bytes, std::size_t alignment);

/// How much of it is in use.
std::size_t lines_in_use() noexcept;

/// Which line an address is in; `line_count` for those outside.
std::size_t line_of(const void* address) noexcept;

/// In this scope memory comes from the real heap.
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
