// SPDX-License-Identifier: MIT
/// @file
/// Reads symmetric problems and writes tours in the file format of TSPLIB (Reinelt, "TSPLIB - A
/// traveling salesman problem library", 1991).
#pragma once

#include "instance.hpp"

#include <iosfwd>
#include <span>
#include <string>

namespace tsp {

/// @param file  the name of the file in messages.
/// @throws std::runtime_error "FILE:LINE: MESSAGE".
instance read_problem(std::istream& from, const std::string& file);

void write_tour(std::ostream& to, const instance& problem, std::span<const city> tour);

} // namespace tsp
