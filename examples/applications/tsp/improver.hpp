// SPDX-License-Identifier: MIT
/// @file
/// Local search: 2-opt and Or-opt with neighbour lists and don't-look bits.
#pragma once

#include "instance.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tsp {

enum class improvement : unsigned char { none, two_opt, or_opt };

/// Local search on a tour in an array, as in Bentley, "Fast algorithms for geometric traveling
/// salesman problems", 1992. 2-opt reverses a part of the tour; Or-opt (Or, 1976) moves up to three
/// cities. A queue holds the cities to examine. Each is examined until no move replaces one of its
/// edges by one to a near city. It is queued again when its edges change.
class improver {
public:
    improver(const instance& problem, improvement how);

    /// @returns by how much the tour became shorter. If 0, no single move improves it.
    std::int64_t improve(std::span<city> tour) noexcept;

private:
    static constexpr std::size_t longest_moved = 3;

    enum class side : bool { before, after };
    static constexpr side opposite(side s) noexcept {
        return s == side::after ? side::before : side::after;
    }

    std::int64_t improve_at(city a) noexcept;
    std::int64_t exchange_edge(city a, side which) noexcept;
    std::int64_t move_part(city a, side extends, std::size_t count) noexcept;

    city beside(city c, side which) const noexcept;
    std::size_t wrapped(std::size_t position) const noexcept;
    std::size_t steps(std::size_t from, std::size_t to) const noexcept;
    void place(std::size_t position, city c) noexcept;
    void reverse(city first, city last) noexcept;
    void move(city first, std::size_t count, city after, bool turned) noexcept;
    void enqueue(city c) noexcept;

    const instance& problem_;
    improvement how_;
    std::span<city> tour_;
    std::vector<city> position_;
    std::vector<city> queue_; // a ring
    std::size_t queue_head_ = 0;
    std::size_t queued_ = 0;
    std::vector<unsigned char> is_queued_;
};

} // namespace tsp
