// SPDX-License-Identifier: MIT
#include "breeder.hpp"

#include <numeric>
#include <utility>

namespace tsp {

gene_count& gene_count::operator+=(const gene_count& other) noexcept {
    given += other.given;
    received += other.received;
    own += other.own;
    matings += other.matings;
    broken_tours += other.broken_tours;
    return *this;
}

breeder::breeder(const instance& problem, population& all, random_source random)
    : problem_(problem), all_(all), random_(random), other_(problem.size()) {}

void breeder::found(population::slot where, workspace& scratch) noexcept {
    const std::span<city> tour = all_.tour(where);
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
    made_ = std::as_const(all_).tour(parent);
}

genes breeder::offer() noexcept {
    return part_of(parent_);
}

void breeder::receive(genes theirs, genes given, workspace& scratch) noexcept {
    count_.given += given.size();
    count_.received += theirs.size();
    mate(theirs, scratch);
}

void breeder::receive_own(workspace& scratch) noexcept {
    const genes theirs = part_of(all_.select(random_));
    count_.own += theirs.size();
    mate(theirs, scratch);
}

void breeder::finish(workspace& scratch, bool improved) noexcept {
    if (improved) {
        scratch.local_search.improve(all_.tour(child_));
    }
    complete(child_, scratch);
}

genes breeder::part_of(population::slot whose) noexcept {
    const std::size_t size = problem_.size();
    // Up to all but one: with parts of up to a half, twice as many generations pass until the optimum of 500 cities.
    const std::size_t count = 2 + random_.below(size - 2);
    return std::as_const(all_).tour(whose).subspan(random_.below(size - count + 1), count);
}

void breeder::mate(genes theirs, workspace& scratch) noexcept {
    // The last of them makes it where it belongs.
    const std::span<city> to = partners_left_ % 2 == 1 ? all_.tour(child_) : std::span(other_);
    recombine(problem_, made_, theirs, to, scratch.cities);
    made_ = to;
    --partners_left_;
    ++count_.matings;
}

void breeder::complete(population::slot where, workspace& scratch) noexcept {
    const std::span<const city> tour = std::as_const(all_).tour(where);
    if (!is_permutation(tour, problem_.size(), scratch.cities)) {
        ++count_.broken_tours;
    }
    all_.made(where, measure_of(problem_, tour));
}

} // namespace tsp
