// SPDX-License-Identifier: MIT
/// @file
/// What can be chosen on the command line of the server.
#pragma once

#include "protocol.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace pairing {

struct options {
    using milliseconds = std::chrono::milliseconds;

    std::string address = "127.0.0.1";
    std::uint16_t port = 0; ///< 0: any that is free.
    std::size_t threads = 1;
    bool red_blue = false; ///< Whether askers meet answerers only.

    milliseconds wait_time{300'000}; ///< For a partner.
    milliseconds receive_time{10'000}; ///< For a whole request.
    milliseconds send_time{10'000}; ///< For a whole reply, until the client has hung up.

    frame_limits frame;
    std::size_t most_rooms = 10'000;
    std::size_t most_waiting = 10'000;
    std::size_t most_waiting_in_one_room = 10'000;
    std::size_t most_connections = 12'000;
    std::size_t most_connections_of_one_address = 12'000;
};

} // namespace pairing
