// SPDX-License-Identifier: MIT
/// @file
/// TSPLIB's files (Reinelt, "TSPLIB - A traveling salesman problem library", 1991): symmetric
/// problems, and tours.
#pragma once

#include "instance.hpp"

#include <iosfwd>
#include <span>
#include <string>

namespace tsp {

/// @param file  what to call it in messages.
/// @throws std::runtime_error "FILE:LINE: what is wrong there".
instance read_problem(std::istream& from, const std::string& file);

void write_tour(std::ostream& to, const instance& problem, std::span<const city> tour);

} // namespace tsp
