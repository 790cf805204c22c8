// SPDX-License-Identifier: MIT
//
// An echo server on io_uring, with one thread and one loop. A coroutine accepts connections, one
// waits for signals, and one serves each connection.
//
// Accepting, receiving and sending take a stop token, so a single request_stop() ends them all.
// Receiving and sending also have a deadline, so an idle peer cannot keep its connection.
//
// usage: uring_echo [PORT [SECONDS]], for a port of 127.0.0.1 (or any free one) and a deadline.

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <limits>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <netinet/in.h>
#include <sys/signalfd.h>
#include <sys/socket.h>

namespace {

namespace uring = tryst::uring;
using namespace std::chrono_literals;

std::system_error failure(const std::string& operation) {
    return {errno, std::system_category(), operation};
}

// ---- Setup with plain system calls, before the loop runs

uring::descriptor listen_on(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    uring::descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const int reuse = 1; // connections of an earlier server may linger
    if (!listener ||
        ::setsockopt(listener.get(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof(reuse)) != 0 ||
        ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener.get(), SOMAXCONN) != 0) {
        throw failure("cannot listen on port " + std::to_string(port));
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
    /// @param patience  how long a peer may send, or receive, nothing.
    echo_server(std::uint16_t port, std::chrono::duration<double> patience)
        : patience_(patience), signals_(open_signals()), listener_(listen_on(port)) {}

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

    void report() const { std::cout << served_ << " connections, " << bytes_ << " bytes\n"; }

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
                ++running_;
                ++served_;
                loop_.spawn(serve(std::move(*next)));
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

    /// Ends at the peer's end of stream, an error, the idle deadline or the shutdown.
    tryst::task<> serve(uring::descriptor socket) {
        std::array<std::byte, 8192> buffer; // in the coroutine's frame
        for (;;) {
            const auto got =
                co_await loop_.recv(socket.get(), buffer, 0, patience_, shutdown_.get_token());
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
                co_await loop_.send(socket, bytes, 0, patience_, shutdown_.get_token());
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

    std::chrono::duration<double> patience_;
    uring::descriptor signals_;
    uring::descriptor listener_;
    std::stop_source shutdown_;
    std::size_t running_ = 1; ///< The listener and the connections. The last one stops the loop.
    std::uint64_t served_ = 0;
    std::uint64_t bytes_ = 0;
    uring::context loop_; // the last member: the frames that it destroys use the others
};

} // namespace

int main(int count, char** arguments) try {
    const unsigned long port = count > 1 ? std::stoul(arguments[1]) : 0;
    const std::chrono::duration<double> patience(count > 2 ? std::stod(arguments[2]) : 60);
    if (port > std::numeric_limits<std::uint16_t>::max() || !(patience > 0s) || patience > 24h) {
        throw std::invalid_argument("out of range");
    }
    echo_server server(static_cast<std::uint16_t>(port), patience);
    std::cout << "listening on 127.0.0.1 port " << server.port() << std::endl;
    server.run();
    server.report();
} catch (const std::logic_error&) { // of the arguments
    std::cerr << "usage: uring_echo [PORT [SECONDS]]\n";
    return 2;
} catch (const std::exception& problem) {
    std::cerr << arguments[0] << ": " << problem.what() << '\n';
    return 1;
}
