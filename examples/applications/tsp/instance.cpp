// SPDX-License-Identifier: MIT
#include "instance.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tsp {

namespace {

// With 5, the optimum of 500 random cities is not always found. With 12, it takes as many
// generations, but each takes longer.
constexpr std::size_t longest_neighbour_list = 8;

} // namespace

instance::instance(std::string name, distance_matrix distances, std::vector<point> points,
                   std::optional<std::int64_t> optimum)
    : name_(std::move(name)), distances_(std::move(distances)), points_(std::move(points)),
      optimum_(optimum), neighbour_count_(std::min(longest_neighbour_list, size() - 1)),
      neighbours_(size() * neighbour_count_) {
    find_neighbours();
}

instance::instance(std::string name, std::vector<point> points, std::optional<std::int64_t> optimum)
    : instance(std::move(name), distance_matrix(points, euc_2d), points, optimum) {}

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
