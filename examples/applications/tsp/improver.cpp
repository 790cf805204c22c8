// SPDX-License-Identifier: MIT
#include "improver.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tsp {

improver::improver(const instance& problem, improvement how)
    : problem_(problem), how_(how), position_(problem.size()), queue_(problem.size()),
      is_queued_(problem.size()) {}

std::int64_t improver::improve(std::span<city> tour) noexcept {
    if (how_ == improvement::none) {
        return 0;
    }
    tour_ = tour;
    for (std::size_t i = 0; i != tour.size(); ++i) {
        place(i, tour[i]);
        enqueue(tour[i]);
    }
    std::int64_t gained = 0;
    while (queued_ != 0) {
        const city a = queue_[queue_head_];
        queue_head_ = wrapped(queue_head_ + 1);
        --queued_;
        is_queued_[a] = 0;
        while (const std::int64_t gain = improve_at(a)) {
            gained += gain;
        }
    }
    return gained;
}

/// Applies the first improving move at `a`. @returns the gain; 0 if there is no such move.
std::int64_t improver::improve_at(city a) noexcept {
    for (const side each : {side::before, side::after}) {
        if (const std::int64_t gain = exchange_edge(a, each)) {
            return gain;
        }
    }
    if (how_ == improvement::or_opt) {
        for (std::size_t count = 1; count <= longest_moved && count + 3 <= tour_.size(); ++count) {
            for (const side each : {side::before, side::after}) {
                if (const std::int64_t gain = move_part(a, each, count)) {
                    return gain;
                }
            }
        }
    }
    return 0;
}

/// 2-opt: replaces the edges a-b and c-d by a-c and b-d.
std::int64_t improver::exchange_edge(city a, side which) noexcept {
    const city b = beside(a, which);
    for (const city c : problem_.neighbours(a)) {
        const std::int64_t half = problem_.distance(a, b) - problem_.distance(a, c);
        if (half <= 0) {
            break;
        }
        const city d = beside(c, which);
        const std::int64_t gain = half + problem_.distance(c, d) - problem_.distance(b, d);
        if (gain > 0) {
            which == side::after ? reverse(b, c) : reverse(a, d);
            for (const city each : {a, b, c, d}) {
                enqueue(each);
            }
            return gain;
        }
    }
    return 0;
}

/// Or-opt: replaces p-a...e-q and c-d by p-q and c-a...e-d, where a...e are `count` cities.
std::int64_t improver::move_part(city a, side extends, std::size_t count) noexcept {
    const city p = beside(a, opposite(extends));
    std::array<city, longest_moved> part{a};
    for (std::size_t i = 1; i != count; ++i) {
        part[i] = beside(part[i - 1], extends);
    }
    const auto part_end = part.begin() + static_cast<std::ptrdiff_t>(count);
    const auto is_moved = [&](city x) { return std::find(part.begin(), part_end, x) != part_end; };
    const city e = part[count - 1];
    const city q = beside(e, extends);
    const std::int64_t removed =
        problem_.distance(p, a) + problem_.distance(e, q) - problem_.distance(p, q);
    for (const city c : problem_.neighbours(a)) {
        const std::int64_t half = removed - problem_.distance(a, c);
        if (half <= 0) {
            break;
        }
        if (is_moved(c)) {
            continue;
        }
        for (const side each : {side::before, side::after}) {
            const city d = beside(c, each);
            const std::int64_t gain = half + problem_.distance(c, d) - problem_.distance(e, d);
            if (gain > 0 && !is_moved(d)) {
                // The part keeps its direction if c is on the side of `a` where p was.
                move(extends == side::after ? a : e, count, each == side::after ? c : d,
                     each != extends);
                for (const city changed : {p, a, e, q, c, d}) {
                    enqueue(changed);
                }
                return gain;
            }
        }
    }
    return 0;
}

city improver::beside(city c, side which) const noexcept {
    const std::size_t i = position_[c];
    if (which == side::after) {
        return tour_[wrapped(i + 1)];
    }
    return i == 0 ? tour_.back() : tour_[i - 1];
}

std::size_t improver::wrapped(std::size_t position) const noexcept {
    return position < tour_.size() ? position : position - tour_.size();
}

/// The number of steps forward from one position to another.
std::size_t improver::steps(std::size_t from, std::size_t to) const noexcept {
    return wrapped(to + tour_.size() - from);
}

void improver::place(std::size_t position, city c) noexcept {
    tour_[position] = c;
    position_[c] = static_cast<city>(position);
}

/// Reverses the part from `first` to `last`, or the rest of the tour if that is shorter: both give
/// the same circuit.
void improver::reverse(city first, city last) noexcept {
    const std::size_t size = tour_.size();
    std::size_t i = position_[first];
    std::size_t j = position_[last];
    std::size_t count = steps(i, j) + 1;
    if (2 * count > size) {
        count = size - count;
        i = std::exchange(j, i);
        i = wrapped(i + 1);
        j = wrapped(j + size - 1);
    }
    for (std::size_t swaps = count / 2; swaps != 0; --swaps) {
        const city c = tour_[i];
        place(i, tour_[j]);
        place(j, c);
        i = wrapped(i + 1);
        j = wrapped(j + size - 1);
    }
}

/// Moves the `count` cities that begin with `first` behind `after`. Shifts the cities between the
/// two places, on the shorter way around the tour.
void improver::move(city first, std::size_t count, city after, bool turned) noexcept {
    const std::size_t size = tour_.size();
    const std::size_t start = position_[first];
    std::array<city, longest_moved> part{};
    for (std::size_t i = 0; i != count; ++i) {
        part[turned ? count - 1 - i : i] = tour_[wrapped(start + i)];
    }
    const std::size_t ahead = steps(wrapped(start + count), position_[after]) + 1;
    const std::size_t behind = size - count - ahead;
    std::size_t gap = start;
    if (ahead <= behind) {
        for (std::size_t i = 0; i != ahead; ++i) {
            place(gap, tour_[wrapped(gap + count)]);
            gap = wrapped(gap + 1);
        }
    } else {
        for (std::size_t i = 0; i != behind; ++i) {
            gap = wrapped(gap + size - 1);
            place(wrapped(gap + count), tour_[gap]);
        }
    }
    for (std::size_t i = 0; i != count; ++i) {
        place(wrapped(gap + i), part[i]);
    }
}

void improver::enqueue(city c) noexcept {
    if (!std::exchange(is_queued_[c], 1)) {
        queue_[wrapped(queue_head_ + queued_)] = c;
        ++queued_;
    }
}

} // namespace tsp
