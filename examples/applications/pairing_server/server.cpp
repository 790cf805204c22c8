// SPDX-License-Identifier: MIT
#include "server.hpp"

#include <fmt/core.h>
#include <malloc.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>
#include <tuple>
#include <utility>

namespace pairing {

namespace {

/// For asio::co_spawn: what escapes from a coroutine is a defect, and ends the program.
void rethrow(const std::exception_ptr& escaped) {
    if (escaped) {
        std::rethrow_exception(escaped);
    }
}

/// That nobody reads it any more is no reason to stop.
void print(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
}

/// That nobody reads it is no reason to stop: not even fmt's, which throws.
void complain(const std::string& line) {
    std::fputs((line + '\n').c_str(), stderr);
}

/// nohup has a program ignore what is not for it.
bool is_ignored(int signal) noexcept {
    struct sigaction now{};
    return ::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

/// Tells a client that it cannot come in. One attempt, without waiting: it is not to cost anything.
void turn_away(tcp::socket socket, outcome why) {
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

void shard::welcome(house& shared, tcp::socket socket, doorkeeper::pass pass) {
    asio::co_spawn(loop_, attend(shared, std::move(socket), std::move(pass)), rethrow);
}

awaitable<void> shard::attend(house& shared, tcp::socket socket, doorkeeper::pass pass) {
    const auto client = std::make_shared<session>(shared, std::move(socket));
    sessions_.insert(client.get());
    const outcome end = co_await client->run();
    sessions_.erase(client.get());
    // In this order: whoever reads in the statistics that a client has gone finds its place free.
    pass.reset();
    shared.visits.finish(end);
}

void shard::drain() {
    asio::post(loop_, [this] {
        for (session* each : sessions_) {
            each->interrupt();
        }
        open_.reset();
    });
}

server::server(const options& chosen)
    : house_(chosen), door_(chosen.most_connections, chosen.most_connections_of_one_address),
      shards_(make_shards(chosen.threads)),
      acceptor_(shards_.front()->loop(), {asio::ip::make_address(chosen.address), chosen.port}),
      termination_(shards_.front()->loop(), SIGTERM, SIGINT),
      report_request_(shards_.front()->loop(), SIGUSR1), housekeeping_(shards_.front()->loop()) {
    if (!is_ignored(SIGHUP)) {
        termination_.add(SIGHUP);
    }
    // Who has gone while it was in the queue is an error like others. Asio would pass over it, and wait for somebody
    // else to come before it looks at those who are there.
    acceptor_.set_option(tcp::acceptor::enable_connection_aborted(true));
}

void server::run() {
    asio::io_context& first = shards_.front()->loop();
    asio::co_spawn(first, accept_clients(), rethrow);
    asio::co_spawn(first, await_termination(), rethrow);
    asio::co_spawn(first, print_on_request(), rethrow);
    asio::co_spawn(first, return_memory(), rethrow);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i != shards_.size(); ++i) {
        others.emplace_back([&loop = shards_[i]->loop()] { loop.run(); });
    }
    try {
        first.run();
    } catch (...) {
        for (const auto& each : shards_) {
            each->loop().stop(); // or their threads would never be joined
        }
        throw;
    }
}

std::string server::report() const {
    return line_of(house_.visits.now(), house_.meetings.count());
}

awaitable<void> server::accept_clients() {
    constexpr auto pause = std::chrono::milliseconds(50);
    asio::steady_timer timer(acceptor_.get_executor());
    bool reported = false;
    for (std::size_t turn = 0; acceptor_.is_open(); ++turn) {
        shard& next = *shards_[turn % shards_.size()];
        auto [error, socket] = co_await acceptor_.async_accept(next.loop(), use_tuple);
        if (!error) {
            admit(std::move(socket), next);
            continue;
        }
        if (error == asio::error::operation_aborted) {
            break;
        }
        if (error == asio::error::connection_aborted || error.value() == EPROTO) {
            continue; // it has gone already
        }
        // No descriptors left, as a rule. To try at once would only heat the processor: clients that
        // leave give some back, and those that come wait in the listening socket's queue meanwhile.
        house_.visits.pause();
        if (!std::exchange(reported, true)) {
            complain("cannot accept for the moment: " + error.message());
        }
        timer.expires_after(pause);
        co_await timer.async_wait(use_tuple);
    }
}

void server::admit(tcp::socket socket, shard& to) {
    if (!acceptor_.is_open()) {
        // The last one, who came at the same time as the signal. Its loop may have ended.
        house_.visits.refuse();
        return turn_away(std::move(socket), outcome::closed);
    }
    asio::error_code gone; // it will be noticed when the session reads
    const tcp::endpoint client = socket.remote_endpoint(gone);
    doorkeeper::pass pass = door_.admit(client.address());
    if (!pass) {
        house_.visits.refuse();
        return turn_away(std::move(socket), outcome::busy);
    }
    house_.visits.begin();
    to.welcome(house_, std::move(socket), std::move(pass));
}

awaitable<void> server::await_termination() {
    co_await termination_.async_wait(use_tuple);
    termination_.clear(); // the next one kills
    drain();
}

awaitable<void> server::print_on_request() {
    while (true) {
        const auto [error, signal] = co_await report_request_.async_wait(use_tuple);
        if (error) {
            break;
        }
        print(report());
    }
}

/// Messages consist of many blocks below malloc's threshold for mmap, and malloc itself returns free
/// memory only at the end of its heap. So every second, if clients have left, this returns all free
/// pages. It takes 0.13 ms per MB.
awaitable<void> server::return_memory() {
    constexpr auto interval = std::chrono::seconds(1);
    std::uint64_t last_left = 0;
    while (acceptor_.is_open()) {
        housekeeping_.expires_after(interval);
        co_await housekeeping_.async_wait(use_tuple);
        const statistics::counts counts = house_.visits.now();
        const std::uint64_t left = counts.accepted - counts.active;
        if (left != last_left) {
            ::malloc_trim(0);
            last_left = left;
        }
    }
}

void server::drain() {
    acceptor_.close();
    report_request_.cancel();
    housekeeping_.cancel();
    // First the rooms: a request that is complete by now finds them closed, and all others are interrupted.
    house_.meetings.close();
    for (const auto& each : shards_) {
        each->drain();
    }
}

} // namespace pairing
