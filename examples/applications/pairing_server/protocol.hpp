// SPDX-License-Identifier: MIT
/// @file
/// The wire format that README.md describes, without sockets or clocks. Standard library only.
/// Tested by tests/examples/pairing_protocol_test.cpp, fuzzed by tests/fuzz/pairing_fuzzer.cpp.
#pragma once

#include "message.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace pairing {

/// How a session ends. All outcomes but the last are also the status of a reply.
enum class outcome : std::uint8_t {
    exchanged, ///< The body is the partner's message. For other statuses it is a text.
    timed_out, ///< No partner came in time.
    closed, ///< The server is shutting down, or the administrator has closed the room.
    bad_frame, ///< The bytes are not a request, or bytes follow the request.
    too_large, ///< The room's name or the message exceeds the limit.
    slow, ///< The request was not complete in time.
    busy, ///< A limit is reached: connections, rooms or waiting clients.
    forbidden, ///< Only clients on the server's machine may send an administrator's request.
    failed, ///< The server failed, for example for lack of memory.
    statistics, ///< The body is the line of statistics.
    side_needed, ///< The server has two sides, and the request names neither.
    no_sides, ///< The server has no sides, and the request names one.
    disconnected, ///< The client hung up, or shut down its sending side, before it was paired.
    notified, ///< The administrator ended the wait. The body is the administrator's notice.
    unavailable, ///< Redis cannot be reached, so the message was not offered.
    in_doubt, ///< The message was offered through Redis, and a partner may have it.
    undelivered, ///< The client was paired, but did not take its partner's message.
};
inline constexpr std::size_t outcome_count = 17;

/// The name of an outcome in the statistics.
std::string_view name_of(outcome which) noexcept;

/// The text that a reply with this status carries.
std::string_view explanation_of(outcome which) noexcept;

enum class request_kind : std::uint8_t {
    exchange = 1, ///< Exchanges with any client.
    statistics = 2,
    ask = 3, ///< Exchanges with a client that answers.
    answer = 4, ///< Exchanges with a client that asks.
    notice = 5, ///< Ends all waits with the message. The reply is a line of statistics.
    health = 6, ///< The reply is a line of statistics, or `unavailable`.
    close_room = 7, ///< Closes the room. The reply is as for `health`.
};

/// Whether only clients on the server's machine may send it.
constexpr bool is_administrative(request_kind kind) noexcept {
    return kind == request_kind::statistics || kind == request_kind::notice ||
           kind == request_kind::health || kind == request_kind::close_room;
}

/// Whether a client of this kind is paired only with the opposite kind.
constexpr bool has_side(request_kind kind) noexcept {
    return kind == request_kind::ask || kind == request_kind::answer;
}

/// The header of requests and replies.
struct header {
    std::uint8_t code = 0; ///< The request_kind of a request, or the outcome of a reply.
    std::uint8_t name_size = 0; ///< The size of the room's name; 0 in a reply.
    std::uint32_t body_size = 0;

    bool operator==(const header&) const = default;
};
inline constexpr std::size_t header_size = 8;
using header_bytes = std::array<std::byte, header_size>;

header_bytes encode(const header& fields) noexcept;

/// @returns nullopt if the bytes are not a header of this protocol.
std::optional<header> decode(const header_bytes& bytes) noexcept;

struct request {
    request_kind kind = request_kind::exchange;
    std::string room;
    message body;
};

struct frame_limits {
    std::size_t name = 64; ///< At most 255: the size is one byte on the wire.
    std::size_t body = std::size_t{1} << 20U;
};

/// Decodes one request as it arrives, without copying: read bytes into `space()`, then `commit`.
/// Memory is allocated for bytes that have arrived, not for announced ones (see `message`).
class request_decoder {
public:
    explicit request_decoder(frame_limits limits) noexcept : limits_(limits) {}

    /// Returns room for the next bytes, valid until the next call. Empty if and only if the request
    /// is complete or refused.
    std::span<std::byte> space();

    /// Decodes the first `count` bytes of `space()`.
    void commit(std::size_t count);

    bool is_complete() const noexcept { return stage_ == stage::complete; }

    /// bad_frame or too_large if the bytes cannot become a valid request.
    std::optional<outcome> refusal() const noexcept { return refusal_; }

    /// The part of the message that has arrived.
    const message& body() const noexcept { return request_.body; }

    /// Returns the request. Precondition: `is_complete()`.
    request take() noexcept;

private:
    enum class stage : std::uint8_t { header, name, body, complete, refused };

    void parse_header();
    void refuse(outcome why) noexcept;
    void advance() noexcept;
    std::size_t size_of_stage() const noexcept;

    frame_limits limits_;
    stage stage_ = stage::header;
    std::size_t filled_ = 0; ///< How many bytes of the current stage have arrived.
    header_bytes raw_{};
    header header_;
    request request_;
    std::optional<outcome> refusal_;
};

} // namespace pairing
