// SPDX-License-Identifier: MIT
/// @file
/// IPv4-mapped IPv6 addresses.
#pragma once

#include <asio/ip/address.hpp>

namespace pairing {

/// A socket that listens on IPv6 reports IPv4 clients as ::ffff:192.0.2.1, for example.
/// @returns the IPv4 address of such a client; other addresses unchanged.
inline asio::ip::address unmapped(const asio::ip::address& address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    return address;
}

} // namespace pairing
