// SPDX-License-Identifier: MIT
// What a connection shares with its rooms: the client, the time, and the state that any thread may
// ask for.
#pragma once

#include "client.hpp"

#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/party.hpp>
#include <tryst/redis/options.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

class remote_room;
struct question;

/// Everything happens on the strand, except where noted.
class hub final : public client::observer, public std::enable_shared_from_this<hub> {
public:
    using ready_party = party_of<void, void, void, void>;

    hub(const net::any_io_executor& executor, options chosen);
    hub(const hub&) = delete;
    hub& operator=(const hub&) = delete;

    /// Any thread, once.
    void start();
    /// Any thread. Idempotent.
    void close() noexcept;

    void shut_down();

    /// Any thread.
    bool is_connected() const;
    /// Any thread.
    std::string last_error() const;
    /// Any thread.
    void report_to(std::shared_ptr<ready_party> who) noexcept;

    /// Any thread.
    const auto& strand() const noexcept { return client_->strand(); }
    const options& chosen() const noexcept { return options_; }
    /// Of all keys and channels. Programs with another protocol have another number.
    const std::string& prefix() const noexcept { return prefix_; }
    const std::string& process() const noexcept { return process_; }

    client& link() noexcept { return *client_; }
    /// The connection works, or will soon: no attempt to connect has failed since it worked.
    bool is_hopeful() const noexcept { return !ended_ && !client_->down(); }

    /// Any thread.
    std::uint64_t new_room_number();

    /// A random 128-bit number in hexadecimal digits. Calls std::terminate if OpenSSL has none.
    std::string random_id() noexcept;

    /// Asks for several rooms in few calls.
    void send(std::vector<question> questions);
    /// Calls `overdue` of the room after one lease.
    /// @returns when that will be.
    std::chrono::steady_clock::time_point
    after_a_lease(const remote_room& whose, std::uint64_t number, std::uint64_t stamp = 0);
    /// Does not call it.
    void forget(const remote_room& whose, std::uint64_t number,
                std::chrono::steady_clock::time_point due);

    void add(std::shared_ptr<remote_room> entering);
    void remove(remote_room& leaving) noexcept;

private:
    void on_ready() override;
    void on_lost() override;
    void on_down() override;
    void on_message(std::string_view channel, std::string_view text) override;
    void wait_for_tick();
    void wait_for_limit();
    void ask(std::vector<question> of_one_slot);
    void look_soon(std::uint64_t room);
    void set_state(bool connected, std::string error);
    std::vector<std::shared_ptr<remote_room>> all_rooms() const;

    const options options_;
    /// Unused from `random_used_` on. Small requests took OpenSSL a fifth of the client's time.
    std::array<unsigned char, 1024> random_{};
    std::size_t random_used_ = random_.size();
    const std::string process_;
    const std::string prefix_;
    const std::shared_ptr<client> client_;
    std::map<std::uint64_t, std::shared_ptr<remote_room>> rooms_; ///< By number.
    std::multimap<std::string, std::uint64_t, std::less<>> keys_; ///< Of the rooms.
    std::set<std::uint64_t> to_look_; ///< Rooms for which there may be news.
    /// What rooms asked to be told: when, which room, which offer; and the stamp.
    std::map<std::tuple<std::chrono::steady_clock::time_point, std::uint64_t, std::uint64_t>,
             std::uint64_t>
        limits_;
    net::steady_timer tick_timer_;
    net::steady_timer limit_timer_;
    std::vector<std::shared_ptr<ready_party>> waiting_for_ready_;
    bool ended_ = false;

    mutable std::mutex mutex_; ///< Protects what follows.
    std::string error_;
    bool connected_ = false;
    bool closing_ = false;
    std::uint64_t last_room_ = 0;
};

/// See `connection::connected`.
task<remote_result<void, void>> wait_until_ready(std::shared_ptr<hub> whose);

} // namespace detail
TRYST_REDIS_END
