// SPDX-License-Identifier: MIT
/// @file
/// A server on a Unix socket whose replies the test writes.
/// POSIX, hiredis.
#pragma once

#include "adapters/redis/redis_server.hpp"

#include <functional>
#include <map>
#include <optional>

#include <poll.h>
#include <sys/un.h>

namespace tryst::test {

/// A string as Redis sends it.
inline std::string bulk(const std::string& text) {
    return '$' + std::to_string(text.size()) + "\r\n" + text + "\r\n";
}

/// Replies to the commands that a client sends when it connects, as Redis does.
/// @returns nothing for other commands.
inline std::optional<std::string> handshake_reply(const std::vector<std::string>& command) {
    if (command == std::vector<std::string>{"INFO", "server"}) {
        return bulk("# Server\r\nredis_version:7.0.0\r\nredis_mode:standalone\r\nrun_id:one\r\n");
    }
    if (command == std::vector<std::string>{"INFO", "replication"}) {
        return bulk("# Replication\r\nrole:master\r\n");
    }
    if (command[0] == "SCRIPT") {
        return bulk(std::string(40, 'a'));
    }
    if (command[0] == "SUBSCRIBE") {
        return "*3\r\n" + bulk("subscribe") + bulk(command[1]) + ":1\r\n";
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
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        path().copy(where.sun_path, sizeof where.sun_path - 1);
        listener_ = checked_call(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "socket");
        checked_call(::bind(listener_, reinterpret_cast<sockaddr*>(&where), sizeof where), "bind");
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
    struct reader_deleter {
        void operator()(redisReader* reader) const { redisReaderFree(reader); }
    };
    using reader_ptr = std::unique_ptr<redisReader, reader_deleter>;

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
                    connections[accepted] = reader_ptr(redisReaderCreate());
                }
            }
        }
        for (const auto& [socket, reader] : connections) {
            ::close(socket);
        }
    }

    /// @returns whether the connection stays open.
    bool serve(int socket, redisReader& reader) {
        std::array<char, 4096> bytes{};
        const ssize_t count = ::recv(socket, bytes.data(), bytes.size(), 0);
        if (count <= 0) {
            return false;
        }
        redisReaderFeed(&reader, bytes.data(), static_cast<std::size_t>(count));
        void* parsed = nullptr;
        while (redisReaderGetReply(&reader, &parsed) == REDIS_OK && parsed) {
            auto* const command = static_cast<redisReply*>(parsed);
            std::vector<std::string> words;
            words.reserve(command->elements);
            for (std::size_t i = 0; i < command->elements; ++i) {
                words.emplace_back(command->element[i]->str, command->element[i]->len);
            }
            freeReplyObject(parsed);
            const std::optional<std::string> reply = respond_(words);
            if (!reply || ::send(socket, reply->data(), reply->size(), MSG_NOSIGNAL) == -1) {
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
