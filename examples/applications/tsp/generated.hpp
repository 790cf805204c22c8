// SPDX-License-Identifier: MIT
/// @file
/// A problem whose shortest tour is known.
#pragma once

#include "instance.hpp"

#include <cstddef>

namespace tsp {

/// `side` x `side` cities in a grid. No two are nearer to each other than a step, and a tour has as many edges as there
/// are cities: none is shorter than one that has steps only. If `side` is even there are such: along the first column,
/// then to and fro through the rest of each row. Steps are integers, so rounding changes nothing.
/// Precondition: an even `side`, whose square is not more than instance::most_cities.
instance grid(std::size_t side);

} // namespace tsp
