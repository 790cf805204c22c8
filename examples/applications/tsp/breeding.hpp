// SPDX-License-Identifier: MIT
/// @file
/// Who breeds where, and how breeders meet.
#pragma once

#include "evolution.hpp"
#include "instance.hpp"
#include "options.hpp"

#include <cstddef>

namespace tsp {

/// How many workers the evolution shall have.
std::size_t worker_count(const options& chosen) noexcept;

/// Runs it to its end on threads of its own. @throws std::system_error if there are no threads to be had.
void breed_all(evolution& all, const instance& problem, const options& chosen);

} // namespace tsp
