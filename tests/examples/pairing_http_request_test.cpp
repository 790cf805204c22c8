// SPDX-License-Identifier: MIT
#include "pairing_server/http_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace {

using namespace pairing;

/// Decodes the bytes, in pieces of that size.
http_request_decoder decoded(std::string_view bytes, std::size_t piece) {
    http_request_decoder decoder;
    while (!bytes.empty() && !decoder.space().empty()) {
        const auto space = decoder.space();
        const std::size_t count = std::min({piece, space.size(), bytes.size()});
        std::ranges::copy(bytes.substr(0, count), space.begin());
        decoder.commit(count);
        bytes.remove_prefix(count);
    }
    return decoder;
}

/// The path, or the status of the refusal.
std::string outcome_of(std::string_view bytes, std::size_t piece = 1000) {
    const auto decoder = decoded(bytes, piece);
    if (decoder.request()) {
        return (decoder.request()->is_head ? "HEAD " : "GET ") + decoder.request()->path;
    }
    return decoder.refusal() ? std::to_string(static_cast<int>(*decoder.refusal())) : "incomplete";
}

TEST(PairingHttpRequest, IsTheSameInPiecesOfAnySize) {
    const std::string_view bytes = "GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        EXPECT_EQ(outcome_of(bytes, piece), "GET /metrics") << piece;
        EXPECT_EQ(outcome_of(bytes.substr(0, bytes.size() - 1), piece), "incomplete") << piece;
    }
}

TEST(PairingHttpRequest, MayBeOfAnyVersionOneAndNameItsHost) {
    EXPECT_EQ(outcome_of("GET / HTTP/1.0\r\n\r\n"), "GET /");
    EXPECT_EQ(outcome_of("HEAD /a HTTP/1.1\r\nhOsT: \r\n\r\n"), "HEAD /a");
    EXPECT_EQ(outcome_of("GET http://b:1/a?c HTTP/1.1\r\nHost: b\r\n\r\n"), "GET /a");
    EXPECT_EQ(outcome_of("GET http://b HTTP/1.1\r\nHost: b\r\n\r\n"), "GET /");
}

TEST(PairingHttpRequest, IgnoresWhatFollowsTheHead) {
    EXPECT_EQ(outcome_of("GET /a HTTP/1.0\r\n\r\nGET /b HTTP/1.0\r\n\r\n"), "GET /a");
    EXPECT_EQ(outcome_of("GET /a HTTP/1.0\r\nContent-Length: 3\r\n\r\nabc"), "GET /a");
}

TEST(PairingHttpRequest, IsRefusedIfItIsMalformed) {
    for (const std::string_view bytes : {
             "\r\n\r\n\r\n\r\n", "GET /\r\n\r\n", "GET / HTTP/2.0\r\n\r\n",
             "GET  / HTTP/1.0\r\n\r\n",
             "GET / HTTP/1.1\r\n\r\n", // without Host
             "GET / HTTP/1.0\r\nno colon\r\n\r\n", "GET / HTTP/1.0\r\nContent-Length: -1\r\n\r\n",
             "\x16\x03\x01\x02\r\n\r\n", // TLS
         }) {
        EXPECT_EQ(outcome_of(bytes), "400") << bytes;
    }
}

TEST(PairingHttpRequest, IsRefusedIfTheMethodWouldChangeSomething) {
    EXPECT_EQ(outcome_of("POST /metrics HTTP/1.0\r\nContent-Length: 9999999\r\n\r\n"), "405");
    EXPECT_EQ(outcome_of("NONSENSE /metrics HTTP/1.0\r\n\r\n"), "405");
}

TEST(PairingHttpRequest, IsRefusedIfItsHeadIsTooLarge) {
    const std::string start = "GET / HTTP/1.0\r\nX: ";
    const auto with_head_of = [&](std::size_t size) {
        return start + std::string(size - start.size() - 4, 'x') + "\r\n\r\n";
    };
    EXPECT_EQ(outcome_of(with_head_of(http_request_decoder::largest_head)), "GET /");
    EXPECT_EQ(outcome_of(with_head_of(http_request_decoder::largest_head + 1)), "431");
    EXPECT_EQ(outcome_of(std::string(100'000, '\0')), "431");
}

} // namespace
