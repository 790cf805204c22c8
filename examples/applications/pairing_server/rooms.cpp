// SPDX-License-Identifier: MIT
#include "rooms.hpp"

#include <type_traits>

namespace pairing {

std::optional<rooms::room_reference> rooms::enter(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    if (closed_) {
        return std::nullopt;
    }
    auto found = rooms_.find(name);
    if (found == rooms_.end()) {
        if (rooms_.size() >= max_rooms_) {
            return std::nullopt;
        }
        found = rooms_.try_emplace(name, red_blue_).first;
    }
    ++found->second.references;
    return room_reference(*this, *found);
}

rooms::wait_permit rooms::acquire_wait_permit(const room_reference& reference, request_kind kind) {
    room& at = reference.entry_->second;
    const std::scoped_lock lock(mutex_);
    if (waiting_ >= max_waiting_ || at.waiting >= max_waiting_per_room_) {
        return wait_permit(nullptr, {this, kind});
    }
    ++waiting_;
    ++at.waiting;
    asking_ += kind == request_kind::ask ? 1 : 0;
    return wait_permit(&at, {this, kind});
}

void rooms::close() {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    // Waiters resume later, on their own loops. Here they could not leave: the mutex is locked.
    for (auto& [name, each] : rooms_) {
        std::visit(
            [](auto& exchanger) {
                if constexpr (!std::is_same_v<decltype(exchanger), std::monostate&>) {
                    exchanger.close();
                }
            },
            each.exchanger);
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

void rooms::release(directory::value_type& entry) noexcept {
    const std::scoped_lock lock(mutex_);
    if (--entry.second.references == 0) {
        rooms_.erase(rooms_.find(entry.first));
    }
}

void rooms::release_permit_of(room& at, request_kind kind) noexcept {
    const std::scoped_lock lock(mutex_);
    --waiting_;
    --at.waiting;
    asking_ -= kind == request_kind::ask ? 1 : 0;
}

} // namespace pairing
