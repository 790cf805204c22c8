// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <atomic>
#include <barrier>
#include <cstdio>
#include <string>
#include <string_view>

namespace tryst::bench {

double line_hop_ns() {
    if (std::thread::hardware_concurrency() < 2) {
        return 0;
    }
    constexpr int rounds = 200'000;
    struct alignas(detail::line_pair) {
        std::atomic<int> value{0};
    } ball;
    std::barrier start(2);
    const auto play = [&](int mine) {
        start.arrive_and_wait();
        for (int turn = mine; turn < rounds; turn += 2) {
            while (ball.value.load(std::memory_order_acquire) != turn) {
                detail::spin_pause();
            }
            ball.value.store(turn + 1, std::memory_order_release);
        }
    };
    const std::jthread other = pinned_thread(1, [&] { play(1); });
    steady::duration elapsed{};
    pinned_thread(0, [&] {
        const auto begin = steady::now();
        play(0);
        elapsed = steady::now() - begin;
    }).join();
    return std::chrono::duration<double, std::nano>(elapsed).count() / rounds;
}

double report(benchmark::State& state, const std::vector<tally>& tallies,
              steady::duration elapsed) {
    tally all;
    for (const tally& each : tallies) {
        all.exchanges += each.exchanges;
        all.given += each.given;
        all.got += each.got;
    }
    const double pairs = static_cast<double>(all.exchanges) / 2;
    if (all.exchanges % 2 != 0 || all.given != all.got) {
        state.SkipWithError("items were not conserved");
    } else if (all.exchanges == 0) {
        state.SkipWithError("nothing was exchanged");
    }
    state.SetIterationTime(std::chrono::duration<double>(elapsed).count() / std::max(pairs, 1.0));
    return pairs;
}

double fairness(const std::vector<tally>& tallies) {
    const auto [least, most] = std::ranges::minmax_element(tallies, {}, &tally::exchanges);
    return static_cast<double>(least->exchanges) / static_cast<double>(most->exchanges);
}

} // namespace tryst::bench

/// Google Benchmark's main, with our defaults before the caller's own flags: interleaved repetitions, of
/// which medians are shown, so that variants are compared under the same weather.
int main(int count, char** arguments) {
    std::string defaults[] = {
        "--benchmark_repetitions=5",
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
        return 1;
    }
    char hop[32];
    std::snprintf(hop, sizeof hop, "%.0f ns", tryst::bench::line_hop_ns());
    benchmark::AddCustomContext("line hop between the first two processors", hop);
    benchmark::AddCustomContext("time", "of one completed exchange (two participants served)");
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
}
