// SPDX-License-Identifier: MIT
/// @file
/// All of tryst for libuv (target `tryst::libuv`).
#pragma once

#include <tryst/libuv/executor.hpp> // IWYU pragma: export
