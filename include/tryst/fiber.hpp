// SPDX-License-Identifier: MIT
/// @file
/// All of tryst for Boost.Fiber (target `tryst::fiber`).
#pragma once

#include <tryst/fiber/wait.hpp> // IWYU pragma: export
