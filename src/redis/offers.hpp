// SPDX-License-Identifier: MIT
// The offers of a room, and where each is.
#pragma once

#include "link.hpp"

#include <tryst/redis/detail/party.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

TRYST_REDIS_BEGIN
namespace detail {

/// A party that the room has taken out of the local place.
struct offer {
    enum class where : std::uint8_t {
        home, ///< Not in Redis: waits for a partner of this process to come home, or to be sent.
        abroad, ///< Sent: Redis knows it, or may know it.
        leaving ///< Abroad, and its withdrawal has been requested.
    };

    std::uint64_t number;
    std::shared_ptr<party> who;
    std::size_t side;
    bool waits; ///< False: a try.
    std::string token; ///< Only the server knows it, too.
    where at = where::home;
    std::uint64_t request = 0; ///< The number of the request that sent it last.
    std::uint64_t withdrawn = 0; ///< The epoch in which its withdrawal was last sent.
    bool arriving = false; ///< That request has not been answered.
    bool collecting = false; ///< Its item has been asked for.
    exchange_errc ending{}; ///< Why it must end, if it must;
    std::optional<net::steady_timer> limit{}; ///< then it is in doubt after a lease.
};

/// The offers of a room: by number, and in each place by side, with tries beside the sides.
class offer_table {
public:
    using where = offer::where;
    static constexpr std::size_t tries = 2; ///< In the place of a side.

    offer& add(std::shared_ptr<party> who, std::size_t side, bool waits, std::string token) {
        who->number = ++last_number_;
        offer& added = all_[last_number_];
        added = {.number = last_number_,
                 .who = std::move(who),
                 .side = side,
                 .waits = waits,
                 .token = std::move(token)};
        row_of(added).insert(added.number);
        return added;
    }

    /// @returns null if the offer is complete, or was sent again after this request.
    offer* find(std::uint64_t number,
                std::uint64_t request = std::numeric_limits<std::uint64_t>::max()) {
        const auto found = all_.find(number);
        return found == all_.end() || found->second.request > request ? nullptr : &found->second;
    }

    std::size_t count(where at, std::size_t side) const { return row(at, side).size(); }
    /// The oldest offer there. @returns null if there is none.
    offer* first(where at, std::size_t side) {
        const std::set<std::uint64_t>& found = row(at, side);
        return found.empty() ? nullptr : find(*found.begin());
    }
    /// One there of any side, or a try.
    offer* any(where at) {
        for (std::size_t side = 0; side <= tries; ++side) {
            if (offer* const found = first(at, side)) {
                return found;
            }
        }
        return nullptr;
    }
    /// One that Redis knows, or may know.
    offer* any_sent() {
        offer* const found = any(where::abroad);
        return found != nullptr ? found : any(where::leaving);
    }
    /// The numbers of all that Redis knows, or may know, in order.
    std::vector<std::uint64_t> sent() const {
        std::vector<std::uint64_t> numbers;
        for (const auto& [number, each] : all_) {
            if (each.at != where::home) {
                numbers.push_back(number);
            }
        }
        return numbers;
    }

    void move(offer& each, where to) {
        row_of(each).erase(each.number);
        each.at = to;
        row_of(each).insert(each.number);
    }
    std::shared_ptr<party> remove(offer& each) {
        auto who = std::move(each.who);
        row_of(each).erase(each.number);
        all_.erase(all_.find(each.number));
        return who;
    }

    bool empty() const { return all_.empty(); }
    std::uint64_t last_number() const { return last_number_; }
    /// The lowest number of an offer here, or to come.
    std::uint64_t lowest() const { return empty() ? last_number_ + 1 : all_.begin()->first; }

private:
    const std::set<std::uint64_t>& row(where at, std::size_t side) const {
        return rows_[static_cast<std::size_t>(at)][side];
    }
    std::set<std::uint64_t>& row_of(const offer& each) {
        return rows_[static_cast<std::size_t>(each.at)][each.waits ? each.side : tries];
    }

    std::map<std::uint64_t, offer> all_;
    std::array<std::array<std::set<std::uint64_t>, 3>, 3> rows_;
    std::uint64_t last_number_ = 0;
};

} // namespace detail
TRYST_REDIS_END
