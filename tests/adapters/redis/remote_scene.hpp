// SPDX-License-Identifier: MIT
/// @file
/// Processes that meet through a redis-server of their own. Each has a connection and a thread.
/// Asio.
#pragma once

#include "adapters/redis/redis_server.hpp"

#include <tryst/redis.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace tryst::test {

using namespace std::chrono_literals;
using text = std::string;
using errc = exchange_errc;

/// A test that waits for so long has failed.
inline constexpr auto long_time = 60s;

/// Stands for a process: a loop with a thread, and a connection.
class process {
public:
    explicit process(redis::options chosen)
        : connection(context, std::move(chosen)), thread_([this] { context.run(); }) {}
    /// @param settings  as in a URL: "lease=1s&max_item=100".
    explicit process(const redis_server& server, const text& settings = "")
        : process(redis::options::from_url(server.unix_url() + '?' + settings)) {}
    process(const process&) = delete;
    process& operator=(const process&) = delete;
    ~process() {
        connection.close();
        thread_.join();
    }

    redis::net::io_context context;
    redis::connection connection;

private:
    std::thread thread_;
};

/// Waits for an operation on a thread of its own.
template <class T>
class waiting {
public:
    template <class Operation>
    explicit waiting(Operation work)
        : thread_([this, mine = std::move(work)]() mutable {
              result_.emplace(sync_wait(std::move(mine)));
          }) {}
    waiting(const waiting&) = delete;
    waiting& operator=(const waiting&) = delete;
    ~waiting() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }
    T get() {
        thread_.join();
        return *std::move(result_);
    }

private:
    std::optional<T> result_;
    std::thread thread_;
};

template <class T>
waiting(task<T>) -> waiting<T>;

/// Waits until `holds()`, which another thread or process makes true.
inline void poll(const std::function<bool()>& holds) {
    const auto limit = std::chrono::steady_clock::now() + long_time;
    while (!holds()) {
        if (std::chrono::steady_clock::now() > limit) {
            throw std::runtime_error("it did not become true");
        }
        std::this_thread::sleep_for(1ms);
    }
}

/// Waits until `count` parties wait in Redis.
template <class Remote>
void wait_for_waiting(Remote& remote, std::size_t count) {
    poll([&] {
        const auto now = sync_wait(remote.statistics());
        return now && now->waiting + now->waiting_blue == count;
    });
}

/// Two processes, and a room in each.
template <class Room = redis::remote_exchanger<text>>
struct two_processes {
    explicit two_processes(const redis_server& server, const text& settings = "")
        : a(server, settings), b(server, settings) {}
    process a;
    process b;
    Room at_a{a.connection, "room"};
    Room at_b{b.connection, "room"};
};

/// Two parties meet through Redis.
template <class Room>
void expect_pair(Room& at_a, Room& at_b) {
    waiting first(at_a.exchange("from a"));
    wait_for_waiting(at_a, 1);
    EXPECT_EQ(sync_wait(at_b.exchange("from b", long_time)), "from a");
    EXPECT_EQ(first.get(), "from b");
}

} // namespace tryst::test
