// SPDX-License-Identifier: MIT
/// @file
/// How a breeder makes children from genes, independently of how it exchanges them.
#pragma once

#include "improver.hpp"
#include "instance.hpp"
#include "population.hpp"
#include "random.hpp"
#include "tour.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tsp {

/// Scratch memory that the breeders of one thread share: they never run at the same time.
struct workspace {
    workspace(const instance& problem, improvement how)
        : cities(problem.size()), local_search(problem, how) {}

    city_set cities;
    improver local_search;
};

/// Counts since the start.
struct gene_count {
    std::uint64_t given = 0;
    std::uint64_t received = 0;
    std::uint64_t from_population = 0; ///< Taken without an exchange by the last breeder.
    std::uint64_t matings = 0;
    std::uint64_t broken_tours = 0;

    gene_count& operator+=(const gene_count& other) noexcept;
};

class breeder {
public:
    breeder(const instance& problem, population& tours, random_source random);

    /// Creates a random individual.
    void initialize(population::slot where, workspace& scratch) noexcept;

    /// Begins a generation: `child` will be the child of `parent` and the given number of partners.
    void begin(population::slot parent, population::slot child, std::size_t partners) noexcept;

    bool wants_partner() const noexcept { return partners_left_ != 0; }

    /// Returns a random part of the parent's circuit.
    genes offer() noexcept;

    void receive(genes theirs, genes given, workspace& scratch) noexcept;

    /// Takes genes from the population, if no other breeder is left to exchange with.
    void receive_from_population(workspace& scratch) noexcept;

    /// Ends the generation.
    void finish(workspace& scratch, bool improved) noexcept;

    const gene_count& count() const noexcept { return count_; }

private:
    genes part_of(population::slot whose) noexcept;
    void mate(genes theirs, workspace& scratch) noexcept;
    void complete(population::slot where, workspace& scratch) noexcept;

    const instance& problem_;
    population& population_;
    random_source random_;
    population::slot parent_ = 0;
    population::slot child_ = 0;
    std::size_t partners_left_ = 0;
    std::span<const city> partial_child_; // the result of the matings so far
    std::vector<city> spare_; // matings write alternately to this and to the child's slot
    gene_count count_;
};

} // namespace tsp
