// SPDX-License-Identifier: MIT
/// @file
/// One client, from its first byte to its last. A session belongs to one thread; only the exchange reaches
/// over to others.
#pragma once

#include "asio_words.hpp"
#include "message.hpp"
#include "options.hpp"
#include "protocol.hpp"
#include "rooms.hpp"
#include "statistics.hpp"

#include <asio/cancellation_signal.hpp>

#include <memory>
#include <system_error>
#include <tuple>

namespace pairing {

/// What all sessions share.
struct house {
    explicit house(const options& chosen) : settings(chosen), meetings(chosen) {}

    const options settings;
    rooms meetings;
    statistics visits;
};

class session : public std::enable_shared_from_this<session> {
public:
    session(house& shared, tcp::socket socket);

    /// Serves the client, then closes the socket. Never throws.
    /// @returns how it ended.
    awaitable<outcome> run();

    /// The server shuts down: a client that is still sending its request is told so.
    void interrupt();

private:
    struct reply {
        outcome status;
        message body;
    };

    awaitable<reply> serve();
    awaitable<reply> serve_or_fail();
    awaitable<bool> receive(request_decoder& decoder);
    awaitable<reply> answer(request asked);
    awaitable<reply> exchange(request asked);
    awaitable<std::tuple<asio::error_code, message>> wait(const rooms::guest& at, request asked);
    awaitable<bool> send(reply what);
    awaitable<bool> deliver(const reply& what, bool& sent);

    static reply refusal(outcome why) { return {why, message(explanation_of(why))}; }
    reply refusal(std::error_code why) const;
    reply report() const;
    void watch();

    house& house_;
    tcp::socket socket_;
    asio::steady_timer timer_;
    bool receiving_ = false;

    // While it waits for a partner.
    asio::cancellation_signal withdrawal_;
    outcome why_withdrawn_ = outcome::disconnected;
    char unexpected_ = 0;
};

} // namespace pairing
