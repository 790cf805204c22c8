// SPDX-License-Identifier: MIT
/// @file
/// The simulation's heap, which replaces operator new. During a run, addresses depend on the seed
/// alone, a chosen allocation fails, freed memory is made unusable, and leaks are counted.
#pragma once

#include <cstddef>

namespace tryst::sim::memory {

/// How soon freed memory is reused.
enum class reuse : unsigned char {
    at_once, ///< The block freed last comes first, as on real heaps.
    late, ///< The block freed first comes first.
    never,
};

/// From here to `end`, allocations come from the simulated heap, which is empty now.
void begin(reuse how) noexcept;

/// What is wrong with the simulated heap.
struct loss {
    std::size_t blocks = 0; ///< How many were not freed.
    std::size_t size = 0; ///< An upper bound of the size of one of them.
    bool written = false; ///< Memory was written after it was freed.
};

/// Forgets the simulated heap.
loss end() noexcept;

/// How much is allocated on the simulated heap, in bytes.
std::size_t in_use() noexcept;

/// The `k`-th allocation from now on throws std::bad_alloc, counted from 1; 0: none does.
/// Allocations under a `reserve` neither count nor fail.
void fail_at(long k) noexcept;

/// Whether an allocation has failed since `begin`.
bool has_failed() noexcept;

/// Allocations in this scope do not fail: for the test's own. The thread must not be interrupted in
/// it.
class reserve {
public:
    reserve() noexcept;
    reserve(const reserve&) = delete;
    reserve& operator=(const reserve&) = delete;
    ~reserve();
};

/// In this scope, memory comes from the real heap, for objects that outlive a run.
class outside {
public:
    outside() noexcept;
    outside(const outside&) = delete;
    outside& operator=(const outside&) = delete;
    ~outside();

private:
    bool was_inside_;
};

} // namespace tryst::sim::memory
