// SPDX-License-Identifier: MIT
/// @file
/// The tours that there are, in memory that is allocated once.
#pragma once

#include "instance.hpp"
#include "random.hpp"
#include "tour.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tsp {

/// A number of individuals, and room for the children of the next generation. Nobody is ever copied: a child is made
/// where it stays, and the room of those that die is that of the next children.
class population {
public:
    using slot = std::uint32_t;

    population(std::size_t cities, std::size_t individuals, std::size_t children);

    std::size_t individuals() const noexcept { return alive_.size(); }
    std::span<city> tour(slot which) noexcept { return {&tours_[which * cities_], cities_}; }
    std::span<const city> tour(slot which) const noexcept {
        return {&tours_[which * cities_], cities_};
    }
    std::int64_t length(slot which) const noexcept { return made_[which].length; }

    /// The tour there is complete.
    void made(slot which, measure result) noexcept { made_[which] = result; }

    /// Where the i-th child goes.
    slot child(std::size_t i) const noexcept { return free_[i]; }

    /// Of the founders, once they are all there.
    void rank() noexcept;

    slot best() const noexcept { return alive_.front(); }

    /// The better of two.
    slot select(random_source& random) const noexcept;

    /// The children take the place of as many individuals: of those that are the same as another, and then of the
    /// longest.
    void replace() noexcept;

private:
    auto by_measure() const noexcept {
        return [this](slot a, slot b) { return made_[a] < made_[b]; };
    }

    std::size_t cities_;
    std::vector<city> tours_;
    std::vector<measure> made_;
    std::vector<slot> alive_; // the shortest first
    std::vector<slot> free_;
    std::vector<slot> survivors_;
    std::vector<slot> dead_;
};

} // namespace tsp
