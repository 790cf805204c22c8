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

// After which a breeder looks whether it is the only one left. Longer than an exchange between threads as a rule takes.
constexpr std::chrono::microseconds patience(100);

/// The paper's listing 2: whoever finds no partner in time looks whether it is the only one left.
struct symmetric_side {
    static constexpr bool may_be_stranded = true;
    tryst::exchanger<genes>& channel;

    auto meet(genes mine) const noexcept { return channel.exchange_for(mine, patience); }
};

/// The paper's listing 3: as many are red as blue, and all have as many partners, so each finds them.
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
tryst::task<> breed(evolution& all, breeder& self, workspace& scratch, barrier::group& generation,
                    Side side) {
    all.found(self, scratch);
    co_await generation.arrive();
    while (!all.is_over()) {
        while (self.wants_partner()) {
            if (Side::may_be_stranded && all.only_one_left()) {
                self.receive_own(scratch);
                continue;
            }
            const genes mine = self.offer();
            const auto theirs = co_await side.meet(mine);
            if (theirs) {
                self.receive(*theirs, mine, scratch);
            } else if (theirs.error() != tryst::exchange_errc::timed_out) {
                throw std::
                    bad_alloc(); // out_of_memory; as a loop's task throws it, it ends the program
            }
        }
        all.worker_has_bred();
        all.finish(self, scratch);
        co_await generation.arrive();
    }
    generation.leave();
}

/// As above, on a thread, for its breeders in turn.
template <class Barrier>
void breed_in_turn(evolution& all, std::span<breeder> ours, workspace& scratch, Barrier& generation,
                   mutex_exchanger<genes>& channel) {
    for (breeder& self : ours) {
        all.found(self, scratch);
    }
    generation.arrive_and_wait();
    while (!all.is_over()) {
        for (breeder& self : ours) {
            while (self.wants_partner()) {
                if (all.only_one_left()) {
                    self.receive_own(scratch);
                    continue;
                }
                const genes mine = self.offer();
                if (const std::optional<genes> theirs = channel.exchange_for(mine, patience)) {
                    self.receive(*theirs, mine, scratch);
                }
            }
            if (&self == &ours.back()) {
                all.worker_has_bred();
            }
            all.finish(self, scratch);
        }
        generation.arrive_and_wait();
    }
}

/// Calls `body(i)` for each on a thread of its own; on none of them if there are not so many to be had.
template <class Body>
void run_on_threads(std::size_t count, Body body) {
    std::latch all_there(1);
    bool abandoned = false;
    std::vector<std::jthread> threads;
    try {
        for (std::size_t i = 0; i != count; ++i) {
            threads.emplace_back([&all_there, &abandoned, &body, i] {
                all_there.wait();
                if (!abandoned) {
                    body(i);
                }
            });
        }
    } catch (...) {
        abandoned = true;
        all_there.count_down();
        throw;
    }
    all_there.count_down();
}

std::size_t thread_count(const options& chosen) noexcept {
    return std::min(chosen.threads, chosen.breeders);
}

/// The breeders of the thread. Neighbours, so that each thread has as many red ones as blue ones, or almost.
std::span<breeder> share_of(evolution& all, std::size_t thread, std::size_t threads) noexcept {
    const std::size_t count = all.breeders().size();
    const std::size_t first = thread * count / threads;
    return all.breeders().subspan(first, (thread + 1) * count / threads - first);
}

/// @param breed_ith  makes the i-th breeder's coroutine.
template <class Breed>
void breed_on_loops(evolution& all, const instance& problem, const options& chosen,
                    Breed breed_ith) {
    const std::size_t threads = thread_count(chosen);
    std::deque<workspace> scratch;
    std::deque<tryst::run_loop> loops(threads);
    barrier generation([&all] { all.end_generation(); });
    std::size_t next = 0;
    for (std::size_t i = 0; i != threads; ++i) {
        const std::span<breeder> ours = share_of(all, i, threads);
        scratch.emplace_back(problem, chosen.improve);
        barrier::group& group = generation.add_group(loops[i], ours.size());
        for (breeder& self : ours) {
            loops[i].spawn(breed_ith(next++, self, scratch.back(), group));
        }
    }
    run_on_threads(threads, [&](std::size_t i) { loops[i].run(); });
}

void breed_on_threads(evolution& all, const instance& problem, const options& chosen) {
    const std::size_t threads = thread_count(chosen);
    std::deque<workspace> scratch;
    for (std::size_t i = 0; i != threads; ++i) {
        scratch.emplace_back(problem, chosen.improve);
    }
    mutex_exchanger<genes> channel;
    std::barrier generation(static_cast<std::ptrdiff_t>(threads),
                            [&all]() noexcept { all.end_generation(); });
    run_on_threads(threads, [&](std::size_t i) {
        breed_in_turn(all, share_of(all, i, threads), scratch[i], generation, channel);
    });
}

} // namespace

std::size_t worker_count(const options& chosen) noexcept {
    return chosen.exchange == exchange_form::mutex ? thread_count(chosen) : chosen.breeders;
}

void breed_all(evolution& all, const instance& problem, const options& chosen) {
    switch (chosen.exchange) {
    case exchange_form::symmetric: {
        tryst::exchanger<genes> channel;
        breed_on_loops(all, problem, chosen,
                       [&](std::size_t, breeder& self, workspace& scratch, barrier::group& group) {
                           return breed(all, self, scratch, group, symmetric_side{channel});
                       });
        break;
    }
    case exchange_form::red_blue: {
        tryst::red_blue_exchanger<genes> channel;
        breed_on_loops(
            all, problem, chosen,
            [&](std::size_t i, breeder& self, workspace& scratch, barrier::group& group) {
                return i % 2 == 0 ? breed(all, self, scratch, group, red_side{channel})
                                  : breed(all, self, scratch, group, blue_side{channel});
            });
        break;
    }
    case exchange_form::mutex:
        breed_on_threads(all, problem, chosen);
        break;
    }
}

} // namespace tsp
