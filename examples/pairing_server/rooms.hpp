// SPDX-License-Identifier: MIT
/// @file
/// The rooms in which clients meet: an exchanger each, made for the first guest, dropped with the last.
#pragma once

#include "message.hpp"

#include <tryst/exchanger.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace pairing {

class rooms {
    struct room {
        // One slot is enough for a room: two meet there, and thousands of rooms are to be small.
        tryst::exchanger<message> meeting{0};
        std::size_t guests = 0;
    };
    using directory = std::unordered_map<std::string, room>;

    struct leave_room {
        rooms* owner;
        void operator()(directory::value_type* entry) const noexcept { owner->leave(*entry); }
    };
    struct leave_seat {
        void operator()(rooms* owner) const noexcept { owner->stand_up(); }
    };

public:
    /// Keeps a room. The exchanger is destroyed by the last guest, when nobody can be inside.
    class guest {
    public:
        tryst::exchanger<message>& meeting() const noexcept { return entry_->second.meeting; }

    private:
        friend rooms;
        guest(rooms& owner, directory::value_type& entry) noexcept : entry_(&entry, {&owner}) {}
        std::unique_ptr<directory::value_type, leave_room> entry_;
    };

    /// The right to wait, given back when destroyed.
    using seat = std::unique_ptr<rooms, leave_seat>;

    struct occupancy {
        std::size_t rooms = 0;
        std::size_t waiting = 0;
    };

    rooms(std::size_t most_rooms, std::size_t most_waiting) noexcept
        : most_rooms_(most_rooms), most_waiting_(most_waiting) {}

    /// Enters the room of that name, which is made if need be. Nothing if there are too many already, or
    /// after `close`.
    std::optional<guest> enter(const std::string& name);

    /// A seat, or null if all are taken.
    seat take_seat();

    /// Ends every wait with `closed`. Nobody can enter from now on.
    void close() noexcept;
    bool is_closed() const;

    occupancy count() const;

private:
    void leave(directory::value_type& entry) noexcept;
    void stand_up() noexcept;

    const std::size_t most_rooms_;
    const std::size_t most_waiting_;
    mutable std::mutex mutex_;
    directory rooms_;
    std::size_t waiting_ = 0;
    bool closed_ = false;
};

} // namespace pairing
