// SPDX-License-Identifier: MIT
// One room of this process: finds partners in other processes for the parties that found none here.
//
// An *offer* is a party that the room has taken out of the local place. It is
//   home     not in Redis: it waits for a partner of this process to come home, or to be sent,
//   abroad   sent: Redis knows it, or may know it,
//   leaving  abroad, and its withdrawal has been requested.
//
// With sides, no offer is sent while offers of the other side are abroad; these are withdrawn to
// meet it here. Without sides, an offer is its own opposite: so at most one is abroad. A *try* is
// an offer that does not wait: it is neither withdrawn nor matched here.
//
// The rules by which an offer ends are those of rendezvous.lua, from the process's end:
// 1. After each reconnection the room joins in the new epoch. From then on, no older request has an
//    effect.
// 2. Then it asks for the state of each offer that was sent. One that Redis does not know has not
//    been matched, if the generation and the room's record in it are those of the last time that
//    the room knew the states of its offers. Otherwise it is in doubt. The client may change the
//    order of requests when scripts were flushed or slots have moved. So an offer is not withdrawn
//    before the reply to its arrival, and that reply alone tells its state.
// 3. If the room cannot ask within one lease, all its offers that were sent are in doubt. An offer
//    whose stop was requested, or whose deadline has passed, is in doubt if its withdrawal has not
//    succeeded within one lease. When the room can ask again, it withdraws them, because the room's
//    lease would keep them in the queue.
#pragma once

#include "client.hpp"

#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/room.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

class hub;
class remote_room;

/// How many offers one request asks about. It occupies the server for less than a millisecond.
inline constexpr std::size_t largest_question = 200;

/// A part of a call that renews leases: what one room asks.
struct question {
    std::shared_ptr<remote_room> room;
    std::vector<std::string> words; ///< The script's arguments.
    std::vector<std::uint64_t> numbers; ///< The offers in question.
    std::set<std::uint64_t> acknowledged; ///< Results that have come.
    std::uint64_t request; ///< The room's number for this request.
    bool comparing; ///< After a join.
    bool last; ///< No other part of the same comparison follows.
};

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

    const std::string& key() const noexcept { return key_; }
    /// Distinguishes the rooms of this process.
    std::uint64_t number() const noexcept { return number_; }

    void on_ready();
    void on_lost();
    void on_down();
    /// A message says that a partner has been found. Any client of Redis may have sent it.
    /// @param rest  "", or " <token> <item>".
    void on_match(std::uint64_t number, std::string_view rest);
    /// A third of a lease has passed, or a message says that there is news.
    void look(std::vector<question>& into);
    /// The reply to `what`. @param mine  its part for this room, if it was answered.
    void answered(const question& what, const call_reply& whole, const reply* mine);
    /// A lease has passed since the offer's limit; or, if the number is 0, since the membership
    /// with this stamp was lost.
    void overdue(std::uint64_t number, std::uint64_t stamp);
    /// The connection has ended for good. Nothing is called after this.
    void shut_down(const std::string& reason);

