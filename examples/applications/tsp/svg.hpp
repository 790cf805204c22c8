// SPDX-License-Identifier: MIT
/// @file
/// Draws a tour as SVG.
#pragma once

#include "instance.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>

namespace tsp {

/// Draws the cities, the tour, and a title with the name, the length, and the gap if the optimum is
/// known. Precondition: the problem has points.
void write_svg(std::ostream& to, const instance& problem, std::span<const city> tour,
               std::optional<std::int64_t> optimum);

} // namespace tsp
