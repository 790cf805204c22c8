// SPDX-License-Identifier: MIT
// One room of this process: finds partners in other processes for the parties that found none here.
//
// An *offer* is a party that the room has taken out of the local place. It is
//   home     not in Redis: it waits for a partner of this process to come home, or to be sent,
//   abroad   sent: Redis knows it, or may know it,
//   leaving  abroad, and its withdrawal has been requested.
//
// With sides, no offer is sent while offers of the other side are abroad; these are withdrawn to
// meet it here. Without sides, an offer is its own opposite: so at most one is abroad.
//
// The rules by which an offer ends are those of rendezvous.lua, from the process's end:
// 1. After each reconnection the room joins in the new epoch. From then on, no older request has an
//    effect.
// 2. Then it asks for the state of each offer that was sent. One that Redis does not know has not
//    been matched, if the generation and the room's record in it are those of the last time that
//    the room knew the states of its offers. Otherwise it is in doubt. The client may change the
//    order of requests when scripts were flushed or slots have moved. So an offer is not withdrawn
//    before the reply to its arrival, and that reply alone tells its state.
// 3. If the room cannot ask within one lease, all its offers that were sent are in doubt. When it
//    can ask again, it withdraws them, because the room's lease would keep them in the queue.
#pragma once

#include "client.hpp"

#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/room.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

class hub;

/// Everything happens on the connection's strand, except for the functions of `room`, which go
/// there.
class remote_room final : public room, public std::enable_shared_from_this<remote_room> {
public:
    remote_room(std::shared_ptr<hub> with, room_kind kind, std::string_view name,
                std::shared_ptr<local_place> place);
    remote_room(const remote_room&) = delete;
    remote_room& operator=(const remote_room&) = delete;
    ~remote_room() override;

    void schedule_turn() noexcept override;
    void try_remotely(std::shared_ptr<party> who, std::size_t side) noexcept override;
    void withdraw(std::shared_ptr<party> who, exchange_errc why) noexcept override;
    void close() noexcept override;
    void leave() noexcept override;
    task<remote_result<room_statistics, void>> count() override;

    /// The key that all keys of the room begin with.
    const std::string& key() const noexcept { return keys_[0]; }

    void on_ready();
    void on_lost();
    void on_down();
    /// A partner has been found. Without an item, the room must collect it.
    void on_match(std::uint64_t number, const std::string_view* item);
    void on_closed();
    /// The connection has ended for good. Nothing is called after this.
    void shut_down(const std::string& reason);

private:
    enum class where : std::uint8_t { home, abroad, leaving };
    struct offer {
        std::shared_ptr<party> who;
        std::size_t side;
        where at = where::home;
        bool waits = true; ///< False: it ends with `no_partner` unless a partner waits.
        std::uint64_t number = 0; ///< Unique in the process.
        std::uint64_t arrived = 0; ///< The epoch in which it was last sent; 0: never.
        std::uint64_t request = 0; ///< The number of the request that sent it last.
        bool arriving = false; ///< That request has not been answered.
        std::uint64_t withdrawn = 0; ///< The epoch in which its withdrawal was last sent.
        exchange_errc ending{}; ///< Why it must end, if it must.
    };
    using offers = std::list<offer>;
    /// An offer that has ended in doubt.
    struct ghost {
        std::size_t side;
        bool asked = false; ///< Its withdrawal has been sent in this epoch.
    };
    enum class announcement : std::uint8_t { none, due, sent };
    enum class membership : std::uint8_t { none, joining, comparing, joined };
    using clock = std::chrono::steady_clock;

    std::size_t opposite(std::size_t side) const noexcept { return sides_ == 1 ? side : 1 - side; }

    void turn();
    void end_turn();
    void take_parties();
    offers::iterator add(offers& to, std::shared_ptr<party> who, std::size_t side, bool waits);
    void match_at_home();
    void recall();
    void send_out();
    void pump();

    // Requests, and what happens on their replies.
    template <class Then>
    std::uint64_t call(std::string_view verb, std::vector<std::string> rest, Then then);
    void join();
    void joined(const call_reply& reply);
    void become_joined();
    void renew(bool comparing, bool doubtful);
    void apply_states(const std::vector<std::uint64_t>& numbers, std::string_view states,
                      std::uint64_t request, bool doubtful);
    void arrive(offers::iterator each);
    void arrived(const call_reply& reply, std::uint64_t number);
    void send_withdrawal(offers::iterator each);
    void withdrawal_answered(const call_reply& reply, std::uint64_t number, std::uint64_t request);
    void withdraw_ghosts();
    void collect(std::vector<std::uint64_t> numbers);
    void send_counts();
    void announce_close();
    bool is_current(const call_reply& reply);

    // How offers end.
    void finish(offers::iterator each, std::string_view item);
    void absent(offers::iterator each, bool doubtful);
    void complete(offers::iterator each, exchange_errc why, std::string reason = {});
    void complete_all(offers& which, exchange_errc why, const std::string& reason = {});
    void end_all();
    void refuse_all(const std::string& reason);
    void doubt_all(const std::string& reason);
    void move(offers::iterator each, where to);
    std::shared_ptr<party> remove(offers::iterator each);
    offers& list_of(const offer& each);
    offers& home(std::size_t side) { return offers_[0][side]; }
    offers& abroad(std::size_t side) { return offers_[1][side]; }
    offers& leaving(std::size_t side) { return offers_[2][side]; }
    template <class Visit>
    void each_sent(Visit visit);
    bool any_sent();
    std::string in_room(std::string_view what) const;

    void lose_membership();
    void schedule_timer();
    void timer_expired();
    void leave_if_done();

    std::shared_ptr<hub> hub_;
    std::shared_ptr<local_place> place_;
    const std::size_t sides_;
    const std::string name_;
    const std::string member_id_;
    std::array<std::string, 4> keys_;
    std::array<std::array<offers, 2>, 3> offers_; ///< By place and side; the oldest first.
    offers tries_; ///< Offers that do not wait; neither recalled nor matched here.
    std::unordered_map<std::uint64_t, offers::iterator> numbered_; ///< All offers.
    std::vector<std::shared_ptr<party>> counts_; ///< Questions for statistics.
    std::map<std::uint64_t, ghost> ghosts_;
    std::string acknowledgements_;
    std::string generation_; ///< The generation that the room has joined.
    std::string birth_; ///< The birth of the room's record there.
    std::string compared_; ///< Generation and birth when it last knew the states of its offers.
    std::uint64_t last_request_ = 0;
    std::uint64_t joined_at_ = 0; ///< The last request before the present membership.
    membership member_ = membership::none;
    clock::time_point doubt_at_ = clock::time_point::max();
    net::steady_timer timer_;
    clock::time_point timer_at_ = clock::time_point::max();
    clock::time_point renew_at_ = clock::time_point::max();
    net::steady_timer turn_timer_;
    std::chrono::microseconds pause_{0}; ///< Before the end of a turn; 0: none.
    std::uint32_t taken_ = 0; ///< Parties taken out of the local place, modulo 2^32.
    std::uint32_t met_ = 0; ///< Parties known to have met there, modulo 2^32.
    bool closed_ = false;
    announcement close_ = announcement::none; ///< Whether other processes must be told.
    bool left_ = false;
    bool shut_down_ = false;
};

} // namespace detail
TRYST_REDIS_END
