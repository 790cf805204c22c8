// SPDX-License-Identifier: MIT
/// @file
/// The genetic algorithm, but for how breeders meet and wait: from one generation to the next.
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

/// How far it is; may be asked for at any time.
struct status {
    std::uint64_t generation = 0;
    std::int64_t length = 0; ///< Of the best tour; 0 before there is one.
};

/// How much longer than the optimum, in percent.
double gap(std::int64_t length, std::int64_t optimum) noexcept;

/// Workers (coroutines or threads) found the population together. From then on each generation begins when one of them
/// has called `end_generation`, having found at a barrier that all have done their part.
class evolution {
public:
    evolution(const instance& problem, const options& chosen, std::size_t workers);

    std::span<breeder> breeders() noexcept { return breeders_; }

    /// Makes this generation the last, which ends without further improvement. From any thread.
    void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }

    /// The breeder's share of the first population.
    void found(breeder& self, workspace& scratch) noexcept;

    /// Precondition: all workers wait.
    void end_generation() noexcept;

    /// Whether that was the last. Changes in `end_generation` only.
    bool is_over() const noexcept { return over_; }

    /// The worker has no breeding left to do in this generation.
    void worker_has_bred() noexcept { breeding_.fetch_sub(1, std::memory_order_relaxed); }

    /// Whether all other workers have bred. Final until the end of the generation, if a worker asks that has not.
    bool only_one_left() const noexcept { return breeding_.load(std::memory_order_relaxed) == 1; }

    void finish(breeder& self, workspace& scratch) noexcept { self.finish(scratch, may_improve()); }

    status now() const noexcept {
        return {.generation = generation_.load(std::memory_order_relaxed),
                .length = best_length_.load(std::memory_order_relaxed)};
    }

    /// These when it is over. @throws std::logic_error if a generation was not what it should be.
    const gene_count& count() const;
    std::span<const city> best() const noexcept { return all_.tour(all_.best()); }

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
    population all_;
    std::vector<breeder> breeders_;
    std::atomic<bool> stopped_{false};
    std::atomic<std::size_t> breeding_{0};
    std::size_t partners_now_ = 0;
    gene_count count_;
    bool founded_ = false;
    bool over_ = false;
    std::exception_ptr failure_;
    std::atomic<std::uint64_t> generation_{0};
    std::atomic<std::int64_t> best_length_{0};
};

} // namespace tsp
