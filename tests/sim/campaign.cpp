// SPDX-License-Identifier: MIT
#include "sim/campaign.hpp"

#include "sim/play.hpp"

#include <tryst/detail/platform/trace.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tryst::sim {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

constexpr unsigned max_jobs = 64;
constexpr std::uint64_t block = 32; // seeds that a job takes at once
constexpr std::uint64_t one_in_is_repeated = 64;
constexpr std::uint64_t one_in_is_swept = 100;
constexpr long longest_sweep = 200; // allocations
constexpr std::uint64_t enough_seeds = 1'000; // to take each step,
constexpr std::uint64_t enough_for_rare_steps = 100'000; // however rare
constexpr auto rare_step = static_cast<unsigned>(detail::step::disowning);
constexpr auto patience = 120s; // with one seed

/// What one process tells the others.
struct job {
    pid_t process = 0;
    std::atomic<std::uint64_t> seed{0};
    std::atomic<long> failing_allocation{-1};
    std::atomic<std::uint64_t> runs{0};
    std::atomic<std::uint64_t> seeds{0};
    std::uint64_t accesses = 0;
    std::uint64_t operations = 0;
    std::uint64_t exchanged = 0;
    std::uint64_t failed_allocations = 0;
    std::uint64_t digest = 0;
    std::array<std::uint64_t, step_kinds> steps{};
    std::array<char, 4096> failure{}; // empty: none

    // The parent's:
    std::uint64_t last_runs = 0;
    steady::time_point last_progress;
};

