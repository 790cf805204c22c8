// SPDX-License-Identifier: MIT
/// @file
/// The rooms in which clients wait. Each room is an exchanger, with or without two sides. The
/// first client that enters creates the room, and the last that leaves destroys it.
#pragma once

#include "message.hpp"
#include "options.hpp"
#include "protocol.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>

namespace pairing {

class rooms {
    using exchanger_type = tryst::exchanger<message>;
    using red_blue_type = tryst::red_blue_exchanger<message>; // serves the longest waiting first

    struct room {
        // A single slot keeps thousands of rooms small; few clients use a room at the same time.
        explicit room(bool red_blue) {
            if (red_blue) {
                exchanger.emplace<red_blue_type>();
            } else {
                exchanger.emplace<exchanger_type>(0U);
            }
        }
        std::variant<std::monostate, exchanger_type, red_blue_type> exchanger;
        std::size_t references = 0;
        std::size_t waiting = 0;
    };
    // Clients choose the names. An attacker could make them collide in a hash table, but not in an
    // ordered map. With 10,000 rooms, entering and leaving takes 2 us longer than with hashing.
    using directory = std::map<std::string, room>;

    struct release_room {
        rooms* owner;
        void operator()(directory::value_type* entry) const noexcept { owner->release(*entry); }
    };
    struct release_permit {
        rooms* owner;
        request_kind kind;
        void operator()(room* at) const noexcept { owner->release_permit_of(*at, kind); }
    };

public:
    /// Keeps a room alive. Releasing the last reference destroys the exchanger; no operation can
    /// be pending by then.
    class room_reference {
    public:
        /// Pairs any two clients. Precondition: the rooms have no sides.
        exchanger_type& exchanger() const {
            return std::get<exchanger_type>(entry_->second.exchanger);
        }

        /// Pairs clients that ask (red) with clients that answer (blue). Precondition: the rooms
        /// have sides.
        red_blue_type& red_blue() const {
            return std::get<red_blue_type>(entry_->second.exchanger);
        }

    private:
        friend rooms;
        room_reference(rooms& owner, directory::value_type& entry) noexcept
            : entry_(&entry, {&owner}) {}
        std::unique_ptr<directory::value_type, release_room> entry_;
    };

    /// Permission to wait in a room. Destroy it before the reference to the room.
    using wait_permit = std::unique_ptr<room, release_permit>;

    struct occupancy {
        std::size_t rooms = 0;
        std::size_t waiting = 0;
        std::size_t asking = 0; ///< The waiting clients that ask.
    };

    explicit rooms(const options& chosen) noexcept
        : red_blue_(chosen.red_blue), max_rooms_(chosen.max_rooms),
          max_waiting_(chosen.max_waiting), max_waiting_per_room_(chosen.max_waiting_per_room) {}

    /// Whether rooms pair clients that ask only with clients that answer.
    bool have_sides() const noexcept { return red_blue_; }

    /// Enters the room of that name, and creates it if necessary.
    /// @returns nullopt if a new room would exceed the limit, or after `close`.
    std::optional<room_reference> enter(const std::string& name);

    /// @returns null if the limit of the room, or of all rooms together, is reached.
    wait_permit acquire_wait_permit(const room_reference& reference, request_kind kind);

    /// Ends all waits with the error `closed`. Afterwards `enter` fails.
    void close();
    bool is_closed() const;

    occupancy count() const;

private:
    void release(directory::value_type& entry) noexcept;
    void release_permit_of(room& at, request_kind kind) noexcept;

    const bool red_blue_;
    const std::size_t max_rooms_;
    const std::size_t max_waiting_;
    const std::size_t max_waiting_per_room_;
    mutable std::mutex mutex_;
    directory rooms_;
    std::size_t waiting_ = 0;
    std::size_t asking_ = 0;
    bool closed_ = false;
};

} // namespace pairing
