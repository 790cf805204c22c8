// SPDX-License-Identifier: MIT
/// @file
/// All of tryst for Qt (target `tryst::qt`).
#pragma once

#include <tryst/qt/executor.hpp> // IWYU pragma: export
