// SPDX-License-Identifier: MIT
#include "instance.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace tsp {

namespace {

// With 5 the optimum of 500 random cities is not always found; with 12 it takes no fewer generations, but longer ones.
constexpr std::size_t longest_neighbour_list = 8;

} // namespace

std::int32_t distance_between(point a, point b) noexcept {
    return static_cast<std::int32_t>(
        std::lround(std::sqrt((a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y))));
}

instance::instance(std::string name, std::vector<point> points, std::optional<std::int64_t> optimum)
    : name_(std::move(name)), points_(std::move(points)), optimum_(optimum),
      distances_(size() * size()), neighbour_count_(std::min(longest_neighbour_list, size() - 1)),
      neighbours_(size() * neighbour_count_) {
    for (std::size_t a = 0; a != size(); ++a) {
        for (std::size_t b = 0; b != size(); ++b) {
            distances_[a * size() + b] = distance_between(points_[a], points_[b]);
        }
    }
    find_neighbours();
}

void instance::find_neighbours() {
    std::vector<city> others(size());
    for (std::size_t a = 0; a != size(); ++a) {
        const auto self = static_cast<city>(a);
        std::iota(others.begin(), others.end(), city{0});
        std::swap(others[a], others.back());
        const auto end = others.end() - 1;
        const auto kept = others.begin() + static_cast<std::ptrdiff_t>(neighbour_count_);
        std::partial_sort(others.begin(), kept, end, [&](city b, city c) {
            return std::pair(distance(self, b), b) < std::pair(distance(self, c), c);
        });
        std::copy(others.begin(), kept, &neighbours_[a * neighbour_count_]);
    }
}

} // namespace tsp
