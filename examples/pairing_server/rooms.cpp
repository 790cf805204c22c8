// SPDX-License-Identifier: MIT
#include "rooms.hpp"

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
        found = rooms_.try_emplace(name).first;
    }
    ++found->second.guests;
    return guest(*this, *found);
}

rooms::seat rooms::take_seat() {
    const std::scoped_lock lock(mutex_);
    if (waiting_ >= most_waiting_) {
        return nullptr;
    }
    ++waiting_;
    return seat(this);
}

void rooms::close() noexcept {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    // Whoever waits is told by way of its own loop, not in here, where it could not leave.
    for (auto& [name, each] : rooms_) {
        each.meeting.close();
    }
}

bool rooms::is_closed() const {
    const std::scoped_lock lock(mutex_);
    return closed_;
}

rooms::occupancy rooms::count() const {
    const std::scoped_lock lock(mutex_);
    return {rooms_.size(), waiting_};
}

void rooms::leave(directory::value_type& entry) noexcept {
    const std::scoped_lock lock(mutex_);
    if (--entry.second.guests == 0) {
        rooms_.erase(rooms_.find(entry.first));
    }
}

void rooms::stand_up() noexcept {
    const std::scoped_lock lock(mutex_);
    --waiting_;
}

} // namespace pairing
