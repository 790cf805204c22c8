// SPDX-License-Identifier: MIT
//
// An echo server on io_uring, with one thread and one loop. A coroutine accepts connections, one
// waits for signals, and one serves each connection.
//
// Accepting, receiving and sending take a stop token, so a single request_stop() ends them all.
// Receiving and sending also have a deadline, so an idle peer cannot keep its connection.

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

namespace {

namespace uring = tryst::uring;
using namespace std::chrono_literals;

struct options {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;
    std::chrono::duration<double> idle = 60s;
    std::size_t max_connections = 10'000;
};

std::system_error failure(const std::string& operation) {
    return {errno, std::system_category(), operation};
}

// ---- Setup with plain system calls, before the loop runs

uring::descriptor listen_on(const options& chosen) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(chosen.port);
    if (::inet_pton(AF_INET, chosen.address.c_str(), &address.sin_addr) != 1) {
        throw std::runtime_error("cannot listen on " + chosen.address +
                                 ": not a numeric IPv4 address; use one such as 127.0.0.1");
    }
    uring::descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int reuse = 1; // connections of an earlier server may linger
    if (!listener ||
        ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) != 0 ||
        ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener.get(), SOMAXCONN) != 0) {
        throw failure(fmt::format("cannot listen on {} port {}", chosen.address, chosen.port));
    }
    return listener;
}

/// Blocks SIGINT and SIGTERM. @returns a descriptor from which they can be read.
uring::descriptor open_signals() {
    sigset_t set;
    ::sigemptyset(&set);
    ::sigaddset(&set, SIGINT);
    ::sigaddset(&set, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
    uring::descriptor signals(::signalfd(-1, &set, SFD_CLOEXEC));
    if (!signals) {
        throw failure("cannot create a signalfd");
    }
    return signals;
}

// ---- The server: one thread, so no locks or atomics

class echo_server {
public:
    explicit echo_server(const options& chosen)
        : chosen_(chosen), signals_(open_signals()), listener_(listen_on(chosen)) {}

    std::uint16_t port() const {
        sockaddr_in address{};
        socklen_t length = sizeof(address);
        ::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &length);
        return ntohs(address.sin_port);
    }

    /// Serves until a signal arrives and all connections have ended.
    void run() {
        loop_.spawn(await_signal());
        loop_.spawn(accept_connections());
        loop_.run();
    }

    void report() const {
        fmt::print("{} connections, {} refused, {} bytes\n", served_, refused_, bytes_);
    }

private:
    tryst::task<> await_signal() {
        signalfd_siginfo info{};
        (co_await loop_.read(signals_.get(), std::as_writable_bytes(std::span(&info, 1)))).value();
        shutdown_.request_stop();
    }

    tryst::task<> accept_connections() {
        uring::accept_stream connections(loop_, listener_.get());
        bool complained = false;
        while (!shutdown_.stop_requested()) {
            auto next = co_await connections.next(shutdown_.get_token());
            if (next) {
                complained = false;
                admit(std::move(*next));
            } else if (next.error() != std::errc::operation_canceled) {
                // Usually there are too many open files. Retry later: clients wait in the backlog.
                if (!std::exchange(complained, true)) {
                    std::cerr << next.message() << '\n';
                }
                (void)co_await loop_.timeout(50ms, shutdown_.get_token());
            }
        }
        leave();
    }

    void admit(uring::descriptor socket) {
        if (running_ > chosen_.max_connections) {
            ++refused_;
            return; // closes the socket
        }
        ++running_;
        ++served_;
        loop_.spawn(serve(std::move(socket)));
    }

    /// Ends at the peer's end of stream, an error, the idle deadline or the shutdown.
    tryst::task<> serve(uring::descriptor socket) {
        std::array<std::byte, 8192> buffer; // in the coroutine's frame
        for (;;) {
            const auto got =
                co_await loop_.recv(socket.get(), buffer, 0, chosen_.idle, shutdown_.get_token());
            if (!got || *got == 0) {
                break;
            }
            const bool sent = co_await send_all(socket.get(), std::span(buffer).first(*got));
            if (!sent) {
                break;
            }
        }
        leave();
    }

    tryst::task<bool> send_all(int socket, std::span<const std::byte> bytes) {
        while (!bytes.empty()) {
            const auto sent =
                co_await loop_.send(socket, bytes, 0, chosen_.idle, shutdown_.get_token());
            if (!sent) {
                co_return false;
            }
            bytes_ += *sent;
            bytes = bytes.subspan(*sent);
        }
        co_return true;
    }

    void leave() {
        if (--running_ == 0) {
            loop_.stop();
        }
    }

    options chosen_;
    uring::descriptor signals_;
    uring::descriptor listener_;
    std::stop_source shutdown_;
    std::size_t running_ = 1; ///< The listener and the connections. The last one stops the loop.
    std::uint64_t served_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t bytes_ = 0;
    uring::context loop_; // the last member: the frames that it destroys use the others
};

int run(int count, char** arguments) {
    options chosen;
    double idle = chosen.idle.count();
    CLI::App app("An echo server on io_uring.");
    app.option_defaults()->always_capture_default();
    app.add_option("--address", chosen.address, "numeric IPv4 address to listen on");
    app.add_option("--port", chosen.port, "port to listen on; 0: any free port, which is printed");
    app.add_option("--idle", idle, "longest time in which a peer may send, or receive, nothing")
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e6));
    app.add_option("--max-connections", chosen.max_connections,
                   "largest number of connections; further ones are closed")
        ->check(CLI::Range(std::size_t{1}, std::numeric_limits<std::size_t>::max()));
    CLI11_PARSE(app, count, arguments);
    chosen.idle = std::chrono::duration<double>(idle);

    echo_server server(chosen);
    fmt::print("listening on {} port {}\n", chosen.address, server.port());
    std::fflush(stdout);
    server.run();
    server.report();
    return EXIT_SUCCESS;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const std::exception& problem) {
        std::cerr << arguments[0] << ": " << problem.what() << '\n';
        return EXIT_FAILURE;
    }
}
