// SPDX-License-Identifier: MIT
#include "pairing_server/connection_limiter.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace pairing;

asio::ip::address address(const std::string& text) {
    return asio::ip::make_address(text);
}

/// Whether connections from the two addresses share one limit.
bool count_as_one(const std::string& one, const std::string& other) {
    connection_limiter limiter(10, 1);
    const auto first = limiter.try_acquire(address(one));
    EXPECT_TRUE(first);
    return !limiter.try_acquire(address(other));
}

TEST(PairingConnectionLimiter, LimitsTheTotal) {
    connection_limiter limiter(2, 2);
    auto first = limiter.try_acquire(address("192.0.2.1"));
    const auto second = limiter.try_acquire(address("192.0.2.2"));
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(limiter.try_acquire(address("192.0.2.3")));
    first.reset();
    EXPECT_TRUE(limiter.try_acquire(address("192.0.2.3")));
}

TEST(PairingConnectionLimiter, LimitsEachAddress) {
    connection_limiter limiter(10, 2);
    auto first = limiter.try_acquire(address("192.0.2.1"));
    const auto second = limiter.try_acquire(address("192.0.2.1"));
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(limiter.try_acquire(address("192.0.2.1")));
    EXPECT_TRUE(limiter.try_acquire(address("192.0.2.2")));
    first.reset();
    EXPECT_TRUE(limiter.try_acquire(address("192.0.2.1")));
}

TEST(PairingConnectionLimiter, RejectedConnectionsDoNotCount) {
    connection_limiter limiter(10, 1);
    auto first = limiter.try_acquire(address("192.0.2.1"));
    for (int i = 0; i != 20; ++i) {
        EXPECT_FALSE(limiter.try_acquire(address("192.0.2.1")));
    }
    first.reset();
    EXPECT_TRUE(limiter.try_acquire(address("192.0.2.1")));
}

TEST(PairingConnectionLimiter, DistinguishesIpv4Addresses) {
    EXPECT_TRUE(count_as_one("192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(count_as_one("192.0.2.1", "192.0.2.2"));
}

TEST(PairingConnectionLimiter, CountsAnIpv6NetworkAsOneAddress) {
    EXPECT_TRUE(count_as_one("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"));
    EXPECT_FALSE(count_as_one("2001:db8:1:2::1", "2001:db8:1:3::1"));
    EXPECT_TRUE(count_as_one("::1", "::1"));
}

TEST(PairingConnectionLimiter, DistinguishesLinkLocalAddresses) {
    EXPECT_TRUE(count_as_one("fe80::1%1", "fe80::1%1"));
    EXPECT_FALSE(count_as_one("fe80::1%1", "fe80::2%1"));
}

TEST(PairingConnectionLimiter, RecognisesIpv4MappedAddresses) {
    EXPECT_TRUE(count_as_one("::ffff:192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(count_as_one("::ffff:192.0.2.1", "::ffff:192.0.2.2"));
    EXPECT_TRUE(unmapped(address("::ffff:127.0.0.1")).is_loopback());
    EXPECT_EQ(unmapped(address("::1")), address("::1"));
}

} // namespace
