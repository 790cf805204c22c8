// SPDX-License-Identifier: MIT
/// @file
/// Addresses as people think of them.
#pragma once

#include <asio/ip/address.hpp>

namespace pairing {

/// An IPv4 client of a socket that listens for IPv6, too, has an address of IPv6, with its own in it: this is
/// its own.
inline asio::ip::address plain(const asio::ip::address& address) {
    if (address.is_v6() && address.to_v6().is_v4_mapped()) {
        return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
    }
    return address;
}

} // namespace pairing
