// SPDX-License-Identifier: MIT
#include "population.hpp"

#include <algorithm>
#include <numeric>

namespace tsp {

population::population(std::size_t cities, std::size_t individuals, std::size_t children)
    : cities_(cities), tours_((individuals + children) * cities), made_(individuals + children),
      alive_(individuals), free_(children) {
    std::iota(alive_.begin(), alive_.end(), slot{0});
    std::iota(free_.begin(), free_.end(), static_cast<slot>(individuals));
    survivors_.reserve(individuals);
    dead_.reserve(children);
}

void population::rank() noexcept {
    std::ranges::sort(alive_, by_measure());
}

population::slot population::select(random_source& random) const noexcept {
    const std::size_t one = random.below(alive_.size());
    return alive_[std::min(one, random.below(alive_.size()))];
}

void population::replace() noexcept {
    survivors_.clear();
    dead_.clear();
    for (const slot each : alive_) {
        const bool is_twin = !survivors_.empty() && made_[survivors_.back()] == made_[each];
        (is_twin && dead_.size() != free_.size() ? dead_ : survivors_).push_back(each);
    }
    while (dead_.size() != free_.size()) {
        dead_.push_back(survivors_.back());
        survivors_.pop_back();
    }
    std::ranges::sort(free_, by_measure());
    std::ranges::merge(survivors_, free_, alive_.begin(), by_measure());
    free_.swap(dead_);
}

} // namespace tsp
