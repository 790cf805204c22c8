// SPDX-License-Identifier: MIT
/// @file
/// Sizes of the memory system that layouts depend on.
/// Standard library only.
#pragma once

#include <cstddef>

namespace tryst::detail {

/// What two cores' writes must be apart not to disturb each other: a pair of 64-byte lines, because
/// x86 prefetches lines in pairs (Intel 64 and IA-32 Optimization Reference Manual, 3.7.3).
/// A constant, not std::hardware_destructive_interference_size, which may vary within one program.
inline constexpr std::size_t line_pair = 128;

} // namespace tryst::detail
