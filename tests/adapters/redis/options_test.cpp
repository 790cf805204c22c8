// SPDX-License-Identifier: MIT
#include <tryst/redis/options.hpp>

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace tryst::test {
namespace {

using redis::address;
using redis::options;
using std::chrono::milliseconds;

/// All options, in the order of their declaration.
std::string listed(const options& all) {
    std::ostringstream text;
    for (const address& each : all.hosts) {
        text << each.text() << ' ';
    }
    text << "user=" << all.user << " password=" << all.password << " db=" << all.database;
    if (all.tls.enabled) {
        text << " ca=" << all.tls.ca_file << " cert=" << all.tls.cert_file
             << " key=" << all.tls.key_file << " verify=" << all.tls.verify
             << " name=" << all.tls.server_name;
    }
    for (const milliseconds each :
         {all.connect_timeout, all.request_timeout, all.backoff_min, all.backoff_max, all.lease}) {
        text << ' ' << each.count();
    }
    text << ' ' << all.key_prefix << ' ' << all.max_item << ' ' << all.published_item;
    return text.str();
}

TEST(RedisOptions, AreReadFromAUrl) {
    const std::string rest = " 2000 2000 50 2000 10000 tryst 1048576 4096"; // the defaults
    const std::string nobody = " user= password= db=0";
    const std::pair<const char*, std::string> cases[] = {
        {"redis://example.org", "example.org:6379" + nobody + rest},
        {"redis://ada:secret@example.org:1234/5?connect_timeout=1s&request_timeout=250ms&"
         "backoff_min=5ms&backoff_max=7s&prefix=a%26b&lease=100ms&max_item=5000000000&"
         "published_item=0",
         "example.org:1234 user=ada password=secret db=5 1000 250 5 7000 100 a&b 5000000000 0"},
        {"redis://a?timeout=3s", // is that of connecting and of requests
         "a:6379" + nobody + " 3000 3000 50 2000 10000 tryst 1048576 4096"},
        {"redis://a,b:1,[::1],[fe80::1]:2/", "a:6379 b:1 [::1]:6379 [fe80::1]:2" + nobody + rest},
        {"redis://a%3Ab:p%40%2f%25:@c", "c:6379 user=a:b password=p@/%: db=0" + rest},
        {"redis://:secret@a", "a:6379 user= password=secret db=0" + rest},
        {"unix://:secret@/run/a%20b.sock?db=2", "/run/a b.sock user= password=secret db=2" + rest},
        {"rediss://a?ca_file=/ca.pem&cert_file=/c.pem&key_file=/k.pem&verify=false&server_name=b",
         "a:6379" + nobody + " ca=/ca.pem cert=/c.pem key=/k.pem verify=0 name=b" + rest},
        {"rediss://a", "a:6379" + nobody + " ca= cert= key= verify=1 name=" + rest},
    };
    for (const auto& [url, expected] : cases) {
        EXPECT_EQ(listed(options::from_url(url)), expected);
    }
    EXPECT_EQ(listed(options()), "localhost:6379" + nobody + rest);
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
