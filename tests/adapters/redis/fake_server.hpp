// SPDX-License-Identifier: MIT
/// @file
/// A server on a Unix socket whose replies the test writes.
/// POSIX.
#pragma once

#include "adapters/redis/redis_server.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {

/// A string as Redis sends it.
inline std::string bulk(const std::string& word) {
    return '$' + std::to_string(word.size()) + "\r\n" + word + "\r\n";
}

/// The reply to HELLO.
inline std::string hello(const std::string& version = "7.0.0",
                         const std::string& mode = "standalone",
                         const std::string& role = "master") {
    return "%4\r\n" + bulk("server") + bulk("redis") + bulk("version") + bulk(version) +
           bulk("mode") + bulk(mode) + bulk("role") + bulk(role);
}

/// Replies to the commands that a client sends when it connects, as Redis does.
/// @returns nothing for other commands.
inline std::optional<std::string> handshake_reply(const std::vector<std::string>& command) {
    if (command[0] == "HELLO") {
        return hello();
    }
    if (command[0] == "SCRIPT") {
        return bulk(std::string(40, 'a'));
    }
    if (command[0] == "SUBSCRIBE") {
        std::string all;
        for (std::size_t i = 1; i != command.size(); ++i) {
            all += ">3\r\n" + bulk("subscribe") + bulk(command[i]) + ":1\r\n";
        }
        return all;
    }
    return command[0] == "PING" ? std::optional<std::string>("+PONG\r\n") : std::nullopt;
}

/// A server on a Unix socket whose replies the test writes.
class fake_server {
public:
    /// Called for each command; returns the bytes to send, or nothing in order to close the
    /// connection.
    using responder = std::function<std::optional<std::string>(const std::vector<std::string>&)>;

    /// @param pause  before each 8 KiB that it reads.
    explicit fake_server(responder respond, std::chrono::milliseconds pause = {})
        : respond_(std::move(respond)), pause_(pause), acceptor_(context_, path()) {
        accept();
        thread_ = std::thread([this] { context_.run(); });
    }
    fake_server(const fake_server&) = delete;
    fake_server& operator=(const fake_server&) = delete;
    ~fake_server() {
        context_.stop();
        thread_.join();
    }

    std::string path() const { return directory_.file("fake.sock"); }
    std::string url() const { return "unix://" + path(); }

private:
    struct connection {
        explicit connection(local_stream::socket accepted) : socket(std::move(accepted)) {}
        local_stream::socket socket;
        redis::detail::reply_reader requests{std::size_t{64} << 20};
    };

    void accept() {
        acceptor_.async_accept([this](redis::error_code failed, local_stream::socket accepted) {
            if (!failed) {
                serve(std::make_shared<connection>(std::move(accepted)));
            }
            accept();
        });
    }

    void serve(const std::shared_ptr<connection>& client) {
        std::this_thread::sleep_for(pause_);
        const std::span<char> space = client->requests.space();
        client->socket.async_read_some(
            redis::net::buffer(space.data(), std::min<std::size_t>(space.size(), 8192)),
            [this, client](redis::error_code failed, std::size_t count) {
                client->requests.add(count);
                if (!failed && reply_to_all(*client)) {
                    serve(client);
                }
            });
    }

    /// @returns whether the connection stays open.
    bool reply_to_all(connection& client) {
        while (const redis::detail::reply* const command = client.requests.next()) {
            std::vector<std::string> words;
            for (const redis::detail::reply& word : command->elements) {
                words.emplace_back(word.text);
            }
            const std::optional<std::string> answer = respond_(words);
            redis::error_code failed;
            if (answer) {
                redis::net::write(client.socket, redis::net::buffer(*answer), failed);
            }
            if (!answer || failed) {
                return false;
            }
        }
        return true;
    }

    responder respond_;
    std::chrono::milliseconds pause_;
    temporary_directory directory_;
    redis::net::io_context context_;
    local_stream::acceptor acceptor_;
    std::thread thread_;
};

} // namespace tryst::test
