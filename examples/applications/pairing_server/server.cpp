// SPDX-License-Identifier: MIT
#include "server.hpp"

#include "descriptor_limit.hpp"
#include "listen.hpp"

#include <fmt/core.h>
#include <malloc.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

namespace pairing {

namespace {

/// Ignores errors: the server goes on if its output is closed.
void print(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

/// Ignores errors. (fmt::print would throw them.)
void print_error(const std::string& line) {
    std::fputs((line + '\n').c_str(), stderr);
}

/// For example under nohup, which makes a program ignore SIGHUP.
bool is_ignored(int signal) noexcept {
    struct sigaction now{};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Rejects a connection with an error reply. Tries to write once, without waiting, so that
/// rejections stay cheap.
void reject(tcp::socket socket, outcome why) {
    const auto text = explanation_of(why);
    const header_bytes head = encode({.code = static_cast<std::uint8_t>(why),
                                      .name_size = 0,
                                      .body_size = static_cast<std::uint32_t>(text.size())});
    const std::array<asio::const_buffer, 2> parts{asio::buffer(head), asio::buffer(text)};
    asio::error_code ignored;
    std::ignore = socket.non_blocking(true, ignored);
    socket.write_some(parts, ignored);
    std::ignore = socket.shutdown(tcp::socket::shutdown_send, ignored);
}

std::vector<std::unique_ptr<shard>> make_shards(std::size_t count) {
    std::vector<std::unique_ptr<shard>> shards;
    for (std::size_t i = 0; i != count; ++i) {
        shards.push_back(std::make_unique<shard>());
    }
    return shards;
}

} // namespace

void shard::start_session(shared_state& shared, tcp::socket socket,
                          connection_limiter::permit permit) {
    asio::co_spawn(loop_, run_session(shared, std::move(socket), std::move(permit)), rethrow);
}

awaitable<void> shard::run_session(shared_state& shared, tcp::socket socket,
                                   connection_limiter::permit permit) {
    const auto client = std::make_shared<session>(shared, std::move(socket));
    sessions_.insert(client.get());
    const outcome end = co_await client->run();
    sessions_.erase(client.get());
    // In this order: once the statistics count the client as finished, its connection no longer
    // counts towards the limits.
    permit.reset();
    shared.counters.finish(end);
}

void shard::drain() {
    asio::post(loop_, [this] {
        for (session* each : sessions_) {
            each->interrupt();
        }
        work_.reset();
    });
}

server::server(const options& chosen)
    : shared_(chosen), limiter_(chosen.max_connections, chosen.max_connections_per_address),
      shards_(make_shards(chosen.threads)),
      acceptor_(listen(shards_.front()->loop(), chosen.address, chosen.port)),
      termination_signals_(shards_.front()->loop(), SIGTERM, SIGINT),
      report_signal_(shards_.front()->loop(), SIGUSR1), second_timer_(shards_.front()->loop()),
      descriptor_limit_(std::numeric_limits<std::size_t>::max()) {
    if (!is_ignored(SIGHUP)) {
        termination_signals_.add(SIGHUP);
    }
    // Report a connection that was aborted in the queue as an error. By default Asio skips it, and
    // then serves the next queued client only when another one connects.
    acceptor_.set_option(tcp::acceptor::enable_connection_aborted(true));
    if (chosen.admin_port) {
        // Clients must not take the descriptors that the administrator needs to see them.
        descriptor_limit_ = descriptors_without(admin_server::reserved_descriptors);
        std::vector<asio::io_context*> loops;
        for (const auto& each : shards_) {
            loops.push_back(&each->loop());
        }
        admin_ = std::make_unique<admin_server>(
            chosen, std::move(loops),
            admin_sources{.metrics = [this] { return prometheus_text_of(shared_.measure()); },
                          .unready_reason = [this] { return shared_.unready_reason(); }});
    }
}

std::optional<tcp::endpoint> server::admin_endpoint() const {
    return admin_ ? std::optional(admin_->endpoint()) : std::nullopt;
}

void server::run() {
    if (admin_) {
        admin_->start();
    }
    asio::io_context& first = shards_.front()->loop();
    asio::co_spawn(first, accept_clients(), rethrow);
    asio::co_spawn(first, await_termination(), rethrow);
    asio::co_spawn(first, print_statistics_on_signal(), rethrow);
    asio::co_spawn(first, work_every_second(), rethrow);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i != shards_.size(); ++i) {
        others.emplace_back([&loop = shards_[i]->loop()] { loop.run(); });
    }
    try {
        first.run();
    } catch (...) {
        for (const auto& each : shards_) {
            each->loop().stop(); // otherwise the threads could not be joined
        }
        throw;
    }
}

std::string server::report() const {
    return shared_.report();
}

awaitable<void> server::accept_clients() {
    constexpr auto pause = std::chrono::milliseconds(50);
    asio::steady_timer timer(acceptor_.get_executor());
    bool reported = false;
    for (std::size_t turn = 0; acceptor_.is_open(); ++turn) {
        shard& next = *shards_[turn % shards_.size()];
        auto [error, socket] = co_await acceptor_.async_accept(next.loop(), use_tuple);
        if (!error) {
            const bool is_last =
                static_cast<std::size_t>(socket.native_handle()) >= descriptor_limit_;
            admit(std::move(socket), next);
            if (is_last) {
                co_await await_descriptors();
            }
            continue;
        }
        if (error == asio::error::operation_aborted) {
            break;
        }
        if (error == asio::error::connection_aborted || error.value() == EPROTO) {
            continue; // the client has already disconnected
        }
        // Usually the process has no descriptors left. Retry later: clients that leave free some.
        // Meanwhile new clients wait in the queue of the listening socket.
        shared_.counters.pause();
        if (!std::exchange(reported, true)) {
            print_error("pairing_server: cannot accept connections: " + error.message() +
                        "; retrying, new clients wait in the queue");
        }
        timer.expires_after(pause);
        co_await timer.async_wait(use_tuple);
    }
}

/// Waits until descriptors below the limit are free. The system always assigns the lowest.
awaitable<void> server::await_descriptors() {
    constexpr auto pause = std::chrono::milliseconds(50);
    asio::steady_timer timer(acceptor_.get_executor());
    while (acceptor_.is_open() && lowest_free_descriptor() >= descriptor_limit_) {
        shared_.counters.pause();
        timer.expires_after(pause);
        co_await timer.async_wait(use_tuple);
    }
}

void server::admit(tcp::socket socket, shard& to) {
    if (!acceptor_.is_open()) {
        // This client was accepted just before the shutdown. The loop of `to` may have ended.
        shared_.counters.refuse();
        return reject(std::move(socket), outcome::closed);
    }
    asio::error_code ignored; // if the client has disconnected, the session notices when it reads
    const tcp::endpoint client = socket.remote_endpoint(ignored);
    connection_limiter::permit permit = limiter_.try_acquire(client.address());
    if (!permit) {
        shared_.counters.refuse();
        return reject(std::move(socket), outcome::busy);
    }
    shared_.counters.begin();
    to.start_session(shared_, std::move(socket), std::move(permit));
}

awaitable<void> server::await_termination() {
    co_await termination_signals_.async_wait(use_tuple);
    termination_signals_.clear(); // a second signal kills the process
    drain();
}

awaitable<void> server::print_statistics_on_signal() {
    while (true) {
        const auto [error, signal] = co_await report_signal_.async_wait(use_tuple);
        if (error) {
            break;
        }
        print(report());
    }
}

/// Returns free memory to the system, if clients have left. malloc itself returns only memory at
/// the end of its heap, and the blocks of messages are too small for its mmap threshold. Takes
/// 0.13 ms per MB.
/// Also prints whether Redis can be reached, whenever that has changed.
awaitable<void> server::work_every_second() {
    constexpr auto interval = std::chrono::seconds(1);
    std::uint64_t last_left = 0;
    bool was_connected = true;
    while (acceptor_.is_open()) {
        second_timer_.expires_after(interval);
        co_await second_timer_.async_wait(use_tuple);
        const statistics::counts counts = shared_.counters.now();
        const std::uint64_t left = counts.accepted - counts.active;
        if (left != last_left) {
            ::malloc_trim(0);
            last_left = left;
        }
        const bool connected = shared_.place->is_connected().value_or(true);
        if (std::exchange(was_connected, connected) != connected) {
            print_error(connected ? "pairing_server: connected to Redis"
                                  : "pairing_server: Redis cannot be reached: " +
                                        shared_.place->problem() + "; retrying");
        }
    }
}

void server::drain() {
    acceptor_.close();
    report_signal_.cancel();
    second_timer_.cancel();
    // Close the rooms first: a request that completes from now on finds them closed, and the
    // sessions that are still receiving are interrupted.
    shared_.all_rooms.close();
    for (const auto& each : shards_) {
        each->drain();
    }
}

} // namespace pairing
