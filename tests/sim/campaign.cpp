// SPDX-License-Identifier: MIT
#include "sim/campaign.hpp"

#include "sim/play.hpp"
#include "support/step_names.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tryst::sim {

namespace {

constexpr unsigned max_jobs = 64;
constexpr std::uint64_t one_in_is_repeated = 64;
constexpr std::uint64_t one_in_is_swept = 100;
constexpr long longest_sweep = 200; // allocations
constexpr std::uint64_t enough_seeds = 1'000; // to take each step,
constexpr std::uint64_t enough_for_rare_steps = 100'000; // however rare
constexpr auto rare_step = static_cast<unsigned>(detail::step::disowning);
constexpr unsigned patience = 120; // seconds for one run

/// What is counted; then, how often each step was taken.
enum count : std::uint8_t {
    seeds,
    runs,
    accesses,
    operations,
    exchanged,
    failed_allocations,
    digests, // their sum
    steps
};
using counts = std::array<std::uint64_t, steps + step_kinds>;

/// What one process tells the parent.
struct job {
    pid_t process = 0;
    std::uint64_t seed = 0;
    long failing_allocation = -1;
    counts counted{};
    std::array<char, 4096> failure{}; // empty: none
};

struct board {
    std::atomic<std::uint64_t> next{0}; // of the seeds
    std::array<job, max_jobs> jobs;
};

board& make_board() {
    void* const shared =
        ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        std::perror("sim: mmap");
        std::exit(2);
    }
    return *::new (shared) board;
}

void set_failure(job& of, const std::string& what) {
    std::snprintf(of.failure.data(), of.failure.size(), "%s", what.c_str());
}

// ---- In a job's process.

/// @returns whether all went well.
bool play_one(job& mine, std::uint64_t seed, long failing_allocation, report& told) {
    mine.seed = seed;
    mine.failing_allocation = failing_allocation;
    ::alarm(patience); // kills
    told = play(random(seed), failing_allocation);
    mine.counted[runs] += 1;
    mine.counted[accesses] += told.steps;
    mine.counted[operations] += told.operations;
    mine.counted[exchanged] += told.exchanged;
    mine.counted[failed_allocations] += told.allocation_failed ? 1 : 0;
    set_failure(mine, told.failure);
    return told.failure.empty();
}

bool play_all_of(job& mine, std::uint64_t seed) {
    report told;
    if (!play_one(mine, seed, -1, told)) {
        return false;
    }
    const std::uint64_t digest = told.digest;
    mine.counted[digests] += digest;
    if (seed % one_in_is_repeated == 0) {
        if (!play_one(mine, seed, -1, told)) {
            return false;
        }
        if (told.digest != digest) {
            set_failure(mine, "the seed does not repeat itself");
            return false;
        }
    }
    told.allocation_failed = seed % one_in_is_swept == 0;
    for (long k = 1; k != longest_sweep && told.allocation_failed; ++k) {
        if (!play_one(mine, seed, k, told)) {
            return false;
        }
    }
    mine.counted[seeds] += 1;
    return true;
}

[[noreturn]] void work(board& all, job& mine, const campaign& c) {
    for (std::uint64_t i = 0; (i = all.next.fetch_add(1)) < c.seeds;) {
        if (!play_all_of(mine, c.first_seed + i)) {
            all.next.store(c.seeds); // the others stop, too
        }
    }
    for (unsigned i = 0; i != step_kinds; ++i) {
        mine.counted.at(steps + i) = times_taken(i);
    }
    std::_Exit(0);
}

// ---- In the parent.

void start(board& all, job& mine, const campaign& c) {
    const pid_t process = ::fork();
    if (process == -1) {
        std::perror("sim: fork");
        std::exit(2);
    }
    if (process == 0) {
        work(all, mine, c);
    }
    mine.process = process;
}

void wait_for_jobs(board& all, const campaign& c) {
    int status = 0;
    for (pid_t ended = 0; (ended = ::wait(&status)) > 0;) {
        if (status == 0) {
            continue;
        }
        std::string how = "exit code " + std::to_string(WEXITSTATUS(status));
        if (WIFSIGNALED(status)) {
            how = std::string("killed by a signal: ") + ::strsignal(WTERMSIG(status));
        }
        set_failure(*std::ranges::find(all.jobs, ended, &job::process), how);
        all.next.store(c.seeds);
    }
}

bool print_failures(const board& all, const campaign& c) {
    bool failed = false;
    for (const job& each : all.jobs) {
        if (each.failure[0] == '\0') {
            continue;
        }
        failed = true;
        std::printf("sim: seed %" PRIu64 " fails: %s\n", each.seed, each.failure.data());
        std::printf("sim: to see it: %s --seed %" PRIu64 " --trace", c.program.c_str(), each.seed);
        if (each.failing_allocation >= 0) {
            std::printf(" --fail-allocation %ld", each.failing_allocation);
        }
        std::printf("\n");
    }
    return failed;
}

/// @returns whether each step was taken.
bool print_sums(const board& all, const campaign& c, double seconds) {
    counts sum{};
    for (const job& each : all.jobs) {
        std::ranges::transform(sum, each.counted, sum.begin(), std::plus<>());
    }
    std::printf("%12" PRIu64 " seeds in %.1f s, %.0f a second; %" PRIu64 " runs\n", sum[seeds],
                seconds, static_cast<double>(sum[seeds]) / seconds, sum[runs]);
    std::printf("%12" PRIu64 " operations, %" PRIu64 " exchanged; %" PRIu64
                " accesses to atomics\n",
                sum[operations], sum[exchanged], sum[accesses]);
    std::printf("%12" PRIu64 " allocations failed\n", sum[failed_allocations]);
    bool all_taken = true;
    for (unsigned s = 0; s != step_kinds; ++s) {
        const std::uint64_t times = sum.at(steps + s);
        std::printf("%12" PRIu64 " times: %s\n", times, test::step_names[s].data());
        all_taken =
            all_taken &&
            (times != 0 || c.seeds < (s == rare_step ? enough_for_rare_steps : enough_seeds));
    }
    std::printf("digest %016" PRIx64 "\n", sum[digests]);
    if (!all_taken) {
        std::printf("sim: a step was never taken\n");
    }
    return all_taken;
}

} // namespace

bool run(const campaign& c) {
    const auto begin = std::chrono::steady_clock::now();
    board& all = make_board();
    std::fflush(nullptr);
    for (unsigned i = 0; i != std::clamp(c.jobs, 1U, max_jobs); ++i) {
        start(all, all.jobs.at(i), c);
    }
    wait_for_jobs(all, c);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    const bool failed = print_failures(all, c);
    const bool complete = print_sums(all, c, time.count());
    return !failed && complete;
}

} // namespace tryst::sim
