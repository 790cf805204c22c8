// SPDX-License-Identifier: MIT
/// @file
/// The command line of the simulation.
#include "sim/campaign.hpp"
#include "sim/contention.hpp"
#include "sim/play.hpp"
#include "sim/storm.hpp"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <getopt.h>
#include <string>
#include <thread>

namespace {

using namespace tryst::sim;

void print_usage(std::FILE* to) {
    std::fputs(R"(usage: simulation [OPTION...]

  --seeds N            how many seeds to run (10000; 1 after --seed)
  --seed S             the first of them (1)
  --jobs J             on so many processes (one for each processor)
  --trace              tell what happens; one process
  --accesses           and each access to an atomic
  --fail-allocation K  the K-th allocation fails, whatever the seed says; 0: none does; one process
  --storm              instead: end 100,000 waits at once; it must cost 10 times as much as 10,000
  --contention         instead: count the cache lines that move for each exchange
)",
               to);
}

enum option : std::uint8_t {
    help = 1,
    seeds,
    seed,
    jobs,
    trace,
    accesses,
    fail_allocation,
    storm,
    lines
};

std::uint64_t number_of(const char* text) {
    char* end = nullptr;
    errno = 0;
    const std::uint64_t number = std::strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0') {
        std::fprintf(stderr, "sim: not a number: %s\n", text);
        std::exit(2);
    }
    return number;
}

/// One after the other, in this process, as for a debugger. @returns whether all went well.
bool run_here(const campaign& c, long failing_allocation) {
    for (std::uint64_t i = 0; i != c.seeds; ++i) {
        const std::uint64_t seed = c.first_seed + i;
        const report told = play(tryst::sim::random(seed), failing_allocation);
        if (!told.failure.empty()) {
            std::printf("sim: seed %llu fails: %s\n", static_cast<unsigned long long>(seed),
                        told.failure.c_str());
            return false;
        }
        std::printf("seed %llu: %zu operations, %zu exchanged, %llu accesses, digest %016llx\n",
                    static_cast<unsigned long long>(seed), told.operations, told.exchanged,
                    static_cast<unsigned long long>(told.steps),
                    static_cast<unsigned long long>(told.digest));
    }
    return true;
}

/// As comma-separated values.
void print_contention() {
    std::puts("kind,design,parties,hottest line,all lines,failed");
    for (const contention& each : count_contention(128)) {
        std::printf("%s,%s,%zu,%.2f,%.1f,%.2f\n", each.kind.data(), each.design.data(),
                    each.parties, each.hottest, each.all, each.failed);
    }
}

int run_with(int argc, char** argv) {
    static constexpr ::option options[]{
        {"help", no_argument, nullptr, help},
        {"seeds", required_argument, nullptr, seeds},
        {"seed", required_argument, nullptr, seed},
        {"jobs", required_argument, nullptr, jobs},
        {"trace", no_argument, nullptr, trace},
        {"accesses", no_argument, nullptr, accesses},
        {"fail-allocation", required_argument, nullptr, fail_allocation},
        {"storm", no_argument, nullptr, storm},
        {"contention", no_argument, nullptr, lines},
        {},
    };
    campaign c;
    c.program = argv[0];
    c.jobs = std::thread::hardware_concurrency();
    bool here = false;
    long failing_allocation = -1;
    bool seeds_given = false;
    bool seed_given = false;
    for (int chosen = 0; (chosen = ::getopt_long(argc, argv, "", options, nullptr)) != -1;) {
        switch (chosen) {
        case help:
            print_usage(stdout);
            return 0;
        case seeds:
            c.seeds = number_of(optarg);
            seeds_given = true;
            break;
        case seed:
            c.first_seed = number_of(optarg);
            seed_given = true;
            break;
        case jobs:
            c.jobs = static_cast<unsigned>(number_of(optarg));
            break;
        case trace:
            set_trace(trace_of::events);
            here = true;
            break;
        case accesses:
            set_trace(trace_of::accesses);
            here = true;
            break;
        case fail_allocation:
            failing_allocation = static_cast<long>(number_of(optarg));
            here = true;
            break;
        case storm:
            return run_storms() ? 0 : 1;
        case lines:
            print_contention();
            return 0;
        default:
            print_usage(stderr);
            return 2;
        }
    }
    if (optind != argc) {
        print_usage(stderr);
        return 2;
    }
    if (seed_given && !seeds_given) {
        c.seeds = 1;
    }
    std::setvbuf(stdout, nullptr, _IOLBF, 0); // a crash must not swallow the trace
    return (here ? run_here(c, failing_allocation) : run(c)) ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    try {
        return run_with(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "sim: %s\n", error.what());
        return 2;
    }
}
