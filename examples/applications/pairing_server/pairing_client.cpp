// SPDX-License-Identifier: MIT
//
// Swaps a message with the next client that comes to the same room of a pairing_server:
//
//     pairing_client --port 4000 ROOM < mine > theirs
//
// A server with --red-blue requires --ask or --answer. README.md lists the exit statuses.

#include "asio_helpers.hpp"
#include "command_line.hpp"
#include "output.hpp"
#include "printable.hpp"
#include "protocol.hpp"

#include <CLI/CLI.hpp>
#include <asio.hpp>
#include <fmt/core.h>

#include <chrono>
#include <clocale>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using pairing::awaitable;
using pairing::message;
using pairing::outcome;
using pairing::tcp;

constexpr int exit_file_error = 1;
constexpr int exit_no_connection = 3;
constexpr int exit_timed_out = 4;
constexpr int exit_refused = 10; // plus the status of the reply

struct options {
    std::string host = "127.0.0.1";
    std::string port;
    std::string room;
    pairing::request_kind kind = pairing::request_kind::exchange;
    std::string send; ///< Empty: standard input.
    std::string receive; ///< Empty: standard output.
    /// From the look-up of the host to the end of the reply. 0: no limit.
    std::chrono::milliseconds timeout{0};
};

struct reply {
    outcome status = outcome::failed;
    message body;
};

message read_all(std::istream& in, const std::string& name) {
    message all;
    while (in) {
        const auto space = all.space(message::largest_block);
        in.read(reinterpret_cast<char*>(space.data()), static_cast<std::streamsize>(space.size()));
        all.commit(static_cast<std::size_t>(in.gcount()));
    }
    if (in.bad()) {
        throw std::runtime_error(fmt::format("cannot read {}", name));
    }
    if (all.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw std::runtime_error(
            fmt::format("cannot send {}: larger than 4 GiB - 1; send it in parts", name));
    }
    return all;
}

message read_input(const std::string& path) {
    if (path.empty()) {
        return read_all(std::cin, "standard input");
    }
    std::ifstream file(path, std::ios::binary);
    // Opening a directory succeeds; only reading it fails.
    if (!file || std::filesystem::is_directory(path)) {
        throw std::runtime_error(fmt::format("cannot read {}", path));
    }
    return read_all(file, path);
}

/// @param step  the current step, for the error message if the timeout expires.
awaitable<reply> swap_with_partner(const options& chosen, const message& mine,
                                   std::string_view& step) {
    step = "connecting to the server";
    const auto executor = co_await asio::this_coro::executor;
    tcp::resolver resolver(executor);
    const auto endpoints =
        co_await resolver.async_resolve(chosen.host, chosen.port, asio::use_awaitable);
    tcp::socket socket(executor);
    co_await asio::async_connect(socket, endpoints, asio::use_awaitable);

    step = "sending the message";
    const pairing::header_bytes head =
        pairing::encode({.code = static_cast<std::uint8_t>(chosen.kind),
                         .name_size = static_cast<std::uint8_t>(chosen.room.size()),
                         .body_size = static_cast<std::uint32_t>(mine.size())});
    std::vector<asio::const_buffer> parts{asio::buffer(head), asio::buffer(chosen.room)};
    for (const auto& block : mine.blocks()) {
        parts.emplace_back(block.data(), block.size());
    }
    // Ignore errors: a server that refuses the request may not read all of it, but still replies.
    co_await asio::async_write(socket, parts, pairing::use_tuple);

    step = "waiting for a partner";
    pairing::header_bytes answer{};
    co_await asio::async_read(socket, asio::buffer(answer), asio::use_awaitable);
    const auto fields = pairing::decode(answer);
    if (!fields || fields->code >= pairing::outcome_count) {
        throw std::runtime_error("the reply is not of this protocol; check the host and the port");
    }

    step = "receiving the reply";
    reply result{static_cast<outcome>(fields->code), {}};
    while (result.body.size() != fields->body_size) {
        const auto space = result.body.space(fields->body_size - result.body.size());
        const std::size_t size = co_await socket.async_read_some(
            asio::buffer(space.data(), space.size()), asio::use_awaitable);
        result.body.commit(size);
    }
    co_return result;
}

