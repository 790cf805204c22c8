// SPDX-License-Identifier: MIT
#include "room.hpp"

#include <tryst/asio.hpp>
#include <tryst/redis.hpp>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>

namespace pairing {

namespace {

namespace redis = tryst::redis;

awaitable<std::error_code> run(tryst::task<redis::remote_result<std::string>> work,
                               std::string& text) {
    auto result = co_await tryst::asio::async_wait(std::move(work), asio::use_awaitable);
    const std::error_code end = result ? std::error_code() : result.error();
    text = result ? *std::move(result) : result.reason();
    co_return end;
}

/// Pairs any two clients of all servers.
class redis_room final : public room {
public:
    redis_room(redis::connection& through, const std::string& name)
        : exchanger_(through, name, 0) {}

    awaitable<std::error_code> meet(request_kind /*kind*/, std::string& text,
                                    std::chrono::milliseconds patience,
                                    std::stop_token stop) final {
        return run(exchanger_.exchange(std::move(text), patience, std::move(stop)), text);
    }

private:
    redis::remote_exchanger<std::string> exchanger_;
};

/// Pairs clients that ask (red) with clients that answer (blue).
class redis_red_blue_room final : public room {
public:
    redis_red_blue_room(redis::connection& through, const std::string& name)
        : exchanger_(through, name) {}

    awaitable<std::error_code> meet(request_kind kind, std::string& text,
                                    std::chrono::milliseconds patience,
                                    std::stop_token stop) final {
        return run(kind == request_kind::ask
                       ? exchanger_.red(std::move(text), patience, std::move(stop))
                       : exchanger_.blue(std::move(text), patience, std::move(stop)),
                   text);
    }

private:
    redis::remote_red_blue_exchanger<std::string> exchanger_;
};

constexpr std::chrono::milliseconds shortest_lease(100);

redis::options redis_options_of(const options& chosen) {
    auto read = redis::options::from_url(chosen.redis);
    read.max_item = std::max(read.max_item, chosen.max_message);
    // Redis may refuse to withdraw a message. After one lease, the client gets its answer anyway.
    read.lease =
        std::clamp(std::min(chosen.wait_time, chosen.send_time), shortest_lease, read.lease);
    return read;
}

/// One connection for all threads of the server, with a loop and a thread of its own. So the
/// server's loops end when their clients have left, and the connection ends after that.
class redis_place final : public meeting_place {
public:
    explicit redis_place(const options& chosen)
        : red_blue_(chosen.red_blue), connection_(loop_, redis_options_of(chosen)),
          thread_([this] { loop_.run(); }) {}
    redis_place(const redis_place&) = delete;
    redis_place& operator=(const redis_place&) = delete;
    ~redis_place() override { connection_.close(); } // lets the thread end

    std::unique_ptr<room> open(const std::string& name) final {
        if (red_blue_) {
            return std::make_unique<redis_red_blue_room>(connection_, name);
        }
        return std::make_unique<redis_room>(connection_, name);
    }

    std::optional<bool> is_connected() const final { return connection_.is_connected(); }

    std::string problem() const final {
        std::string error = connection_.last_error();
        return error.empty() ? "the connection to Redis is being established" : error;
    }

private:
    const bool red_blue_;
    asio::io_context loop_{1};
    redis::connection connection_;
    std::jthread thread_;
};

} // namespace

std::unique_ptr<meeting_place> make_redis_place(const options& chosen) {
    return std::make_unique<redis_place>(chosen);
}

std::string problem_of_redis_url(const std::string& url) {
    try {
        std::ignore = redis::options::from_url(url);
        return {};
    } catch (const std::invalid_argument& problem) {
        return problem.what();
    }
}

} // namespace pairing
