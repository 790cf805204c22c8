// SPDX-License-Identifier: MIT
/// @file
/// What the handler of a call gets.
/// hiredis, by name only.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <cstdint>
#include <string_view>

struct redisReply; // NOLINT(readability-identifier-naming): of hiredis

TRYST_REDIS_BEGIN
namespace detail {

/// What the handler of a call gets. Valid while the handler runs.
struct call_reply {
    enum class kind : std::uint8_t {
        answered, ///< The script ran; `value` is its reply.
        refused, ///< Redis replied with `error` before the script wrote anything.
        lost, ///< The connection broke, because of `error`; the script may or may not have run.
        unsent ///< Nothing was sent, because of `error`.
    };
    kind what;
    const redisReply* value; ///< Null unless answered.
    std::string_view error; ///< Empty if answered.
};

} // namespace detail
TRYST_REDIS_END