struct board {
    std::atomic<std::uint64_t> next{0};
    std::atomic<bool> stop{false};
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

// ---- In a job's process.

/// @returns whether all went well.
bool play_one(job& mine, std::uint64_t seed, long failing_allocation, report& told) {
    mine.failing_allocation.store(failing_allocation);
    told = play(random(seed), failing_allocation);
    mine.accesses += told.steps;
    mine.operations += told.operations;
    mine.exchanged += told.exchanged;
    mine.failed_allocations += told.allocation_failed ? 1 : 0;
    mine.runs.fetch_add(1);
    const std::size_t length = std::min(told.failure.size(), mine.failure.size() - 1);
    std::memcpy(mine.failure.data(), told.failure.data(), length);
    return told.failure.empty();
}

bool play_all_of(job& mine, std::uint64_t seed) {
    report told;
    if (!play_one(mine, seed, -1, told)) {
        return false;
    }
    mine.digest += told.digest; // the order of the seeds is nobody's choice
    if (seed % one_in_is_repeated == 0) {
        const std::uint64_t digest = told.digest;
        if (!play_one(mine, seed, -1, told)) {
            return false;
        }
        if (told.digest != digest) {
            std::strcpy(mine.failure.data(), "the seed does not repeat itself");
            return false;
        }
    }
    if (seed % one_in_is_swept == 0) {
        for (long k = 1; k != longest_sweep; ++k) {
            if (!play_one(mine, seed, k, told)) {
                return false;
            }
            if (!told.allocation_failed) {
                break;
            }
        }
    }
    return true;
}

void work(board& all, job& mine, const campaign& c) {
    while (!all.stop.load()) {
        const std::uint64_t begin = all.next.fetch_add(block);
        if (begin >= c.seeds) {
            return;
        }
        for (std::uint64_t i = begin; i != std::min(begin + block, c.seeds); ++i) {
            mine.seed.store(c.first_seed + i);
            if (!play_all_of(mine, c.first_seed + i)) {
                all.stop.store(true);
                return;
            }
            mine.seeds.fetch_add(1);
        }
    }
}

// ---- In the parent.

void start(board& all, job& mine, const campaign& c) {
    std::fflush(nullptr);
    mine.last_progress = steady::now();
    const pid_t process = ::fork();
    if (process == -1) {
        std::perror("sim: fork");
        std::exit(2);
    }
    if (process == 0) {
        work(all, mine, c);
        for (unsigned i = 0; i != step_kinds; ++i) {
            mine.steps.at(i) = times_taken(i);
        }
        std::_Exit(0);
    }
    mine.process = process;
}

/// Looks after a job. @returns whether it goes on.
bool goes_on(job& each) {
    int status = 0;
    if (::waitpid(each.process, &status, WNOHANG) == each.process) {
        each.process = 0;
        if (WIFSIGNALED(status)) {
            std::snprintf(each.failure.data(), each.failure.size(), "killed by signal %d (%s)",
                          WTERMSIG(status), strsignal(WTERMSIG(status)));
        } else if (WEXITSTATUS(status) != 0) {
            std::snprintf(each.failure.data(), each.failure.size(), "exit code %d",
                          WEXITSTATUS(status));
        }
        return false;
    }
    const auto now = steady::now();
    if (const std::uint64_t runs = each.runs.load(); runs != each.last_runs) {
        each.last_runs = runs;
        each.last_progress = now;
    } else if (now - each.last_progress > patience) {
        ::kill(each.process, SIGABRT);
    }
    return true;
}

std::uint64_t seeds_done(const board& all, unsigned jobs) {
    std::uint64_t done = 0;
    for (unsigned i = 0; i != jobs; ++i) {
        done += all.jobs.at(i).seeds.load();
    }
    return done;
}

double seconds_since(steady::time_point start) {
    return std::chrono::duration<double>(steady::now() - start).count();
}

void print_progress(std::uint64_t done, const campaign& c, double seconds) {
    const double rate = static_cast<double>(done) / seconds;
    std::fprintf(stderr, "sim: %llu of %llu seeds, %.0f a second, %.0f s to go\n",
                 static_cast<unsigned long long>(done), static_cast<unsigned long long>(c.seeds),
                 rate, static_cast<double>(c.seeds - done) / std::max(rate, 1e-9));
}

void wait_for_jobs(board& all, unsigned jobs, const campaign& c) {
    const auto begin = steady::now();
    auto next_report = begin + 5s;
    for (bool some = true; some;) {
        std::this_thread::sleep_for(10ms);
        some = false;
        for (unsigned i = 0; i != jobs; ++i) {
            job& each = all.jobs.at(i);
            if (each.process != 0 && !goes_on(each) && each.failure[0] != '\0') {
                all.stop.store(true);
            }
            some = some || each.process != 0;
        }
        if (steady::now() >= next_report) {
            print_progress(seeds_done(all, jobs), c, seconds_since(begin));
            next_report += 5s;
        }
    }
}

bool print_failures(const board& all, unsigned jobs, const campaign& c) {
    bool failed = false;
    for (unsigned i = 0; i != jobs; ++i) {
        const job& each = all.jobs.at(i);
        if (each.failure[0] == '\0') {
            continue;
        }
        failed = true;
        const auto seed = static_cast<unsigned long long>(each.seed.load());
        std::printf("sim: seed %llu fails: %s\n", seed, each.failure.data());
        std::printf("sim: to see it: %s --seed %llu --trace", c.program.c_str(), seed);
        if (const long k = each.failing_allocation.load(); k >= 0) {
            std::printf(" --fail-allocation %ld", k);
        }
        std::printf("\n");
    }
    return failed;
}

/// @returns whether each step was taken.
bool print_sums(const board& all, unsigned jobs, const campaign& c, double seconds) {
    job sum;
    for (unsigned i = 0; i != jobs; ++i) {
        const job& each = all.jobs.at(i);
        sum.runs += each.runs.load();
        sum.accesses += each.accesses;
        sum.operations += each.operations;
        sum.exchanged += each.exchanged;
        sum.failed_allocations += each.failed_allocations;
        sum.digest += each.digest;
        for (unsigned s = 0; s != step_kinds; ++s) {
            sum.steps.at(s) += each.steps.at(s);
        }
    }
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    const std::uint64_t done = seeds_done(all, jobs);
    std::printf("%12llu seeds in %.1f s, %.0f a second; %llu runs\n", number(done), seconds,
                static_cast<double>(done) / seconds, number(sum.runs.load()));
    std::printf("%12llu operations, %llu exchanged; %llu accesses to atomics\n",
                number(sum.operations), number(sum.exchanged), number(sum.accesses));
    std::printf("%12llu allocations failed\n", number(sum.failed_allocations));
    bool all_taken = true;
    for (unsigned s = 0; s != step_kinds; ++s) {
        std::printf("%12llu times: %s\n", number(sum.steps.at(s)), name_of_step(s));
        all_taken =
            all_taken && (sum.steps.at(s) != 0 ||
                          c.seeds < (s == rare_step ? enough_for_rare_steps : enough_seeds));
    }
    std::printf("digest %016llx\n", number(sum.digest));
    if (!all_taken) {
        std::printf("sim: a step was never taken\n");
        return false;
    }
    return true;
}

} // namespace

bool run(const campaign& c) {
    const auto begin = steady::now();
    const unsigned jobs = std::clamp(c.jobs, 1U, max_jobs);
    board& all = make_board();
    for (unsigned i = 0; i != jobs; ++i) {
        start(all, all.jobs.at(i), c);
    }
    wait_for_jobs(all, jobs, c);
    const bool failed = print_failures(all, jobs, c);
    const bool complete = print_sums(all, jobs, c, seconds_since(begin));
    return !failed && complete;
}

} // namespace tryst::sim
