// SPDX-License-Identifier: MIT
/// @file
/// All of tryst for GLib (target `tryst::glib`).
#pragma once

#include <tryst/glib/executor.hpp> // IWYU pragma: export
