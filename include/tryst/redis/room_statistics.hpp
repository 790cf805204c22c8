// SPDX-License-Identifier: MIT
/// @file
/// The state of a room over all processes.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/redis/detail/net.hpp>

#include <cstddef>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// The state of a room over all processes, as `statistics()` reports it.
struct room_statistics {
    std::size_t waiting = 0; ///< Parties that wait in Redis; of red and blue parties, the red ones.
    std::size_t waiting_blue = 0; ///< Blue parties, or receivers, that wait in Redis.
    std::size_t processes = 0; ///< Processes that have a lease.
    std::size_t exchanges = 0; ///< Pairs that have met in Redis.
};

/// @}
TRYST_REDIS_END
