// SPDX-License-Identifier: MIT
/// @file
/// Tours: how long they are, and how one takes over genes of another.
#pragma once

#include "instance.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace tsp {

/// A part of somebody's circuit. What is exchanged refers to the parent, which nobody changes while it breeds.
using genes = std::span<const city>;

std::int64_t length_of(const instance& problem, std::span<const city> tour) noexcept;

/// Of the same circuits the same, whichever city is the first and whichever the direction; of others almost never.
struct measure {
    std::int64_t length = 0;
    std::uint64_t fingerprint = 0;

    auto operator<=>(const measure&) const noexcept = default;
};
measure measure_of(const instance& problem, std::span<const city> tour) noexcept;

/// A set of cities that is emptied in constant time.
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

/// Whether every city is there, once.
bool is_permutation(std::span<const city> tour, std::size_t cities, city_set& scratch) noexcept;

/// Order crossover (Davis, 1985) for circuits, which have no first city: `child` becomes `foreign`, followed by the
/// other cities in the order in which `own` has them after the first of those. As `foreign` has no direction
/// either, it goes in by the ends that fit better.
/// Preconditions: `foreign` has cities of `own`, not all of them; `child` is as long as `own`, and another.
void recombine(const instance& problem, std::span<const city> own, genes foreign,
               std::span<city> child, city_set& scratch) noexcept;

} // namespace tsp
