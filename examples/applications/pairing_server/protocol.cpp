// SPDX-License-Identifier: MIT
#include "protocol.hpp"

#include <cassert>
#include <utility>

namespace pairing {

namespace {

constexpr std::byte version{1};

struct description {
    std::string_view name;
    std::string_view text;
};

constexpr std::array<description, outcome_count> descriptions{{
    {"exchanged", "the partner's message follows"},
    {"timed_out", "no partner came to this room in time; try again"},
    {"closed", "the server is shutting down, or the room was closed; try again later"},
    {"bad_frame", "the request is malformed; send exactly one request per connection"},
    {"too_large", "the room name or the message is too large; send a shorter one"},
    {"slow", "the request was not complete in time; send it faster"},
    {"busy", "the server is at a limit; try again later"},
    {"forbidden", "only clients on the server's machine may send an administrator's request"},
    {"failed", "the server failed, for example for lack of memory; try again later"},
    {"statistics", "the statistics follow"},
    {"side_needed", "this server has two sides; use --ask or --answer (request kind 3 or 4)"},
    {"no_sides", "this server has no sides; omit --ask and --answer (use request kind 1)"},
    {"disconnected", "the client hung up before it was paired"},
    {"notified", "the administrator's notice follows"},
    {"unavailable", "the other servers cannot be reached; nothing was sent, so try again later"},
    {"in_doubt", "the connection to the other servers broke; a partner may have the message"},
    {"undelivered", "the client did not take its partner's message"},
}};

} // namespace

std::string_view name_of(outcome which) noexcept {
    return descriptions[static_cast<std::size_t>(which)].name;
}

std::string_view explanation_of(outcome which) noexcept {
    return descriptions[static_cast<std::size_t>(which)].text;
}

header_bytes encode(const header& fields) noexcept {
    const auto size = fields.body_size;
    return {version,
            std::byte{fields.code},
            std::byte{fields.name_size},
            std::byte{0},
            static_cast<std::byte>(size >> 24U),
            static_cast<std::byte>(size >> 16U),
            static_cast<std::byte>(size >> 8U),
            static_cast<std::byte>(size)};
}

std::optional<header> decode(const header_bytes& bytes) noexcept {
    if (bytes[0] != version || bytes[3] != std::byte{0}) {
        return std::nullopt;
    }
    header fields{std::to_integer<std::uint8_t>(bytes[1]), std::to_integer<std::uint8_t>(bytes[2]),
                  0};
    for (std::size_t i = 4; i != header_size; ++i) {
        fields.body_size = (fields.body_size << 8U) | std::to_integer<std::uint32_t>(bytes[i]);
    }
    return fields;
}

std::span<std::byte> request_decoder::space() {
    const std::size_t wanted = size_of_stage() - filled_;
    switch (stage_) {
    case stage::header:
        return std::span(raw_).last(wanted);
    case stage::name:
        return std::as_writable_bytes(std::span(request_.room)).last(wanted);
    case stage::body:
        return request_.body.space(wanted);
    case stage::complete:
    case stage::refused:
        break;
    }
    return {};
}

void request_decoder::commit(std::size_t count) {
    assert(count <= size_of_stage() - filled_ && "commit at most the bytes that space() returned");
    filled_ += count;
    if (stage_ == stage::body) {
        request_.body.commit(count);
    }
    // A stage may be empty: a request without a message is complete after the room's name.
    while (stage_ < stage::complete && filled_ == size_of_stage()) {
        if (stage_ == stage::header) {
            parse_header();
        }
        advance();
    }
}

request request_decoder::take() noexcept {
    assert(is_complete());
    return std::move(request_);
}

void request_decoder::parse_header() {
    const std::optional<header> fields = decode(raw_);
    if (!fields) {
        return refuse(outcome::bad_frame);
    }
    header_ = *fields;
    request_.kind = static_cast<request_kind>(header_.code);
    switch (request_.kind) {
    case request_kind::exchange:
    case request_kind::ask:
    case request_kind::answer:
        if (header_.name_size == 0) {
            return refuse(outcome::bad_frame);
        }
        break;
    case request_kind::statistics:
    case request_kind::health:
        if (header_.name_size != 0 || header_.body_size != 0) {
            return refuse(outcome::bad_frame);
        }
        break;
    case request_kind::notice:
        if (header_.name_size != 0) {
            return refuse(outcome::bad_frame);
        }
        break;
    case request_kind::close_room:
        if (header_.name_size == 0 || header_.body_size != 0) {
            return refuse(outcome::bad_frame);
        }
        break;
    default:
        return refuse(outcome::bad_frame);
    }
    if (header_.name_size > limits_.name || header_.body_size > limits_.body) {
        return refuse(outcome::too_large);
    }
    request_.room.resize(header_.name_size);
}

void request_decoder::refuse(outcome why) noexcept {
    refusal_ = why;
    stage_ = stage::refused;
}

void request_decoder::advance() noexcept {
    if (stage_ != stage::refused) {
        stage_ = static_cast<stage>(static_cast<std::uint8_t>(stage_) + 1);
    }
    filled_ = 0;
}

std::size_t request_decoder::size_of_stage() const noexcept {
    switch (stage_) {
    case stage::header:
        return header_size;
    case stage::name:
        return header_.name_size;
    case stage::body:
        return header_.body_size;
    case stage::complete:
    case stage::refused:
        break;
    }
    return 0;
}

} // namespace pairing
