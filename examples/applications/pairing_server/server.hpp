// SPDX-License-Identifier: MIT
/// @file
/// The listening socket, the threads, and the signals.
#pragma once

#include "admin_server.hpp"
#include "asio_helpers.hpp"
#include "connection_limiter.hpp"
#include "options.hpp"
#include "session.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

namespace pairing {

/// The clients of one thread. A session stays on one loop, so it needs no locks. Two clients that
/// are paired may be on different loops.
class shard {
public:
    asio::io_context& loop() noexcept { return loop_; }

    /// Serves a client on this loop. May be called from any thread.
    void start_session(shared_state& shared, tcp::socket socket, connection_limiter::permit permit);

    /// Interrupts clients that are still sending, and lets `loop().run()` return after the last
    /// client has left. May be called from any thread.
    void drain();

private:
    awaitable<void> run_session(shared_state& shared, tcp::socket socket,
                                connection_limiter::permit permit);

    asio::io_context loop_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_{loop_.get_executor()};
    std::unordered_set<session*> sessions_;
};

/// SIGTERM, SIGINT and SIGHUP drain the server: it accepts no more clients, waiting clients get the
/// status `closed`, and `run` returns when the last client has left. A second signal kills the
/// process. SIGUSR1 prints the statistics.
class server {
public:
    /// Listens, but does not accept clients yet.
    /// @throws std::system_error if it cannot listen.
    explicit server(const options& chosen);

    tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    /// Where the administrator connects; nullopt if nowhere.
    std::optional<tcp::endpoint> admin_endpoint() const;

    /// Serves until it has drained.
    void run();

    /// The line of statistics.
    std::string report() const;

private:
    awaitable<void> accept_clients();
    awaitable<void> await_descriptors();
    awaitable<void> await_termination();
    awaitable<void> print_statistics_on_signal();
    awaitable<void> work_every_second();
    void admit(tcp::socket socket, shard& to);
    void drain();

    shared_state shared_; // must outlive the loops: their sessions use it
    connection_limiter limiter_;
    std::vector<std::unique_ptr<shard>> shards_;
    tcp::acceptor acceptor_;
    asio::signal_set termination_signals_;
    asio::signal_set report_signal_;
    asio::steady_timer second_timer_;
    std::size_t descriptor_limit_; ///< Pause when a client's descriptor is not below it.
    std::unique_ptr<admin_server> admin_; ///< May be null. Destroyed first: it uses the others.
};

} // namespace pairing
