// SPDX-License-Identifier: MIT
/// @file
/// Tours: crossover, and local search.
#pragma once

#include "problem.hpp"

namespace tsp {

using tour = std::vector<city>;
/// A part of a parent's tour, which does not change while the parent breeds.
using genes = std::span<const city>;

inline std::int64_t length_of(const problem& all, const tour& round) noexcept {
    std::int64_t length = all.distance(round.back(), round.front());
    for (std::size_t i = 1; i < round.size(); ++i) {
        length += all.distance(round[i - 1], round[i]);
    }
    return length;
}

/// Order crossover (Davis, 1985) for circuits: `foreign`, followed by the other cities in the order
/// of `own` from the first of `foreign` on. `foreign` gets the direction that is shorter.
/// Precondition: `foreign` has some of the cities, but not all.
inline tour crossed(const problem& all, const tour& own, genes foreign) {
    std::vector<bool> taken(own.size());
    for (const city each : foreign) {
        taken[each] = true;
    }
    tour child(foreign.begin(), foreign.end());
    child.reserve(own.size());
    auto next = std::ranges::find(own, foreign.front());
    for (std::size_t i = 0; i != own.size(); ++i) {
        if (!taken[*next]) {
            child.push_back(*next);
        }
        next = next + 1 == own.end() ? own.begin() : next + 1;
    }
    const auto ends = [&](city head, city tail) {
        return all.distance(child.back(), head) + all.distance(tail, child[foreign.size()]);
    };
    if (ends(foreign.back(), foreign.front()) < ends(foreign.front(), foreign.back())) {
        std::reverse(child.begin(), child.begin() + static_cast<std::ptrdiff_t>(foreign.size()));
    }
    return child;
}

/// 2-opt (Croes, 1958) and Or-opt (Or, 1976) between near cities (Bentley, 1992), until no single
/// move makes the tour shorter.
class improver {
public:
    improver(const problem& all, tour& round) : all_(all), tour_(round), at_(round.size()) {
        update(0, size());
        for (bool is_better = true; is_better;) {
            is_better = false;
            for (std::size_t a = 0; a != size(); ++a) {
                const auto each = static_cast<city>(a);
                while (two_opt(each) || or_opt(each, 1) || or_opt(each, 2) || or_opt(each, 3)) {
                    is_better = true;
                }
            }
        }
    }

private:
    std::size_t size() const noexcept { return tour_.size(); }
    city after(city a) const noexcept { return tour_[at_[a] + 1 == size() ? 0 : at_[a] + 1]; }
    city before(city a) const noexcept { return tour_[(at_[a] == 0 ? size() : at_[a]) - 1]; }
    tour::iterator place(std::size_t at) noexcept { return tour_.begin() + std::ptrdiff_t(at); }

    /// The cities at positions from `first` to `last` - 1 have moved.
    void update(std::size_t first, std::size_t last) noexcept {
        for (; first != last; ++first) {
            at_[tour_[first]] = first;
        }
    }

    /// Replaces the edges a-b and c-d by a-c and b-d, where b and d follow a and c, or precede.
    bool two_opt(city a) noexcept {
        for (const bool forward : {true, false}) {
            const city b = forward ? after(a) : before(a);
            for (const city c : all_.neighbours(a)) {
                const int half = all_.distance(a, b) - all_.distance(a, c);
                const city d = forward ? after(c) : before(c);
                if (half <= 0) {
                    break;
                }
                if (half + all_.distance(c, d) - all_.distance(b, d) > 0) {
                    const auto first = std::min(at_[forward ? b : a], at_[forward ? d : c]);
                    const auto last = std::max(at_[forward ? b : a], at_[forward ? d : c]);
                    std::reverse(place(first), place(last)); // or the rest: the same circuit
                    update(first, last);
                    return true;
                }
            }
        }
        return false;
    }

    /// Moves `count` cities from `first` on, perhaps turned, between two that are neighbours.
    bool or_opt(city first, std::size_t count) noexcept {
        const std::size_t begin = at_[first];
        const std::size_t end = begin + count;
        if (end > size() || count + 3 > size()) {
            return false; // a part that wraps round may move in a child, which begins elsewhere
        }
        const city last = tour_[end - 1];
        const city left = before(first);
        const city right = after(last);
        const int removed =
            all_.distance(left, first) + all_.distance(last, right) - all_.distance(left, right);
        for (const bool turned : {false, true}) {
            const city head = turned ? last : first;
            const city tail = turned ? first : last;
            for (const city c : all_.neighbours(head)) {
                for (const bool forward : {true, false}) { // c, head ... tail, d; or d first
                    const city d = forward ? after(c) : before(c);
                    const auto is_moved = [&](city a) { return at_[a] >= begin && at_[a] < end; };
                    if (!is_moved(c) && !is_moved(d) &&
                        removed + all_.distance(c, d) - all_.distance(c, head) -
                                all_.distance(tail, d) >
                            0) {
                        move(begin, end, at_[forward ? c : d] + 1, forward == turned);
                        return true;
                    }
                }
            }
        }
        return false;
    }

    /// Moves the cities from `begin` to `end` - 1 to the front of position `to`.
    void move(std::size_t begin, std::size_t end, std::size_t to, bool turned) noexcept {
        if (turned) {
            std::reverse(place(begin), place(end));
        }
        const std::size_t first = std::min(begin, to);
        const std::size_t last = std::max(end, to);
        std::rotate(place(first), place(to < begin ? begin : end), place(last));
        update(first, last);
    }

    const problem& all_;
    tour& tour_;
    std::vector<std::size_t> at_;
};

} // namespace tsp
