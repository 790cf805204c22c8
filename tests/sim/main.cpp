// SPDX-License-Identifier: MIT
/// @file
/// The command line of the simulation: many seeds, on several processes. So a crash is a failure of
/// its seed, and seeds cannot corrupt each other's memory.
#include "sim/contention.hpp"
#include "sim/play.hpp"
#include "sim/storm.hpp"
#include "support/step_names.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <getopt.h>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace {

using namespace tryst::sim;

constexpr auto usage = R"(usage: simulation [OPTION...]

  --seeds N            how many seeds to run (10000; 1 after --seed)
  --seed S             the first of them (1)
  --jobs J             on so many processes (one for each processor)
  --trace              tell what happens; one process
  --accesses           and each access to an atomic
  --fail-allocation K  the K-th allocation fails, whatever the seed says; 0: none does; one process
  --storm              instead: end 100,000 waits at once; it must cost 10 times as much as 10,000
  --contention         instead: count the cache lines that move for each exchange
)";

constexpr std::uint64_t one_in_is_repeated = 64;
constexpr std::uint64_t one_in_is_swept = 100;
constexpr long longest_sweep = 200; // allocations
constexpr std::uint64_t enough_seeds = 1'000; // to take each step,
constexpr std::uint64_t enough_for_rare_steps = 100'000; // however rare
constexpr auto rare_step = static_cast<unsigned>(tryst::detail::step::disowning);
constexpr unsigned patience = 120; // seconds for one run
constexpr int failed_aloud = 3; // the exit code of a process that has printed its failure

struct campaign {
    std::string program; ///< The program's name, for the command that repeats a failure.
    std::uint64_t first_seed = 1;
    std::uint64_t seeds = 10'000;
    unsigned jobs = std::clamp(std::thread::hardware_concurrency(), 1U, max_jobs);
    long failing_allocation = -1; ///< As for `play`.

    static constexpr unsigned max_jobs = 64;
};

/// What a process does: its parent prints this if it crashes.
struct job {
    pid_t process = 0;
    std::uint64_t seed = 0;
    long failing_allocation = -1;
};

/// What all processes share.
struct board {
    using number = std::atomic<std::uint64_t>;

    std::array<job, campaign::max_jobs> jobs;
    number next{0}; ///< Of the seeds.
    number seeds{0}, runs{0}, accesses{0}, operations{0}, exchanged{0}, failed_allocations{0};
    number digests{0}; ///< Their sum.
    std::array<number, step_kinds> steps{};

    static board& make() {
        void* const shared = ::mmap(nullptr, sizeof(board), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (shared == MAP_FAILED) {
            throw std::bad_alloc();
        }
        return *::new (shared) board;
    }
};

void print_failure(const campaign& c, const job& of, const char* what) {
    std::printf("sim: seed %" PRIu64 " fails: %s\n", of.seed, what);
    std::printf("sim: to see it: %s --seed %" PRIu64 " --trace", c.program.c_str(), of.seed);
    if (of.failing_allocation >= 0) {
        std::printf(" --fail-allocation %ld", of.failing_allocation);
    }
    std::printf("\n");
}

// ---- In a job's process. A failure ends it.

report play_one(const campaign& c, board& all, job& mine, std::uint64_t seed, long failing) {
    mine.seed = seed;
    mine.failing_allocation = failing;
    ::alarm(patience); // kills
    const report played = play(tryst::sim::random(seed), failing);
    if (!played.failure.empty()) {
        print_failure(c, mine, played.failure.c_str());
        std::_Exit(failed_aloud);
    }
    all.runs += 1;
    all.accesses += played.steps;
    all.operations += played.operations;
    all.exchanged += played.exchanged;
    all.failed_allocations += played.allocation_failed ? 1 : 0;
    return played;
}

/// A seed; one in so many twice, and one with all k-th allocations failing in turn.
void play_all_of(const campaign& c, board& all, job& mine, std::uint64_t seed) {
    const std::uint64_t digest = play_one(c, all, mine, seed, -1).digest;
    if (seed % one_in_is_repeated == 0 && play_one(c, all, mine, seed, -1).digest != digest) {
        print_failure(c, mine, "the seed does not repeat itself");
        std::_Exit(failed_aloud);
    }
    bool fails = seed % one_in_is_swept == 0;
    for (long k = 1; k != longest_sweep && fails; ++k) {
        fails = play_one(c, all, mine, seed, k).allocation_failed;
    }
    all.seeds += 1;
    all.digests += digest;
}

[[noreturn]] void work(const campaign& c, board& all, job& mine) {
    for (std::uint64_t i = 0; (i = all.next++) < c.seeds;) {
        play_all_of(c, all, mine, c.first_seed + i);
    }
    for (unsigned i = 0; i != step_kinds; ++i) {
        all.steps.at(i) += times_taken(i);
    }
    std::_Exit(0);
}

// ---- In the parent.

/// When a process fails, the others stop, too.
void run_jobs(const campaign& c, board& all) {
    std::fflush(nullptr);
    for (unsigned i = 0; i != c.jobs; ++i) {
        job& each = all.jobs.at(i);
        const pid_t process = ::fork();
        if (process == 0) {
            work(c, all, each);
        }
        each.process = process;
    }
    int status = 0;
    for (pid_t ended = 0; (ended = ::wait(&status)) > 0;) {
        if (status == 0) {
            continue;
        }
        all.next = c.seeds;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != failed_aloud) {
            print_failure(c, *std::ranges::find(all.jobs, ended, &job::process),
                          WIFEXITED(status) ? "the process has ended"
                                            : ::strsignal(WTERMSIG(status)));
        }
    }
}

