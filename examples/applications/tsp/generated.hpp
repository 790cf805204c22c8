// SPDX-License-Identifier: MIT
/// @file
/// A problem whose shortest tour is known.
#pragma once

#include "instance.hpp"

#include <cstddef>

namespace tsp {

/// A grid of `side` x `side` cities. The optimum is `side` x `side` steps:
/// 1. No two cities are closer than one step, and a tour has as many edges as cities. So no tour is
///    shorter than that.
/// 2. If `side` is even, a tour of single steps exists: along the first column, and then back and
///    forth through the rest of each row.
/// 3. A step is an integer, so rounding changes nothing.
/// Precondition: `side` is even, and its square is at most instance::max_cities.
instance grid(std::size_t side);

} // namespace tsp
