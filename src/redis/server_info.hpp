// SPDX-License-Identifier: MIT
/// @file
/// What a Redis server says of itself.
/// Standard library only.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <string>
#include <string_view>

TRYST_REDIS_BEGIN
namespace detail {

/// Some of the replies to INFO.
struct server_info {
    std::string version; ///< "7.0.15", for instance.
    std::string mode; ///< "standalone", "cluster" or "sentinel".
    std::string run_id; ///< Changes at every start of the server.
    std::string role; ///< "master" or "slave".
    std::string master; ///< If the server is a replica: "host:port" of its master.

    /// Reads the reply to one INFO command, and keeps what earlier ones said.
    void read(std::string_view text);

    /// @returns why this server cannot be used; empty if it can.
    std::string problem() const;
};

} // namespace detail
TRYST_REDIS_END
