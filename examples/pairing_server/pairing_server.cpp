// SPDX-License-Identifier: MIT
//
// A server that pairs its clients: two who name the same room get each other's message, or, with --red-blue, one
// who asks there and one who answers. README.md has the protocol and a tour of the files.

#include "descriptor_limit.hpp"
#include "options.hpp"
#include "server.hpp"

#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <limits>
#include <string>
#include <tuple>

namespace {

/// An option in seconds. `0.5` is half of one.
void add_seconds(CLI::App& app, const char* name, std::chrono::milliseconds& value,
                 const char* what) {
    app.add_option_function<double>(
           name,
           [&value, name](double seconds) {
               if (std::isnan(seconds)) { // which is in every range, or in none
                   throw CLI::ValidationError(name, "not a number");
               }
               value = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
           },
           what)
        ->type_name("SECONDS")
        ->default_str(fmt::format("{}", static_cast<double>(value.count()) / 1000))
        ->check(CLI::Range(0.001, 1e6));
}

void declare(CLI::App& app, pairing::options& chosen) {
    const CLI::Range some(std::size_t{1}, std::numeric_limits<std::size_t>::max());
    app.option_defaults()->always_capture_default();
    app.add_option("--address", chosen.address, "where to listen")
        ->check([](const std::string& text) {
            asio::error_code wrong;
            std::ignore = asio::ip::make_address(text, wrong);
            return wrong ? text + " is no address of IPv4 or IPv6" : std::string();
        });
    app.add_option("--port", chosen.port, "0: any that is free, and it is printed");
    app.add_option("--threads", chosen.threads, "loops, of one thread each")
        ->check(CLI::Range(1, 256));
    app.add_flag("--red-blue", chosen.red_blue, "askers meet answerers only");
    add_seconds(app, "--wait-time", chosen.wait_time, "how long a client waits for a partner");
    add_seconds(app, "--receive-time", chosen.receive_time, "for a whole request");
    add_seconds(app, "--send-time", chosen.send_time, "for a whole reply");
    app.add_option("--max-message", chosen.frame.body, "bytes")
        ->check(CLI::Range(std::size_t{0}, std::size_t{0xFFFFFFFF}));
    app.add_option("--max-room-name", chosen.frame.name, "bytes")->check(CLI::Range(1, 255));
    app.add_option("--max-rooms", chosen.most_rooms, "rooms with somebody inside")->check(some);
    app.add_option("--max-waiting", chosen.most_waiting, "clients that wait for a partner")
        ->check(some);
    app.add_option("--max-waiting-per-room", chosen.most_waiting_in_one_room,
                   "clients that wait for a partner in one room")
        ->check(some);
    app.add_option("--max-connections", chosen.most_connections, "clients in all")->check(some);
    app.add_option("--max-connections-per-address", chosen.most_connections_of_one_address,
                   "clients of one address")
        ->check(some);
}

int serve(const pairing::options& chosen) {
    pairing::raise_descriptor_limit();
    std::signal(SIGPIPE, SIG_IGN); // whoever reads what we print may go
    pairing::server server(chosen);
    const auto endpoint = server.endpoint();
    fmt::print("listening on {} port {}\n", endpoint.address().to_string(), endpoint.port());
    std::fflush(stdout);
    server.run();
    std::puts(server.report().c_str());
    return EXIT_SUCCESS;
}

int run(int count, char** arguments) {
    pairing::options chosen;
    CLI::App app("Pairs clients: two who name the same room get each other's message.");
    declare(app, chosen);
    CLI11_PARSE(app, count, arguments);
    return serve(chosen);
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
