// SPDX-License-Identifier: MIT
/// @file
/// A tour to look at.
#pragma once

#include "instance.hpp"

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>

namespace tsp {

/// Cities, the tour, and a title that says the name, the length, and the gap if the optimum is known.
/// Precondition: the problem tells where its cities are.
void write_svg(std::ostream& to, const instance& problem, std::span<const city> tour,
               std::optional<std::int64_t> optimum);

} // namespace tsp