void declare(CLI::App& app, options& chosen) {
    app.add_option("ROOM", chosen.room, "Name of the room, agreed on with the partner")
        ->required()
        ->type_name(" ")
        ->check([](const std::string& name) {
            return name.empty() || name.size() > 255 ? "the name must have 1 to 255 bytes" : "";
        });
    app.add_option("--host", chosen.host, "Name or address of the server")->capture_default_str();
    app.add_option("--port", chosen.port, "Port of the server")->required();
    auto* const ask = app.add_flag_callback(
        "--ask", [&chosen] { chosen.kind = pairing::request_kind::ask; },
        "Pair with a client that answers; needs a server with --red-blue");
    app.add_flag_callback(
           "--answer", [&chosen] { chosen.kind = pairing::request_kind::answer; },
           "Pair with a client that asks; needs a server with --red-blue")
        ->excludes(ask);
    app.add_option("--send", chosen.send, "Send this file instead of standard input")
        ->type_name("FILE");
    app.add_option("--receive", chosen.receive,
                   "Write the partner's message to this file instead of standard output")
        ->type_name("FILE");
    pairing::add_seconds(app, "--timeout", chosen.timeout,
                         "Longest time from the look-up of the host to the end of the reply")
        ->default_str("no limit");
    app.footer(
        "Exit status: 0 exchanged; 1 a file cannot be read or written; 2 wrong usage;\n"
        "3 no connection, or it broke; 4 timed out (--timeout); 10 and more: refused by the\n"
        "server, for example 11 no partner came in time, 24 the server cannot reach the others,\n"
        "25 in doubt: a partner may have the message.");
}

int report_error(int status, std::string_view problem) {
    std::cerr << "pairing_client: " << problem << '\n';
    return status;
}

/// Ends the program if the timeout expires. @throws an exception if the connection fails.
reply swap_with_timeout(const options& chosen, const message& mine) {
    asio::io_context context;
    std::string_view step;
    std::exception_ptr failure;
    std::optional<reply> result;
    asio::co_spawn(context, swap_with_partner(chosen, mine, step),
                   [&](const std::exception_ptr& thrown, reply returned) {
                       failure = thrown;
                       result = std::move(returned);
                   });
    if (chosen.timeout.count() == 0) {
        context.run();
    } else {
        context.run_for(chosen.timeout);
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    if (!result) {
        // Exit here: the destructor of `context` would wait for the look-up of the host, which
        // cannot be interrupted.
        std::exit(report_error(exit_timed_out,
                               fmt::format("timed out while {} (--timeout {})", step,
                                           static_cast<double>(chosen.timeout.count()) / 1000)));
    }
    return *std::move(result);
}

int run(const options& chosen) {
    const pairing::output to(chosen.receive);
    const message mine = read_input(chosen.send);
    reply result;
    try {
        result = swap_with_timeout(chosen, mine);
    } catch (const std::exception& problem) {
        return report_error(exit_no_connection,
                            fmt::format("cannot exchange with the server at {} port {}: {}",
                                        chosen.host, chosen.port, problem.what()));
    }
    if (result.status != outcome::exchanged) {
        return report_error(exit_refused + static_cast<int>(result.status),
                            pairing::printable(result.body.text(), pairing::line_ends::escape));
    }
    to.write(result.body);
    return EXIT_SUCCESS;
}

} // namespace

int main(int count, char** arguments) {
    std::setlocale(LC_CTYPE, ""); // for pairing::printable
    try {
        options chosen;
        CLI::App app("Swaps a message with the next client that comes to the same room of a "
                     "pairing_server.",
                     "pairing_client");
        declare(app, chosen);
        if (const auto status = pairing::parse(app, count, arguments)) {
            return *status;
        }
        return run(chosen);
    } catch (const std::exception& problem) {
        return report_error(exit_file_error, problem.what());
    }
}
