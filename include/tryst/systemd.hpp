// SPDX-License-Identifier: MIT
/// @file
/// All of tryst for sd-event (target `tryst::systemd`).
#pragma once

#include <tryst/systemd/executor.hpp> // IWYU pragma: export
