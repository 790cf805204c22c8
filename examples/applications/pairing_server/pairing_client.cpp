// SPDX-License-Identifier: MIT
//
// Swaps a message with the next client that comes to the same room of a pairing_server:
//
//     pairing_client --port 4000 ROOM < mine > theirs
//
// A server with --red-blue requires --ask or --answer. README.md lists the exit statuses.
#include "command_line.hpp"
#include "protocol.hpp"

#include <CLI/CLI.hpp>
#include <asio.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iostream>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include <unistd.h>

namespace {

using asio::ip::tcp;

int report_error(int status, const std::string& problem) {
    std::cerr << "pairing_client: " << problem << '\n';
    return status;
}

/// Strangers write these texts: what may control a terminal becomes a question mark.
std::string printable(std::string text) {
    std::ranges::replace_if(
        text, [](char each) { return (each < ' ' && each != '\n' && each != '\t') || each > '~'; },
        '?');
    return text;
}

int run(int count, char** arguments) {
    std::string host = "127.0.0.1";
    std::string port;
    std::string room;
    auto kind = pairing::request_kind::exchange;
    std::chrono::milliseconds timeout(0);
    CLI::App app("Swaps standard input with the next client that comes to the same room of a "
                 "pairing_server, and writes what it gets to standard output.");
    app.add_option("ROOM", room, "name of the room, agreed on with the partner")
        ->required()
        ->check([](const std::string& name) {
            return name.empty() || name.size() > 255 ? "the name must have 1 to 255 bytes" : "";
        });
    app.add_option("--host", host, "name or address of the server")->capture_default_str();
    app.add_option("--port", port, "port of the server")->required();
    auto* const ask = app.add_flag_callback(
        "--ask", [&] { kind = pairing::request_kind::ask; }, "pair with a client that answers");
    app.add_flag_callback(
           "--answer", [&] { kind = pairing::request_kind::answer; },
           "pair with a client that asks")
        ->excludes(ask);
    pairing::add_seconds(app, "--timeout", timeout, "longest time until the reply is complete")
        ->default_str("no limit");
    if (const auto status = pairing::parse(app, count, arguments)) {
        return *status;
    }

    const std::string mine(std::istreambuf_iterator<char>(std::cin), {});
    if (std::ferror(stdin) != 0 || mine.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw std::runtime_error("cannot send standard input");
    }
    tcp::iostream server;
    const auto end = std::chrono::steady_clock::now() + timeout;
    if (timeout.count() != 0) {
        server.expires_at(end);
    }
    server.connect(host, port);
    std::optional<pairing::header> fields;
    std::string theirs;
    if (server) {
        const auto head = pairing::encode({.code = static_cast<std::uint8_t>(kind),
                                           .name_size = static_cast<std::uint8_t>(room.size()),
                                           .body_size = static_cast<std::uint32_t>(mine.size())});
        server.write(reinterpret_cast<const char*>(head.data()), head.size());
        server << room << mine << std::flush;
        server.clear(); // a server that refuses the request may not read all of it, but replies
        pairing::header_bytes answer{};
        server.read(reinterpret_cast<char*>(answer.data()), answer.size());
        fields = server ? pairing::decode(answer) : std::nullopt;
        std::string part(65'536, '\0'); // never more memory than has arrived
        while (server && fields && theirs.size() != fields->body_size) {
            server.read(part.data(), static_cast<std::streamsize>(
                                         std::min(part.size(), fields->body_size - theirs.size())));
            theirs.append(part, 0, static_cast<std::size_t>(server.gcount()));
        }
    }
    if (!server && timeout.count() != 0 && std::chrono::steady_clock::now() >= end) {
        return report_error(4, "timed out (--timeout)");
    }
    if (!server || !fields || fields->code >= pairing::outcome_limit - 1) {
        return report_error(
            3,
            fmt::format("cannot exchange with the server at {} port {}: {}", host, port,
                        server ? "the reply is not of this protocol" : server.error().message()));
    }
    if (fields->code != static_cast<std::uint8_t>(pairing::outcome::exchanged)) {
        return report_error(10 + fields->code, printable(std::move(theirs)));
    }
    std::cout << (::isatty(STDOUT_FILENO) == 1 ? printable(std::move(theirs)) : theirs);
    if (!std::cout.flush()) {
        throw std::runtime_error("cannot write standard output");
    }
    return 0;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const std::exception& problem) {
        return report_error(1, problem.what());
    }
}
