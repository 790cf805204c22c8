// SPDX-License-Identifier: MIT
/// @file
/// Where all choices of the simulation come from: the same seed gives the same numbers on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tryst::sim {

/// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014): SplitMix64, which takes
/// any seed, neighbouring ones included.
class random {
public:
    explicit random(std::uint64_t seed) noexcept : state_(seed) {}

    std::uint64_t next() noexcept {
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27U)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31U);
    }

    /// From 0 to `n` - 1. (The high half of a product, as in detail/meet/arena.hpp.)
    std::size_t below(std::size_t n) noexcept {
        return static_cast<std::size_t>(((next() >> 32U) * n) >> 32U);
    }

    /// From `least` to `most`.
    std::size_t between(std::size_t least, std::size_t most) noexcept {
        return least + below(most - least + 1);
    }

    bool one_in(std::size_t n) noexcept { return below(n) == 0; }

    template <class T, std::size_t N>
    const T& among(const std::array<T, N>& choices) noexcept {
        return choices[below(N)];
    }

private:
    std::uint64_t state_;
};

} // namespace tryst::sim
