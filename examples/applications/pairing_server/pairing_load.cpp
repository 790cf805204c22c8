// SPDX-License-Identifier: MIT
//
// Measures the throughput, latency and memory of a pairing_server:
//
//     cd build/release/examples/applications/pairing_server
//     ./pairing_load --server ./pairing_server
//
// For each line of the table it starts a new server. A number of clients come to one room
// concurrently, each again and again. Every message is unique, and the program checks that each
// pair of clients got each other's message. All clients run on one thread. With --red-blue half of
// the clients ask, and the others answer.

#include "asio_helpers.hpp"
#include "command_line.hpp"
#include "descriptor_limit.hpp"
#include "protocol.hpp"
#include "server_process.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using pairing::awaitable;
using pairing::tcp;
using clock = std::chrono::steady_clock;

struct options {
    std::string server;
    std::size_t threads = 1;
    bool red_blue = false;
    std::size_t swaps = 20'000;
    std::vector<std::size_t> clients{2, 16, 256, 2048};
    std::vector<std::size_t> sizes{100, 65'536};
};

/// Concurrent clients in one room that exchange `swaps` messages in total.
class load_run {
public:
    load_run(std::uint16_t port, bool red_blue, std::size_t swaps, std::size_t size)
        : server_(asio::ip::address_v4::loopback(), port), red_blue_(red_blue), size_(size),
          partner_(swaps, no_partner) {}

    void execute(std::size_t clients) {
        const auto start = clock::now();
        for (std::size_t i = 0; i != clients; ++i) {
            asio::co_spawn(context_, exchange_until_done(i % 2),
                           [](const std::exception_ptr& escaped) {
                               if (escaped) {
                                   std::rethrow_exception(escaped);
                               }
                           });
        }
        context_.run();
        elapsed_ = clock::now() - start;
        std::ranges::sort(latencies_);
    }

    double pairs_per_second() const {
        return static_cast<double>(partner_.size()) / 2 /
               std::chrono::duration<double>(elapsed_).count();
    }

    /// In milliseconds.
    double latency(double quantile) const {
        const auto last = static_cast<double>(latencies_.size() - 1);
        const auto which = latencies_.at(static_cast<std::size_t>(quantile * last));
        return std::chrono::duration<double, std::milli>(which).count();
    }

    /// Whether the messages were swapped in pairs: if A got the message of B, then B got that of A,
    /// and A is not B. With two sides, A and B must also be of different sides.
    bool is_conserved() const {
        for (std::size_t own = 0; own != partner_.size(); ++own) {
            const std::size_t other = partner_[own];
            if (other == own || other >= partner_.size() || partner_[other] != own ||
                (red_blue_ && other % 2 == own % 2)) {
                return false;
            }
        }
        return true;
    }

private:
    static constexpr std::size_t no_partner = static_cast<std::size_t>(-1);

    /// No client is left without a partner, because the number of messages is even. With two sides,
    /// clients with even message numbers ask and the others answer: the same number of each.
    awaitable<void> exchange_until_done(std::size_t side) {
        std::vector<std::byte> body(size_);
        std::size_t& next = next_[red_blue_ ? side : 0];
        const std::size_t step = red_blue_ ? 2 : 1;
        while (next < partner_.size()) {
            const std::size_t own = std::exchange(next, next + step);
            const auto start = clock::now();
            partner_[own] = co_await exchange(own, body);
            latencies_.push_back(clock::now() - start);
        }
    }

    /// Exchanges message number `own`. @returns the number of the message received for it.
    awaitable<std::size_t> exchange(std::size_t own, std::vector<std::byte>& body) {
        tcp::socket socket(context_);
        co_await socket.async_connect(server_, asio::use_awaitable);

        std::memcpy(body.data(), &own, sizeof own);
        const pairing::header_bytes head = encode(pairing::header{
            static_cast<std::uint8_t>(kind_of(own)), static_cast<std::uint8_t>(room.size()),
            static_cast<std::uint32_t>(body.size())});
        const std::array<asio::const_buffer, 3> parts{asio::buffer(head), asio::buffer(room),
                                                      asio::buffer(body)};
        co_await asio::async_write(socket, parts, asio::use_awaitable);

        pairing::header_bytes answer{};
        co_await asio::async_read(socket, asio::buffer(answer), asio::use_awaitable);
        const auto fields = pairing::decode(answer);
        if (!fields || fields->code != 0 || fields->body_size != body.size()) {
            throw std::runtime_error(
                "exchange failed: the reply is not a message of the size sent");
        }
        co_await asio::async_read(socket, asio::buffer(body), asio::use_awaitable);
        std::size_t other = 0;
        std::memcpy(&other, body.data(), sizeof other);
        co_return other;
    }

