// SPDX-License-Identifier: MIT
#include "tour.hpp"

#include <algorithm>

namespace tsp {

namespace {

/// The hash of an edge, independent of its direction: based on a product of odd numbers, one for
/// each city.
std::uint64_t edge_hash(city a, city b) noexcept {
    const auto of_city = [](city c) { return ((c + 1) * std::uint64_t{0x9e3779b97f4a7c15}) | 1U; };
    const std::uint64_t product = of_city(a) * of_city(b);
    return (product ^ (product >> 32)) * 0xbf58476d1ce4e5b9;
}

} // namespace

std::int64_t length_of(const instance& problem, std::span<const city> tour) noexcept {
    return measure_of(problem, tour).length;
}

measure measure_of(const instance& problem, std::span<const city> tour) noexcept {
    measure sum;
    city before = tour.back();
    for (const city each : tour) {
        sum.length += problem.distance(before, each);
        sum.fingerprint += edge_hash(before, each);
        before = each;
    }
    return sum;
}

void city_set::clear() noexcept {
    if (++now_ == 0) { // after 2^32 calls
        std::ranges::fill(seen_, 0U);
        now_ = 1;
    }
}

bool is_permutation(std::span<const city> tour, std::size_t cities, city_set& scratch) noexcept {
    scratch.clear();
    return tour.size() == cities && std::ranges::all_of(tour, [&](city each) {
               return each < cities && scratch.insert(each);
           });
}

void recombine(const instance& problem, std::span<const city> own, genes foreign,
               std::span<city> child, city_set& scratch) noexcept {
    scratch.clear();
    for (const city each : foreign) {
        scratch.insert(each);
    }
    auto to = child.begin() + static_cast<std::ptrdiff_t>(foreign.size());
    const auto first = std::ranges::find(own, foreign.front());
    const auto is_own = [&](city each) { return !scratch.contains(each); };
    to = std::copy_if(first, own.end(), to, is_own);
    std::copy_if(own.begin(), first, to, is_own);

    const city before = child.back();
    const city after = child[foreign.size()];
    const auto ends = [&](city head, city tail) {
        return problem.distance(before, head) + problem.distance(tail, after);
    };
    if (ends(foreign.front(), foreign.back()) <= ends(foreign.back(), foreign.front())) {
        std::ranges::copy(foreign, child.begin());
    } else {
        std::ranges::reverse_copy(foreign, child.begin());
    }
}

} // namespace tsp
