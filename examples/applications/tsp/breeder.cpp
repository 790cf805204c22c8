// SPDX-License-Identifier: MIT
#include "breeder.hpp"

#include <numeric>
#include <utility>

namespace tsp {

gene_count& gene_count::operator+=(const gene_count& other) noexcept {
    given += other.given;
    received += other.received;
    from_population += other.from_population;
    matings += other.matings;
    broken_tours += other.broken_tours;
    return *this;
}

breeder::breeder(const instance& problem, population& tours, random_source random)
    : problem_(problem), population_(tours), random_(random), spare_(problem.size()) {}

void breeder::initialize(population::slot where, workspace& scratch) noexcept {
    const std::span<city> tour = population_.tour(where);
    std::iota(tour.begin(), tour.end(), city{0});
    for (std::size_t left = tour.size(); left > 1; --left) {
        std::swap(tour[left - 1], tour[random_.below(left)]);
    }
    complete(where, scratch);
}

void breeder::begin(population::slot parent, population::slot child,
                    std::size_t partners) noexcept {
    parent_ = parent;
    child_ = child;
    partners_left_ = partners;
    partial_child_ = std::as_const(population_).tour(parent);
}

genes breeder::offer() noexcept {
    return part_of(parent_);
}

void breeder::receive(genes theirs, genes given, workspace& scratch) noexcept {
    count_.given += given.size();
    count_.received += theirs.size();
    mate(theirs, scratch);
}

void breeder::receive_from_population(workspace& scratch) noexcept {
    const genes theirs = part_of(population_.select(random_));
    count_.from_population += theirs.size();
    mate(theirs, scratch);
}

void breeder::finish(workspace& scratch, bool improved) noexcept {
    if (improved) {
        scratch.local_search.improve(population_.tour(child_));
    }
    complete(child_, scratch);
}

genes breeder::part_of(population::slot whose) noexcept {
    const std::size_t size = problem_.size();
    // At most all cities but one. With a limit of half the cities, finding the optimum of 500
    // cities takes twice as many generations.
    const std::size_t count = 2 + random_.below(size - 2);
    return std::as_const(population_).tour(whose).subspan(random_.below(size - count + 1), count);
}

void breeder::mate(genes theirs, workspace& scratch) noexcept {
    // Matings write alternately to two buffers; the last one writes to the child's slot.
    const std::span<city> to =
        partners_left_ % 2 == 1 ? population_.tour(child_) : std::span(spare_);
    recombine(problem_, partial_child_, theirs, to, scratch.cities);
    partial_child_ = to;
    --partners_left_;
    ++count_.matings;
}

void breeder::complete(population::slot where, workspace& scratch) noexcept {
    const std::span<const city> tour = std::as_const(population_).tour(where);
    if (!is_permutation(tour, problem_.size(), scratch.cities)) {
        ++count_.broken_tours;
    }
    population_.set_measure(where, measure_of(problem_, tour));
}

} // namespace tsp
