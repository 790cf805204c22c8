// SPDX-License-Identifier: MIT
/// @file
/// Bytes as a program: they choose the parties of a run of the simulation, its schedule and its
/// disturbances.
#pragma once

#include "sim/play.hpp"

#include <cstdint>
#include <span>

namespace tryst::sim {

/// Any bytes are a program; the same bytes make the same run.
inline report play_program(std::span<const std::uint8_t> bytes) {
    return play(random(bytes), -1, crowd::medium);
}

} // namespace tryst::sim
