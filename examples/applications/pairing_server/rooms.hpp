// SPDX-License-Identifier: MIT
/// @file
/// The rooms in which clients meet: an exchanger each, of one colour or of two, made for the first guest, dropped
/// with the last.
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
    using one_kind = tryst::exchanger<message>;
    using two_sides = tryst::red_blue_exchanger<message>; // who has waited longest is met first

    struct room {
        // One slot is enough for a room: two meet there, and thousands of rooms are to be small.
        explicit room(bool red_blue) {
            if (red_blue) {
                meeting.emplace<two_sides>();
            } else {
                meeting.emplace<one_kind>(0U);
            }
        }
        std::variant<std::monostate, one_kind, two_sides> meeting;
        std::size_t guests = 0;
        std::size_t waiting = 0;
    };
    // Clients choose the names, and could choose names that collide in a hash table. To enter and
    // leave one of 10,000 rooms takes 2 us longer than with a hash table.
    using directory = std::map<std::string, room>;

    struct leave_room {
        rooms* owner;
        void operator()(directory::value_type* entry) const noexcept { owner->leave(*entry); }
    };
    struct leave_seat {
        rooms* owner;
        request_kind kind;
        void operator()(room* at) const noexcept { owner->stand_up(*at, kind); }
    };

public:
    /// Keeps a room. The exchanger is destroyed by the last guest, when nobody can be inside.
    class guest {
    public:
        /// Where whoever comes next is met. Only if the rooms have no sides.
        one_kind& meeting() const { return std::get<one_kind>(entry_->second.meeting); }

        /// Where askers, red, meet answerers, blue. Only if the rooms have sides.
        two_sides& desk() const { return std::get<two_sides>(entry_->second.meeting); }

    private:
        friend rooms;
        guest(rooms& owner, directory::value_type& entry) noexcept : entry_(&entry, {&owner}) {}
        std::unique_ptr<directory::value_type, leave_room> entry_;
    };

    /// The right to wait in a room, given back when destroyed, before one leaves it.
    using seat = std::unique_ptr<room, leave_seat>;

    struct occupancy {
        std::size_t rooms = 0;
        std::size_t waiting = 0;
        std::size_t asking = 0; ///< Of those who wait.
    };

    explicit rooms(const options& chosen) noexcept
        : red_blue_(chosen.red_blue), most_rooms_(chosen.most_rooms),
          most_waiting_(chosen.most_waiting), most_in_one_room_(chosen.most_waiting_in_one_room) {}

    /// Whether askers meet answerers here, or everybody everybody.
    bool have_sides() const noexcept { return red_blue_; }

    /// Enters the room of that name, which is made if need be. Nothing if there are too many already, or
    /// after `close`.
    std::optional<guest> enter(const std::string& name);

    /// A seat in the guest's room, or null if all are taken, there or in all.
    seat take_seat(const guest& who, request_kind kind);

    /// Ends every wait with `closed`. Nobody can enter from now on.
    void close();
    bool is_closed() const;

    occupancy count() const;

private:
    void leave(directory::value_type& entry) noexcept;
    void stand_up(room& at, request_kind kind) noexcept;

    const bool red_blue_;
    const std::size_t most_rooms_;
    const std::size_t most_waiting_;
    const std::size_t most_in_one_room_;
    mutable std::mutex mutex_;
    directory rooms_;
    std::size_t waiting_ = 0;
    std::size_t asking_ = 0;
    bool closed_ = false;
};

} // namespace pairing
