// SPDX-License-Identifier: MIT
/// @file
/// All tours, in memory that is allocated once.
#pragma once

#include "instance.hpp"
#include "random.hpp"
#include "tour.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tsp {

/// The individuals, and slots for the children of the next generation. Tours are never copied: a
/// child is created in its slot, and the slots of replaced individuals are reused for the next
/// children.
class population {
public:
    using slot = std::uint32_t;

    population(std::size_t cities, std::size_t individuals, std::size_t children);

    std::size_t individuals() const noexcept { return alive_.size(); }
    std::span<city> tour(slot which) noexcept { return {&tours_[which * cities_], cities_}; }
    std::span<const city> tour(slot which) const noexcept {
        return {&tours_[which * cities_], cities_};
    }
    std::int64_t length(slot which) const noexcept { return measures_[which].length; }

    /// Call it when the tour in this slot is complete.
    void set_measure(slot which, measure result) noexcept { measures_[which] = result; }

    /// The slot for the i-th child.
    slot child(std::size_t i) const noexcept { return free_[i]; }

    /// Sorts the first population, once it is complete.
    void rank() noexcept;

    slot best() const noexcept { return alive_.front(); }

    /// A tournament: returns the better of two random individuals.
    slot select(random_source& random) const noexcept;

    /// The children replace as many individuals: first duplicates, and then the longest tours.
    void replace() noexcept;

private:
    auto by_measure() const noexcept {
        return [this](slot a, slot b) { return measures_[a] < measures_[b]; };
    }

    std::size_t cities_;
    std::vector<city> tours_;
    std::vector<measure> measures_;
    std::vector<slot> alive_; // shortest tour first
    std::vector<slot> free_;
    std::vector<slot> survivors_;
    std::vector<slot> replaced_;
};

} // namespace tsp
