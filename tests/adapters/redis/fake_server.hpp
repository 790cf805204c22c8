// SPDX-License-Identifier: MIT
/// @file
/// A server on a Unix socket whose replies the test writes.
/// POSIX.
#pragma once

#include "adapters/redis/redis_server.hpp"

#include <functional>
#include <map>
#include <optional>

#include <poll.h>

namespace tryst::test {

/// A string as Redis sends it.
inline std::string bulk(const std::string& text) {
    return '$' + std::to_string(text.size()) + "\r\n" + text + "\r\n";
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

    explicit fake_server(responder respond) : respond_(std::move(respond)) {
        const sockaddr_un where = unix_address(path());
        listener_ = checked_call(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        checked_call(::bind(listener_, reinterpret_cast<const sockaddr*>(&where), sizeof where),
                     "bind");
        checked_call(::listen(listener_, 16), "listen");
        checked_call(::pipe2(stop_.data(), O_CLOEXEC), "pipe2");
        thread_ = std::thread([this] { run(); });
    }
    fake_server(const fake_server&) = delete;
    fake_server& operator=(const fake_server&) = delete;
    ~fake_server() {
        ::close(stop_[1]);
        thread_.join();
        ::close(stop_[0]);
        ::close(listener_);
    }

    std::string path() const { return directory_.file("fake.sock"); }
    std::string url() const { return "unix://" + path(); }

private:
    using reader_ptr = std::unique_ptr<redis::detail::reply_reader>;

    void run() {
        std::map<int, reader_ptr> connections;
        for (;;) {
            std::vector<pollfd> watched{{stop_[0], POLLIN, 0}, {listener_, POLLIN, 0}};
            for (const auto& [socket, reader] : connections) {
                watched.push_back({socket, POLLIN, 0});
            }
            ::poll(watched.data(), watched.size(), -1);
            if (watched[0].revents != 0) {
                break;
            }
            for (std::size_t i = 2; i < watched.size(); ++i) {
                if (watched[i].revents != 0 && !serve(watched[i].fd, *connections[watched[i].fd])) {
                    ::close(watched[i].fd);
                    connections.erase(watched[i].fd);
                }
            }
            if (watched[1].revents != 0) {
                const int accepted = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
                if (accepted != -1) {
                    connections[accepted] =
                        std::make_unique<redis::detail::reply_reader>(std::size_t{64} << 20);
                }
            }
        }
        for (const auto& [socket, reader] : connections) {
            ::close(socket);
        }
    }

    /// @returns whether the connection stays open.
    bool serve(int socket, redis::detail::reply_reader& reader) {
        const std::span<char> space = reader.space();
        const ssize_t count = ::recv(socket, space.data(), space.size(), 0);
        if (count <= 0) {
            return false;
        }
        reader.add(static_cast<std::size_t>(count));
        while (const redis::detail::reply* const command = reader.next()) {
            std::vector<std::string> words;
            for (const redis::detail::reply& word : command->elements) {
                words.emplace_back(word.text);
            }
            const std::optional<std::string> answer = respond_(words);
            if (!answer || ::send(socket, answer->data(), answer->size(), MSG_NOSIGNAL) == -1) {
                return false;
            }
        }
        return true;
    }

    responder respond_;
    temporary_directory directory_;
    int listener_ = -1;
    std::array<int, 2> stop_{};
    std::thread thread_;
};

} // namespace tryst::test
