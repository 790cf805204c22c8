// SPDX-License-Identifier: MIT
/// @file
/// Answers the HTTP requests of an administrator: /metrics, /livez and /readyz.
#pragma once

#include "asio_helpers.hpp"
#include "http_request.hpp"
#include "loop_monitor.hpp"
#include "options.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace pairing {

/// What the pages show. Called on the thread of the `admin_server`.
struct admin_sources {
    std::function<std::string()> metrics;
    std::function<std::string()> unready_reason; ///< Empty if the server is ready.
};

/// Has a thread and a loop of its own, so that a stuck loop of the server cannot stop it, and its
/// clients cannot slow down those of the server. Each connection is for one request.
class admin_server {
public:
    static constexpr std::size_t max_connections = 16;
    /// One for each connection, and some for one that is rejected, a client that is accepted last,
    /// and a connection to Redis.
    static constexpr std::size_t reserved_descriptors = max_connections + 4;
    static constexpr std::chrono::milliseconds receive_time{5'000}; ///< For the whole request.
    static constexpr std::chrono::milliseconds send_time{5'000}; ///< Including the hang-up.
    static constexpr std::chrono::milliseconds loop_patience{2'000}; ///< Until a loop is stuck.

    /// Listens, but does not accept connections yet.
    /// @throws std::system_error if it cannot listen.
    admin_server(const options& chosen, std::vector<asio::io_context*> watched,
                 admin_sources sources);
    admin_server(const admin_server&) = delete;
    admin_server& operator=(const admin_server&) = delete;
    /// Disconnects all clients. The watched loops must not run any more.
    ~admin_server();

    tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    /// Starts the thread.
    void start();

private:
    struct reply {
        http_status status;
        std::string body;
        bool is_head = false;
    };

    awaitable<void> accept_connections();
    awaitable<void> serve(tcp::socket socket);
    awaitable<reply> answer(tcp::socket& socket, asio::steady_timer& timer);
    awaitable<reply> answer(const http_request& incoming);
    static std::string encode(const reply& result);

    asio::io_context loop_{1};
    tcp::acceptor acceptor_;
    loop_monitor monitor_;
    admin_sources sources_;
    std::size_t connections_ = 0;
    std::jthread thread_;
};

} // namespace pairing
