// SPDX-License-Identifier: MIT
#include "fuzz/pairing_oracle.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

namespace tryst::test {

namespace {

using bytes = std::vector<std::uint8_t>;

/// What a stream means, in the plainest words that README.md allows.
struct meaning {
    bool complete = false;
    std::optional<pairing::outcome> refusal;
    std::size_t size = 0; ///< How many bytes belong to it.
    int kind = 0;
    std::string room;
    bytes body;

    bool operator==(const meaning&) const = default;
};

meaning refused(pairing::outcome why) {
    return {.complete = false, .refusal = why, .size = 8, .kind = 0, .room = {}, .body = {}};
}

meaning read_whole(std::span<const std::uint8_t> stream, pairing::frame_limits limits) {
    if (stream.size() < 8) {
        return {.complete = false,
                .refusal = {},
                .size = stream.size(),
                .kind = 0,
                .room = {},
                .body = {}};
    }
    const std::size_t name = stream[2];
    const std::size_t body = (std::size_t{stream[4]} << 24U) + (std::size_t{stream[5]} << 16U) +
                             (std::size_t{stream[6]} << 8U) + stream[7];
    const bool exchange = (stream[1] == 1 || stream[1] == 3 || stream[1] == 4) && name != 0;
    const bool question = (stream[1] == 2 || stream[1] == 6) && name == 0 && body == 0;
    const bool notice = stream[1] == 5 && name == 0;
    const bool close = stream[1] == 7 && name != 0 && body == 0;
    if (stream[0] != 1 || stream[3] != 0 || (!exchange && !question && !notice && !close)) {
        return refused(pairing::outcome::bad_frame);
    }
    if (name > limits.name || body > limits.body) {
        return refused(pairing::outcome::too_large);
    }
    if (stream.size() < 8 + name + body) {
        return {.complete = false,
                .refusal = {},
                .size = stream.size(),
                .kind = 0,
                .room = {},
                .body = {}};
    }
    const auto name_at = stream.begin() + 8;
    const auto body_at = name_at + static_cast<std::ptrdiff_t>(name);
    return {.complete = true,
            .refusal = {},
            .size = 8 + name + body,
            .kind = stream[1],
            .room = {name_at, body_at},
            .body = {body_at, body_at + static_cast<std::ptrdiff_t>(body)}};
}

bytes join(const pairing::message& body) {
    bytes all;
    for (const auto& block : body.blocks()) {
        const auto* const data = reinterpret_cast<const std::uint8_t*>(block.data());
        all.insert(all.end(), data, data + block.size());
    }
    return all;
}

bool is_frugal(const pairing::message& body) {
    return body.capacity() <= 2 * body.size() + pairing::message::smallest_block;
}

} // namespace

std::string check_stream(std::span<const std::uint8_t> program, stream_counts& counts) {
    if (program.size() < 3) {
        return {};
    }
    const pairing::frame_limits limits{.name = program[0],
                                       .body = std::size_t{program[1]} * program[1]};
    const std::size_t piece = std::size_t{program[2]} + 1;
    const auto stream = program.subspan(3);

    pairing::request_decoder decoder(limits);
    meaning got;
    while (got.size != stream.size()) {
        const auto space = decoder.space();
        const std::size_t count = std::min({space.size(), piece, stream.size() - got.size});
        if (count == 0) {
            break;
        }
        std::memcpy(space.data(), stream.data() + got.size, count);
        decoder.commit(count);
        got.size += count;
        // Asked for before more has come: it must not have allocated for what was only announced.
        const bool wants_more = !decoder.space().empty();
        if (wants_more == (decoder.is_complete() || decoder.refusal())) {
            return "space() does not tell whether more is wanted\n";
        }
        if (!is_frugal(decoder.body())) {
            return "it allocates for what has not arrived\n";
        }
    }
    got.complete = decoder.is_complete();
    got.refusal = decoder.refusal();
    if (got.complete) {
        pairing::request asked = decoder.take();
        got.kind = static_cast<int>(asked.kind);
        got.room = asked.room;
        got.body = join(asked.body);
    }

    if (got != read_whole(stream, limits)) {
        return "in pieces it is not what it is as a whole\n";
    }
    if (got.complete) {
        ++counts.complete;
    } else if (!got.refusal) {
        ++counts.incomplete;
    } else if (got.refusal == pairing::outcome::bad_frame) {
        ++counts.bad_frame;
    } else {
        ++counts.too_large;
    }
    return {};
}

} // namespace tryst::test
