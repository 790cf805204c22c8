// SPDX-License-Identifier: MIT
/// @file
/// Bytes as a stream that arrives in pieces: what a fuzzer sends to the decoder of
/// examples/applications/pairing_server.
#pragma once

#include "pairing_server/protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tryst::test {

/// What became of streams.
struct stream_counts {
    std::size_t complete = 0;
    std::size_t incomplete = 0;
    std::size_t bad_frame = 0;
    std::size_t too_large = 0;
};

/// Feeds the stream that `program` stands for to a decoder, and compares with one that has it
/// whole. Any bytes are a program: two for the limits, one for the size of the pieces, then the
/// stream.
/// @returns what was wrong; nothing if nothing was.
std::string check_stream(std::span<const std::uint8_t> program, stream_counts& counts);

} // namespace tryst::test
