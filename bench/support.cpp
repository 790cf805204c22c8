// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>

namespace tryst::bench {
namespace {
std::atomic<bool> failed{false};
} // namespace

void fail(benchmark::State& state, const char* why) {
    failed.store(true, std::memory_order_relaxed);
    state.SkipWithError(why);
}

void report(benchmark::State& state, seconds elapsed, std::uint64_t count) {
    if (count == 0) {
        fail(state, "the sample ended before anything was done");
    }
    state.SetIterationTime(elapsed.count() /
                           static_cast<double>(std::max(count, std::uint64_t{1})));
}

void add(const std::string& name, workload run, unsigned loops,
         const std::vector<std::int64_t>& coroutines) {
    auto* const made =
        benchmark::RegisterBenchmark(name.c_str(), [run, loops](benchmark::State& state) {
            parameters p;
            p.loops = loops;
            p.tasks = static_cast<unsigned>(state.range(0));
            p.seconds = sample_time;
            p.warmup = warm_up_time;
            for ([[maybe_unused]] auto _ : state) {
                const measurement taken = run(p);
                if (!taken.conserved) {
                    fail(state, "items were not conserved");
                }
                report(state, taken.elapsed, taken.count);
                for (const auto& [counter, value] : taken.more) {
                    state.counters[std::string(counter)] = value;
                }
            }
        });
    made->ArgName("coroutines")->ArgsProduct({coroutines})->Apply(one_sample);
}

} // namespace tryst::bench

/// Google Benchmark's main, with other defaults. Repetitions are interleaved, so that all
/// benchmarks run under the same conditions, and their medians are shown.
int main(int count, char** arguments) {
    std::string defaults[] = {
        "--benchmark_repetitions=3",
        "--benchmark_enable_random_interleaving=true",
        "--benchmark_report_aggregates_only=true",
        "--benchmark_counters_tabular=false",
    };
    std::vector<char*> all{arguments[0]};
    for (std::string& each : defaults) {
        all.push_back(each.data());
    }
    all.insert(all.end(), arguments + 1, arguments + count);
    int total = static_cast<int>(all.size());
    benchmark::Initialize(&total, all.data());
    if (benchmark::ReportUnrecognizedArguments(total, all.data())) {
        return EXIT_FAILURE;
    }
    benchmark::AddCustomContext("time", "of one swap (both parties served), or as the name says");
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return tryst::bench::failed.load(std::memory_order_relaxed) ? EXIT_FAILURE : EXIT_SUCCESS;
}
