// SPDX-License-Identifier: MIT
/// @file
/// The server's options, with their defaults.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace pairing {

struct options {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0; ///< 0: any free port.
    std::string admin_address = "127.0.0.1";
    std::optional<std::uint16_t> admin_port; ///< nullopt: do not listen; 0: any free port.
    std::size_t threads = 1;
    bool red_blue = false; ///< Whether to pair clients that ask only with clients that answer.
    std::string redis; ///< The URL of the Redis server; empty: this server has its rooms alone.

    std::chrono::milliseconds wait_time{300'000}; ///< How long a client may wait for a partner.
    std::chrono::milliseconds receive_time{10'000}; ///< How long a whole request may take.
    std::chrono::milliseconds send_time{10'000}; ///< The same for a reply and the hang-up.

    std::size_t max_message = std::size_t{1} << 20U;
    std::size_t max_room_name = 64; ///< At most 255: the size is one byte on the wire.
    std::size_t max_connections = 12'000;
};

} // namespace pairing
