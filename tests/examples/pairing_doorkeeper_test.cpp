// SPDX-License-Identifier: MIT
#include "pairing_server/doorkeeper.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

using namespace pairing;

asio::ip::address address(const std::string& text) {
    return asio::ip::make_address(text);
}

/// Whether two clients, one of each address, are too many for one.
bool count_as_one(const std::string& one, const std::string& other) {
    doorkeeper door(10, 1);
    const auto first = door.admit(address(one));
    EXPECT_TRUE(first);
    return !door.admit(address(other));
}

TEST(PairingDoorkeeper, LetsInAsManyAsThereMayBeInAll) {
    doorkeeper door(2, 2);
    auto first = door.admit(address("192.0.2.1"));
    const auto second = door.admit(address("192.0.2.2"));
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(door.admit(address("192.0.2.3")));
    first.reset();
    EXPECT_TRUE(door.admit(address("192.0.2.3")));
}

TEST(PairingDoorkeeper, LetsInAsManyOfOneAddressAsThereMayBe) {
    doorkeeper door(10, 2);
    auto first = door.admit(address("192.0.2.1"));
    const auto second = door.admit(address("192.0.2.1"));
    EXPECT_TRUE(first && second);
    EXPECT_FALSE(door.admit(address("192.0.2.1")));
    EXPECT_TRUE(door.admit(address("192.0.2.2")));
    first.reset();
    EXPECT_TRUE(door.admit(address("192.0.2.1")));
}

TEST(PairingDoorkeeper, WhoIsTurnedAwayTakesNoPlace) {
    doorkeeper door(10, 1);
    auto first = door.admit(address("192.0.2.1"));
    for (int i = 0; i != 20; ++i) {
        EXPECT_FALSE(door.admit(address("192.0.2.1")));
    }
    first.reset();
    EXPECT_TRUE(door.admit(address("192.0.2.1")));
}

TEST(PairingDoorkeeper, TellsAddressesOfIpv4Apart) {
    EXPECT_TRUE(count_as_one("192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(count_as_one("192.0.2.1", "192.0.2.2"));
}

TEST(PairingDoorkeeper, TakesANetworkOfIpv6ForOne) {
    EXPECT_TRUE(count_as_one("2001:db8:1:2::1", "2001:db8:1:2:ffff:ffff:ffff:ffff"));
    EXPECT_FALSE(count_as_one("2001:db8:1:2::1", "2001:db8:1:3::1"));
    EXPECT_TRUE(count_as_one("::1", "::1"));
}

TEST(PairingDoorkeeper, TellsNeighboursOnALinkApart) {
    EXPECT_TRUE(count_as_one("fe80::1%1", "fe80::1%1"));
    EXPECT_FALSE(count_as_one("fe80::1%1", "fe80::2%1"));
}

TEST(PairingDoorkeeper, KnowsIpv4BehindIpv6) {
    EXPECT_TRUE(count_as_one("::ffff:192.0.2.1", "192.0.2.1"));
    EXPECT_FALSE(count_as_one("::ffff:192.0.2.1", "::ffff:192.0.2.2"));
    EXPECT_TRUE(plain(address("::ffff:127.0.0.1")).is_loopback());
    EXPECT_EQ(plain(address("::1")), address("::1"));
}

} // namespace
