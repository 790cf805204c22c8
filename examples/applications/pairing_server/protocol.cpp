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
    {"exchanged", "here is your partner's message"},
    {"timed_out", "nobody came to this room in time"},
    {"closed", "the server is shutting down"},
    {"bad_frame", "this is not one request of this protocol"},
    {"too_large", "the name of the room or the message is too large"},
    {"slow", "the request was not complete in time"},
    {"busy", "the server is full, try again later"},
    {"forbidden", "statistics are for clients on the server's machine"},
    {"failed", "the server failed"},
    {"statistics", "here are the statistics"},
    {"side_needed", "askers meet answerers here: say which you are"},
    {"no_sides", "here are no askers and answerers: whoever comes next is your partner"},
    {"disconnected", "you hung up before there was a partner"},
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
    assert(count <= size_of_stage() - filled_ && "more bytes than there was space for");
    filled_ += count;
    if (stage_ == stage::body) {
        request_.body.commit(count);
    }
    // A stage may be empty: a message without bytes is complete with its room's name.
    while (stage_ < stage::complete && filled_ == size_of_stage()) {
        if (stage_ == stage::header) {
            take_in_header();
        }
        advance();
    }
}

request request_decoder::take() noexcept {
    assert(is_complete());
    return std::move(request_);
}

void request_decoder::take_in_header() {
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
        if (header_.name_size != 0 || header_.body_size != 0) {
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
