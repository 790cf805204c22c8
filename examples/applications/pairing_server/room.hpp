// SPDX-License-Identifier: MIT
/// @file
/// What a session needs of a room, and of the place where the rooms are: in this process, or in
/// Redis, where clients of several servers meet.
#pragma once

#include "asio_helpers.hpp"
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

/// Pairs its clients. A room that is destroyed has no client.
class room {
public:
    room() = default;
    room(const room&) = delete;
    room& operator=(const room&) = delete;
    virtual ~room() = default;

    /// Waits for a partner until the patience ends or a stop is requested. If the client is paired
    /// first, a stop has no effect. Precondition: the kind has a side if and only if the room has.
    /// @param text  the client's message. Afterwards the partner's, or more about the error.
    /// @returns a `tryst::exchange_errc`, or success.
    virtual awaitable<std::error_code> meet(request_kind kind, std::string& text,
                                            std::chrono::milliseconds patience,
                                            std::stop_token stop) = 0;
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

    /// Why they cannot be reached.
    virtual std::string problem() const { return {}; }

    /// What has happened in the rooms; nullopt if they do not count it.
    virtual std::optional<tryst::statistics> stats() const { return std::nullopt; }
};

/// Rooms in this process.
std::unique_ptr<meeting_place> make_local_place(bool red_blue);

/// Rooms in the Redis server of `chosen.redis`. Does not wait for the connection.
std::unique_ptr<meeting_place> make_redis_place(const options& chosen);

/// Why the URL does not name a Redis server; empty if it does. Shows no part of the URL.
std::string problem_of_redis_url(const std::string& url);

} // namespace pairing
