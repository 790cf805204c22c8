// SPDX-License-Identifier: MIT
#include "server.hpp"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <sys/resource.h>

namespace pairing {

namespace {

/// For asio::co_spawn. An exception that escapes from a coroutine is a defect: it ends the program.
void rethrow(const std::exception_ptr& escaped) {
    if (escaped) {
        std::rethrow_exception(escaped);
    }
}

/// Raises the soft limit of descriptors to the hard one. @returns how many clients may use: some
/// are left for the loops, for the administrator and for Redis.
std::size_t descriptors_for_clients(std::size_t loops) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    return limit.rlim_cur -
           std::min<std::size_t>(2 * admin_server::threads + 3 * loops, limit.rlim_cur / 2);
}

tcp::acceptor listen(asio::io_context& loop, const options& chosen) {
    try {
        return {loop, {asio::ip::make_address(chosen.address), chosen.port}};
    } catch (const std::system_error& problem) {
        throw std::system_error(problem.code(), fmt::format("cannot listen on {} port {}",
                                                            chosen.address, chosen.port));
    }
}

/// Rejects a connection with an error reply. Tries to write once, without waiting, so that
/// rejections stay cheap.
void reject(client_socket socket, outcome why) {
    const auto text = explanation_of(why);
    const auto head = encode({.code = static_cast<std::uint8_t>(why),
                              .name_size = 0,
                              .body_size = static_cast<std::uint32_t>(text.size())});
    const std::array<asio::const_buffer, 2> parts{asio::buffer(head), asio::buffer(text)};
    asio::error_code ignored;
    std::ignore = socket.non_blocking(true, ignored);
    socket.write_some(parts, ignored);
    std::ignore = socket.shutdown(tcp::socket::shutdown_send, ignored);
}

} // namespace

server::server(const options& chosen)
    : shared_(chosen), descriptors_(descriptors_for_clients(chosen.threads)),
      shards_(chosen.threads), acceptor_(listen(shards_.front().loop, chosen)),
      signals_(shards_.front().loop, SIGTERM, SIGINT, SIGUSR1), trim_timer_(shards_.front().loop) {
    // With a fixed threshold, malloc returns large messages when they are freed. Otherwise it keeps
    // up to 32 MB at the end of each thread's heap, which malloc_trim does not return.
    ::mallopt(M_MMAP_THRESHOLD, 1 << 17);
    // Report a connection that was aborted in the queue as an error. By default Asio skips it, and
    // then serves the next queued client only when another one connects.
    acceptor_.set_option(tcp::acceptor::enable_connection_aborted(true));
    if (chosen.admin_port) {
        admin_.emplace(shared_, chosen.admin_address, *chosen.admin_port);
    }
}

void server::run() {
    auto& first = shards_.front().loop;
    asio::co_spawn(first, accept_clients(), rethrow);
    asio::co_spawn(first, await_signals(), rethrow);
    asio::co_spawn(first, trim_memory(), rethrow);
    std::vector<std::jthread> others;
    for (std::size_t i = 1; i != shards_.size(); ++i) {
        others.emplace_back([&loop = shards_[i].loop] { loop.run(); });
    }
    try {
        first.run();
    } catch (...) {
        for (shard& each : shards_) {
            each.loop.stop(); // otherwise the threads could not be joined
        }
        throw;
    }
}

awaitable<void> server::accept_clients() {
    asio::steady_timer timer(acceptor_.get_executor());
    for (std::size_t turn = 0; acceptor_.is_open(); ++turn) {
        asio::error_code error = asio::error::no_descriptors;
        if (shared_.counters.now().active < descriptors_) {
            shard& next = shards_[turn % shards_.size()];
            auto [failed, socket] = co_await acceptor_.async_accept(next.loop, use_tuple);
            if (!failed) {
                admit(std::move(socket), next);
            }
            error = failed;
        }
        // Usually the process has no descriptors left. Retry later: clients that leave free some.
        // Meanwhile new clients wait in the queue of the listening socket.
        if (error && error != asio::error::connection_aborted && error.value() != EPROTO &&
            acceptor_.is_open()) {
            shared_.counters.pause();
            timer.expires_after(std::chrono::milliseconds(50));
            co_await timer.async_wait(use_tuple);
        }
    }
}

/// Asio has some memory for each descriptor, and keeps it for later ones. malloc cannot return the
/// page that it is on. So allocate it side by side, not among what clients free.
void server::keep_descriptor_states() {
    const auto batch = std::min<std::size_t>(512, descriptors_ - shared_.counters.now().active);
    for (shard& each : shards_) {
        std::vector<client_socket> sockets;
        asio::error_code error;
        while (!error && sockets.size() != batch) {
            std::ignore = sockets.emplace_back(each.loop).open(tcp::v4(), error);
        }
    }
    kept_states_ += batch * shards_.size();
}

void server::admit(client_socket socket, shard& to) {
    if (!shared_.counters.begin(shared_.draining ? 0 : shared_.settings.max_connections)) {
        return reject(std::move(socket), shared_.draining ? outcome::closed : outcome::busy);
    }
    if (shared_.counters.now().active > kept_states_) {
        keep_descriptor_states();
    }
    const auto client = std::make_shared<session>(shared_, std::move(socket));
    asio::post(to.loop, [this, &to, client] {
        to.sessions.insert(client.get());
        asio::co_spawn(to.loop, client->run(),
                       [this, &to, client](const std::exception_ptr& escaped, outcome end) {
                           rethrow(escaped);
                           to.sessions.erase(client.get());
                           shared_.counters.finish(end);
                       });
    });
}

awaitable<void> server::await_signals() {
    while (true) {
        const auto [error, signal] = co_await signals_.async_wait(use_tuple);
        if (signal != SIGUSR1) {
            break;
        }
        std::puts(shared_.line().c_str()); // ignores errors: the reader may have exited
        std::fflush(stdout);
    }
    signals_.remove(SIGTERM); // a second one kills the process; SIGUSR1 still does not
    signals_.remove(SIGINT);
    drain();
}

/// Returns free memory within the heaps to the system every second, if clients have left.
awaitable<void> server::trim_memory() {
    std::uint64_t last_left = 0;
    while (acceptor_.is_open()) {
        trim_timer_.expires_after(std::chrono::seconds(1));
        co_await trim_timer_.async_wait(use_tuple);
        const auto counts = shared_.counters.now();
        const std::uint64_t left = counts.accepted - counts.active;
        if (std::exchange(last_left, left) != left) {
            ::malloc_trim(0);
        }
    }
}

void server::drain() {
    shared_.draining = true;
    acceptor_.close();
    trim_timer_.cancel();
    for (shard& each : shards_) {
        asio::post(each.loop, [&each] {
            for (session* client : each.sessions) {
                client->interrupt();
            }
            each.work.reset();
        });
    }
}

} // namespace pairing
