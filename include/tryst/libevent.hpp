// SPDX-License-Identifier: MIT
/// @file
/// All of tryst for libevent (target `tryst::libevent`).
#pragma once

#include <tryst/libevent/executor.hpp> // IWYU pragma: export
