// SPDX-License-Identifier: MIT
/// @file
/// Writes commands in the protocol of Redis, RESP2.
/// Standard library only.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

TRYST_REDIS_BEGIN
namespace detail {

/// Appends `mark`, `number` and the end of a line.
inline void append_header(std::string& out, char mark, std::size_t number) {
    std::array<char, 24> digits; // NOLINT(cppcoreguidelines-pro-type-member-init)
    const char* const end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    out += mark;
    out.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
    out += "\r\n";
}

/// Appends one argument of a command.
inline void append_argument(std::string& out, std::string_view argument) {
    append_header(out, '$', argument.size());
    out += argument;
    out += "\r\n";
}

/// Appends a whole command.
inline void append_command(std::string& out, std::span<const std::string_view> words) {
    append_header(out, '*', words.size());
    for (const std::string_view word : words) {
        append_argument(out, word);
    }
}

} // namespace detail
TRYST_REDIS_END
