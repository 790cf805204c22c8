// SPDX-License-Identifier: MIT
/// @file
/// Sizes of the memory system, for layouts.
/// Standard library only.
#pragma once

#include <cstddef>

namespace tryst::detail {

/// The distance at which the writes of two cores do not disturb each other: a pair of 64-byte
/// lines, because x86 prefetches lines in pairs (Intel 64 and IA-32 Optimization Reference Manual,
/// 3.7.3). Not std::hardware_destructive_interference_size, which may vary within one program.
inline constexpr std::size_t line_pair = 128;

} // namespace tryst::detail
