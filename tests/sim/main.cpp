// SPDX-License-Identifier: MIT
/// @file
/// The command line of the simulation.
#include "sim/campaign.hpp"
#include "sim/contention.hpp"
#include "sim/play.hpp"
#include "sim/storm.hpp"

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <getopt.h>
#include <stdexcept>
#include <string>
#include <thread>

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

std::uint64_t number_of(const std::string& text) {
    if (text.empty() || text.find_first_not_of("0123456789") != text.npos) {
        throw std::invalid_argument("not a number: " + text);
    }
    return std::stoull(text);
}

/// One after the other, in this process, as for a debugger. @returns whether all went well.
bool run_here(const campaign& c, long failing_allocation) {
    for (std::uint64_t seed = c.first_seed; seed != c.first_seed + c.seeds; ++seed) {
        const report told = play(tryst::sim::random(seed), failing_allocation);
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
    campaign c;
    c.program = argv[0];
    c.jobs = std::thread::hardware_concurrency();
    bool seeds_given = false;
    bool here = false;
    long failing_allocation = -1;
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
            c.jobs = static_cast<unsigned>(number_of(optarg));
            break;
        case 't':
        case 'a':
            set_trace(chosen == 't' ? trace_of::events : trace_of::accesses);
            here = true;
            break;
        case 'k':
            failing_allocation = static_cast<long>(number_of(optarg));
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
    return here ? run_here(c, failing_allocation) : run(c);
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
