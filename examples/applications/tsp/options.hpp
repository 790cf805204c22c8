// SPDX-License-Identifier: MIT
/// @file
/// The options of the command line, with their defaults.
#pragma once

#include "improver.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace tsp {

/// How breeders are paired.
enum class exchange_kind : unsigned char { red_blue, symmetric, mutex };

struct options {
    std::string problem; ///< Empty: the built-in grid.
    std::size_t side = 20; ///< Cities per side of the grid.

    exchange_kind exchange = exchange_kind::red_blue;
    std::size_t threads = 1;

    // The values of the paper.
    std::size_t population = 1000;
    std::size_t breeders = 200;
    std::size_t partners = 4;
    std::size_t last_partners = 1;

    improvement improve = improvement::or_opt;
    std::uint64_t seed = 1;

    // The first limit that is reached ends the run.
    std::optional<std::uint64_t> generations;
    std::optional<double> seconds;
    std::optional<double> target; ///< Percent above the optimum.

    std::optional<std::int64_t> optimum;
    std::string svg;
    std::string tour;
    bool quiet = false;
};

} // namespace tsp
