// SPDX-License-Identifier: MIT
//
// Swaps a message with whoever comes to the same room of a pairing_server:
//
//     pairing_client --port 4000 ROOM < mine > theirs
//
// On a server with --red-blue, --ask and --answer say who meets whom.
//
// README.md lists the exit statuses.

#include "asio_words.hpp"
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

constexpr int exit_file_trouble = 1;
constexpr int exit_no_connection = 3;
constexpr int exit_timed_out = 4;
constexpr int exit_other_answer = 10;

struct options {
    std::string host = "127.0.0.1";
    std::string port;
    std::string room;
    pairing::request_kind kind = pairing::request_kind::exchange;
    std::string send; ///< Empty: standard input.
    std::string receive; ///< Empty: standard output.
    std::chrono::milliseconds timeout{
        0}; ///< From the look-up of the host to the end of the reply; 0: none.
};

struct reply {
    outcome status = outcome::failed;
    message body;
};

message read_all(std::istream& in) {
    message all;
    while (in) {
        const auto space = all.space(message::largest_block);
        in.read(reinterpret_cast<char*>(space.data()), static_cast<std::streamsize>(space.size()));
        all.commit(static_cast<std::size_t>(in.gcount()));
    }
    if (in.bad()) {
        throw std::runtime_error("cannot read");
    }
    if (all.size() > std::numeric_limits<std::uint32_t>::max()) {
        throw std::runtime_error("too large for one message");
    }
    return all;
}

message read_input(const std::string& path) {
    if (path.empty()) {
        return read_all(std::cin);
    }
    std::ifstream file(path, std::ios::binary);
    // A directory opens, and fails only when it is read.
    if (!file || std::filesystem::is_directory(path)) {
        throw std::runtime_error(fmt::format("cannot read {}", path));
    }
    return read_all(file);
}

/// @param late  The error message if time is over before this returns.
awaitable<reply> swap_with_partner(const options& chosen, const message& mine,
                                   std::string_view& late) {
    late = "no connection in time";
    const auto executor = co_await asio::this_coro::executor;
    tcp::resolver resolver(executor);
    const auto endpoints =
        co_await resolver.async_resolve(chosen.host, chosen.port, asio::use_awaitable);
    tcp::socket socket(executor);
    co_await asio::async_connect(socket, endpoints, asio::use_awaitable);

    late = "the server did not take the message in time";
    const pairing::header_bytes head =
        pairing::encode({.code = static_cast<std::uint8_t>(chosen.kind),
                         .name_size = static_cast<std::uint8_t>(chosen.room.size()),
                         .body_size = static_cast<std::uint32_t>(mine.size())});
    std::vector<asio::const_buffer> parts{asio::buffer(head), asio::buffer(chosen.room)};
    for (const auto& block : mine.blocks()) {
        parts.emplace_back(block.data(), block.size());
    }
    // Errors are ignored: a server that refuses may not take all of it, but has sent its reply.
    co_await asio::async_write(socket, parts, pairing::use_tuple);

    late = "no partner came in time";
    pairing::header_bytes answer{};
    co_await asio::async_read(socket, asio::buffer(answer), asio::use_awaitable);
    const auto fields = pairing::decode(answer);
    if (!fields || fields->code >= pairing::outcome_count) {
        throw std::runtime_error("this server speaks another protocol");
    }

    late = "the reply did not end in time";
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
    app.add_option("ROOM", chosen.room, "Name of the room to meet in")
        ->required()
        ->type_name(" ")
        ->check([](const std::string& name) {
            return name.empty() || name.size() > 255 ? "the name of a room has 1 to 255 bytes" : "";
        });
    app.add_option("--host", chosen.host, "Name or address of the server")->capture_default_str();
    app.add_option("--port", chosen.port, "Port of the server")->required();
    auto* const ask = app.add_flag_callback(
        "--ask", [&chosen] { chosen.kind = pairing::request_kind::ask; },
        "Meet a client that answers; the server needs --red-blue");
    app.add_flag_callback(
           "--answer", [&chosen] { chosen.kind = pairing::request_kind::answer; },
           "Meet a client that asks; the server needs --red-blue")
        ->excludes(ask);
    app.add_option("--send", chosen.send, "Send this file instead of standard input")
        ->type_name("FILE");
    app.add_option("--receive", chosen.receive,
                   "Write the partner's message to this file instead of standard output")
        ->type_name("FILE");
    pairing::add_seconds(app, "--timeout", chosen.timeout,
                         "Give up this long after starting to connect, unless the whole reply has "
                         "arrived")
        ->default_str("no limit");
    app.footer(
        "Exit status: 0 exchanged; 1 a file cannot be read or written; 2 wrong usage;\n"
        "3 no connection, or it broke; 4 timed out (--timeout); 10 and more: refused by the\n"
        "server, for example 11 no partner came in time.");
}

int complain(int status, std::string_view problem) {
    std::cerr << "pairing_client: " << problem << '\n';
    return status;
}

/// Ends the program if time is over. @throws an exception if the connection fails.
reply swap_in_time(const options& chosen, const message& mine) {
    asio::io_context context;
    std::string_view late;
    std::exception_ptr failure;
    std::optional<reply> result;
    asio::co_spawn(context, swap_with_partner(chosen, mine, late),
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
        // The destructor of `context` would wait for a look-up of the host, which cannot be
        // interrupted.
        std::exit(complain(exit_timed_out,
                           fmt::format("{} (--timeout {})", late,
                                       static_cast<double>(chosen.timeout.count()) / 1000)));
    }
    return *std::move(result);
}

int run(const options& chosen) {
    const pairing::output to(chosen.receive);
    const message mine = read_input(chosen.send);
    reply result;
    try {
        result = swap_in_time(chosen, mine);
    } catch (const std::exception& problem) {
        return complain(exit_no_connection, problem.what());
    }
    if (result.status != outcome::exchanged) {
        return complain(exit_other_answer + static_cast<int>(result.status),
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
        return complain(exit_file_trouble, problem.what());
    }
}
