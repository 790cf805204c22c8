// SPDX-License-Identifier: MIT
/// @file
/// The slots of a Redis cluster, and how its nodes redirect a call.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/redis/options.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

TRYST_REDIS_BEGIN
namespace detail {

/// The number of slots in every cluster.
inline constexpr std::size_t slot_count = 16'384;

/// The slot of a key: of the part between the first '{' and the next '}', if there is one.
std::size_t slot_of(std::string_view key);

/// Where a node says that a call belongs.
struct redirection {
    bool is_moved; ///< For good. Otherwise ASK: only this call.
    std::size_t slot;
    address where;
};

/// Parses an error of the form "MOVED slot host:port" or "ASK slot host:port".
/// @param from  the address of the node that said it, which is used if the host is empty.
/// @returns nothing if `error` is not of this form.
std::optional<redirection> parse_redirection(std::string_view error, const address& from);

} // namespace detail
TRYST_REDIS_END
