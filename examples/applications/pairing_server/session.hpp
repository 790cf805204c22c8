// SPDX-License-Identifier: MIT
/// @file
/// One client, from its first byte to its last. A session runs on one thread; only its exchange
/// involves other threads.
#pragma once

#include "asio_helpers.hpp"
#include "message.hpp"
#include "options.hpp"
#include "protocol.hpp"
#include "rooms.hpp"
#include "statistics.hpp"

#include <tryst/synchronous_channel.hpp>

#include <memory>
#include <stop_token>
#include <system_error>

namespace pairing {

/// The state that all sessions share.
struct shared_state {
    explicit shared_state(const options& chosen) : settings(chosen), all_rooms(chosen) {}

    const options settings;
    rooms all_rooms;
    tryst::synchronous_channel<message> notices; ///< From the administrator to waiting clients.
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

    awaitable<reply> serve();
    awaitable<reply> serve_or_fail();
    awaitable<bool> receive(request_decoder& decoder);
    awaitable<reply> respond(request incoming);
    awaitable<reply> exchange(request incoming);
    template <class Exchange>
    awaitable<reply> wait_for(Exchange&& partner);
    awaitable<bool> send(reply result);
    awaitable<bool> deliver(const reply& result, bool& sent);

    static reply refusal(outcome why) { return {why, message(explanation_of(why))}; }
    reply refusal(std::error_code why) const;
    bool is_local() const;
    reply report() const;
    void notify_all(const message& notice);
    void watch_for_disconnect();

    shared_state& shared_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    bool receiving_ = false;

    // Used while the client waits for a partner.
    std::stop_source withdrawal_;
    outcome why_withdrawn_ = outcome::disconnected;
    char unexpected_ = 0;
};

} // namespace pairing
