// SPDX-License-Identifier: MIT
/// @file
/// A client with a thread, and a record of what it reported.
/// Asio.
#pragma once

#include "adapters/redis/redis_server.hpp"
#include "redis/client.hpp"

#include <chrono>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {

/// Replies with the number of its keys and all of its words.
inline constexpr std::string_view echo_script =
    "local all = {#KEYS}; for _, key in ipairs(KEYS) do table.insert(all, key) end "
    "for _, word in ipairs(ARGV) do table.insert(all, word) end return all";

/// Adds its word to the list that its key names, and replies with the length.
inline constexpr std::string_view append_script = "return redis.call('rpush', KEYS[1], ARGV[1])";

/// The channel of a `connected_client`.
inline const std::string channel = "tryst:wake:process";

/// The options of `url`, with timeouts for a busy machine.
inline redis::options patient(const std::string& url) {
    redis::options chosen = redis::options::from_url(url);
    chosen.connect_timeout = chosen.request_timeout = std::chrono::minutes(2);
    return chosen;
}

/// A copy of a `call_reply`.
struct outcome {
    using kind = redis::detail::call_reply::kind;
    kind what;
    std::string text; ///< The reply's elements, each followed by a space; or the error.

    explicit outcome(const redis::detail::call_reply& reply)
        : what(reply.what), text(reply.value ? text_of(*reply.value) : std::string(reply.error)) {}
};

/// A client with a thread, and a record of what it reported.
/// @tparam IsReady  the constructor waits until the client is connected.
template <bool IsReady>
class client_with_thread final : redis::detail::client::observer {
public:
    using client = redis::detail::client;

    /// What the client has reported so far.
    struct record {
        int ready = 0;
        int lost = 0;
        int down = 0;
        std::string error; ///< As of the last report.
        std::uint64_t epoch = 0; ///< As of the last time that it was ready.
        std::vector<std::string> messages;
    };

    explicit client_with_thread(redis::options chosen, std::string_view script = echo_script)
        : client_(std::make_shared<client>(context_.get_executor(), std::move(chosen),
                                           std::vector<std::string>{channel}, script,
                                           static_cast<client::observer&>(*this))) {
        client_->start();
        thread_ = std::thread([this] { context_.run(); });
        if (IsReady) {
            wait_until_ready();
        }
    }
    explicit client_with_thread(const redis_server& server, std::string_view script = echo_script)
        : client_with_thread(patient(server.unix_url()), script) {}
    client_with_thread(const client_with_thread&) = delete;
    client_with_thread& operator=(const client_with_thread&) = delete;
    ~client_with_thread() {
        stop();
        work_.reset();
        thread_.join();
    }

    client* operator->() { return client_.get(); }

    /// Runs `action` on the strand, and returns its result.
    template <class Action>
    auto on_strand(Action action) {
        std::packaged_task<decltype(action())()> task(std::move(action));
        auto result = task.get_future();
        redis::net::post(client_->strand(), [&task] { task(); });
        return result.get();
    }

    void stop() {
        on_strand([this] { client_->stop(); });
    }

    /// Waits until `condition(record)`. @returns the record.
    record wait_until(const std::function<bool(const record&)>& condition) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, std::chrono::minutes(4), [&] { return condition(record_); })) {
            throw std::runtime_error("the client did not get there; its last error: " +
                                     record_.error);
        }
        return record_;
    }
    record wait_until_ready(int times = 1) {
        return wait_until([times](const record& seen) { return seen.ready >= times; });
    }
    record wait_until_down(int times = 1) {
        return wait_until([times](const record& seen) { return seen.down >= times; });
    }
    record wait_until_lost() {
        return wait_until([](const record& seen) { return seen.lost >= 1; });
    }
    /// The record as of now.
    record seen() {
        return wait_until([](const record&) { return true; });
    }

    /// Calls the script.
    std::future<outcome> call(const std::vector<std::string>& keys,
                              const std::vector<std::string>& words,
                              client::when_moved then = client::when_moved::follow) {
        auto promise = std::make_shared<std::promise<outcome>>();
        std::future<outcome> result = promise->get_future();
        redis::net::post(client_->strand(), [this, promise, keys, words, then] {
            const std::vector<std::string_view> views(words.begin(), words.end());
            const auto answer = [promise](const redis::detail::call_reply& reply) {
                promise->set_value(outcome(reply));
            };
            client_->call(keys, views, answer, then);
        });
        return result;
    }

private:
    void on_change() override {
        const std::lock_guard lock(mutex_);
        if (client_->ready()) {
            ++record_.ready;
            record_.epoch = client_->epoch();
        } else {
            ++(client_->down() ? record_.down : record_.lost);
        }
        record_.error = client_->error();
        changed_.notify_all();
    }
    void on_message(std::string_view where, std::string_view text) override {
        const std::lock_guard lock(mutex_);
        record_.messages.push_back(std::string(where) + ' ' + std::string(text));
        changed_.notify_all();
    }

    redis::net::io_context context_;
    redis::net::executor_work_guard<redis::net::io_context::executor_type> work_{
        context_.get_executor()};
    std::mutex mutex_;
    std::condition_variable changed_;
    record record_;
    std::shared_ptr<client> client_;
    std::thread thread_;
};

using connected_client = client_with_thread<false>;
using ready_client = client_with_thread<true>;

/// What the client says when it cannot connect.
inline std::string error_of(redis::options chosen) {
    connected_client client(std::move(chosen));
    return client.wait_until_down().error;
}
inline std::string error_of(const std::string& url) {
    return error_of(patient(url));
}

} // namespace tryst::test
