// SPDX-License-Identifier: MIT
/// @file
/// A problem of TSPLIB (Reinelt, "TSPLIB 95") of type EUC_2D: cities, and their rounded distances.
#pragma once

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <span>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <vector>

namespace tsp {

using city = std::uint16_t; ///< Counts from 0.
struct point {
    double x = 0;
    double y = 0;
};

class problem {
public:
    static constexpr std::size_t most_cities = 5000; ///< Their distances take 100 MB.

    /// @throws std::runtime_error if the file cannot be used.
    explicit problem(const std::string& file) : points_(read(file)), distances_(size() * size()) {
        tour others(size());
        for (std::size_t a = 0; a != size(); ++a) {
            for (std::size_t b = 0; b != size(); ++b) {
                const point way{points_[a].x - points_[b].x, points_[a].y - points_[b].y};
                distances_[a * size() + b] = static_cast<int>(std::hypot(way.x, way.y) + 0.5);
            }
            std::iota(others.begin(), others.end(), city(0));
            const auto from = static_cast<city>(a);
            std::ranges::sort(others, {}, [&](city b) {
                return std::tuple(b != from, distance(from, b), b); // itself first
            });
            near_.emplace_back(others.begin() + 1,
                               others.begin() + std::min(9L, std::ssize(others)));
        }
    }

    std::size_t size() const noexcept { return points_.size(); }
    const std::vector<point>& points() const noexcept { return points_; }
    int distance(city a, city b) const noexcept { return distances_[a * size() + b]; }
    /// Up to eight cities, nearest first.
    std::span<const city> neighbours(city a) const noexcept { return near_[a]; }

private:
    using tour = std::vector<city>;

    static std::vector<point> read(const std::string& name) {
        std::ifstream file(name);
        std::vector<point> points;
        std::size_t cities = 0;
        std::string type = file ? "missing" : "not there: the file cannot be opened";
        const auto refuse = [&](const std::string& why) {
            throw std::runtime_error(name + ": " + why +
                                     "; a TSPLIB file of type EUC_2D with 3 to " +
                                     std::to_string(most_cities) + " cities is needed");
        };
        bool lists_points = false;
        for (std::string line; std::getline(file, line) && !line.starts_with("EOF");) {
            std::ranges::replace(line, ':', ' ');
            std::istringstream words(line);
            std::string key;
            words >> key;
            if (key == "NODE_COORD_SECTION") {
                lists_points = true;
            } else if (key == "DIMENSION") {
                words >> cities;
            } else if (key == "EDGE_WEIGHT_TYPE") {
                words >> type;
            } else if (lists_points && !key.empty()) {
                point at;
                words >> at.x >> at.y;
                if (!words || std::abs(at.x) > 5e8 || std::abs(at.y) > 5e8 || // else int overflows
                    key != std::to_string(points.size() + 1) || points.size() == most_cities) {
                    refuse("bad line \"" + line.substr(0, 60) + '"');
                }
                points.push_back(at);
            }
        }
        if (type != "EUC_2D") {
            refuse("EDGE_WEIGHT_TYPE is " + type);
        } else if (points.size() != cities || cities < 3) {
            refuse(std::to_string(points.size()) + " of " + std::to_string(cities) + " cities");
        }
        return points;
    }

    std::vector<point> points_;
    std::vector<int> distances_;
    std::vector<tour> near_;
};

} // namespace tsp
