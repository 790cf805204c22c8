// SPDX-License-Identifier: MIT
/// @file
/// What a breeder does with the genes that it gets, however it gets them.
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

/// What breeders of one thread share, as they never work at the same time.
struct workspace {
    workspace(const instance& problem, improvement how)
        : cities(problem.size()), local_search(problem, how) {}

    city_set cities;
    improver local_search;
};

/// What has been exchanged, since the start.
struct gene_count {
    std::uint64_t given = 0;
    std::uint64_t received = 0;
    std::uint64_t own = 0; ///< Taken without an exchange, by whoever was the only one left.
    std::uint64_t matings = 0;
    std::uint64_t broken_tours = 0;

    gene_count& operator+=(const gene_count& other) noexcept;
};

class breeder {
public:
    breeder(const instance& problem, population& all, random_source random);

    /// Makes an individual at random.
    void found(population::slot where, workspace& scratch) noexcept;

    /// Begins a generation: `child` shall become the parent's and so many partners' child.
    void begin(population::slot parent, population::slot child, std::size_t partners) noexcept;

    bool wants_partner() const noexcept { return partners_left_ != 0; }

    /// A random part of the parent's circuit.
    genes offer() noexcept;

    void receive(genes theirs, genes given, workspace& scratch) noexcept;

    /// Genes of anybody's, when nobody is left to exchange with.
    void receive_own(workspace& scratch) noexcept;

    /// Ends the generation.
    void finish(workspace& scratch, bool improved) noexcept;

    const gene_count& count() const noexcept { return count_; }

private:
    genes part_of(population::slot whose) noexcept;
    void mate(genes theirs, workspace& scratch) noexcept;
    void complete(population::slot where, workspace& scratch) noexcept;

    const instance& problem_;
    population& all_;
    random_source random_;
    population::slot parent_ = 0;
    population::slot child_ = 0;
    std::size_t partners_left_ = 0;
    std::span<const city> made_; // so far
    std::vector<city> other_; // takes turns with the child's place, so that none is copied
    gene_count count_;
};

} // namespace tsp