    pairing::request_kind kind_of(std::size_t number) const noexcept {
        if (!red_blue_) {
            return pairing::request_kind::exchange;
        }
        return number % 2 == 0 ? pairing::request_kind::ask : pairing::request_kind::answer;
    }

    static constexpr std::string_view room = "load";

    asio::io_context context_{1};
    tcp::endpoint server_;
    bool red_blue_;
    std::size_t size_;
    /// The next message number of each side. Without sides, only the first element is used.
    std::array<std::size_t, 2> next_{0, 1};
    std::vector<std::size_t> partner_; ///< For each message, the number of the one received for it.
    std::vector<clock::duration> latencies_;
    clock::duration elapsed_{};
};

/// Measures and prints one line of the table. @returns whether the run succeeded.
bool measure(const options& chosen, std::size_t clients, std::size_t size) {
    std::vector<std::string> arguments{"--threads", std::to_string(chosen.threads)};
    if (chosen.red_blue) {
        arguments.emplace_back("--red-blue");
    }
    pairing::server_process server(chosen.server, arguments);
    load_run run(server.port(), chosen.red_blue, chosen.swaps, size);
    run.execute(clients);
    const double memory = static_cast<double>(server.peak_memory()) / 1e6;
    const bool good = server.stop() && run.is_conserved();
    fmt::print("| {:>7} | {:>7} | {:>7.0f} | {:>8.2f} | {:>8.2f} | {:>11.1f} | {} |\n", clients,
               size, run.pairs_per_second(), run.latency(0.5), run.latency(0.99), memory,
               good ? "all" : "NOT ALL");
    std::fflush(stdout);
    return good;
}

void declare(CLI::App& app, options& chosen) {
    app.option_defaults()->always_capture_default();
    app.add_option("--server", chosen.server, "Path of the pairing_server to start")->required();
    app.add_option("--threads", chosen.threads, "Number of threads of the server");
    app.add_flag("--red-blue", chosen.red_blue, "Half of the clients ask, and the others answer");
    app.add_option("--swaps", chosen.swaps,
                   "Number of messages per line of the table; odd numbers are rounded up")
        ->check(CLI::Range(2, 100'000'000));
    app.add_option("--clients", chosen.clients,
                   "Number of concurrent clients; several numbers give several lines")
        ->check(CLI::Range(2, 10'000));
    app.add_option("--size", chosen.sizes,
                   "Size of a message in bytes; several numbers give several lines")
        ->check(CLI::Range(8, 1 << 20));
}

int measure_all(const options& chosen) {
    pairing::raise_descriptor_limit();
    fmt::print("| clients | bytes   | pairs/s | p50, ms  | p99, ms  | memory, MB  | conserved |\n"
               "| ------: | ------: | ------: | -------: | -------: | ----------: | --- |\n");
    bool good = true;
    for (const std::size_t size : chosen.sizes) {
        for (const std::size_t clients : chosen.clients) {
            good = measure(chosen, clients, size) && good;
        }
    }
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int run_program(int count, char** arguments) {
    options chosen;
    CLI::App app("Measures a pairing_server, and checks that it loses no message.", "pairing_load");
    declare(app, chosen);
    if (const auto status = pairing::parse(app, count, arguments)) {
        return *status;
    }
    chosen.swaps += chosen.swaps % 2; // with an odd number the last client would wait forever
    return measure_all(chosen);
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run_program(count, arguments);
    } catch (const std::exception& problem) {
        std::cerr << "pairing_load: " << problem.what() << '\n';
        return EXIT_FAILURE;
    }
}
