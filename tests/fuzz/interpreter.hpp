// SPDX-License-Identifier: MIT
/// @file
/// Bytes as a program: what a fuzzer lets parties, loops, stops, clocks and exchangers do on one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tryst::test {

/// What a program has done.
struct outcome_counts {
    std::size_t exchanged = 0;
    std::array<std::size_t, 5> failed{}; ///< By exchange_errc.
    std::size_t destroyed = 0; ///< Frames that were waiting.
};

/// Runs `program` to its end. Any bytes are a program; equal ones do the same.
/// @returns what was wrong; nothing if nothing was.
std::string interpret(std::span<const std::uint8_t> program, outcome_counts& counts);

} // namespace tryst::test
