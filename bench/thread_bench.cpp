// SPDX-License-Identifier: MIT
// Plain threads, as in figure 1 of the paper: throughput and success rate against the number of threads,
// for tryst and for a mutex with condition variables. The threads are not pinned.
#include "mutex_exchanger.hpp"
#include "support.hpp"

#include <barrier>
#include <optional>

namespace tryst::bench {
namespace {

using patience = std::optional<std::chrono::nanoseconds>;

struct lock_free {
    exchanger<std::int64_t> ex;

    std::optional<std::int64_t> exchange(std::int64_t mine, patience limit) {
        auto got = limit ? sync_wait(ex.exchange_for(mine, *limit)) : sync_wait(ex.exchange(mine));
        return got ? std::optional(*got) : std::nullopt;
    }
    void close() { ex.close(); }
};

struct locked {
    mutex_exchanger<std::int64_t> ex;

    std::optional<std::int64_t> exchange(std::int64_t mine, patience limit) {
        return ex.exchange(mine, limit);
    }
    void close() { ex.close(); }
};

/// range(0): threads; range(1): patience in microseconds, 0 for unlimited.
template <class Exchanger>
void threads(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    const patience limit =
        state.range(1) == 0 ? patience() : patience(std::chrono::microseconds(state.range(1)));
    for ([[maybe_unused]] auto _ : state) {
        Exchanger meeting;
        std::vector<tally> tallies(count);
        std::atomic<bool> over{false};
        std::barrier start(static_cast<std::ptrdiff_t>(count) + 1);
        std::vector<std::jthread> all;
        for (std::size_t i = 0; i != count; ++i) {
            all.emplace_back([&, i] {
                tally mine;
                const auto id = static_cast<std::int64_t>(i);
                start.arrive_and_wait();
                while (!over.load(std::memory_order_relaxed)) {
                    if (const auto got = meeting.exchange(id, limit)) {
                        mine.success(id, *got);
                    } else {
                        ++mine.failures;
                    }
                }
                tallies[i] = mine;
            });
        }
        start.arrive_and_wait();
        const auto begin = steady::now();
        std::this_thread::sleep_for(sample_time);
        over.store(true, std::memory_order_relaxed);
        const auto elapsed = steady::now() - begin;
        meeting.close(); // lets the last ones go
        all.clear();
        const double pairs = report(state, tallies, elapsed);
        std::int64_t failures = 0;
        for (const tally& each : tallies) {
            failures += each.failures;
        }
        state.counters["success"] = 2 * pairs / (2 * pairs + static_cast<double>(failures));
    }
}

void counts(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"threads", "patience_us"})->UseManualTime()->Iterations(1);
    for (const int limit : {0, 100, 1000}) {
        for (const int count : {2, 4, 8, 10, 16, 32}) {
            bench->Args({count, limit});
        }
    }
}

BENCHMARK_TEMPLATE(threads, lock_free)->Apply(counts);
BENCHMARK_TEMPLATE(threads, locked)->Apply(counts);

} // namespace
} // namespace tryst::bench
