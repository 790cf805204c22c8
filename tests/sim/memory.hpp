// SPDX-License-Identifier: MIT
/// @file
/// The simulation's heap, which replaces operator new. During a run, what is allocated where depends on
/// nothing but the seed; a chosen allocation fails; freed memory is made unusable; leaks are counted.
#pragma once

#include <cstddef>

namespace tryst::sim::memory {

/// How soon freed memory is used again.
enum class reuse : unsigned char {
    at_once, ///< The latest freed first, as real heaps do: a new waiter often has an old one's address.
    late, ///< The earliest freed first.
    never,
};

/// From here to `end`, allocations come from the simulated heap, which is empty now.
void begin(reuse how) noexcept;

/// What is wrong with the simulated heap.
struct loss {
    std::size_t blocks = 0; ///< Not freed,
    std::size_t size = 0; ///< at most so large, one of them;
    bool written = false; ///< or written after they were freed.
};

/// Forgets the simulated heap.
loss end() noexcept;

/// How much is allocated on the simulated heap, in bytes.
std::size_t in_use() noexcept;

/// The `k`-th allocation from now on throws std::bad_alloc, counted from 1; 0: none does. Allocations
/// under a `reserve` neither count nor fail.
void fail_at(long k) noexcept;

/// Whether an allocation has failed since `begin`.
bool has_failed() noexcept;

/// The allocations of the test itself, made in this scope, do not fail. No simulated thread may be
/// switched away from meanwhile.
class reserve {
public:
    reserve() noexcept;
    reserve(const reserve&) = delete;
    reserve& operator=(const reserve&) = delete;
    ~reserve();
};

/// In this scope memory comes from the real heap, for what outlives a run.
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
