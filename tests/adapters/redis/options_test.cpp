// SPDX-License-Identifier: MIT
#include <tryst/redis/options.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace tryst::test {
namespace {

using redis::address;
using redis::options;
using std::chrono::milliseconds;

TEST(RedisOptions, HaveDefaults) {
    const options read = options::from_url("redis://example.org");
    EXPECT_EQ(read.hosts, std::vector<address>({{.host = "example.org", .port = 6379}}));
    EXPECT_EQ(read.user, "");
    EXPECT_EQ(read.password, "");
    EXPECT_EQ(read.database, 0u);
    EXPECT_FALSE(read.tls.enabled);
    EXPECT_TRUE(read.tls.verify);
    EXPECT_EQ(read.connect_timeout, milliseconds(2000));
    EXPECT_EQ(read.request_timeout, milliseconds(2000));
    EXPECT_EQ(read.backoff_min, milliseconds(50));
    EXPECT_EQ(read.backoff_max, milliseconds(2000));
    EXPECT_EQ(read.key_prefix, "tryst");
    EXPECT_EQ(read.published_item, 4096u);
    EXPECT_EQ(options().hosts, std::vector<address>({{.host = "localhost", .port = 6379}}));
}

TEST(RedisOptions, ReadEveryPartOfAUrl) {
    const options read =
        options::from_url("redis://ada:secret@example.org:1234/5?connect_timeout=1s&"
                          "request_timeout=250ms&backoff_min=5ms&backoff_max=7s&prefix=a%26b&"
                          "lease=100ms&max_item=5000000000&published_item=0");
    EXPECT_EQ(read.hosts, std::vector<address>({{.host = "example.org", .port = 1234}}));
    EXPECT_EQ(read.user, "ada");
    EXPECT_EQ(read.password, "secret");
    EXPECT_EQ(read.database, 5u);
    EXPECT_EQ(read.connect_timeout, milliseconds(1000));
    EXPECT_EQ(read.request_timeout, milliseconds(250));
    EXPECT_EQ(read.backoff_min, milliseconds(5));
    EXPECT_EQ(read.backoff_max, milliseconds(7000));
    EXPECT_EQ(read.key_prefix, "a&b");
    EXPECT_EQ(read.lease, milliseconds(100));
    EXPECT_EQ(read.max_item, 5'000'000'000U);
    EXPECT_EQ(read.published_item, 0u);
}

TEST(RedisOptions, ReadOneTimeoutForBoth) {
    const options read = options::from_url("redis://a?timeout=3s");
    EXPECT_EQ(read.connect_timeout, milliseconds(3000));
    EXPECT_EQ(read.request_timeout, milliseconds(3000));
}

TEST(RedisOptions, ReadSeveralHosts) {
    const options read = options::from_url("redis://a,b:1,[::1],[fe80::1]:2/");
    EXPECT_EQ(read.hosts, std::vector<address>({{.host = "a"},
                                                {.host = "b", .port = 1},
                                                {.host = "::1"},
                                                {.host = "fe80::1", .port = 2}}));
}

TEST(RedisOptions, DecodeUserAndPassword) {
    const options read = options::from_url("redis://a%3Ab:p%40%2f%25:@c");
    EXPECT_EQ(read.user, "a:b");
    EXPECT_EQ(read.password, "p@/%:");
    EXPECT_EQ(options::from_url("redis://:secret@a").user, "");
    EXPECT_EQ(options::from_url("redis://:secret@a").password, "secret");
}

TEST(RedisOptions, ReadAUnixSocket) {
    const options read = options::from_url("unix://:secret@/run/a%20b.sock?db=2");
    EXPECT_EQ(read.hosts, std::vector<address>({{.path = "/run/a b.sock"}}));
    EXPECT_EQ(read.password, "secret");
    EXPECT_EQ(read.database, 2u);
}

TEST(RedisOptions, ReadTheSettingsOfTls) {
    const options read = options::from_url(
        "rediss://a?ca_file=/ca.pem&cert_file=/c.pem&key_file=/k.pem&verify=false&server_name=b");
    EXPECT_TRUE(read.tls.enabled);
    EXPECT_EQ(read.tls.ca_file, "/ca.pem");
    EXPECT_EQ(read.tls.cert_file, "/c.pem");
    EXPECT_EQ(read.tls.key_file, "/k.pem");
    EXPECT_FALSE(read.tls.verify);
    EXPECT_EQ(read.tls.server_name, "b");
}

TEST(RedisAddress, IsWrittenAsInAUrl) {
    EXPECT_EQ((address{.host = "a", .port = 1}).text(), "a:1");
    EXPECT_EQ((address{.host = "::1", .port = 2}).text(), "[::1]:2");
    EXPECT_EQ((address{.path = "/run/redis.sock"}).text(), "/run/redis.sock");
}

/// Why the URL is refused; empty if it is not.
std::string refusal_of(const std::string& url) {
    try {
        options::from_url(url);
        return {};
    } catch (const std::invalid_argument& error) {
        return error.what();
    }
}

TEST(RedisOptions, NameTheWrongPartOfAUrl) {
    const std::pair<const char*, const char*> cases[] = {
        {"", "scheme is not"},
        {"http://a", "scheme is not"},
        {"redis:a", "scheme is not"},
        {"redis://", "host is empty"},
        {"redis://a,,b", "host is empty"},
        {"redis://:1", "host is empty"},
        {"redis://[]", "host is empty"},
        {"redis://a%00b", "host contains a zero byte"},
        {"redis://[::1", "host begins with '['"},
        {"redis://[::1]x", "host has more after ']'"},
        {"redis://::1", "host has several ':'"},
        {"redis://a,", "host is empty"},
        {"redis://fe80::1", "host has several ':'"},
        {"redis://a:", "port is not"},
        {"redis://a:0", "port is not"},
        {"redis://a:65536", "port is not"},
        {"redis://a:12x", "port is not"},
        {"redis://@a", "password is empty"},
        {"redis://a/x", "database is not"},
        {"redis://a/-1", "database is not"},
        {"redis://a/3000000000", "database is not"},
        {"redis://a%4", "host has a '%'"},
        {"redis://a%zz", "host has a '%'"},
        {"redis://a%+1", "host has a '%'"},
        {"redis://a#b", "last part contains '#'"},
        {"redis://a?color=red", "parameter \"color\" is unknown"},
        {"redis://a?verify=true", "parameter \"verify\" is unknown, or needs rediss://"},
        {"rediss://a?verify=1", "verify is neither"},
        {"redis://a?timeout=5", "timeout has no unit"},
        {"redis://a?timeout=xs", "timeout is not a duration"},
        {"redis://a?timeout=0s", "timeout is not a duration"},
        {"redis://a?timeout=-1s", "timeout is not a duration"},
        {"redis://a?timeout=9223372036854775807s", "timeout is not a duration"},
        {"redis://a?backoff_min=3s", "backoff_min is longer"},
        {"unix://", "path is missing"},
        {"unix:///", "path is missing"},
        {"unix://a/b", "path is missing or not absolute"},
        {"unix:///a?db=x", "database is not"},
        {"redis://a?lease=99ms", "lease"},
        {"redis://a?lease=1", "lease"},
        {"redis://a?lease=-1s", "lease"},
        {"redis://a?max_item=0", "max_item"},
        {"redis://a?max_item=-1", "max_item"},
        {"redis://a?max_item=1k", "max_item"},
        {"redis://a?max_item=", "max_item"},
        {"redis://a?published_item=-1", "published_item"},
    };
    for (const auto& [url, problem] : cases) {
        const std::string refusal = refusal_of(url);
        EXPECT_NE(refusal.find("the Redis URL's " + std::string(problem)), refusal.npos)
            << url << ": " << refusal;
    }
}

TEST(RedisOptions, NeverShowAPassword) {
    for (const char* const url : {
             "redis://:sec/ret@a",
             "redis://:sec?ret@a",
             "redis://:sec#ret@a",
             "redis://:sec@ret@a",
             "redis://:sec%ret@a",
             "redis://ada:secret@",
             "redis://ada:secret@:x",
             "redis://ada:secret@a:x",
             "redis://ada:secret@a/x",
             "redis://ada:secret@a?sec=1&timeout=1",
             "redis://ada:secret",
             "redis://:secret",
             "rediss:ada:secret@a",
             "secret",
             "redis://ada:secret@a?lease=1",
             "redis://ada:secret@a?max_item=0",
         }) {
        const std::string refusal = refusal_of(url);
        EXPECT_NE(refusal, "") << url;
        EXPECT_EQ(refusal.find("secret"), refusal.npos) << refusal;
        EXPECT_EQ(refusal.find("ret@"), refusal.npos) << refusal;
    }
}

} // namespace
} // namespace tryst::test
