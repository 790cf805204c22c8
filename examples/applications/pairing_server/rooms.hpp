// SPDX-License-Identifier: MIT
/// @file
/// The rooms that this server's clients use.
#pragma once

#include "room.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace pairing {

/// The first client that enters a room opens it, and the last that leaves destroys it. Any thread
/// may call any member.
class rooms {
    struct entry {
        std::unique_ptr<room> place;
        std::size_t visits = 0;
    };
    // Clients choose the names. An attacker could make them collide in a hash table, but not in an
    // ordered map.
    using directory = std::map<std::string, entry>;

public:
    /// Keeps a room open.
    class visit {
    public:
        visit(rooms& all, directory::value_type& at) noexcept : all_(all), at_(at) {}
        visit(const visit&) = delete;
        visit& operator=(const visit&) = delete;
        ~visit() { all_.leave(at_); }
        room* operator->() const noexcept { return at_.second.place.get(); }

    private:
        rooms& all_;
        directory::value_type& at_;
    };

    /// The meeting place must outlive this object.
    explicit rooms(meeting_place& place) noexcept : place_(place) {}

    visit enter(const std::string& name) {
        const std::scoped_lock lock(mutex_);
        auto found = rooms_.find(name);
        if (found == rooms_.end()) {
            found = rooms_.emplace(name, entry{place_.open(name)}).first;
        }
        ++found->second.visits;
        ++visits_;
        return {*this, *found};
    }

    struct counts {
        std::size_t rooms = 0;
        std::size_t visits = 0;
    };
    counts count() const {
        const std::scoped_lock lock(mutex_);
        return {rooms_.size(), visits_};
    }

private:
    void leave(directory::value_type& at) noexcept {
        const std::scoped_lock lock(mutex_);
        --visits_;
        if (--at.second.visits == 0) {
            rooms_.erase(rooms_.find(at.first));
        }
    }

    meeting_place& place_;
    mutable std::mutex mutex_;
    directory rooms_;
    std::size_t visits_ = 0;
};

} // namespace pairing
