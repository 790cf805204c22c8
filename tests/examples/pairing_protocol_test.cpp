// SPDX-License-Identifier: MIT
#include "pairing_server/protocol.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace {

using namespace pairing;

std::string text_of(const message& body) {
    std::string text;
    for (const auto& block : body.blocks()) {
        text.append(reinterpret_cast<const char*>(block.data()), block.size());
    }
    return text;
}

/// A header as README.md describes it, written by hand.
std::string head(int kind, std::size_t name_size, std::uint32_t body_size) {
    return {'\1',
            static_cast<char>(kind),
            static_cast<char>(name_size),
            '\0',
            static_cast<char>(body_size >> 24U),
            static_cast<char>(body_size >> 16U),
            static_cast<char>(body_size >> 8U),
            static_cast<char>(body_size)};
}

std::string frame(const std::string& room, const std::string& body) {
    return head(1, room.size(), static_cast<std::uint32_t>(body.size())) + room + body;
}

/// Feeds `bytes`, at most `step` at a time. @returns how many it accepted.
std::size_t feed(request_decoder& decoder, std::string_view bytes,
                 std::size_t step = std::numeric_limits<std::size_t>::max()) {
    std::size_t fed = 0;
    while (fed != bytes.size()) {
        const auto space = decoder.space();
        const std::size_t size = std::min({space.size(), step, bytes.size() - fed});
        if (size == 0) {
            break;
        }
        std::memcpy(space.data(), bytes.data() + fed, size);
        decoder.commit(size);
        fed += size;
    }
    return fed;
}

std::optional<outcome> refusal_of(const std::string& bytes, frame_limits limits = {}) {
    request_decoder decoder(limits);
    feed(decoder, bytes);
    EXPECT_FALSE(decoder.is_complete());
    EXPECT_EQ(decoder.space().empty(), decoder.refusal().has_value());
    return decoder.refusal();
}

TEST(PairingHeader, IsEncodedAsDocumented) {
    const header_bytes bytes = encode({.code = 2, .name_size = 7, .body_size = 0x01020304});
    const std::string expected{1, 2, 7, 0, 1, 2, 3, 4};
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), expected);
}

TEST(PairingHeader, SurvivesEncodingAndDecoding) {
    for (const header fields :
         {header{}, header{1, 255, 0xFFFFFFFF}, header{255, 0, 0x80000000}, header{9, 1, 255}}) {
        EXPECT_EQ(decode(encode(fields)), fields);
    }
}

TEST(PairingHeader, RefusesOtherVersionsAndReservedBits) {
    header_bytes bytes = encode({.code = 1, .name_size = 1, .body_size = 1});
    bytes[0] = std::byte{2};
    EXPECT_FALSE(decode(bytes));
    bytes[0] = std::byte{1};
    EXPECT_TRUE(decode(bytes));
    bytes[3] = std::byte{1};
    EXPECT_FALSE(decode(bytes));
}

TEST(PairingOutcome, HasANameAndAText) {
    for (std::size_t i = 0; i != outcome_count; ++i) {
        EXPECT_FALSE(name_of(static_cast<outcome>(i)).empty());
        EXPECT_FALSE(explanation_of(static_cast<outcome>(i)).empty());
    }
    EXPECT_EQ(name_of(outcome::undelivered), "undelivered"); // the last outcome
}

