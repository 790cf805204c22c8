// SPDX-License-Identifier: MIT
/// @file
/// The problem: cities in the plane, and how far they are from each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tsp {

using city = std::uint16_t; ///< From 0, where TSPLIB counts from 1.

struct point {
    double x = 0;
    double y = 0;
};

/// TSPLIB's EUC_2D: rounded to the nearest integer.
std::int32_t distance_between(point a, point b) noexcept;

class instance {
public:
    static constexpr std::size_t fewest_cities = 3;
    static constexpr std::size_t most_cities = 5000; ///< Of which the distances take 100 MB.
    static constexpr double largest_coordinate = 5e8; ///< So that every distance is an int32.

    /// Preconditions: as many points, and as large, as the above say.
    instance(std::string name, std::vector<point> points,
             std::optional<std::int64_t> optimum = std::nullopt);

    const std::string& name() const noexcept { return name_; }
    std::size_t size() const noexcept { return points_.size(); }
    std::span<const point> points() const noexcept { return points_; }
    std::optional<std::int64_t> optimum() const noexcept { return optimum_; }

    std::int64_t distance(city a, city b) const noexcept { return distances_[a * size() + b]; }

    /// The nearest cities, nearest first.
    std::span<const city> neighbours(city of) const noexcept {
        return {&neighbours_[of * neighbour_count_], neighbour_count_};
    }

private:
    void find_neighbours();

    std::string name_;
    std::vector<point> points_;
    std::optional<std::int64_t> optimum_;
    std::vector<std::int32_t> distances_;
    std::size_t neighbour_count_;
    std::vector<city> neighbours_;
};

} // namespace tsp
