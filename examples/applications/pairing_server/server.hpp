// SPDX-License-Identifier: MIT
/// @file
/// The listening socket, the threads, and the signals.
#pragma once

#include "admin_server.hpp"
#include "asio_helpers.hpp"
#include "options.hpp"
#include "session.hpp"
#include "shared_state.hpp"

#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_set>

namespace pairing {

/// SIGTERM and SIGINT drain the server: it accepts no more clients, waiting clients get the status
/// `closed`, and `run` returns when the last client has left. A second signal kills the process.
/// SIGUSR1 prints the statistics.
class server {
public:
    /// Listens, but does not accept clients yet.
    /// @throws std::exception if it cannot listen.
    explicit server(const options& chosen);

    tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    /// Where the administrator connects; nullopt if nowhere.
    std::optional<int> admin_port() const {
        return admin_ ? std::optional(admin_->port()) : std::nullopt;
    }

    /// Serves until it has drained.
    void run();

    const shared_state& state() const noexcept { return shared_; }

private:
    /// The clients of one thread. A session stays on one loop, so it needs no locks. Two clients
    /// that are paired may be on different loops.
    struct shard {
        asio::io_context loop{1};
        asio::executor_work_guard<asio::io_context::executor_type> work{loop.get_executor()};
        std::unordered_set<session*> sessions;
    };

    void keep_descriptor_states();
    awaitable<void> accept_clients();
    awaitable<void> await_signals();
    awaitable<void> trim_memory();
    void admit(client_socket socket, shard& to);
    void drain();

    shared_state shared_; // must outlive the loops: their sessions use it
    const std::size_t descriptors_; ///< For clients.
    std::deque<shard> shards_;
    std::size_t kept_states_ = 0; ///< See `keep_descriptor_states`.
    tcp::acceptor acceptor_;
    asio::signal_set signals_;
    asio::steady_timer trim_timer_;
    std::optional<admin_server> admin_; ///< Destroyed first: it uses the others.
};

} // namespace pairing