TEST(PairingDecoder, DecodesARequestInPiecesOfAnySize) {
    const std::string body(10'000, 'x');
    const std::string bytes = frame("room", body);
    for (const std::size_t step : {1U, 2U, 3U, 7U, 8U, 9U, 4096U, 100'000U}) {
        request_decoder decoder({});
        EXPECT_EQ(feed(decoder, bytes, step), bytes.size());
        ASSERT_TRUE(decoder.is_complete());
        const request decoded = decoder.take();
        EXPECT_EQ(decoded.kind, request_kind::exchange);
        EXPECT_EQ(decoded.room, "room");
        EXPECT_EQ(text_of(decoded.body), body);
    }
}

TEST(PairingDecoder, IsCompleteOnlyAfterTheLastByte) {
    const std::string bytes = frame("room", "message");
    request_decoder decoder({});
    for (const char& byte : bytes) {
        EXPECT_FALSE(decoder.is_complete());
        EXPECT_FALSE(decoder.space().empty());
        feed(decoder, {&byte, 1});
    }
    EXPECT_TRUE(decoder.is_complete());
}

TEST(PairingDecoder, AcceptsNoBytesAfterARequest) {
    request_decoder decoder({});
    const std::string bytes = frame("r", "m");
    EXPECT_EQ(feed(decoder, bytes + "more"), bytes.size());
    EXPECT_TRUE(decoder.space().empty());
    EXPECT_EQ(text_of(decoder.take().body), "m");
}

TEST(PairingDecoder, DecodesAnEmptyMessage) {
    request_decoder decoder({});
    feed(decoder, frame("r", ""));
    ASSERT_TRUE(decoder.is_complete());
    EXPECT_EQ(decoder.take().body.size(), 0U);
}

TEST(PairingDecoder, DecodesAnyBytesInARoomName) {
    const std::string name{'\0', '\xff', '/', '\n'};
    request_decoder decoder({});
    feed(decoder, frame(name, ""));
    ASSERT_TRUE(decoder.is_complete());
    EXPECT_EQ(decoder.take().room, name);
}

TEST(PairingDecoder, DecodesARequestForStatistics) {
    request_decoder decoder({});
    feed(decoder, head(2, 0, 0));
    ASSERT_TRUE(decoder.is_complete());
    EXPECT_EQ(decoder.take().kind, request_kind::statistics);
}

TEST(PairingDecoder, DecodesANotice) {
    request_decoder decoder({});
    feed(decoder, head(5, 0, 6) + "notice");
    ASSERT_TRUE(decoder.is_complete());
    const request decoded = decoder.take();
    EXPECT_EQ(decoded.kind, request_kind::notice);
    EXPECT_EQ(text_of(decoded.body), "notice");
}

TEST(PairingDecoder, DecodesAnAdministratorsRequests) {
    request_decoder health({});
    feed(health, head(6, 0, 0));
    ASSERT_TRUE(health.is_complete());
    EXPECT_EQ(health.take().kind, request_kind::health);
    request_decoder close({});
    feed(close, head(7, 4, 0) + "room");
    ASSERT_TRUE(close.is_complete());
    const request decoded = close.take();
    EXPECT_EQ(decoded.kind, request_kind::close_room);
    EXPECT_EQ(decoded.room, "room");
    for (int kind = 1; kind != 8; ++kind) {
        EXPECT_EQ(is_administrative(static_cast<request_kind>(kind)),
                  kind == 2 || kind == 5 || kind == 6 || kind == 7);
    }
}

TEST(PairingDecoder, DecodesTheSide) {
    for (const auto kind : {request_kind::exchange, request_kind::ask, request_kind::answer}) {
        request_decoder decoder({});
        feed(decoder, head(static_cast<int>(kind), 4, 7) + "roommessage");
        ASSERT_TRUE(decoder.is_complete());
        const request decoded = decoder.take();
        EXPECT_EQ(decoded.kind, kind);
        EXPECT_EQ(decoded.room, "room");
        EXPECT_EQ(text_of(decoded.body), "message");
        EXPECT_EQ(has_side(kind), kind != request_kind::exchange);
    }
}

TEST(PairingOutcome, KeepsItsWireNumber) {
    EXPECT_EQ(static_cast<int>(outcome::exchanged), 0);
    EXPECT_EQ(static_cast<int>(outcome::statistics), 9);
    EXPECT_EQ(static_cast<int>(outcome::side_needed), 10);
    EXPECT_EQ(static_cast<int>(outcome::no_sides), 11);
    EXPECT_EQ(static_cast<int>(outcome::notified), 13);
    EXPECT_EQ(static_cast<int>(outcome::unavailable), 14);
    EXPECT_EQ(static_cast<int>(outcome::in_doubt), 15);
}

TEST(PairingDecoder, RefusesInvalidRequests) {
    EXPECT_EQ(refusal_of("GET / HTTP/1.1"), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(0, 1, 0)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(5, 1, 0)), outcome::bad_frame); // a notice names no room
    EXPECT_EQ(refusal_of(head(6, 1, 0)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(6, 0, 1)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(7, 0, 0)), outcome::bad_frame); // a room without a name
    EXPECT_EQ(refusal_of(head(7, 1, 1)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(8, 0, 0)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(1, 0, 0)), outcome::bad_frame); // a room without a name
    EXPECT_EQ(refusal_of(head(3, 0, 0)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(4, 0, 0)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(2, 1, 0)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(2, 0, 1)), outcome::bad_frame);
    EXPECT_EQ(refusal_of(head(1, 1, 0).substr(0, 7)), std::nullopt); // not yet
}

TEST(PairingDecoder, EnforcesItsLimits) {
    const frame_limits limits{.name = 4, .body = 10};
    EXPECT_EQ(refusal_of(head(1, 5, 0), limits), outcome::too_large);
    EXPECT_EQ(refusal_of(head(1, 4, 11), limits), outcome::too_large);
    EXPECT_EQ(refusal_of(head(1, 4, 0xFFFFFFFF), limits), outcome::too_large);
    request_decoder decoder(limits);
    feed(decoder, frame("room", "0123456789"));
    EXPECT_TRUE(decoder.is_complete());
}

TEST(PairingDecoder, AllocatesOnlyForReceivedBytes) {
    request_decoder decoder({.name = 4, .body = 0xFFFFFFFF});
    feed(decoder, head(1, 4, 0xFFFFFFFF) + "room");
    std::size_t arrived = 0;
    while (arrived < std::size_t{1} << 20U) {
        arrived += feed(decoder, std::string(1000, 'x'));
        EXPECT_EQ(decoder.body().size(), arrived);
        EXPECT_LE(decoder.body().capacity(), 2 * arrived + message::smallest_block);
    }
}

TEST(PairingMessage, AllocatesNoMoreThanAKnownSize) {
    const message small(std::string(100, 'x'));
    EXPECT_EQ(small.capacity(), 100U);
    const message large(std::string(100'000, 'x'));
    EXPECT_EQ(large.capacity(), 100'000U);
}

TEST(PairingMessage, MovesWithoutCopyingBytes) {
    message one(std::string(10'000, 'x'));
    const std::byte* const where = one.blocks().front().data();
    const message other(std::move(one));
    EXPECT_EQ(other.blocks().front().data(), where);
    EXPECT_FALSE(std::is_copy_constructible_v<message>);
    EXPECT_TRUE(std::is_nothrow_move_constructible_v<message>);
}

TEST(PairingMessage, KeepsItsBytesInPlaceWhenItGrows) {
    message grows(std::string(10, 'x'));
    const std::byte* const where = grows.blocks().front().data();
    for (int i = 0; i != 100; ++i) {
        grows.commit(grows.space(10'000).size());
    }
    EXPECT_EQ(grows.blocks().front().data(), where);
}

} // namespace