/// @returns whether each step was taken, if there were enough seeds.
bool print_sums(const campaign& c, const board& all, double seconds) {
    const auto print = [](const board::number& sum, const char* of_what) {
        std::printf("%12" PRIu64 " %s\n", sum.load(), of_what);
    };
    std::printf("%12" PRIu64 " seeds in %.1f s\n", all.seeds.load(), seconds);
    print(all.runs, "runs");
    print(all.accesses, "accesses to atomics");
    print(all.operations, "operations");
    print(all.exchanged, "exchanged");
    print(all.failed_allocations, "allocations failed");
    bool all_taken = true;
    for (unsigned s = 0; s != step_kinds; ++s) {
        std::printf("%12" PRIu64 " times: %s\n", all.steps.at(s).load(),
                    tryst::test::step_names[s].data());
        const auto enough = s == rare_step ? enough_for_rare_steps : enough_seeds;
        all_taken = all_taken && (all.steps.at(s) != 0 || c.seeds < enough);
    }
    std::printf("digest %016" PRIx64 "\n", all.digests.load());
    if (!all_taken) {
        std::printf("sim: a step was never taken\n");
    }
    return all_taken;
}

bool run_campaign(const campaign& c) {
    const auto begin = std::chrono::steady_clock::now();
    board& all = board::make();
    run_jobs(c, all);
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
    return print_sums(c, all, time.count()) && all.seeds == c.seeds;
}

/// One after the other, in this process, as for a debugger. @returns whether all went well.
bool run_here(const campaign& c) {
    for (std::uint64_t seed = c.first_seed; seed != c.first_seed + c.seeds; ++seed) {
        const report told = play(tryst::sim::random(seed), c.failing_allocation);
        if (!told.failure.empty()) {
            std::printf("sim: seed %" PRIu64 " fails: %s\n", seed, told.failure.c_str());
            return false;
        }
        std::printf("seed %" PRIu64 ": %zu operations, %zu exchanged, %" PRIu64
                    " accesses, digest %016" PRIx64 "\n",
                    seed, told.operations, told.exchanged, told.steps, told.digest);
    }
    return true;
}

std::uint64_t number_of(const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) {
        throw std::invalid_argument("not a number: " + text);
    }
    return std::stoull(text);
}

/// @returns whether all went well.
bool run_with(int argc, char** argv) {
    static constexpr std::array options{option{"help", no_argument, nullptr, 'h'},
                                        option{"seeds", required_argument, nullptr, 'n'},
                                        option{"seed", required_argument, nullptr, 's'},
                                        option{"jobs", required_argument, nullptr, 'j'},
                                        option{"trace", no_argument, nullptr, 't'},
                                        option{"accesses", no_argument, nullptr, 'a'},
                                        option{"fail-allocation", required_argument, nullptr, 'k'},
                                        option{"storm", no_argument, nullptr, 'x'},
                                        option{"contention", no_argument, nullptr, 'c'},
                                        option{}};
    campaign c{.program = argv[0]};
    bool seeds_given = false;
    bool here = false;
    for (int chosen = 0; (chosen = ::getopt_long(argc, argv, "", options.data(), nullptr)) != -1;) {
        switch (chosen) {
        case 'h':
            std::fputs(usage, stdout);
            return true;
        case 'n':
            c.seeds = number_of(optarg);
            seeds_given = true;
            break;
        case 's':
            c.first_seed = number_of(optarg);
            c.seeds = seeds_given ? c.seeds : 1;
            break;
        case 'j':
            c.jobs = static_cast<unsigned>(
                std::clamp<std::uint64_t>(number_of(optarg), 1, campaign::max_jobs));
            break;
        case 't':
        case 'a':
            set_trace(chosen == 't' ? trace_of::events : trace_of::accesses);
            here = true;
            break;
        case 'k':
            c.failing_allocation = static_cast<long>(number_of(optarg));
            here = true;
            break;
        case 'x':
            return run_storms();
        case 'c':
            print_contention();
            return true;
        default:
            throw std::invalid_argument(usage);
        }
    }
    if (optind != argc) {
        throw std::invalid_argument(usage);
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // a crash must not swallow the trace
    return here ? run_here(c) : run_campaign(c);
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run_with(argc, argv) ? 0 : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sim: %s\n", error.what());
        return 2;
    }
}
