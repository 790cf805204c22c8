// SPDX-License-Identifier: MIT
#include "rooms.hpp"

#include <type_traits>

namespace pairing {

std::optional<rooms::guest> rooms::enter(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    if (closed_) {
        return std::nullopt;
    }
    auto found = rooms_.find(name);
    if (found == rooms_.end()) {
        if (rooms_.size() >= most_rooms_) {
            return std::nullopt;
        }
        found = rooms_.try_emplace(name, red_blue_).first;
    }
    ++found->second.guests;
    return guest(*this, *found);
}

rooms::seat rooms::take_seat(const guest& who, request_kind kind) {
    room& at = who.entry_->second;
    const std::scoped_lock lock(mutex_);
    if (waiting_ >= most_waiting_ || at.waiting >= most_in_one_room_) {
        return seat(nullptr, {this, kind});
    }
    ++waiting_;
    ++at.waiting;
    asking_ += kind == request_kind::ask ? 1 : 0;
    return seat(&at, {this, kind});
}

void rooms::close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    // Whoever waits is told by way of its own loop, not in here, where it could not leave.
    for (auto& [name, each] : rooms_) {
        std::visit(
            [](auto& meeting) {
                if constexpr (!std::is_same_v<decltype(meeting), std::monostate&>) {
                    meeting.close();
                }
            },
            each.meeting);
    }
}

bool rooms::is_closed() const {
    const std::scoped_lock lock(mutex_);
    return closed_;
}

rooms::occupancy rooms::count() const {
    const std::scoped_lock lock(mutex_);
    return {rooms_.size(), waiting_, asking_};
}

void rooms::leave(directory::value_type& entry) noexcept {
    const std::scoped_lock lock(mutex_);
    if (--entry.second.guests == 0) {
        rooms_.erase(rooms_.find(entry.first));
    }
}

void rooms::stand_up(room& at, request_kind kind) noexcept {
    const std::scoped_lock lock(mutex_);
    --waiting_;
    --at.waiting;
    asking_ -= kind == request_kind::ask ? 1 : 0;
}

} // namespace pairing
