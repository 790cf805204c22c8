// SPDX-License-Identifier: MIT
/// @file
/// Runs the breeders on threads and loops, and pairs them.
#pragma once

#include "evolution.hpp"
#include "instance.hpp"
#include "options.hpp"

#include <cstddef>

namespace tsp {

/// The number of workers (coroutines, or threads with mutex) to construct `evolution` with.
std::size_t worker_count(const options& chosen) noexcept;

/// Runs the algorithm to its end, on its own threads.
/// @throws std::system_error if a thread cannot be created.
void breed_all(evolution& algorithm, const instance& problem, const options& chosen);

} // namespace tsp
