// SPDX-License-Identifier: MIT
#include "slot.hpp"

#include "resp.hpp"

#include <array>

TRYST_REDIS_BEGIN
namespace detail {

namespace {

/// CRC-16/XMODEM of each byte.
constexpr std::array<std::uint16_t, 256> crc_of_byte = [] {
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc << 1) ^ ((crc & 0x8000u) != 0 ? 0x1021u : 0u);
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}();

} // namespace

std::size_t slot_of(std::string_view key) {
    if (const std::size_t open = key.find('{'); open != key.npos) {
        const std::size_t close = key.find('}', open + 1);
        if (close != key.npos && close != open + 1) {
            key = key.substr(open + 1, close - open - 1);
        }
    }
    unsigned crc = 0;
    for (const char each : key) {
        crc = ((crc << 8) ^ crc_of_byte[(crc >> 8) ^ static_cast<unsigned char>(each)]) & 0xffffu;
    }
    return crc % slot_count;
}

std::optional<redirection> parse_redirection(std::string_view error, const address& from) {
    redirection parsed{error.starts_with("MOVED "), 0, {}};
    if (!parsed.is_moved && !error.starts_with("ASK ")) {
        return std::nullopt;
    }
    error.remove_prefix(error.find(' ') + 1);
    const std::size_t space = error.find(' ');
    const std::size_t colon = error.rfind(':'); // an IPv6 address has no brackets here
    if (space == error.npos || colon == error.npos || colon < space) {
        return std::nullopt;
    }
    const auto slot = parse_number<std::size_t>(error.substr(0, space));
    const auto port = parse_number<std::uint16_t>(error.substr(colon + 1));
    if (!slot || *slot >= slot_count || !port) {
        return std::nullopt;
    }
    parsed.slot = *slot;
    parsed.where.port = *port;
    parsed.where.host = error.substr(space + 1, colon - space - 1);
    if (parsed.where.host.empty()) {
        parsed.where.host = from.host;
    }
    return parsed;
}

} // namespace detail
TRYST_REDIS_END
