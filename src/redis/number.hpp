// SPDX-License-Identifier: MIT
/// @file
/// Reads numbers.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

TRYST_REDIS_BEGIN
namespace detail {

/// @returns nothing unless all of `text` is one number in the range of the type.
template <class Number>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
    Number number{};
    const char* const end = std::to_address(text.end());
    const auto [stopped, error] = std::from_chars(std::to_address(text.begin()), end, number, base);
    if (error != std::errc() || stopped != end) {
        return std::nullopt;
    }
    return number;
}

} // namespace detail
TRYST_REDIS_END
