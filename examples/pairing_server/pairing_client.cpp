// SPDX-License-Identifier: MIT
//
// Swaps a message with whoever comes to the same room of a pairing_server:
//
//     pairing_client --port 4000 ROOM < mine > theirs
//
// On a server with --red-blue, --ask and --answer say who meets whom.
//
// Exit status: 0 exchanged; 1 a file cannot be read or written; 2 wrong usage; 3 no connection, or it broke;
// 10 + the status of the reply if the server had another answer (README.md lists them).

#include "protocol.hpp"

#include <CLI/CLI.hpp>
#include <asio.hpp>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace {

using asio::ip::tcp;
using pairing::message;
using pairing::outcome;

constexpr int file_trouble = 1;
constexpr int wrong_usage = 2;
constexpr int no_connection = 3;
constexpr int other_answer = 10;

struct options {
    std::string host = "127.0.0.1";
    std::string port;
    std::string room;
    pairing::request_kind kind = pairing::request_kind::exchange;
    std::string send; ///< Empty: standard input.
    std::string receive; ///< Empty: standard output.
};

struct reply {
    outcome status;
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

void write_all(std::ostream& out, const message& body) {
    for (const auto& block : body.blocks()) {
        out.write(reinterpret_cast<const char*>(block.data()),
                  static_cast<std::streamsize>(block.size()));
    }
    if (!out.flush()) {
        throw std::runtime_error("cannot write");
    }
}

/// A pipe or a device is written into, and not replaced.
bool is_replaced(const std::string& path) {
    const auto what = std::filesystem::status(path);
    return !std::filesystem::exists(what) || std::filesystem::is_regular_file(what);
}

std::string unfinished_name(const std::string& path) {
    return fmt::format("{}.{}.part", path, ::getpid());
}

/// Who could not keep what comes must not take it from its partner.
void try_output(const std::string& path) {
    if (path.empty()) {
        return;
    }
    bool good = !std::filesystem::is_directory(path);
    if (good && is_replaced(path)) {
        const std::string unfinished = unfinished_name(path);
        good = std::ofstream(unfinished).good();
        std::error_code ignored;
        std::filesystem::remove(unfinished, ignored);
    }
    if (!good) {
        throw std::runtime_error("cannot write " + path);
    }
}

/// Under another name first: whoever sees the file sees all of it.
void write_output(const std::string& path, const message& body) {
    if (path.empty()) {
        return write_all(std::cout, body);
    }
    if (!is_replaced(path)) {
        std::ofstream file(path, std::ios::binary);
        return write_all(file, body);
    }
    const std::string unfinished = unfinished_name(path);
    try {
        std::ofstream file(unfinished, std::ios::binary);
        write_all(file, body);
        file.close();
        std::filesystem::rename(unfinished, path);
    } catch (...) {
        std::error_code ignored;
        std::filesystem::remove(unfinished, ignored);
        throw;
    }
}

reply swap_with_partner(const options& chosen, const message& mine) {
    asio::io_context context;
    tcp::socket socket(context);
    asio::connect(socket, tcp::resolver(context).resolve(chosen.host, chosen.port));

    const pairing::header_bytes head =
        pairing::encode({.code = static_cast<std::uint8_t>(chosen.kind),
                         .name_size = static_cast<std::uint8_t>(chosen.room.size()),
                         .body_size = static_cast<std::uint32_t>(mine.size())});
    std::vector<asio::const_buffer> parts{asio::buffer(head), asio::buffer(chosen.room)};
    for (const auto& block : mine.blocks()) {
        parts.emplace_back(block.data(), block.size());
    }
    // A server that refuses may not take all of it, and its reply is already there.
    asio::error_code refused;
    asio::write(socket, parts, refused);

    pairing::header_bytes answer{};
    asio::read(socket, asio::buffer(answer));
    const auto fields = pairing::decode(answer);
    if (!fields || fields->code >= pairing::outcome_count) {
        throw std::runtime_error("this server speaks another protocol");
    }
    reply result{static_cast<outcome>(fields->code), {}};
    while (result.body.size() != fields->body_size) {
        const auto space = result.body.space(fields->body_size - result.body.size());
        result.body.commit(socket.read_some(asio::buffer(space.data(), space.size())));
    }
    return result;
}

void declare(CLI::App& app, options& chosen) {
    app.add_option("--host", chosen.host, "where the server is")->capture_default_str();
    app.add_option("--port", chosen.port, "its port")->required();
    auto* const ask = app.add_flag_callback(
        "--ask", [&chosen] { chosen.kind = pairing::request_kind::ask; },
        "meet one who answers, on a server with --red-blue");
    app.add_flag_callback(
           "--answer", [&chosen] { chosen.kind = pairing::request_kind::answer; },
           "meet one who asks")
        ->excludes(ask);
    app.add_option("--send", chosen.send, "the file to give away, instead of standard input");
    app.add_option("--receive", chosen.receive,
                   "the file to make of what comes, instead of standard output");
    app.add_option("ROOM", chosen.room, "the room to meet in")
        ->required()
        ->check([](const std::string& name) {
            return name.empty() || name.size() > 255 ? "the name of a room has 1 to 255 bytes" : "";
        });
}

int complain(int status, const std::exception& problem) {
    std::cerr << "pairing_client: " << problem.what() << '\n';
    return status;
}

int run(const options& chosen) {
    message mine;
    try {
        try_output(chosen.receive);
        mine = read_input(chosen.send);
    } catch (const std::exception& problem) {
        return complain(file_trouble, problem);
    }
    reply result{};
    try {
        result = swap_with_partner(chosen, mine);
    } catch (const std::exception& problem) {
        return complain(no_connection, problem);
    }
    if (result.status != outcome::exchanged) {
        write_all(std::cerr, result.body);
        std::cerr << '\n';
        return other_answer + static_cast<int>(result.status);
    }
    write_output(chosen.receive, result.body);
    return EXIT_SUCCESS;
}

} // namespace

int main(int count, char** arguments) {
    try {
        options chosen;
        CLI::App app("Swaps a message with whoever comes to the same room of a pairing_server.");
        declare(app, chosen);
        try {
            app.parse(count, arguments);
        } catch (const CLI::ParseError& problem) {
            return app.exit(problem) == 0 ? EXIT_SUCCESS : wrong_usage;
        }
        return run(chosen);
    } catch (const std::exception& problem) {
        return complain(file_trouble, problem);
    }
}
