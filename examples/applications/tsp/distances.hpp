// SPDX-License-Identifier: MIT
/// @file
/// TSPLIB's distance functions (Reinelt, "TSPLIB 95", section 2), and the matrix of all distances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace tsp {

struct point {
    double x = 0;
    double y = 0;
};

/// A distance function of TSPLIB. Precondition: the distance fits in an int32.
using metric = std::int32_t (*)(point, point) noexcept;

/// Euclidean distance, rounded to the nearest integer.
std::int32_t euc_2d(point a, point b) noexcept;

/// Euclidean distance, rounded up.
std::int32_t ceil_2d(point a, point b) noexcept;

/// Pseudo-Euclidean distance: the Euclidean one divided by the square root of 10, rounded up.
std::int32_t att(point a, point b) noexcept;

/// The distance between two points on the earth in kilometres. `x` is the latitude and `y` the
/// longitude, each as DDD.MM: degrees, with minutes as the fraction.
std::int32_t geo(point a, point b) noexcept;

/// Converts DDD.MM to degrees.
double geo_degrees(double degrees_and_minutes) noexcept;

/// A symmetric matrix with zeros on the diagonal.
class distance_matrix {
public:
    static constexpr std::int32_t longest = std::numeric_limits<std::int32_t>::max();

    explicit distance_matrix(std::size_t cities) : cities_(cities), distances_(cities * cities) {}
    distance_matrix(std::span<const point> points, metric distance);

    std::size_t size() const noexcept { return cities_; }

    std::int32_t operator()(std::size_t a, std::size_t b) const noexcept {
        return distances_[a * cities_ + b];
    }

    /// Sets the distance in both directions.
    void set(std::size_t a, std::size_t b, std::int32_t distance) noexcept {
        distances_[a * cities_ + b] = distances_[b * cities_ + a] = distance;
    }

private:
    std::size_t cities_;
    std::vector<std::int32_t> distances_;
};

} // namespace tsp
