// SPDX-License-Identifier: MIT What a connection shares with its rooms: the client, the numbers of
// offers, and the state that any thread may ask for.
#pragma once

#include "client.hpp"

#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/party.hpp>
#include <tryst/redis/options.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

class remote_room;

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
    std::chrono::milliseconds retention() const noexcept;
    const std::string& wake_prefix() const noexcept { return wake_prefix_; }

    client& link() noexcept { return *client_; }
    /// The connection works, or will soon: no attempt to connect has failed since it worked.
    bool is_hopeful() const noexcept { return !ended_ && !client_->down(); }

    /// Any thread.
    std::string new_member_id();
    std::uint64_t new_number() noexcept { return ++last_number_; }
    void expect_match(std::uint64_t number, remote_room& for_room) {
        rooms_of_offers_[number] = &for_room;
    }
    void forget(std::uint64_t number) noexcept { rooms_of_offers_.erase(number); }

    void add(std::shared_ptr<remote_room> entering);
    void remove(remote_room& leaving) noexcept;

private:
    void on_ready() override;
    void on_lost() override;
    void on_down() override;
    void on_message(std::string_view text) override;
    void set_state(bool connected, std::string error);
    std::vector<std::shared_ptr<remote_room>> all_rooms() const;

    const options options_;
    const std::string process_;
    const std::string wake_prefix_;
    const std::shared_ptr<client> client_;
    std::unordered_map<remote_room*, std::shared_ptr<remote_room>> rooms_;
    std::unordered_map<std::uint64_t, remote_room*> rooms_of_offers_;
    std::vector<std::shared_ptr<ready_party>> waiting_for_ready_;
    std::uint64_t last_number_ = 0;
    bool ended_ = false;

    mutable std::mutex mutex_; ///< Protects what follows.
    std::string error_;
    bool connected_ = false;
    bool closing_ = false;
    std::uint64_t last_member_ = 0;
};

/// A random 128-bit number in hexadecimal digits.
std::string random_id();

/// See `connection::connected`.
task<remote_result<void, void>> wait_until_ready(std::shared_ptr<hub> whose);

} // namespace detail
TRYST_REDIS_END
