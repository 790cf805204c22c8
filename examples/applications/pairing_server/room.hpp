// SPDX-License-Identifier: MIT
/// @file
/// What the server needs of a room, and of the place where the rooms are: in this process, or in
/// Redis, where clients of several servers meet.
#pragma once

#include "asio_helpers.hpp"
#include "message.hpp"
#include "options.hpp"
#include "protocol.hpp"

#include <tryst/statistics.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <system_error>

namespace pairing {

/// How a client's stay in a room ended.
struct meeting {
    std::error_code error; ///< A `tryst::exchange_errc`, or success.
    message received; ///< The partner's message, after success.
    std::string reason; ///< More about the error, in words; may be empty.
};

/// Pairs its clients. A room that is destroyed has no client.
class room {
public:
    room() = default;
    room(const room&) = delete;
    room& operator=(const room&) = delete;
    virtual ~room() = default;

    /// Waits for a partner until the patience ends or a stop is requested. If the client is paired
    /// first, a stop has no effect. Precondition: the request has a side if and only if the room
    /// has.
    virtual awaitable<meeting> meet(request mine, std::chrono::milliseconds patience,
                                    std::stop_token stop) = 0;

    /// Pairs the client only with one that already waits.
    virtual awaitable<meeting> try_to_meet(request mine) = 0;

    /// Ends all stays with `closed`, in all servers that share the room. May be called from any
    /// thread.
    virtual void close() = 0;
};

/// Where the rooms are. Any thread may call any member.
class meeting_place {
public:
    meeting_place() = default;
    meeting_place(const meeting_place&) = delete;
    meeting_place& operator=(const meeting_place&) = delete;
    virtual ~meeting_place() = default;

    virtual std::unique_ptr<room> open(const std::string& name) = 0;

    /// Whether clients of other servers can be reached; nullopt if there are no other servers.
    virtual std::optional<bool> is_connected() const { return std::nullopt; }

    /// What has happened in the rooms; nullopt if they do not count it.
    virtual std::optional<tryst::statistics> stats() const { return std::nullopt; }

    /// Why they cannot be reached.
    virtual std::string problem() const { return {}; }
};

/// Rooms in this process.
std::unique_ptr<meeting_place> make_local_place(bool red_blue);

/// Rooms in the Redis server of `chosen.redis`. Does not wait for the connection.
std::unique_ptr<meeting_place> make_redis_place(const options& chosen);

/// Why the URL does not name a Redis server; empty if it does. Shows no part of the URL.
std::string problem_of_redis_url(const std::string& url);

} // namespace pairing
