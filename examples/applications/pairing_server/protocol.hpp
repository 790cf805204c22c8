// SPDX-License-Identifier: MIT
/// @file
/// The bytes on the wire, as README.md lays them out: no sockets, no clocks.
/// Standard library only. Tested by tests/examples/pairing_protocol_test.cpp, fuzzed by
/// tests/fuzz/pairing_fuzzer.cpp.
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

/// How a visit ends. All but the last one travel as the status of the reply.
enum class outcome : std::uint8_t {
    exchanged, ///< The body is the partner's message. With every other status it is a text.
    timed_out, ///< Nobody came in time.
    closed, ///< The server is shutting down.
    bad_frame, ///< Not a request, or bytes after one.
    too_large, ///< The room's name or the message exceeds the limit.
    slow, ///< The request was not complete in time.
    busy, ///< A limit is reached: connections, rooms or waiting clients.
    forbidden, ///< Statistics are for this machine only.
    failed, ///< The server could not do it: it has no memory left, say.
    statistics, ///< The body is the line that was asked for.
    side_needed, ///< Askers meet answerers here, and it did not say which it is.
    no_sides, ///< It said which side it is on, and there are none here.
    disconnected, ///< The client hung up before it was paired. Seen by those who hung up half.
    undelivered, ///< It was paired, but did not take its partner's message.
};
inline constexpr std::size_t outcome_count = 14;

/// The name of an outcome, as in the statistics.
std::string_view name_of(outcome which) noexcept;

/// The text that goes with a status.
std::string_view explanation_of(outcome which) noexcept;

enum class request_kind : std::uint8_t {
    exchange = 1, ///< With whoever comes next.
    statistics = 2,
    ask = 3, ///< To exchange with who answers.
    answer = 4, ///< To exchange with who asks.
};

/// Whether a party of this kind meets the other kind only.
constexpr bool has_side(request_kind kind) noexcept {
    return kind == request_kind::ask || kind == request_kind::answer;
}

/// What requests and replies begin with.
struct header {
    std::uint8_t code = 0; ///< A request_kind, or the outcome that is the reply's status.
    std::uint8_t name_size = 0; ///< Of the room's name; 0 in a reply.
    std::uint32_t body_size = 0;

    bool operator==(const header&) const = default;
};
inline constexpr std::size_t header_size = 8;
using header_bytes = std::array<std::byte, header_size>;

header_bytes encode(const header& fields) noexcept;

/// @returns nothing if the bytes are not of this protocol.
std::optional<header> decode(const header_bytes& bytes) noexcept;

struct request {
    request_kind kind = request_kind::exchange;
    std::string room;
    message body;
};

struct frame_limits {
    std::size_t name = 64; ///< 255 at the most: its size is one byte on the wire.
    std::size_t body = std::size_t{1} << 20U;
};

/// Takes one request in as it arrives. The bytes go where they stay: read into `space()`, then `commit`.
///
/// It allocates for what has arrived, not for what was announced (see `message`).
class request_decoder {
public:
    explicit request_decoder(frame_limits limits) noexcept : limits_(limits) {}

    /// Where the next bytes go. Empty if and only if no more are wanted. Valid until the next call.
    std::span<std::byte> space();

    /// Takes in the first `count` bytes of `space()`.
    void commit(std::size_t count);

    bool is_complete() const noexcept { return stage_ == stage::complete; }

    /// Why this cannot become a request: bad_frame or too_large.
    std::optional<outcome> refusal() const noexcept { return refusal_; }

    /// How much of the message has arrived.
    const message& body() const noexcept { return request_.body; }

    /// The request. Precondition: `is_complete()`.
    request take() noexcept;

private:
    enum class stage : std::uint8_t { header, name, body, complete, refused };

    void take_in_header();
    void refuse(outcome why) noexcept;
    void advance() noexcept;
    std::size_t size_of_stage() const noexcept;

    frame_limits limits_;
    stage stage_ = stage::header;
    std::size_t filled_ = 0; ///< How much of the stage is there.
    header_bytes raw_{};
    header header_;
    request request_;
    std::optional<outcome> refusal_;
};

} // namespace pairing
