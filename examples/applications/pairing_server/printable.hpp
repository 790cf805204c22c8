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

/// Escapes each byte that is not part of a printable character, for example as `\x1b`. So another
/// client cannot move the cursor, clear the screen or trigger replies of the terminal.
/// The locale (LC_CTYPE) defines the printable characters. Format characters, which hide or reorder
/// others, are always escaped.
std::string printable(std::string_view text, line_ends ends);

} // namespace pairing
