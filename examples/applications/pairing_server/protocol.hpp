// SPDX-License-Identifier: MIT
/// @file
/// The wire format that README.md describes. Standard library only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace pairing {

/// How a session ends. All outcomes but the last are also the status of a reply. The numbers that
/// are missing belonged to requests that servers no longer answer.
enum class outcome : std::uint8_t {
    exchanged = 0, ///< The body is the partner's message. For other statuses it is a text.
    timed_out = 1, ///< No partner came in time.
    closed = 2, ///< The server is shutting down.
    bad_frame = 3, ///< The bytes are not a request, or bytes follow the request.
    too_large = 4, ///< The room's name or the message exceeds the limit.
    slow = 5, ///< The request was not complete in time.
    busy = 6, ///< There are too many connections.
    failed = 8, ///< The server failed, for example for lack of memory.
    side_needed = 10, ///< The server has two sides, and the request names neither.
    no_sides = 11, ///< The server has no sides, and the request names one.
    disconnected = 12, ///< The client hung up, or shut down its sending side, before it was paired.
    unavailable = 14, ///< Redis cannot be reached, so the message was not offered.
    in_doubt = 15, ///< The message was offered through Redis, and a partner may have it.
    undelivered = 16, ///< The client was paired, but did not take its partner's message.
};

struct outcome_description {
    outcome which;
    std::string_view name; ///< In the statistics.
    std::string_view text; ///< The body of a reply with this status.
};

inline constexpr std::array<outcome_description, 14> outcomes{{
    {outcome::exchanged, "exchanged", "the partner's message follows"},
    {outcome::timed_out, "timed_out", "no partner came to this room in time; try again"},
    {outcome::closed, "closed", "the server is shutting down; try again later"},
    {outcome::bad_frame, "bad_frame",
     "the request is malformed; send exactly one request per connection"},
    {outcome::too_large, "too_large",
     "the room name or the message is too large; send a shorter one"},
    {outcome::slow, "slow", "the request was not complete in time; send it faster"},
    {outcome::busy, "busy", "the server has too many connections; try again later"},
    {outcome::failed, "failed",
     "the server failed, for example for lack of memory; try again later"},
    {outcome::side_needed, "side_needed",
     "this server has two sides; use --ask or --answer (request kind 3 or 4)"},
    {outcome::no_sides, "no_sides",
     "this server has no sides; omit --ask and --answer (use request kind 1)"},
    {outcome::disconnected, "disconnected", "the client hung up before it was paired"},
    {outcome::unavailable, "unavailable",
     "the other servers cannot be reached; nothing was sent, so try again later"},
    {outcome::in_doubt, "in_doubt",
     "the connection to the other servers broke; a partner may have the message"},
    {outcome::undelivered, "undelivered", "the client did not take its partner's message"},
}};
inline constexpr std::size_t outcome_limit = 17; ///< All numbers of outcomes are below.

constexpr std::string_view explanation_of(outcome which) noexcept {
    for (const auto& each : outcomes) {
        if (each.which == which) {
            return each.text;
        }
    }
    return "";
}

enum class request_kind : std::uint8_t {
    exchange = 1, ///< Exchanges with any client.
    ask = 3, ///< Exchanges with a client that answers.
    answer = 4, ///< Exchanges with a client that asks.
};

/// The header of requests and replies.
struct header {
    std::uint8_t code = 0; ///< The request_kind of a request, or the outcome of a reply.
    std::uint8_t name_size = 0; ///< The size of the room's name; 0 in a reply.
    std::uint32_t body_size = 0;
};
using header_bytes = std::array<std::uint8_t, 8>;

constexpr header_bytes encode(const header& fields) noexcept {
    const auto size = fields.body_size;
    return {1,
            fields.code,
            fields.name_size,
            0,
            static_cast<std::uint8_t>(size >> 24U),
            static_cast<std::uint8_t>(size >> 16U),
            static_cast<std::uint8_t>(size >> 8U),
            static_cast<std::uint8_t>(size)};
}

/// @returns nullopt if the bytes are not a header of this protocol.
constexpr std::optional<header> decode(const header_bytes& bytes) noexcept {
    if (bytes[0] != 1 || bytes[3] != 0) {
        return std::nullopt;
    }
    header fields{bytes[1], bytes[2], 0};
    for (std::size_t i = 4; i != bytes.size(); ++i) {
        fields.body_size = (fields.body_size << 8U) | bytes[i];
    }
    return fields;
}

} // namespace pairing
