// SPDX-License-Identifier: MIT
#include "breeding.hpp"

#include "barrier.hpp"
#include "mutex_exchanger.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/result.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <deque>
#include <latch>
#include <new>
#include <optional>
#include <span>
#include <thread>
#include <vector>

namespace tsp {

namespace {

// After this time without a partner, a breeder checks whether it is the last one still mating. An
// exchange between threads usually takes less time.
constexpr std::chrono::microseconds patience(100);

/// The paper's listing 2: a breeder that finds no partner in time checks whether it is the last.
struct symmetric_side {
    static constexpr bool may_be_stranded = true;
    tryst::exchanger<genes>& channel;

    auto meet(genes mine) const noexcept { return channel.exchange(mine, patience); }
};

/// The paper's listing 3: there are as many red breeders as blue ones, and all have the same number
/// of partners, so every breeder finds its partners.
struct red_side {
    static constexpr bool may_be_stranded = false;
    tryst::red_blue_exchanger<genes>& channel;

    auto meet(genes mine) const noexcept { return channel.red(mine); }
};

struct blue_side {
    static constexpr bool may_be_stranded = false;
    tryst::red_blue_exchanger<genes>& channel;

    auto meet(genes mine) const noexcept { return channel.blue(mine); }
};

template <class Side>
tryst::task<> breed(evolution& algorithm, breeder& self, workspace& scratch,
                    barrier::group& generation, Side side) {
    algorithm.initialize(self, scratch);
    co_await generation.arrive();
    while (!algorithm.is_over()) {
        while (self.wants_partner()) {
            if (Side::may_be_stranded && algorithm.is_last_breeding()) {
                self.receive_from_population(scratch);
                continue;
            }
            const genes mine = self.offer();
            const auto theirs = co_await side.meet(mine);
            if (theirs) {
                self.receive(*theirs, mine, scratch);
            } else if (theirs.error() != tryst::exchange_errc::timed_out) {
                // The error is out_of_memory. Thrown in a task of a loop, it ends the program.
                throw std::bad_alloc();
            }
        }
        algorithm.worker_finished_mating();
        algorithm.finish(self, scratch);
        co_await generation.arrive();
    }
    generation.leave();
}

/// Like `breed`, but on a plain thread that serves its breeders one after the other.
template <class Barrier>
void breed_in_turn(evolution& algorithm, std::span<breeder> ours, workspace& scratch,
                   Barrier& generation, mutex_exchanger<genes>& channel) {
    for (breeder& self : ours) {
        algorithm.initialize(self, scratch);
    }
    generation.arrive_and_wait();
    while (!algorithm.is_over()) {
        for (breeder& self : ours) {
            while (self.wants_partner()) {
                if (algorithm.is_last_breeding()) {
                    self.receive_from_population(scratch);
                    continue;
                }
                const genes mine = self.offer();
                if (const std::optional<genes> theirs = channel.exchange(mine, patience)) {
                    self.receive(*theirs, mine, scratch);
                }
            }
            if (&self == &ours.back()) {
                algorithm.worker_finished_mating();
            }
            algorithm.finish(self, scratch);
        }
        generation.arrive_and_wait();
    }
}

/// Runs `body(i)` on `count` threads. If a thread cannot be created, runs none and throws.
template <class Body>
void run_on_threads(std::size_t count, Body body) {
    std::latch started(1);
    bool cancelled = false;
    std::vector<std::jthread> threads;
    try {
        for (std::size_t i = 0; i != count; ++i) {
            threads.emplace_back([&started, &cancelled, &body, i] {
                started.wait();
                if (!cancelled) {
                    body(i);
                }
            });
        }
    } catch (...) {
        cancelled = true;
        started.count_down();
        throw;
    }
    started.count_down();
}

std::size_t thread_count(const options& chosen) noexcept {
    return std::min(chosen.threads, chosen.breeders);
}

/// The breeders of one thread. They are neighbours, and colours alternate, so each thread has about
/// as many red breeders as blue ones.
std::span<breeder> share_of(evolution& algorithm, std::size_t thread,
                            std::size_t threads) noexcept {
    const std::size_t count = algorithm.breeders().size();
    const std::size_t first = thread * count / threads;
    return algorithm.breeders().subspan(first, (thread + 1) * count / threads - first);
}

/// @param breed_ith  creates the coroutine of the i-th breeder.
template <class Breed>
void breed_on_loops(evolution& algorithm, const instance& problem, const options& chosen,
                    Breed breed_ith) {
    const std::size_t threads = thread_count(chosen);
    std::deque<workspace> scratch;
    std::deque<tryst::run_loop> loops(threads);
    barrier generation([&algorithm] { algorithm.end_generation(); });
    std::size_t next = 0;
    for (std::size_t i = 0; i != threads; ++i) {
        const std::span<breeder> ours = share_of(algorithm, i, threads);
        scratch.emplace_back(problem, chosen.improve);
        barrier::group& group = generation.add_group(loops[i], ours.size());
        for (breeder& self : ours) {
            loops[i].spawn(breed_ith(next++, self, scratch.back(), group));
        }
    }
    run_on_threads(threads, [&](std::size_t i) { loops[i].run(); });
}

void breed_on_threads(evolution& algorithm, const instance& problem, const options& chosen) {
    const std::size_t threads = thread_count(chosen);
    std::deque<workspace> scratch;
    for (std::size_t i = 0; i != threads; ++i) {
        scratch.emplace_back(problem, chosen.improve);
    }
    mutex_exchanger<genes> channel;
    std::barrier generation(static_cast<std::ptrdiff_t>(threads),
                            [&algorithm]() noexcept { algorithm.end_generation(); });
    run_on_threads(threads, [&](std::size_t i) {
        breed_in_turn(algorithm, share_of(algorithm, i, threads), scratch[i], generation, channel);
    });
}

} // namespace

std::size_t worker_count(const options& chosen) noexcept {
    return chosen.exchange == exchange_kind::mutex ? thread_count(chosen) : chosen.breeders;
}

void breed_all(evolution& algorithm, const instance& problem, const options& chosen) {
    switch (chosen.exchange) {
    case exchange_kind::symmetric: {
        tryst::exchanger<genes> channel;
        breed_on_loops(algorithm, problem, chosen,
                       [&](std::size_t, breeder& self, workspace& scratch, barrier::group& group) {
                           return breed(algorithm, self, scratch, group, symmetric_side{channel});
                       });
        break;
    }
    case exchange_kind::red_blue: {
        tryst::red_blue_exchanger<genes> channel;
        breed_on_loops(
            algorithm, problem, chosen,
            [&](std::size_t i, breeder& self, workspace& scratch, barrier::group& group) {
                return i % 2 == 0 ? breed(algorithm, self, scratch, group, red_side{channel})
                                  : breed(algorithm, self, scratch, group, blue_side{channel});
            });
        break;
    }
    case exchange_kind::mutex:
        breed_on_threads(algorithm, problem, chosen);
        break;
    }
}

} // namespace tsp
