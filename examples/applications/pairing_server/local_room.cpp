// SPDX-License-Identifier: MIT
#include "room.hpp"

#include <tryst/asio.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>

#include <utility>

namespace pairing {

namespace {

meeting end_of(tryst::exchange_result<message> result) {
    if (!result) {
        return {.error = result.error(), .received = {}, .reason = {}};
    }
    return {.error = {}, .received = *std::move(result), .reason = {}};
}

/// Pairs any two clients.
class local_room final : public room {
public:
    explicit local_room(tryst::counters& all_rooms) : exchanger_(0, all_rooms) {}

    awaitable<meeting> meet(request mine, std::chrono::milliseconds patience,
                            std::stop_token stop) final {
        co_return end_of(co_await tryst::asio::wait(
            exchanger_.exchange(std::move(mine.body), patience, std::move(stop))));
    }
    awaitable<meeting> try_to_meet(request mine) final {
        co_return end_of(exchanger_.try_exchange(std::move(mine.body)));
    }
    void close() final { exchanger_.close(); }

private:
    // A single slot keeps thousands of rooms small; few clients use a room at the same time.
    tryst::exchanger<message, tryst::counted> exchanger_;
};

/// Pairs clients that ask (red) with clients that answer (blue).
class local_red_blue_room final : public room {
public:
    explicit local_red_blue_room(tryst::counters& all_rooms) : exchanger_(all_rooms) {}

    awaitable<meeting> meet(request mine, std::chrono::milliseconds patience,
                            std::stop_token stop) final {
        if (mine.kind == request_kind::ask) {
            co_return end_of(co_await tryst::asio::wait(
                exchanger_.red(std::move(mine.body), patience, std::move(stop))));
        }
        co_return end_of(co_await tryst::asio::wait(
            exchanger_.blue(std::move(mine.body), patience, std::move(stop))));
    }
    awaitable<meeting> try_to_meet(request mine) final {
        co_return end_of(mine.kind == request_kind::ask
                             ? exchanger_.try_red(std::move(mine.body))
                             : exchanger_.try_blue(std::move(mine.body)));
    }
    void close() final { exchanger_.close(); }

private:
    // Serves the longest waiting first.
    tryst::red_blue_exchanger<message, message, tryst::order::fifo, tryst::counted> exchanger_;
};

class local_place final : public meeting_place {
public:
    explicit local_place(bool red_blue) noexcept : red_blue_(red_blue) {}

    std::unique_ptr<room> open(const std::string& /*name*/) final {
        if (red_blue_) {
            return std::make_unique<local_red_blue_room>(counters_);
        }
        return std::make_unique<local_room>(counters_);
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
