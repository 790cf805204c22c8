// SPDX-License-Identifier: MIT
#include "evolution.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tsp {

double gap(std::int64_t length, std::int64_t optimum) noexcept {
    return 100 * static_cast<double>(length - optimum) / static_cast<double>(optimum);
}

evolution::evolution(const instance& problem, const options& chosen, std::size_t workers)
    : chosen_(chosen), workers_(workers), random_(chosen.seed),
      population_(problem.size(), chosen.population, chosen.breeders) {
    breeders_.reserve(chosen.breeders);
    for (std::size_t i = 0; i != chosen.breeders; ++i) {
        breeders_.emplace_back(problem, population_, random_.split());
    }
}

void evolution::initialize(breeder& self, workspace& scratch) noexcept {
    for (auto i = static_cast<std::size_t>(&self - breeders_.data()); i < population_.individuals();
         i += breeders_.size()) {
        self.initialize(static_cast<population::slot>(i), scratch);
    }
}

void evolution::end_generation() noexcept {
    try {
        check_generation();
    } catch (...) {
        failure_ = std::current_exception();
        over_ = true;
        return;
    }
    if (initialized_) {
        population_.replace();
        generation_.store(now().generation + 1, std::memory_order_relaxed);
    } else {
        population_.rank();
        initialized_ = true;
    }
    best_length_.store(population_.length(population_.best()), std::memory_order_relaxed);
    over_ = stopped_.load(std::memory_order_relaxed) || has_reached_target() || progress() >= 1;
    if (!over_) {
        begin_generation();
    }
}

const gene_count& evolution::count() const {
    if (failure_) {
        std::rethrow_exception(failure_);
    }
    return count_;
}

/// Checks that every breeder had its partners, no gene was lost, and all tours are permutations.
void evolution::check_generation() {
    const std::uint64_t matings = count_.matings + breeders_.size() * partners_now_;
    count_ = {};
    for (const breeder& each : breeders_) {
        count_ += each.count();
    }
    if (count_.matings != matings || count_.given != count_.received || count_.broken_tours != 0) {
        throw std::logic_error(fmt::format(
            "internal error in generation {}: {} of {} matings, {} genes given, {} received, {} "
            "tours that are not permutations",
            now().generation, count_.matings, matings, count_.given, count_.received,
            count_.broken_tours));
    }
}

bool evolution::has_reached_target() const noexcept {
    return chosen_.target && chosen_.optimum &&
           gap(now().length, *chosen_.optimum) <= *chosen_.target;
}

/// The fraction of the generations or of the time that has passed; 1 at the end.
double evolution::progress() const noexcept {
    double most = 0;
    if (chosen_.generations) {
        // With zero generations the run ends after the first population has been created.
        most = *chosen_.generations == 0 ? 1
                                         : static_cast<double>(now().generation) /
                                               static_cast<double>(*chosen_.generations);
    }
    if (chosen_.seconds) {
        const std::chrono::duration<double> elapsed = clock::now() - start_;
        most = std::max(most, elapsed.count() / *chosen_.seconds);
    }
    return most;
}

/// The number decreases during the run, like the temperature in simulated annealing.
std::size_t evolution::partners() const noexcept {
    const std::size_t stages = chosen_.partners - chosen_.last_partners + 1;
    return chosen_.partners - static_cast<std::size_t>(progress() * static_cast<double>(stages));
}

void evolution::begin_generation() noexcept {
    partners_now_ = partners();
    for (std::size_t i = 0; i != breeders_.size(); ++i) {
        breeders_[i].begin(population_.select(random_), population_.child(i), partners_now_);
    }
    workers_still_mating_.store(workers_, std::memory_order_relaxed);
}

} // namespace tsp
