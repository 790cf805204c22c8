// SPDX-License-Identifier: MIT
/// @file
/// One client, from its first byte to its last. A session runs on one thread; only its exchange
/// involves other threads.
#pragma once

#include "asio_helpers.hpp"
#include "protocol.hpp"
#include "shared_state.hpp"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace pairing {

class session : public std::enable_shared_from_this<session> {
public:
    session(shared_state& shared, client_socket socket)
        : shared_(shared), socket_(std::move(socket)), timer_(socket_.get_executor()) {}

    /// Serves the client, then closes the socket. Never throws.
    awaitable<outcome> run();

    /// The server is shutting down: if the client is still sending its request or waits for a
    /// partner, it gets the status `closed`.
    void interrupt();

private:
    awaitable<outcome> receive();
    awaitable<bool> send(outcome status);
    awaitable<bool> deliver(outcome status, bool& sent);
    void watch_for_hang_up();
    void withdraw(outcome why);

    shared_state& shared_;
    client_socket socket_;
    loop_timer timer_; ///< Bounds the request, and later the reply.
    bool receiving_ = false;
    request_kind kind_ = request_kind::exchange;
    char unexpected_ = 0; ///< A byte after the request.
    std::optional<outcome> withdrawn_; ///< Why the wait was ended.
    std::stop_source stop_; ///< Ends the wait.
    std::string room_;
    std::string body_; ///< At first the client's message, then the body of its reply.
};

} // namespace pairing
