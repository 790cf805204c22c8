// SPDX-License-Identifier: MIT
/// @file
/// Counts what a program allocates: one that is linked with this has `operator new` and `delete` of
/// its own.
#pragma once

#include <atomic>
#include <cstddef>

namespace tryst::test {

inline std::atomic<long> allocations{0};
inline std::atomic<long> deallocations{0};
inline std::atomic<std::size_t> allocated_bytes{0};

/// While it is set, every allocation fails.
inline std::atomic<bool> allocations_fail{false};

/// The number of the allocation that fails, counted from now: 1 is the next; 0 is none.
inline std::atomic<long> failing_allocation{0};

} // namespace tryst::test
