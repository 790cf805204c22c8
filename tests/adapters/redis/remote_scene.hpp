// SPDX-License-Identifier: MIT
/// @file
/// Processes that meet through a redis-server of their own. Each has a connection and a thread.
/// Asio.
#pragma once

#include "adapters/redis/redis_server.hpp"

#include <tryst/redis.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

namespace tryst::test {

using namespace std::chrono_literals;

/// A test that waits for so long has failed.
inline constexpr auto long_time = 60s;

/// Stands for a process: a loop with a thread, and a connection.
class process {
public:
    explicit process(redis::options chosen)
        : connection(context, std::move(chosen)), thread_([this] { context.run(); }) {}
    explicit process(const redis_server& server)
        : process(redis::options::from_url(server.unix_url())) {}
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

} // namespace tryst::test
