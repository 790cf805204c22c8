// SPDX-License-Identifier: MIT
#include "distances.hpp"

#include <cmath>

namespace tsp {

namespace {

double square_of_distance(point a, point b) noexcept {
    return (a.x - b.x) * (a.x - b.x) + (a.y - b.y) * (a.y - b.y);
}

// The constants of TSPLIB: with more digits, some distances would differ from TSPLIB's.
constexpr double pi = 3.141592; // NOLINT(modernize-use-std-numbers)
constexpr double earth_radius = 6378.388;

double geo_radians(double degrees_and_minutes) noexcept {
    return pi * geo_degrees(degrees_and_minutes) / 180;
}

} // namespace

std::int32_t euc_2d(point a, point b) noexcept {
    return static_cast<std::int32_t>(std::lround(std::sqrt(square_of_distance(a, b))));
}

std::int32_t ceil_2d(point a, point b) noexcept {
    return static_cast<std::int32_t>(std::ceil(std::sqrt(square_of_distance(a, b))));
}

std::int32_t att(point a, point b) noexcept {
    // TSPLIB rounds to the nearest integer and adds 1 if the result is less: that is rounding up.
    return static_cast<std::int32_t>(std::ceil(std::sqrt(square_of_distance(a, b) / 10)));
}

double geo_degrees(double degrees_and_minutes) noexcept {
    const double degrees = std::trunc(degrees_and_minutes);
    return degrees + 5 * (degrees_and_minutes - degrees) / 3;
}

std::int32_t geo(point a, point b) noexcept {
    const double latitude_a = geo_radians(a.x);
    const double latitude_b = geo_radians(b.x);
    const double q1 = std::cos(geo_radians(a.y) - geo_radians(b.y));
    const double q2 = std::cos(latitude_a - latitude_b);
    const double q3 = std::cos(latitude_a + latitude_b);
    // The cosine stays within +-1 in spite of rounding errors: |q2| and |q3| are at most 1, and the
    // sum of the rounded 1 + q1 and 1 - q1 is rounded to 2.
    const double cosine = 0.5 * ((1 + q1) * q2 - (1 - q1) * q3);
    return static_cast<std::int32_t>(earth_radius * std::acos(cosine) + 1);
}

distance_matrix::distance_matrix(std::span<const point> points, metric distance)
    : distance_matrix(points.size()) {
    for (std::size_t a = 0; a != size(); ++a) {
        for (std::size_t b = 0; b != a; ++b) {
            set(a, b, distance(points[a], points[b]));
        }
    }
}

} // namespace tsp
