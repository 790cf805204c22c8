// SPDX-License-Identifier: MIT
/// @file
/// The rooms that this server's clients use, and the clients that wait there. The first client that
/// enters a room creates it, and the last that leaves destroys it.
#pragma once

#include "message.hpp"
#include "options.hpp"
#include "protocol.hpp"
#include "room.hpp"

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

namespace pairing {

class rooms {
    struct entry {
        std::unique_ptr<room> place;
        std::size_t references = 0;
        std::size_t waiting = 0;
    };
    // Clients choose the names. An attacker could make them collide in a hash table, but not in an
    // ordered map. With 10,000 rooms, entering and leaving takes 2 us longer than with hashing.
    using directory = std::map<std::string, entry>;

    struct release_room {
        rooms* owner;
        void operator()(directory::value_type* at) const noexcept { owner->release(*at); }
    };

public:
    /// Why a wait was ended, and the notice if it was ended by one.
    struct withdrawal {
        outcome why = outcome::disconnected;
        std::shared_ptr<const std::string> notice;
    };

    /// A client that waits in a room.
    class wait {
    public:
        /// Requests a stop when the wait must end.
        std::stop_token token() const { return stop_.get_token(); }

    private:
        friend rooms;
        entry* at_ = nullptr;
        request_kind kind_ = request_kind::exchange;
        std::stop_source stop_;
        std::optional<withdrawal> withdrawn_;
        std::list<wait>::iterator self_;
    };

private:
    struct release_wait {
        rooms* owner;
        void operator()(wait* ended) const noexcept { owner->release(*ended); }
    };

public:
    /// Keeps a room alive. Releasing the last reference destroys it; no client can be in it by
    /// then.
    class room_reference {
    public:
        room& operator*() const noexcept { return *entry_->second.place; }
        room* operator->() const noexcept { return entry_->second.place.get(); }

    private:
        friend rooms;
        room_reference(rooms& owner, directory::value_type& at) noexcept : entry_(&at, {&owner}) {}
        std::unique_ptr<directory::value_type, release_room> entry_;
    };

    /// Destroy it before the reference to the room.
    using wait_permit = std::unique_ptr<wait, release_wait>;

    struct occupancy {
        std::size_t rooms = 0;
        std::size_t waiting = 0;
        std::size_t asking = 0; ///< The waiting clients that ask.
    };

    /// The meeting place must outlive this object.
    rooms(const options& chosen, meeting_place& place) noexcept
        : place_(place), red_blue_(chosen.red_blue), max_rooms_(chosen.max_rooms),
          max_waiting_(chosen.max_waiting), max_waiting_per_room_(chosen.max_waiting_per_room) {}

    /// Whether rooms pair clients that ask only with clients that answer.
    bool have_sides() const noexcept { return red_blue_; }

    /// Enters the room of that name, and opens it if necessary.
    /// @returns nullopt if a new room would exceed the limit, or after `close`.
    std::optional<room_reference> enter(const std::string& name);

    /// @returns null if the limit of the room, or of all rooms together, is reached.
    wait_permit acquire_wait_permit(const room_reference& reference, request_kind kind);

    /// Ends the wait, unless the client is paired first.
    void withdraw(wait& which, outcome why);

    /// Why the wait was ended.
    withdrawal reason_of(const wait& which) const;

    /// Ends all waits with the notice.
    void notify(const std::string& notice);

    /// Closes a room for good: clients that wait in it, on any server, get `closed`.
    void close_room(const std::string& name);

    /// The server is shutting down: ends all waits with `closed`. Afterwards `enter` fails. Rooms
    /// that other servers share stay open there.
    void close();
    bool is_closed() const;

    occupancy count() const;

private:
    void withdraw_all(const withdrawal& reason);
    void release(directory::value_type& at) noexcept;
    void release(wait& ended) noexcept;

    meeting_place& place_;
    const bool red_blue_;
    const std::size_t max_rooms_;
    const std::size_t max_waiting_;
    const std::size_t max_waiting_per_room_;
    mutable std::mutex mutex_;
    directory rooms_;
    std::list<wait> waits_; ///< In the order of arrival.
    std::size_t asking_ = 0;
    bool closed_ = false;
};

} // namespace pairing
