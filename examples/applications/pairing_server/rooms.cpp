// SPDX-License-Identifier: MIT
#include "rooms.hpp"

#include <iterator>
#include <utility>
#include <vector>

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
        found = rooms_.try_emplace(name, place_.open(name)).first;
    }
    ++found->second.references;
    return room_reference(*this, *found);
}

rooms::wait_permit rooms::acquire_wait_permit(const room_reference& reference, request_kind kind) {
    entry& at = reference.entry_->second;
    const std::scoped_lock lock(mutex_);
    if (waits_.size() >= max_waiting_ || at.waiting >= max_waiting_per_room_) {
        return wait_permit(nullptr, {this});
    }
    wait& added = waits_.emplace_back();
    added.at_ = &at;
    added.kind_ = kind;
    added.self_ = std::prev(waits_.end());
    if (closed_) { // since the client has entered
        added.withdrawn_ = {.why = outcome::closed, .notice = nullptr};
        added.stop_.request_stop();
    }
    ++at.waiting;
    asking_ += kind == request_kind::ask ? 1 : 0;
    return wait_permit(&added, {this});
}

void rooms::withdraw(wait& which, outcome why) {
    {
        const std::scoped_lock lock(mutex_);
        if (!which.withdrawn_) {
            which.withdrawn_ = {.why = why, .notice = nullptr};
        }
    }
    which.stop_.request_stop();
}

rooms::withdrawal rooms::reason_of(const wait& which) const {
    const std::scoped_lock lock(mutex_);
    return which.withdrawn_.value_or(withdrawal{});
}

void rooms::notify(const std::string& notice) {
    withdraw_all({.why = outcome::notified, .notice = std::make_shared<const std::string>(notice)});
}

void rooms::close_room(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    // Waiters resume later, on their own loops. Here they could not leave: the mutex is locked.
    if (const auto found = rooms_.find(name); found != rooms_.end()) {
        found->second.place->close();
    } else {
        place_.open(name)->close(); // clients may wait there on other servers
    }
}

void rooms::close() {
    {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
    }
    withdraw_all({.why = outcome::closed, .notice = nullptr});
}

/// Ends the waits of all clients that wait now.
void rooms::withdraw_all(const withdrawal& reason) {
    // A stop may take a while. Copies of the sources outlive the waits.
    std::vector<std::stop_source> stops;
    {
        const std::scoped_lock lock(mutex_);
        stops.reserve(waits_.size());
        for (wait& each : waits_) {
            if (!each.withdrawn_) {
                each.withdrawn_ = reason;
                stops.push_back(each.stop_);
            }
        }
    }
    for (std::stop_source& each : stops) {
        each.request_stop();
    }
}

bool rooms::is_closed() const {
    const std::scoped_lock lock(mutex_);
    return closed_;
}

rooms::occupancy rooms::count() const {
    const std::scoped_lock lock(mutex_);
    return {rooms_.size(), waits_.size(), asking_};
}

void rooms::release(directory::value_type& at) noexcept {
    const std::scoped_lock lock(mutex_);
    if (--at.second.references == 0) {
        rooms_.erase(rooms_.find(at.first));
    }
}

void rooms::release(wait& ended) noexcept {
    const std::scoped_lock lock(mutex_);
    --ended.at_->waiting;
    asking_ -= ended.kind_ == request_kind::ask ? 1 : 0;
    waits_.erase(ended.self_);
}

} // namespace pairing
