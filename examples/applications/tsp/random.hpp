// SPDX-License-Identifier: MIT
/// @file
/// Random numbers: one generator for each breeder, all from one seed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tsp {

/// SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), with
/// eight bytes of state.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    /// A number from 0 to `bound` - 1. The deviation from uniform is less than `bound` / 2^32.
    std::size_t below(std::size_t bound) noexcept { return ((next() >> 32) * bound) >> 32; }

    /// Returns a generator that is independent of this one.
    random_source split() noexcept { return random_source(next()); }

private:
    std::uint64_t state_;
};

} // namespace tsp
