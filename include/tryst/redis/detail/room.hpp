// SPDX-License-Identifier: MIT
/// @file
/// What a remote exchanger knows of its room, which lives with the connection.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/redis/detail/arrivals.hpp>
#include <tryst/redis/detail/net.hpp>
#include <tryst/redis/detail/party.hpp>
#include <tryst/redis/remote_result.hpp>
#include <tryst/result.hpp>
#include <tryst/task.hpp>

#include <cstddef>
#include <memory>
#include <string_view>

TRYST_REDIS_BEGIN

namespace detail {

/// The kind of a room. Rooms of different kinds never meet, even if they have the same name.
enum class room_kind : char { exchange = 'x', red_blue = 'c', channel = 's' };

class room;

/// The place in which parties of one process meet.
class local_place {
public:
    virtual ~local_place() = default;
    /// Takes a party of `side` that waits. Its owner then waits for the party's completion.
    /// @param by  the room, whose turn it is.
    /// @returns null if none waits.
    virtual std::shared_ptr<party> take(std::size_t side, const std::shared_ptr<room>& by) = 0;
    virtual void close() noexcept = 0;
};

/// Finds partners in other processes for the parties that find none in the local place. All members
/// may be called from any thread.
class room {
public:
    virtual ~room() = default;

    /// Looks at the local place for as long as parties wait there.
    virtual void schedule_turn() noexcept = 0;
    /// Offers a party that does not wait: it completes with `no_partner` if nobody waits.
    virtual void try_remotely(std::shared_ptr<party> who, std::size_t side) noexcept = 0;
    /// Completes a party soon: with `why`, unless it has been matched.
    virtual void withdraw(std::shared_ptr<party> who, exchange_errc why) noexcept = 0;
    virtual void close() noexcept = 0;
    /// The remote exchanger has gone.
    virtual void leave() noexcept = 0;
    virtual task<remote_result<room_statistics, void>> count() = 0;

    tryst::detail::arrivals arriving;
};

/// What a party gets in place of the partner's item when the room has taken its own. If it is
/// destroyed before the party is complete, for example with the frame of a coroutine, the party is
/// withdrawn.
template <class Party>
class ticket {
public:
    ticket() noexcept = default;
    explicit ticket(std::shared_ptr<Party> who) noexcept : party_(std::move(who)) {}
    ticket(ticket&&) noexcept = default;
    ticket& operator=(ticket&&) = delete;
    ~ticket() {
        if (party_ && !party_->is_complete()) {
            withdraw(exchange_errc::cancelled);
        }
    }

    Party* operator->() const noexcept { return party_.get(); }
    void withdraw(exchange_errc why) const noexcept { party_->taken_by->withdraw(party_, why); }
    /// The ticket was not handed out.
    void discard() noexcept { party_.reset(); }

private:
    std::shared_ptr<Party> party_;
};

} // namespace detail
TRYST_REDIS_END
