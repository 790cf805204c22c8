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
//
// With --redis and --servers it starts several servers for each line, which form one service, and
// spreads the clients over them. With --waiting it measures the memory for clients that wait in as
// many rooms; then each gets a partner, at another server if there are several.

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
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using pairing::awaitable;
using pairing::tcp;
using clock = std::chrono::steady_clock;

struct options {
    std::string server;
    std::size_t threads = 1;
    std::size_t servers = 1;
    std::string redis;
    bool red_blue = false;
    std::size_t swaps = 20'000;
    std::size_t waiting = 0; ///< If not 0, measures clients that wait.
    std::vector<std::size_t> clients{2, 16, 256, 2048};
    std::vector<std::size_t> sizes{100, 65'536};
};

/// Servers of one service, or a single one.
class service {
public:
    service(const options& chosen, const std::vector<std::string>& more) {
        std::vector<std::string> arguments{"--threads", std::to_string(chosen.threads)};
        if (!chosen.redis.empty()) {
            arguments.insert(arguments.end(), {"--redis", chosen.redis});
        }
        arguments.insert(arguments.end(), more.begin(), more.end());
        for (std::size_t i = 0; i != chosen.servers; ++i) {
            servers_.push_back(std::make_unique<pairing::server_process>(chosen.server, arguments));
        }
    }

    std::size_t size() const noexcept { return servers_.size(); }

    /// The address of one server; any number is allowed.
    tcp::endpoint endpoint(std::size_t which) const {
        return {asio::ip::address_v4::loopback(), servers_[which % servers_.size()]->port()};
    }

    /// The peak of the server that takes most, in MB.
    double peak_memory() const {
        std::size_t most = 0;
        for (const auto& each : servers_) {
            most = std::max(most, each->peak_memory());
        }
        return static_cast<double>(most) / 1e6;
    }

    /// @returns whether all servers ended well.
    bool stop() {
        bool good = true;
        for (const auto& each : servers_) {
            good = each->stop() && good;
        }
        return good;
    }

private:
    std::vector<std::unique_ptr<pairing::server_process>> servers_;
};

void rethrow(const std::exception_ptr& escaped) {
    if (escaped) {
        std::rethrow_exception(escaped);
    }
}

awaitable<void> send_request(tcp::socket& socket, pairing::request_kind kind,
                             const std::string& room, const std::vector<std::byte>& body) {
    const pairing::header_bytes head = encode(
        pairing::header{static_cast<std::uint8_t>(kind), static_cast<std::uint8_t>(room.size()),
                        static_cast<std::uint32_t>(body.size())});
    const std::array<asio::const_buffer, 3> parts{asio::buffer(head), asio::buffer(room),
                                                  asio::buffer(body)};
    co_await asio::async_write(socket, parts, asio::use_awaitable);
}

/// Reads the body of the reply. @returns its status.
awaitable<pairing::outcome> read_reply(tcp::socket& socket, std::vector<std::byte>& body) {
    pairing::header_bytes answer{};
    co_await asio::async_read(socket, asio::buffer(answer), asio::use_awaitable);
    const auto fields = pairing::decode(answer);
    if (!fields) {
        throw std::runtime_error("the reply is not of this protocol");
    }
    body.resize(fields->body_size);
    co_await asio::async_read(socket, asio::buffer(body), asio::use_awaitable);
    co_return static_cast<pairing::outcome>(fields->code);
}

/// Reads a partner's message of a known size.
awaitable<void> read_message(tcp::socket& socket, std::vector<std::byte>& body) {
    const std::size_t size = body.size();
    const pairing::outcome status = co_await read_reply(socket, body);
    if (status != pairing::outcome::exchanged || body.size() != size) {
        throw std::runtime_error(
            fmt::format("exchange failed: the reply is not a message of the size sent: {}",
                        status == pairing::outcome::exchanged ? "another size" : name_of(status)));
    }
}

void put_number(std::vector<std::byte>& body, std::size_t number) {
    std::memcpy(body.data(), &number, sizeof number);
}

std::size_t number_in(const std::vector<std::byte>& body) {
    std::size_t number = 0;
    std::memcpy(&number, body.data(), sizeof number);
    return number;
}

/// Concurrent clients in one room that exchange `swaps` messages in total.
class load_run {
public:
    load_run(const service& with, bool red_blue, std::size_t swaps, std::size_t size)
        : servers_(with), red_blue_(red_blue), size_(size), partner_(swaps, no_partner) {}

