// SPDX-License-Identifier: MIT
// One room of this process: finds partners in other processes for the parties that found none here.
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

#include "hub.hpp"
#include "offers.hpp"
#include "pace.hpp"

#include <tryst/redis/detail/room.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

/// Everything happens on the connection's strand, except for the functions of `room`, which go
/// there.
class remote_room final : public room,
                          public subscriber,
                          public std::enable_shared_from_this<remote_room> {
public:
    remote_room(std::shared_ptr<hub> with, room_kind kind, std::string_view name,
                std::shared_ptr<local_place> place);

    void schedule_turn() noexcept override;
    void try_remotely(std::shared_ptr<party> who, std::size_t side) noexcept override;
    void withdraw(std::shared_ptr<party> who, exchange_errc why) noexcept override;
    void close() noexcept override;
    void leave() noexcept override;
    task<remote_result<room_statistics, void>> count() override;

private:
    using clock = std::chrono::steady_clock;
    using where = offer::where;

    /// An offer that has ended in doubt is to be withdrawn.
    struct ghost {
        bool asked = false; ///< That was sent in this epoch.
        bool arriving = false; ///< Its arrival has not been answered.
    };
    enum class announcement : std::uint8_t { none, due, sent, refused };
    enum class membership : std::uint8_t { none, joining, comparing, joined };

    void on_change() override;
    void on_match(std::uint64_t number, std::string_view rest) override;
    void look(std::vector<question>& into) override;
    void answered(const question& what, const call_reply& whole, const reply* mine) override;
    void shut_down(const std::string& reason) override;

    std::size_t opposite(std::size_t side) const noexcept { return sides_ == 1 ? side : 1 - side; }

    void turn();
    void end_turn();
    void take_parties();
    void match_at_home();
    void recall();
    void send_out();
    void pump();
    void leave_if_done();

    // Requests, and what happens on their replies: room_requests.cpp.
    template <class Then>
    std::uint64_t call(std::string_view verb, std::vector<std::string> rest, Then then,
                       std::set<std::uint64_t> acknowledged = {});
    void join();
    void joined(const call_reply& got);
    void become_joined();
    void ask(std::vector<question>& into, bool comparing);
    void ask_now(bool comparing);
    void apply_states(const question& what, std::string_view states);
    void arrive(offer& each);
    void arrived(const call_reply& got, std::uint64_t number);
    void send_withdrawal(offer& each);
    void withdraw_ghosts();
    void collect(std::vector<std::uint64_t> numbers);
    void send_counts();
    void announce_close();
    void send_leave();
    bool is_current(const call_reply& got);
    bool rejoin();
    void lose_membership();
    std::set<std::uint64_t> some_acknowledgements();
    std::string reserve();
    std::uint64_t lowest() const;
    bool must_join();

    // How offers end.
    template <class Then>
    void after_a_lease(std::optional<net::steady_timer>& timer, Then then);
    void must_end(offer& each, exchange_errc why);
    void finish(offer& each, std::string_view item);
    void absent(offer& each, bool doubtful);
    void complete(offer& each, exchange_errc why, std::string reason = {});
    void doubt(offer& each, const std::string& reason);
    void on_closed();
    void end_all();
    void refuse_all(const std::string& reason);
    void doubt_all(const std::string& reason);
    std::string in_room(std::string_view what) const;

    std::shared_ptr<hub> hub_;
    std::shared_ptr<local_place> place_;
    const std::size_t sides_;
    const std::string name_;
    const std::string member_id_;
    offer_table offers_;
    std::map<std::uint64_t, ghost> ghosts_;
    std::set<std::uint64_t> acknowledgements_;
    std::vector<std::shared_ptr<party>> counts_; ///< Questions for statistics.
    std::size_t counting_ = 0; ///< Those that have been sent.
    membership member_ = membership::none;
    std::optional<net::steady_timer> doubt_timer_; ///< Then all offers abroad are in doubt.
    std::string generation_; ///< The generation that the room has joined.
    std::string birth_; ///< The birth of the room's record there.
    std::string compared_; ///< Generation and birth when it last knew the states of its offers.
    bool doubtful_ = false; ///< Whether both were others before the present comparison.
    std::uint64_t reserved_ = 0; ///< Redis expects offers with numbers up to this one,
    clock::time_point leased_at_; ///< and the lease began after this time.
    std::uint64_t last_request_ = 0;
    std::uint64_t joined_at_ = 0; ///< The last request before the present membership.
    net::steady_timer turn_timer_;
    pace pace_;
    bool closed_ = false;
    announcement close_ = announcement::none; ///< Whether other processes must be told.
    bool left_ = false;
    bool shut_down_ = false;
};

/// The text of the exception that is being handled.
std::string present_exception();

} // namespace detail
TRYST_REDIS_END
