// SPDX-License-Identifier: MIT
/// @file
/// Makes text from other clients safe for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pairing {

enum class line_ends : std::uint8_t {
    keep, ///< Keeps tabs, too.
    escape,
};

/// Returns `text` with each byte that is not part of a printable character written as `\x1b`, for
/// example. So another client cannot move the cursor, clear the screen or make a terminal answer.
/// The locale (LC_CTYPE) says what is printable, except that format characters, which hide or reorder
/// others, never are.
std::string printable(std::string_view text, line_ends ends);

} // namespace pairing
