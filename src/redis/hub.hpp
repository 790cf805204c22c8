// SPDX-License-Identifier: MIT
// What a connection shares with its rooms: the client, the time, and the state that any thread may
// ask for.
//
// Each file calls only those to its right:
//
//     connection --> room --> hub --> client --> link --> resp
//
// It reports to the left through an interface of its own: `subscriber`, `client::observer`,
// `link::owner`.
#pragma once

#include "client.hpp"

#include <tryst/redis/detail/party.hpp>
#include <tryst/redis/options.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

/// How many offers one request asks about. It occupies the server for less than a millisecond.
inline constexpr std::size_t largest_question = 200;

class subscriber;

/// A part of a call that renews leases: what one room asks.
struct question {
    std::shared_ptr<subscriber> room;
    std::vector<std::string> words; ///< The script's arguments.
    std::vector<std::uint64_t> numbers; ///< The offers in question.
    std::set<std::uint64_t> acknowledged; ///< Results that have come.
    std::uint64_t request; ///< The room's number for this request.
    bool comparing; ///< After a join.
    bool last; ///< No other part of the same comparison follows.
};

/// A room, as the hub sees it. Called on the strand.
class subscriber {
public:
    subscriber(const subscriber&) = delete;
    subscriber& operator=(const subscriber&) = delete;
    virtual ~subscriber() = default;

    const std::string& key() const noexcept { return key_; }
    /// Distinguishes the rooms of this process.
    std::uint64_t number() const noexcept { return number_; }

    /// As `client::observer::on_change`.
    virtual void on_change() = 0;
    /// A message says that a partner has been found. Any client of Redis may have sent it.
    /// @param rest  "", or " <token> <item>".
    virtual void on_match(std::uint64_t number, std::string_view rest) = 0;
    /// A third of a lease has passed, or a message says that there is news.
    virtual void look(std::vector<question>& into) = 0;
    /// The reply to `what`. @param mine  its part for this room, if it was answered.
    virtual void answered(const question& what, const call_reply& whole, const reply* mine) = 0;
    /// The connection has ended for good. Nothing is called after this.
    virtual void shut_down(const std::string& reason) = 0;

protected:
    subscriber(std::string key, std::uint64_t number) : key_(std::move(key)), number_(number) {}

private:
    const std::string key_;
    const std::uint64_t number_;
};

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

    /// Any thread.
    bool is_connected() const;
    /// Any thread.
    std::string last_error() const;
    /// Completes `who` when the client is ready or down. Any thread.
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

    /// Any thread.
    void add(std::shared_ptr<subscriber> entering);
    void remove(const subscriber& leaving) noexcept;

private:
    using rooms = std::map<std::uint64_t, std::shared_ptr<subscriber>>; ///< By number.

    void on_change() override;
    void on_message(std::string_view channel, std::string_view text) override;
    void wait_for_tick();
    void ask(std::vector<question> of_one_slot);
    void look_soon(std::uint64_t room);
    void look(const rooms& at);
    void set_state(bool connected, std::string error);
    void report();
    void shut_down();

    const options options_;
    /// Unused from `random_used_` on. Small requests took OpenSSL a fifth of the client's time.
    std::array<unsigned char, 1024> random_{};
    std::size_t random_used_ = random_.size();
    const std::string process_;
    const std::string prefix_;
    const std::shared_ptr<client> client_;
    rooms rooms_;
    std::multimap<std::string, std::uint64_t, std::less<>> keys_; ///< Of the rooms.
    rooms to_look_; ///< Rooms for which there may be news.
    net::steady_timer tick_timer_;
    std::vector<std::shared_ptr<ready_party>> waiting_for_ready_;
    bool ended_ = false;

    mutable std::mutex mutex_; ///< Protects what follows.
    std::string error_;
    bool connected_ = false;
    bool closing_ = false;
    std::uint64_t last_room_ = 0;
};

} // namespace detail
TRYST_REDIS_END
