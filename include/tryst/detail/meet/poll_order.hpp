// SPDX-License-Identifier: MIT
/// @file
/// The order in which a selection polls its cases, and the one in which it registers them.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tryst::detail {

/// The order in which a selection polls its cases: from case `start` on, perhaps `backwards`.
struct poll_order {
    std::size_t start = 0;
    bool backwards = false;

    /// An order in which each of any two cases is equally likely to come first.
    static poll_order random(std::size_t size) noexcept {
        // The finalizer of MurmurHash3 (Appleby, 2011), of a counter. A counter alone would give
        // the same case the first place each time if the program selects in a regular pattern.
        std::uint32_t x = ++per_thread<thread_state>().selections;
        x = (x ^ (x >> 16U)) * 0x85EBCA6BU;
        x = (x ^ (x >> 13U)) * 0xC2B2AE35U;
        x ^= x >> 16U;
        // A number below `size` without a division (Lemire, "Fast random integer generation in an
        // interval", 2019, section 3).
        const std::size_t start = (std::uint64_t{x / 2} * size) >> 31U;
        return {start, x % 2 != 0};
    }

    /// The case at position `i`.
    std::size_t at(std::size_t i, std::size_t size) const noexcept {
        const std::size_t ahead = backwards ? start + size - i : start + i;
        return ahead < size ? ahead : ahead - size;
    }

    /// The position of case `i`.
    std::size_t position(std::size_t i, std::size_t size) const noexcept {
        const std::size_t ahead = backwards ? start + size - i : i + size - start;
        return ahead < size ? ahead : ahead - size;
    }

    /// Sorts the numbers of cases into the order of their registration: by the addresses `where` of
    /// their exchangers. Cases of one exchanger are in the order of the poll.
    template <class Numbers, class Where>
    void sort(Numbers& numbers, Where where) const {
        const auto comes_before = [&](std::size_t a, std::size_t b) {
            const void* const at_a = where(a);
            const void* const at_b = where(b);
            return at_a != at_b ? std::less<>()(at_a, at_b)
                                : position(a, numbers.size()) < position(b, numbers.size());
        };
        if (!std::is_sorted(numbers.begin(), numbers.end(), comes_before)) {
            std::sort(numbers.begin(), numbers.end(), comes_before);
        }
    }
};

} // namespace tryst::detail
