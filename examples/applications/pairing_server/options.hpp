// SPDX-License-Identifier: MIT
/// @file
/// The server's options, with their defaults.
#pragma once

#include "protocol.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace pairing {

struct options {
    using milliseconds = std::chrono::milliseconds;

    std::string address = "127.0.0.1";
    std::uint16_t port = 0; ///< 0: any free port.
    std::string admin_address = "127.0.0.1";
    std::optional<std::uint16_t> admin_port; ///< nullopt: do not listen; 0: any free port.
    std::size_t threads = 1;
    bool red_blue = false; ///< Whether to pair clients that ask only with clients that answer.
    std::string redis; ///< The URL of the Redis server; empty: this server has its rooms alone.

    milliseconds wait_time{300'000}; ///< How long a client may wait for a partner.
    milliseconds receive_time{10'000}; ///< How long a whole request may take.
    milliseconds send_time{10'000}; ///< How long a whole reply may take, including the hang-up.

    frame_limits frame;
    std::size_t max_rooms = 10'000;
    std::size_t max_waiting = 10'000;
    std::size_t max_waiting_per_room = 10'000;
    std::size_t max_connections = 12'000;
    std::size_t max_connections_per_address = 12'000;
};

} // namespace pairing
