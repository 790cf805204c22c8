// SPDX-License-Identifier: MIT
#include "model/search.hpp"

#include <algorithm>
#include <utility>

namespace tryst::model {

state_set::entry& state_set::find(fingerprint f) noexcept {
    const std::size_t mask = table_.size() - 1;
    std::size_t i = f & mask;
    while (table_[i].state != 0 && table_[i].state != f) {
        i = (i + 1) & mask;
    }
    return table_[i];
}

bool state_set::insert(fingerprint state, cost at) {
    const auto key = [state](unsigned p, unsigned s) {
        const fingerprint f = mix(mix(state, p), s);
        return f == 0 ? 1 : f;
    };
    // The bits of an entry's costs that are not higher.
    const auto up_to = [](unsigned p, unsigned s) {
        std::uint64_t bits = 0;
        for (unsigned i = 0; i <= std::min(p, side - 1); ++i) {
            bits |= ((std::uint64_t{2} << std::min(s, side - 1)) - 1) << i * side;
        }
        return bits;
    };
    const unsigned rows = at.preemptions / side;
    const unsigned columns = at.stale_reads / side;
    for (unsigned p = 0; p <= rows; ++p) {
        for (unsigned s = 0; s <= columns; ++s) {
            if ((find(key(p, s)).costs &
                 up_to(at.preemptions - p * side, at.stale_reads - s * side)) != 0) {
                return false;
            }
        }
    }
    entry* place = &find(key(rows, columns));
    if (place->state == 0) {
        if (2 * ++used_ > table_.size()) {
            const auto old = std::exchange(table_, std::vector<entry>(2 * table_.size()));
            for (const entry& each : old) {
                if (each.state != 0) {
                    find(each.state) = each;
                }
            }
            place = &find(key(rows, columns));
        }
        place->state = key(rows, columns);
    }
    place->costs |= std::uint64_t{1} << (at.preemptions % side * side + at.stale_reads % side);
    ++size_;
    return true;
}

std::size_t choices::choose(std::size_t count) {
    if (count == 1) {
        return 0;
    }
    if (next_ == taken_.size()) {
        const std::size_t fresh = how_ == how::random ? random_() % count : 0;
        taken_.push_back({static_cast<std::uint8_t>(fresh), static_cast<std::uint8_t>(count)});
    }
    choice& now = taken_[next_++];
    now.count = static_cast<std::uint8_t>(count); // a replay does not know it
    return now.taken;
}

void choices::record(std::size_t taken, std::size_t count) {
    if (count != 1) {
        taken_.push_back({static_cast<std::uint8_t>(taken), static_cast<std::uint8_t>(count)});
        ++next_;
    }
}

void choices::begin_exhaustive() noexcept {
    how_ = how::exhaustive;
    taken_.clear();
    next_ = 0;
}

void choices::begin_random(std::uint64_t seed) {
    how_ = how::random;
    taken_.clear();
    next_ = 0;
    random_.seed(seed);
}

void choices::begin_replay(const std::vector<std::uint8_t>& taken) {
    how_ = how::replayed;
    taken_.clear();
    for (const std::uint8_t each : taken) {
        taken_.push_back({each, 0});
    }
    next_ = 0;
}

bool choices::advance() noexcept {
    taken_.resize(next_); // the execution may have been cut short
    while (!taken_.empty() && taken_.back().taken + 1 == taken_.back().count) {
        taken_.pop_back();
    }
    if (taken_.empty()) {
        return false;
    }
    ++taken_.back().taken;
    next_ = 0;
    return true;
}

std::vector<std::uint8_t> choices::taken() const {
    std::vector<std::uint8_t> all;
    for (std::size_t i = 0; i != next_; ++i) {
        all.push_back(taken_[i].taken);
    }
    return all;
}

namespace {
constexpr std::string_view digits =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
}

std::string choices::to_text(const std::vector<std::uint8_t>& taken) {
    std::size_t length = taken.size();
    while (length != 0 && taken[length - 1] == 0) {
        --length; // a replay takes first alternatives when it knows no better
    }
    std::string text;
    for (std::size_t i = 0; i != length; ++i) {
        text += digits.at(taken[i]);
    }
    return text.empty() ? "0" : text;
}

std::optional<std::vector<std::uint8_t>> choices::from_text(std::string_view text) {
    std::vector<std::uint8_t> taken;
    for (const char each : text) {
        const std::size_t digit = digits.find(each);
        if (digit == std::string_view::npos) {
            return std::nullopt;
        }
        taken.push_back(static_cast<std::uint8_t>(digit));
    }
    return taken;
}

} // namespace tryst::model
