// SPDX-License-Identifier: MIT
#include "workloads.hpp"

#include <cstdlib>

namespace tryst::bench {
namespace {
bool failed = false;

void add_sizes(const std::string& name, workload run, const parameters& with, unsigned size) {
    add(name + '/' + std::to_string(size),
        [run, with](benchmark::State& state) { report(state, run(with)); });
}
} // namespace

void fail(benchmark::State& state, const char* why) {
    failed = true;
    state.SkipWithError(why);
}

void report(benchmark::State& state, const measurement& made) {
    if (!made.conserved) {
        fail(state, "items were not conserved");
    }
    if (made.count == 0) {
        fail(state, "the sample ended before anything was done");
    }
    // Of memory, the unit is a byte instead of a nanosecond.
    state.SetIterationTime(made.ns ? *made.ns * 1e-9
                                   : made.elapsed.count() / static_cast<double>(made.count));
    for (const auto& [name, value] : made.more) {
        state.counters[name] = value;
    }
}

void add(const std::string& name, std::function<void(benchmark::State&)> sample) {
    benchmark::RegisterBenchmark(name.c_str(),
                                 [sample = std::move(sample)](benchmark::State& state) {
                                     while (state.KeepRunning()) {
                                         sample(state);
                                     }
                                 })
        ->UseManualTime()
        ->Iterations(1)
        ->ComputeStatistics("min", [](const auto& all) { return *std::ranges::min_element(all); })
        ->ComputeStatistics("max", [](const auto& all) { return *std::ranges::max_element(all); });
}

void add_loops(const std::string& name, workload run, unsigned loops,
               std::initializer_list<unsigned> tasks, parameters more) {
    for (const unsigned each : tasks) {
        more.loops = loops;
        more.tasks = each;
        // 100,000 tasks take a while until all have run.
        more.seconds = seconds(each >= 100'000 ? 0.6 : 0.2);
        more.warmup = more.seconds / 10;
        add_sizes(name, run, more, each);
    }
}

void add_on_loops(const std::string& work, const std::string& name, workload on_one,
                  workload on_two) {
    add_loops(work + ", one loop/" + name, on_one, 1, {2, 16, 1'000, 100'000});
    if (on_two != nullptr) {
        add_loops(work + ", two loops/" + name, on_two, 2, {1, 16, 1'000, 100'000});
    }
}

void add_selects(unsigned channels, const std::string& name, workload on_one, workload on_two) {
    const std::string work = "select from " + std::to_string(channels) + " channels";
    add_loops(work + ", one loop/" + name, on_one, 1, {2, 16});
    if (on_two != nullptr) {
        add_loops(work + ", two loops/" + name, on_two, 2, {2, 16});
    }
}

void add_buffered(const std::string& name, workload on_one, workload on_two) {
    add_loops("buffered, one loop/" + name, on_one, 1, {2, 16, 1'000});
    if (on_two != nullptr) {
        add_loops("buffered, two loops/" + name, on_two, 2, {1, 100, 10'000});
    }
}

void add_threads(const std::string& name, workload run, parameters more) {
    for (const unsigned each : {2U, 4U, 8U, 16U, 32U}) {
        more.loops = each;
        more.tasks = 1;
        add_sizes(name, run, more, each);
    }
}

void add_pauses(const std::string& name, workload run) {
    for (const unsigned each : {20U, 2'000U}) {
        parameters p;
        p.pause = std::chrono::microseconds(each);
        p.seconds = seconds(0.5);
        add_sizes(name, run, p, each);
    }
}

} // namespace tryst::bench

/// Google Benchmark's main, with other defaults. Repetitions are interleaved, so that all
/// benchmarks run under the same conditions.
int main(int count, char** arguments) {
    std::string defaults[] = {"--benchmark_repetitions=3",
                              "--benchmark_enable_random_interleaving=true",
                              "--benchmark_report_aggregates_only=true"};
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
    benchmark::AddCustomContext("compiler", TRYST_COMPILER);
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return tryst::bench::failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
