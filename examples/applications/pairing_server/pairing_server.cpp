// SPDX-License-Identifier: MIT
//
// A server that pairs its clients: two clients that name the same room get each other's message.
// With --red-blue it pairs a client that asks with one that answers.
// With --redis, any number of servers form one service.
// README.md describes the protocol and the files.

#include "command_line.hpp"
#include "options.hpp"
#include "room.hpp"
#include "server.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <string>
#include <tuple>

namespace {

/// An option in seconds that shows its default.
void add_time(CLI::App& app, const char* name, std::chrono::milliseconds& value, const char* what) {
    pairing::add_seconds(app, name, value, what)
        ->default_str(fmt::format("{}", static_cast<double>(value.count()) / 1000));
}

void declare(CLI::App& app, pairing::options& chosen) {
    app.option_defaults()->always_capture_default();
    const auto is_address = [](const std::string& text) {
        asio::error_code wrong;
        std::ignore = asio::ip::make_address(text, wrong);
        return wrong ? text + " is not an IPv4 or IPv6 address" : std::string();
    };
    app.add_option("--address", chosen.address, "IP address to listen on")->check(is_address);
    app.add_option("--port", chosen.port, "Port to listen on; 0: any free port, which is printed");
    app.add_option("--admin-address", chosen.admin_address,
                   "IP address to listen on for the administrator's HTTP requests")
        ->check(is_address);
    app.add_option("--admin-port", chosen.admin_port,
                   "Port to listen on for GET /metrics, /waiters, /livez and /readyz; 0: any free "
                   "port, which is printed")
        ->default_str("none");
    app.add_option("--threads", chosen.threads, "Number of threads, each with its own event loop")
        ->check(CLI::Range(1, 256));
    app.add_flag("--red-blue", chosen.red_blue,
                 "Pair clients that ask only with clients that answer");
    app.add_option("--redis", chosen.redis,
                   "URL of a Redis server, for example redis://localhost: servers with the same "
                   "URL pair their clients with each other's")
        ->type_name("URL")
        ->envname("PAIRING_REDIS")
        ->default_str("none")
        ->check(pairing::problem_of_redis_url);
    add_time(app, "--wait-time", chosen.wait_time, "How long a client may wait for a partner");
    add_time(app, "--receive-time", chosen.receive_time,
             "How long a client may take to send its whole request");
    add_time(app, "--send-time", chosen.send_time,
             "How long a client may take to read its whole reply and hang up; also the longest "
             "time that a shutdown takes");
    app.add_option("--max-message", chosen.max_message, "Largest message, in bytes")
        ->check(CLI::Range(std::size_t{0}, std::size_t{0xFFFFFFFF}));
    app.add_option("--max-room-name", chosen.max_room_name, "Longest name of a room, in bytes")
        ->check(CLI::Range(1, 255));
    app.add_option("--max-connections", chosen.max_connections, "Largest number of connections")
        ->check(CLI::Range(std::size_t{1}, std::numeric_limits<std::size_t>::max()));
    app.footer(
        "There is neither encryption nor authentication: anyone who can connect and names a\n"
        "room takes the message that waits there. Exit status: 0 shut down by SIGTERM or SIGINT;\n"
        "1 failed, for example because the port is in use; 2 wrong usage.");
}

int run(int count, char** arguments) {
    pairing::options chosen;
    CLI::App app("Pairs clients: two that name the same room get each other's message.",
                 "pairing_server");
    declare(app, chosen);
    if (const auto status = pairing::parse(app, count, arguments)) {
        return *status;
    }
    std::signal(SIGPIPE, SIG_IGN); // the reader of standard output may exit
    pairing::server server(chosen);
    const auto endpoint = server.endpoint();
    fmt::print("listening on {} port {}\n", endpoint.address().to_string(), endpoint.port());
    if (const auto port = server.admin_port()) {
        fmt::print("administration on {} port {}\n", chosen.admin_address, *port);
    }
    std::fflush(stdout);
    server.run();
    std::puts(server.state().line().c_str());
    if (server.admin_port()) {
        std::fflush(stdout);
        std::_Exit(EXIT_SUCCESS); // a client of the administrator's port could delay the end
    }
    return EXIT_SUCCESS;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const std::exception& problem) {
        std::cerr << "pairing_server: " << problem.what() << '\n';
        return EXIT_FAILURE;
    }
}
