// SPDX-License-Identifier: MIT
#include "generated.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace tsp {

instance grid(std::size_t side) {
    constexpr std::int64_t step = 100;
    std::vector<point> points;
    points.reserve(side * side);
    for (std::size_t i = 0; i != side * side; ++i) {
        const std::size_t row = i / side;
        points.push_back({.x = static_cast<double>(step) * static_cast<double>(i % side),
                          .y = static_cast<double>(step) * static_cast<double>(row)});
    }
    return {fmt::format("grid{0}x{0}", side), std::move(points),
            step * static_cast<std::int64_t>(side * side)};
}

} // namespace tsp
