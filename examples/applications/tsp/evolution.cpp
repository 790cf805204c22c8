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
      all_(problem.size(), chosen.population, chosen.breeders) {
    breeders_.reserve(chosen.breeders);
    for (std::size_t i = 0; i != chosen.breeders; ++i) {
        breeders_.emplace_back(problem, all_, random_.split());
    }
}

void evolution::found(breeder& self, workspace& scratch) noexcept {
    for (auto i = static_cast<std::size_t>(&self - breeders_.data()); i < all_.individuals();
         i += breeders_.size()) {
        self.found(static_cast<population::slot>(i), scratch);
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
    if (founded_) {
        all_.replace();
        generation_.store(now().generation + 1, std::memory_order_relaxed);
    } else {
        all_.rank();
        founded_ = true;
    }
    best_length_.store(all_.length(all_.best()), std::memory_order_relaxed);
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

/// Every breeder has had its partners, no gene was lost on the way, and all tours are tours.
void evolution::check_generation() {
    const std::uint64_t matings = count_.matings + breeders_.size() * partners_now_;
    count_ = {};
    for (const breeder& each : breeders_) {
        count_ += each.count();
    }
    if (count_.matings != matings || count_.given != count_.received || count_.broken_tours != 0) {
        throw std::logic_error(fmt::format(
            "generation {} is broken: {} matings of {}, {} genes given, {} received, {} tours "
            "that are not permutations",
            now().generation, count_.matings, matings, count_.given, count_.received,
            count_.broken_tours));
    }
}

bool evolution::has_reached_target() const noexcept {
    return chosen_.target && chosen_.optimum &&
           gap(now().length, *chosen_.optimum) <= *chosen_.target;
}

/// Of the generations or the time, 1 at the end.
double evolution::progress() const noexcept {
    double most = 0;
    if (chosen_.generations) {
        // Without generations there is only the founding, which is then the end.
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

/// Fewer as time goes by, as in simulated annealing the changes become smaller.
std::size_t evolution::partners() const noexcept {
    const std::size_t stages = chosen_.partners - chosen_.last_partners + 1;
    return chosen_.partners - static_cast<std::size_t>(progress() * static_cast<double>(stages));
}

void evolution::begin_generation() noexcept {
    partners_now_ = partners();
    for (std::size_t i = 0; i != breeders_.size(); ++i) {
        breeders_[i].begin(all_.select(random_), all_.child(i), partners_now_);
    }
    breeding_.store(workers_, std::memory_order_relaxed);
}

} // namespace tsp
