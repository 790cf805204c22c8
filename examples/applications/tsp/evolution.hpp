// SPDX-License-Identifier: MIT
/// @file
/// The genetic algorithm, from one generation to the next, without the pairing of breeders.
#pragma once

#include "breeder.hpp"
#include "instance.hpp"
#include "options.hpp"
#include "population.hpp"
#include "random.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <vector>

namespace tsp {

struct status {
    std::uint64_t generation = 0;
    std::int64_t length = 0; ///< Length of the best tour; 0 before there is one.
};

/// By how many percent `length` exceeds the optimum.
double gap(std::int64_t length, std::int64_t optimum) noexcept;

/// Workers (coroutines or threads) create the first population together, and then the generations.
/// They synchronise at a barrier after each step. Its completion calls `end_generation`, which
/// begins the next generation.
class evolution {
public:
    evolution(const instance& problem, const options& chosen, std::size_t workers);

    std::span<breeder> breeders() noexcept { return breeders_; }

    /// Makes the current generation the last one, and skips the rest of its local search. May be
    /// called from any thread.
    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

    /// Creates the breeder's share of the first population.
    void initialize(breeder& self, workspace& scratch) noexcept;

    /// Precondition: all workers wait at the barrier.
    void end_generation() noexcept;

    /// Whether the run has ended. Changes only in `end_generation`.
    bool is_over() const noexcept { return over_; }

    /// The calling worker needs no more partners in this generation.
    void worker_finished_mating() noexcept {
        workers_still_mating_.fetch_sub(1, std::memory_order_relaxed);
    }

    /// Whether all other workers have finished mating. Call it from a worker that has not finished:
    /// a result of true then holds until the end of the generation.
    bool is_last_breeding() const noexcept {
        return workers_still_mating_.load(std::memory_order_relaxed) == 1;
    }

    void finish(breeder& self, workspace& scratch) noexcept { self.finish(scratch, may_improve()); }

    /// The current status. May be called from any thread, at any time.
    status now() const noexcept {
        return {.generation = generation_.load(std::memory_order_relaxed),
                .length = best_length_.load(std::memory_order_relaxed)};
    }

    /// Call `count` and `best` only when the run has ended.
    /// @throws std::logic_error if the check of a generation failed.
    const gene_count& count() const;
    std::span<const city> best() const noexcept { return population_.tour(population_.best()); }

private:
    using clock = std::chrono::steady_clock;

    bool may_improve() const noexcept { return !stopped_.load(std::memory_order_relaxed); }
    void check_generation();
    bool has_reached_target() const noexcept;
    double progress() const noexcept;
    std::size_t partners() const noexcept;
    void begin_generation() noexcept;

    const options& chosen_;
    const std::size_t workers_;
    const clock::time_point start_ = clock::now();
    random_source random_;
    population population_;
    std::vector<breeder> breeders_;
    std::atomic<bool> stopped_{false};
    std::atomic<std::size_t> workers_still_mating_{0};
    std::size_t partners_now_ = 0;
    gene_count count_;
    bool initialized_ = false;
    bool over_ = false;
    std::exception_ptr failure_;
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<std::int64_t> best_length_{0};
};

} // namespace tsp
