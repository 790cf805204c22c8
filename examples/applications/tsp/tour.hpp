// SPDX-License-Identifier: MIT
/// @file
/// The length of tours, and crossover.
#pragma once

#include "instance.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tsp {

/// A part of a circuit. It refers to the parent's tour, which does not change while the parent
/// breeds.
using genes = std::span<const city>;

std::int64_t length_of(const instance& problem, std::span<const city> tour) noexcept;

/// Identifies a circuit: equal for the same circuit, independently of the first city and the
/// direction, and almost never equal for different circuits.
struct measure {
    std::int64_t length = 0;
    std::uint64_t fingerprint = 0;

    auto operator<=>(const measure&) const noexcept = default;
};
measure measure_of(const instance& problem, std::span<const city> tour) noexcept;

/// A set of cities. Clearing it takes constant time.
class city_set {
public:
    explicit city_set(std::size_t cities) : seen_(cities) {}

    void clear() noexcept;
    bool contains(city c) const noexcept { return seen_[c] == now_; }
    bool insert(city c) noexcept { return std::exchange(seen_[c], now_) != now_; }

private:
    std::vector<std::uint32_t> seen_;
    std::uint32_t now_ = 1;
};

/// Whether the tour contains every city exactly once.
bool is_permutation(std::span<const city> tour, std::size_t cities, city_set& scratch) noexcept;

/// Order crossover (Davis, 1985) for circuits. `child` becomes `foreign`, followed by the other
/// cities in the order of `own`, starting at the first city of `foreign`. `foreign` is inserted in
/// the direction that gives the shorter tour.
/// Preconditions: `foreign` contains some cities of `own`, but not all. `child` has the size of
/// `own`, and does not overlap it.
void recombine(const instance& problem, std::span<const city> own, genes foreign,
               std::span<city> child, city_set& scratch) noexcept;

} // namespace tsp
