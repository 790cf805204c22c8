// SPDX-License-Identifier: MIT
#include "room.hpp"

#include <tryst/asio.hpp>
#include <tryst/dump_waiters.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>

#include <utility>

namespace pairing {

namespace {

std::error_code take(tryst::exchange_result<std::string> result, std::string& text) {
    const std::error_code end = result ? std::error_code() : result.error();
    text = result ? *std::move(result) : std::string();
    return end;
}

/// Pairs any two clients.
class local_room final : public room {
public:
    local_room(tryst::counters& all_rooms, const std::string& name)
        : name_(name), exchanger_(0, all_rooms) {
        exchanger_.set_name(name_.c_str());
    }

    awaitable<std::error_code> meet(request_kind /*kind*/, std::string& text,
                                    std::chrono::milliseconds patience,
                                    std::stop_token stop) final {
        co_return take(co_await tryst::asio::wait(
                           exchanger_.exchange(std::move(text), patience, std::move(stop))),
                       text);
    }

private:
    const std::string name_;
    // A single slot keeps thousands of rooms small; few clients use a room at the same time.
    tryst::exchanger<std::string, tryst::counted, tryst::listed> exchanger_;
};

/// Pairs clients that ask (red) with clients that answer (blue).
class local_red_blue_room final : public room {
public:
    local_red_blue_room(tryst::counters& all_rooms, const std::string& name)
        : name_(name), exchanger_(all_rooms) {
        exchanger_.set_name(name_.c_str());
    }

    awaitable<std::error_code> meet(request_kind kind, std::string& text,
                                    std::chrono::milliseconds patience,
                                    std::stop_token stop) final {
        if (kind == request_kind::ask) {
            co_return take(co_await tryst::asio::wait(
                               exchanger_.red(std::move(text), patience, std::move(stop))),
                           text);
        }
        co_return take(
            co_await tryst::asio::wait(exchanger_.blue(std::move(text), patience, std::move(stop))),
            text);
    }

private:
    const std::string name_;
    // Serves the longest waiting first.
    tryst::red_blue_exchanger<std::string, std::string, tryst::order::fifo, tryst::counted,
                              tryst::listed>
        exchanger_;
};

class local_place final : public meeting_place {
public:
    explicit local_place(bool red_blue) noexcept : red_blue_(red_blue) {}

    std::unique_ptr<room> open(const std::string& name) final {
        if (red_blue_) {
            return std::make_unique<local_red_blue_room>(counters_, name);
        }
        return std::make_unique<local_room>(counters_, name);
    }

    std::optional<tryst::statistics> stats() const final { return counters_.stats(); }

private:
    const bool red_blue_;
    tryst::counters counters_; // one for all rooms, which come and go
};

} // namespace

std::unique_ptr<meeting_place> make_local_place(bool red_blue) {
    return std::make_unique<local_place>(red_blue);
}

} // namespace pairing