private:
    using clock = std::chrono::steady_clock;
    static constexpr clock::time_point never = clock::time_point::max();

    enum class where : std::uint8_t { home, abroad, leaving };
    struct offer {
        std::shared_ptr<party> who;
        std::size_t side;
        bool waits; ///< False: a try.
        where at = where::home;
        std::string token; ///< Only the server knows it, too.
        std::uint64_t request = 0; ///< The number of the request that sent it last.
        std::uint64_t withdrawn = 0; ///< The epoch in which its withdrawal was last sent.
        bool arriving = false; ///< That request has not been answered.
        bool collecting = false; ///< Its item has been asked for.
        exchange_errc ending{}; ///< Why it must end, if it must.
        clock::time_point due = never; ///< A lease after it had to end.
    };
    using offers = std::map<std::uint64_t, offer>;
    /// An offer that has ended in doubt is to be withdrawn.
    struct ghost {
        bool asked = false; ///< That was sent in this epoch.
        bool arriving = false; ///< Its arrival has not been answered.
    };
    using ghosts = std::map<std::uint64_t, ghost>;
    enum class announcement : std::uint8_t { none, due, sent, refused };
    enum class membership : std::uint8_t { none, joining, comparing, joined };
    static constexpr std::size_t tries = 2; ///< In the place of a side.

    std::size_t opposite(std::size_t side) const noexcept { return sides_ == 1 ? side : 1 - side; }

    void turn();
    void end_turn();
    void take_parties();
    void add(std::shared_ptr<party> who, std::size_t side, bool waits);
    void match_at_home();
    void recall();
    void send_out();
    void pump();

    // Requests, and what happens on their replies.
    template <class Then>
    std::uint64_t call(std::string_view verb, std::vector<std::string> rest, Then then,
                       std::set<std::uint64_t> acknowledged = {});
    void join();
    void joined(const call_reply& got);
    void become_joined();
    void ask(std::vector<question>& into, bool comparing);
    void apply_states(const question& what, std::string_view states);
    void arrive(std::uint64_t number);
    void arrived(const call_reply& got, std::uint64_t number);
    void send_withdrawal(std::uint64_t number);
    void withdraw_ghosts();
    void collect(std::vector<std::uint64_t> numbers);
    void send_counts();
    void announce_close();
    bool is_current(const call_reply& got);
    bool rejoin();

    // How offers end.
    void must_end(std::uint64_t number, exchange_errc why);
    void finish(std::uint64_t number, std::string_view item);
    void absent(std::uint64_t number, bool doubtful);
    void complete(std::uint64_t number, exchange_errc why, std::string reason = {});
    void doubt(std::uint64_t number, const std::string& reason);
    void end_all();
    void on_closed();
    void refuse_all(const std::string& reason);
    void doubt_all(const std::string& reason);
    void move(offers::iterator each, where to);
    std::shared_ptr<party> remove(offers::iterator each);
    std::set<std::uint64_t>& numbers(where at, std::size_t row) {
        return numbers_[static_cast<std::size_t>(at)][row];
    }
    std::set<std::uint64_t>& numbers_of(const offer& each) {
        return numbers(each.at, each.waits ? each.side : tries);
    }
    offer* find(std::uint64_t number);
    bool any_sent() const;
    bool has_work() const;
    std::set<std::uint64_t> some_acknowledgements();
    std::string reserve();
    std::uint64_t lowest() const;
    std::string in_room(std::string_view what) const;
    void lose_membership();
    void leave_if_done();

    std::shared_ptr<hub> hub_;
    std::shared_ptr<local_place> place_;
    const std::size_t sides_;
    const std::string name_;
    const std::string key_;
    const std::uint64_t number_;
    const std::string member_id_;
    offers offers_;
    std::array<std::array<std::set<std::uint64_t>, 3>, 3> numbers_; ///< By place, and side or try.
    std::vector<std::shared_ptr<party>> counts_; ///< Questions for statistics.
    std::size_t counting_ = 0; ///< Those that have been sent.
    ghosts ghosts_;
    std::set<std::uint64_t> acknowledgements_;
    std::string generation_; ///< The generation that the room has joined.
    std::string birth_; ///< The birth of the room's record there.
    std::string compared_; ///< Generation and birth when it last knew the states of its offers.
    bool doubtful_ = false; ///< Whether both were others before the present comparison.
    std::uint64_t last_number_ = 0;
    std::uint64_t reserved_ = 0; ///< Redis expects offers with numbers up to this one,
    clock::time_point leased_at_; ///< and the lease began after this time.
    std::uint64_t last_request_ = 0;
    std::uint64_t joined_at_ = 0; ///< The last request before the present membership.
    std::uint64_t lost_ = 0; ///< Counts the losses of a membership with offers abroad.
    membership member_ = membership::none;
    bool doubting_ = false; ///< A lease after such a loss, all offers abroad are in doubt.
    net::steady_timer turn_timer_;
    std::chrono::microseconds pause_{0}; ///< Before the end of a turn; 0: none.
    std::uint32_t taken_ = 0; ///< Parties taken out of the local place, modulo 2^32.
    bool had_taken_ = false; ///< In the last turn.
    std::uint32_t met_ = 0; ///< Parties known to have met there, modulo 2^32.
    bool closed_ = false;
    announcement close_ = announcement::none; ///< Whether other processes must be told.
    bool left_ = false;
    bool shut_down_ = false;
};

} // namespace detail
TRYST_REDIS_END
