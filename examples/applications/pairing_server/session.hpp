// SPDX-License-Identifier: MIT
/// @file
/// One client, from its first byte to its last. A session runs on one thread; only its exchange
/// involves other threads.
#pragma once

#include "asio_helpers.hpp"
#include "message.hpp"
#include "metrics.hpp"
#include "options.hpp"
#include "protocol.hpp"
#include "room.hpp"
#include "rooms.hpp"
#include "statistics.hpp"

#include <memory>
#include <optional>
#include <string>

namespace pairing {

/// The state that all sessions share.
struct shared_state {
    explicit shared_state(const options& chosen)
        : settings(chosen), place(chosen.redis.empty() ? make_local_place(chosen.red_blue)
                                                       : make_redis_place(chosen)),
          all_rooms(chosen, *place) {}

    /// The line of statistics.
    std::string report() const;

    /// Why the server cannot pair new clients now; empty if it can.
    std::string unready_reason() const;

    /// For monitoring.
    metrics measure() const;

    const options settings;
    const std::unique_ptr<meeting_place> place;
    rooms all_rooms;
    statistics counters;
};

class session : public std::enable_shared_from_this<session> {
public:
    session(shared_state& shared, tcp::socket socket);

    /// Serves the client, then closes the socket. Never throws.
    awaitable<outcome> run();

    /// Shutdown: if the client is still sending its request, it gets the status `closed`.
    void interrupt();

private:
    struct reply {
        outcome status;
        message body;
    };

    /// Ends the wait if the client hangs up or sends another byte.
    class disconnection_watch {
    public:
        disconnection_watch(session& whose, rooms::wait& ends);
        disconnection_watch(const disconnection_watch&) = delete;
        disconnection_watch& operator=(const disconnection_watch&) = delete;
        ~disconnection_watch();

    private:
        session& session_;
    };

    awaitable<reply> serve();
    awaitable<reply> serve_or_fail();
    awaitable<bool> receive(request_decoder& decoder);
    awaitable<reply> respond(request incoming);
    reply administer(const request& incoming);
    awaitable<reply> exchange(request incoming);
    awaitable<bool> send(reply result);
    awaitable<bool> deliver(const reply& result, bool& sent);

    static reply refusal(outcome why) { return {why, message(explanation_of(why))}; }
    static reply refusal(outcome why, const std::string& reason);
    static reply reply_to(meeting ended, const rooms::withdrawal& withdrawn);
    bool is_local() const;

    shared_state& shared_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    bool receiving_ = false;

    // Used while the client waits for a partner.
    rooms::wait* waiting_ = nullptr; ///< See `disconnection_watch`.
    char unexpected_ = 0;
};

} // namespace pairing
