// SPDX-License-Identifier: MIT
/// @file
/// The source of all choices in the simulation. The same seed, or the same bytes, give the same
/// choices on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace tryst::sim {

class random {
public:
    /// Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (2014): SplitMix64,
    /// which takes any seed, neighbouring ones included.
    explicit random(std::uint64_t seed) noexcept : state_(seed) {}

    /// A fuzzer's choices: one byte each, and those of seed 0 when the bytes are used up. `bytes`
    /// must outlive all copies.
    explicit random(std::span<const std::uint8_t> bytes) noexcept : bytes_(bytes) {}

    std::uint64_t next() noexcept {
        if (!bytes_.empty()) {
            const std::uint64_t byte = bytes_.front();
            bytes_ = bytes_.subspan(1);
            return byte * 0x0101010101010101U;
        }
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
    std::uint64_t state_ = 0;
    std::span<const std::uint8_t> bytes_;
};

} // namespace tryst::sim
