// SPDX-License-Identifier: MIT
// The parser of replies, alone and behind servers that mean no good.
#include "redis/resp.hpp"

#include "adapters/redis/connected_client.hpp"
#include "adapters/redis/fake_server.hpp"

#include <gtest/gtest.h>

#include <random>

namespace tryst::test {
namespace {

using redis::detail::reply;
using redis::detail::reply_reader;

constexpr std::size_t max_string = std::size_t{1} << 20;

/// Adds `bytes` in pieces of `piece` bytes. @returns the replies as texts, and the error.
std::string read_all(reply_reader& reader, std::string_view bytes, std::size_t piece) {
    std::string all;
    while (!bytes.empty() && reader.error().empty()) {
        const std::span<char> space = reader.space();
        const std::size_t count = std::min({piece, space.size(), bytes.size()});
        bytes.copy(space.data(), count);
        bytes.remove_prefix(count);
        reader.add(count);
        while (const reply* const next = reader.next()) {
            all += next->type + std::to_string(next->integer) + text_of(*next) + ';';
        }
    }
    return all + reader.error();
}

std::string read_all(std::string_view bytes, std::size_t piece = 1,
                     std::size_t longest = max_string) {
    reply_reader reader(longest);
    return read_all(reader, bytes, piece);
}

TEST(RedisReplies, OfEachTypeAreReadInPiecesOfAnySize) {
    const std::string_view input =
        "+OK\r\n-ERR no\r\n:-7\r\n$5\r\na\r\nbc\r\n$0\r\n\r\n$-1\r\n*-1\r\n"
        "_\r\n#t\r\n#f\r\n,1.5\r\n(123\r\n!2\r\nno\r\n=6\r\ntxt:ab\r\n"
        "*0\r\n*2\r\n*1\r\n+a\r\n*2\r\n:1\r\n_\r\n%1\r\n+k\r\n+v\r\n~1\r\n+a\r\n"
        ">2\r\n+message\r\n$1\r\nx\r\n";
    const std::string expected =
        "+0OK;-0ERR no;:-7-7;$0a\r\nbc;$0;_0;_0;_0;#1t;#0f;,01.5;(0123;!0no;"
        "=0ab;*0;*0a  1   ;%0k v ;~0a ;>0message x ;";
    for (std::size_t piece = 1; piece <= input.size(); ++piece) {
        EXPECT_EQ(read_all(input, piece), expected) << piece;
    }
}

TEST(RedisReplies, MustKeepTheirLimits) {
    const std::pair<std::string, const char*> cases[] = {
        {"*2147483648\r\n", "an array or map of 2147483648; the limit is 4096"},
        {"%2049\r\n", "an array or map of 2049; the limit is 2048"},
        {"$1099511627776\r\n", "a string of 1099511627776; the limit is 1048576"},
        {"$-2\r\n", "a length is malformed"},
        {"*99999999999999999999\r\n", "a length is malformed"},
        {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", "arrays are nested more than 4 deep"},
        {'+' + std::string(70'000, 'x'), "a line is longer than 65536 bytes"},
        {"$1\r\nab\r\n", "a string does not end where its length says"},
        {":x\r\n", "a number or boolean is malformed"},
        {"#x\r\n", "a number or boolean is malformed"},
        {"+a\n", "a line has no type, or does not end with CR LF"},
        {"\r\n", "a line has no type, or does not end with CR LF"},
        {"?\r\n", "a reply begins with '?'"},
        {"\x16\r\n", "a reply begins with byte 22"},
    };
    for (const auto& [input, error] : cases) {
        EXPECT_EQ(read_all(input), error);
    }
    std::string many = "*2\r\n*4000\r\n";
    for (int i = 0; i < 4000; ++i) {
        many += "_\r\n";
    }
    EXPECT_EQ(read_all(many + "*100\r\n", 4096), "a reply has more than 4096 elements");
    const std::string line = '+' + std::string(65'000, 'x') + "\r\n";
    EXPECT_EQ(read_all("*100\r\n" + line + line + line, 4096, 100'000),
              "a reply is longer than 165536 bytes");
    EXPECT_EQ(
        read_all("*2\r\n$100000\r\n" + std::string(100'000, 'x') + "\r\n$70000\r\n", 4096, 100'000),
        "a reply is longer than 165536 bytes");
}

TEST(RedisReplies, TakeTheMemoryOfALargeStringOnceAndGiveItBack) {
    reply_reader reader(max_string);
    const std::string large(max_string, 'x');
    EXPECT_EQ(read_all(reader, "$1048576\r\n", 100), "");
    EXPECT_EQ(reader.space().size(), max_string + 2); // exactly what is missing
    EXPECT_EQ(read_all(reader, large + "\r\n", 1), "$0" + large + ';');
    EXPECT_LE(reader.space().size(), std::size_t{16} << 10);
}

TEST(RedisReplies, MayBeAnyBytes) {
    std::mt19937 random(1);
    const std::string_view likely = "*$%>~:+-_#=!,(0123456789\r\n\r\n\r\n";
    for (int i = 0; i < 20'000; ++i) {
        std::string bytes;
        for (int length = static_cast<int>(random() % 60); length > 0; --length) {
            bytes += random() % 8 ? likely[random() % likely.size()] : static_cast<char>(random());
        }
        reply_reader reader(1000);
        read_all(reader, bytes, 1 + random() % 8);
        ASSERT_LE(reader.space().size(), std::size_t{16} << 10);
    }
}

// ---- The client.

TEST(RedisClientGets, EveryKindOfErrorAndStays) {
    const fake_server server([&](const auto& command) -> std::optional<std::string> {
        return command[0] == "EVALSHA" ? '-' + command.back() + " why\r\n"
                                       : handshake_reply(command);
    });
    ready_client client(patient(server.url()));
    for (const std::string code :
         {"ERR", "NOREPLICAS", "MISCONF", "NOPERM", "BUSY", "CLUSTERDOWN", "TRYAGAIN", "OOM"}) {
        const outcome got = client.call({}, {code}).get();
        EXPECT_EQ(got.what, outcome::kind::refused);
        EXPECT_EQ(got.text, code + " why");
    }
    EXPECT_EQ(client.seen().lost, 0);
}

TEST(RedisClientGets, AFloodOfMessages) {
    std::string flood;
    for (int i = 0; i < 10'000; ++i) {
        flood += ">3\r\n" + bulk("message") + bulk("c") + bulk("x");
    }
    const fake_server server([&](const auto& command) -> std::optional<std::string> {
        return command[0] == "EVALSHA" ? flood + "+done\r\n" : handshake_reply(command);
    });
    ready_client client(patient(server.url()));
    EXPECT_EQ(client.call({}, {}).get().text, "done");
    EXPECT_EQ(client.seen().messages.size(), 10'000u);
}

} // namespace
} // namespace tryst::test
