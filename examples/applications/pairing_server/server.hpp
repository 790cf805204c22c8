// SPDX-License-Identifier: MIT
/// @file
/// The listening socket, the threads, and the signals.
#pragma once

#include "asio_words.hpp"
#include "doorkeeper.hpp"
#include "options.hpp"
#include "session.hpp"

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

namespace pairing {

/// One thread's share of the clients. A session stays on the loop on which it began, so that nothing in it
/// needs a lock; two that are paired may be on different loops.
class shard {
public:
    asio::io_context& loop() noexcept { return loop_; }

    /// Serves a client on this loop. From any thread.
    void welcome(house& shared, tcp::socket socket, doorkeeper::pass pass);

    /// Lets `loop().run()` return when the last client has gone, and interrupts those that are still
    /// sending. From any thread.
    void drain();

private:
    awaitable<void> attend(house& shared, tcp::socket socket, doorkeeper::pass pass);

    asio::io_context loop_{1};
    asio::executor_work_guard<asio::io_context::executor_type> open_{loop_.get_executor()};
    std::unordered_set<session*> sessions_;
};

/// SIGTERM, SIGINT and SIGHUP drain: nobody is accepted any more, whoever waits is told that the server closes,
/// and `run` returns when the last has gone; a second signal kills. SIGUSR1 prints the statistics.
class server {
public:
    /// Listens, but accepts nobody yet.
    /// @throws std::system_error if it cannot.
    explicit server(const options& chosen);

    tcp::endpoint endpoint() const { return acceptor_.local_endpoint(); }

    /// Serves until it has drained.
    void run();

    /// The line of statistics.
    std::string report() const;

private:
    awaitable<void> accept_clients();
    awaitable<void> await_termination();
    awaitable<void> print_on_request();
    awaitable<void> return_memory();
    void admit(tcp::socket socket, shard& to);
    void drain();

    house house_; // outlives the loops, whose sessions use it
    doorkeeper door_;
    std::vector<std::unique_ptr<shard>> shards_;
    tcp::acceptor acceptor_;
    asio::signal_set termination_;
    asio::signal_set report_request_;
    asio::steady_timer housekeeping_;
};

} // namespace pairing
