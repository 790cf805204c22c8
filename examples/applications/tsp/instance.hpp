// SPDX-License-Identifier: MIT
/// @file
/// The problem: the distances between cities, and the points at which to draw them.
#pragma once

#include "distances.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tsp {

using city = std::uint16_t; ///< Counts from 0. (TSPLIB counts from 1.)

class instance {
public:
    static constexpr std::size_t min_cities = 3;
    static constexpr std::size_t max_cities = 5000; ///< Their distances take 100 MB.
    static constexpr double max_coordinate = 5e8; ///< Ensures that every distance fits in an int32.

    /// Preconditions: `min_cities` to `max_cities` cities; no points, or one for each city.
    instance(std::string name, distance_matrix distances, std::vector<point> points,
             std::optional<std::int64_t> optimum = std::nullopt);

    /// A problem of type EUC_2D. Precondition: no coordinate exceeds `max_coordinate`.
    instance(std::string name, std::vector<point> points,
             std::optional<std::int64_t> optimum = std::nullopt);

    const std::string& name() const noexcept { return name_; }
    std::size_t size() const noexcept { return distances_.size(); }
    std::optional<std::int64_t> optimum() const noexcept { return optimum_; }

    /// Where to draw the cities; empty if unknown. The distances need not match these points.
    std::span<const point> points() const noexcept { return points_; }

    std::int64_t distance(city a, city b) const noexcept { return distances_(a, b); }

    /// The nearest cities, nearest first.
    std::span<const city> neighbours(city of) const noexcept {
        return {&neighbours_[of * neighbour_count_], neighbour_count_};
    }

private:
    void find_neighbours();

    std::string name_;
    distance_matrix distances_;
    std::vector<point> points_;
    std::optional<std::int64_t> optimum_;
    std::size_t neighbour_count_;
    std::vector<city> neighbours_;
};

} // namespace tsp
