// SPDX-License-Identifier: MIT
/// @file
/// Deadlines that have passed on any machine. `steady_clock` may count from the start of the
/// machine, so an hour after its epoch, or an hour before now, may be in the future or before the
/// epoch.
#pragma once

#include <array>
#include <chrono>

namespace tryst::test {

inline constexpr std::array<std::chrono::steady_clock::time_point, 4> long_past{
    std::chrono::steady_clock::time_point(),
    std::chrono::steady_clock::time_point(std::chrono::nanoseconds(-1)),
    std::chrono::steady_clock::time_point(std::chrono::hours(-1)),
    std::chrono::steady_clock::time_point::min()};

} // namespace tryst::test
