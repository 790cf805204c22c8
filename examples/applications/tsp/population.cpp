// SPDX-License-Identifier: MIT
#include "population.hpp"

#include <algorithm>
#include <numeric>

namespace tsp {

population::population(std::size_t cities, std::size_t individuals, std::size_t children)
    : cities_(cities), tours_((individuals + children) * cities), measures_(individuals + children),
      alive_(individuals), free_(children) {
    std::iota(alive_.begin(), alive_.end(), slot{0});
    std::iota(free_.begin(), free_.end(), static_cast<slot>(individuals));
    survivors_.reserve(individuals);
    replaced_.reserve(children);
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
    replaced_.clear();
    for (const slot each : alive_) {
        const bool is_duplicate =
            !survivors_.empty() && measures_[survivors_.back()] == measures_[each];
        (is_duplicate && replaced_.size() != free_.size() ? replaced_ : survivors_).push_back(each);
    }
    while (replaced_.size() != free_.size()) {
        replaced_.push_back(survivors_.back());
        survivors_.pop_back();
    }
    std::ranges::sort(free_, by_measure());
    std::ranges::merge(survivors_, free_, alive_.begin(), by_measure());
    free_.swap(replaced_);
}

} // namespace tsp