    void execute(std::size_t clients) {
        const auto start = clock::now();
        for (std::size_t i = 0; i != clients; ++i) {
            asio::co_spawn(context_, exchange_rounds(i % 2, servers_.endpoint(i)), rethrow);
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
    awaitable<void> exchange_rounds(std::size_t side, tcp::endpoint server) {
        std::vector<std::byte> body(size_);
        std::size_t& next = next_[red_blue_ ? side : 0];
        const std::size_t step = red_blue_ ? 2 : 1;
        while (next < partner_.size()) {
            const std::size_t own = std::exchange(next, next + step);
            const auto start = clock::now();
            partner_[own] = co_await exchange(server, own, body);
            latencies_.push_back(clock::now() - start);
        }
    }

    /// Exchanges message number `own`. @returns the number of the message received for it.
    awaitable<std::size_t> exchange(tcp::endpoint server, std::size_t own,
                                    std::vector<std::byte>& body) {
        tcp::socket socket(context_);
        co_await socket.async_connect(server, asio::use_awaitable);
        put_number(body, own);
        co_await send_request(socket, kind_of(own), "load", body);
        co_await read_message(socket, body);
        co_return number_in(body);
    }

    pairing::request_kind kind_of(std::size_t number) const noexcept {
        if (!red_blue_) {
            return pairing::request_kind::exchange;
        }
        return number % 2 == 0 ? pairing::request_kind::ask : pairing::request_kind::answer;
    }

    asio::io_context context_{1};
    const service& servers_;
    bool red_blue_;
    std::size_t size_;
    /// The next message number of each side. Without sides, only the first element is used.
    std::array<std::size_t, 2> next_{0, 1};
    std::vector<std::size_t> partner_; ///< For each message, the number of the one received for it.
    std::vector<clock::duration> latencies_;
    clock::duration elapsed_{};
};

/// Clients that wait in as many rooms, each for a partner that comes later.
class waiting_run {
public:
    waiting_run(const service& with, std::size_t count, std::size_t size)
        : servers_(with), count_(count), size_(size) {}

    void execute() {
        asio::co_spawn(context_, wait_then_pair(), rethrow);
        context_.run();
    }

    /// When all waited, in MB.
    double memory() const noexcept { return memory_; }

    bool is_conserved() const noexcept { return conserved_; }

private:
    /// One client after the other, so that the queues of the listening sockets do not overflow.
    awaitable<void> wait_then_pair() {
        std::vector<tcp::socket> waiting;
        for (std::size_t i = 0; i != count_; ++i) {
            waiting.push_back(co_await come(i, i));
        }
        co_await until_all_wait();
        memory_ = servers_.peak_memory();
        std::vector<std::byte> body(size_);
        for (std::size_t i = 0; i != count_; ++i) {
            tcp::socket partner = co_await come(i, i + 1);
            co_await read_message(partner, body);
            conserved_ = conserved_ && number_in(body) == i;
            co_await read_message(waiting[i], body);
            conserved_ = conserved_ && number_in(body) == i + 1;
        }
    }

    /// Brings message `number` to a room.
    awaitable<tcp::socket> come(std::size_t room, std::size_t number) {
        tcp::socket socket(context_);
        co_await socket.async_connect(servers_.endpoint(number), asio::use_awaitable);
        std::vector<std::byte> body(size_);
        put_number(body, number);
        co_await send_request(socket, pairing::request_kind::exchange, fmt::format("room {}", room),
                              body);
        co_return socket;
    }

    awaitable<void> until_all_wait() {
        constexpr auto limit = std::chrono::minutes(1);
        const auto start = clock::now();
        asio::steady_timer pause(context_);
        for (std::size_t sum = 0; sum != count_;) {
            if (clock::now() - start > limit) {
                throw std::runtime_error(fmt::format("only {} of {} clients wait", sum, count_));
            }
            pause.expires_after(std::chrono::milliseconds(10));
            co_await pause.async_wait(asio::use_awaitable);
            sum = 0;
            for (std::size_t i = 0; i != servers_.size(); ++i) {
                sum += co_await waiting_at(servers_.endpoint(i));
            }
        }
    }

    /// The statistic `waiting` of one server.
    awaitable<std::size_t> waiting_at(tcp::endpoint server) {
        tcp::socket socket(context_);
        co_await socket.async_connect(server, asio::use_awaitable);
        std::vector<std::byte> body;
        co_await send_request(socket, pairing::request_kind::statistics, {}, body);
        if (co_await read_reply(socket, body) != pairing::outcome::statistics) {
            throw std::runtime_error("a server refuses its statistics");
        }
        const std::string line(reinterpret_cast<const char*>(body.data()), body.size());
        static constexpr std::string_view name = " waiting=";
        const std::size_t at = line.find(name);
        if (at == line.npos) {
            throw std::runtime_error("the statistics do not count waiting clients");
        }
        co_return std::stoul(line.substr(at + name.size()));
    }

    asio::io_context context_{1};
    const service& servers_;
    std::size_t count_;
    std::size_t size_;
    double memory_ = 0;
    bool conserved_ = true;
};

/// Measures and prints one line of the table. @returns whether the run succeeded.
bool measure(const options& chosen, std::size_t clients, std::size_t size) {
    std::vector<std::string> arguments;
    if (chosen.red_blue) {
        arguments.emplace_back("--red-blue");
    }
    service servers(chosen, arguments);
    load_run run(servers, chosen.red_blue, chosen.swaps, size);
    run.execute(clients);
    const double memory = servers.peak_memory();
    const bool good = servers.stop() && run.is_conserved();
    fmt::print("| {:>7} | {:>7} | {:>7.0f} | {:>8.2f} | {:>8.2f} | {:>11.1f} | {} |\n", clients,
               size, run.pairs_per_second(), run.latency(0.5), run.latency(0.99), memory,
               good ? "all" : "NOT ALL");
    std::fflush(stdout);
    return good;
}

/// The same for clients that wait.
bool measure_waiting(const options& chosen, std::size_t size) {
    const std::string many = std::to_string(2 * chosen.waiting + 100);
    service servers(chosen, {"--max-rooms", many, "--max-waiting", many, "--max-connections", many,
                             "--max-connections-per-address", many});
    const double idle = servers.peak_memory();
    waiting_run run(servers, chosen.waiting, size);
    run.execute();
    const bool good = servers.stop() && run.is_conserved();
    fmt::print("| {:>7} | {:>7} | {:>7} | {:>8.1f} | {:>11.1f} | {} |\n", chosen.servers,
               chosen.waiting, size, idle, run.memory(), good ? "all" : "NOT ALL");
    std::fflush(stdout);
    return good;
}

void declare(CLI::App& app, options& chosen) {
    app.option_defaults()->always_capture_default();
    app.add_option("--server", chosen.server, "Path of the pairing_server to start")->required();
    app.add_option("--threads", chosen.threads, "Number of threads of the server");
    auto* const redis =
        app.add_option("--redis", chosen.redis, "URL of a running Redis server for the servers")
            ->type_name("URL")
            ->default_str("none");
    app.add_option("--servers", chosen.servers,
                   "Number of servers that form one service; more than 1 need --redis")
        ->check(CLI::Range(1, 100))
        ->needs(redis);
    auto* const red_blue = app.add_flag("--red-blue", chosen.red_blue,
                                        "Half of the clients ask, and the others answer");
    app.add_option("--swaps", chosen.swaps,
                   "Number of messages per line of the table; odd numbers are rounded up")
        ->check(CLI::Range(2, 100'000'000));
    app.add_option("--waiting", chosen.waiting,
                   "Instead, measure the memory for this number of clients that wait")
        ->check(CLI::Range(1, 100'000))
        ->excludes(red_blue);
    app.add_option("--clients", chosen.clients,
                   "Number of concurrent clients; several numbers give several lines")
        ->check(CLI::Range(2, 10'000));
    app.add_option("--size", chosen.sizes,
                   "Size of a message in bytes; several numbers give several lines")
        ->check(CLI::Range(8, 1 << 20));
}

int measure_all(const options& chosen) {
    pairing::raise_descriptor_limit();
    bool good = true;
    if (chosen.waiting != 0) {
        fmt::print("| servers | waiting | bytes   | idle, MB | waiting, MB | conserved |\n"
                   "| ------: | ------: | ------: | -------: | ----------: | --- |\n");
        for (const std::size_t size : chosen.sizes) {
            good = measure_waiting(chosen, size) && good;
        }
        return good ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    fmt::print("| clients | bytes   | pairs/s | p50, ms  | p99, ms  | memory, MB  | conserved |\n"
               "| ------: | ------: | ------: | -------: | -------: | ----------: | --- |\n");
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
