// SPDX-License-Identifier: MIT
// Fibers of Boost.Fiber that exchange for ever, on one thread or on two, each pinned to a processor: in an
// exchanger, and by way of two of Boost's unbuffered channels, one for each direction.
#include "support.hpp"

#include <tryst/fiber.hpp>

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/unbuffered_channel.hpp>

#include <atomic>
#include <barrier>

namespace tryst::bench {
namespace {

/// All fibers meet in one exchanger.
struct one_exchanger {
    exchanger<std::int64_t> ex;

    void run(std::int64_t id, tally& mine) {
        while (const auto got = fiber::wait(ex.exchange(id))) {
            mine.success(id, *got);
        }
    }
    void close() { ex.close(); }
};

/// Fibers of even number push first, the others pop first; all use the same two channels. They end by a last
/// item for each of the others, because a channel that is closed may say so to whom it has just served.
struct two_channels {
    using channel = boost::fibers::unbuffered_channel<std::int64_t>;
    static constexpr std::int64_t last = -1;
    channel there;
    channel back;
    std::atomic<bool> over{false};

    void run(std::int64_t id, tally& mine) {
        if (id % 2 == 0) {
            while (!over.load(std::memory_order_relaxed)) {
                there.push(id);
                mine.success(id, back.value_pop());
            }
            there.push(last);
        } else {
            for (std::int64_t got = 0; (got = there.value_pop()) != last;) {
                back.push(id);
                mine.success(id, got);
            }
        }
    }
    void close() { over.store(true, std::memory_order_relaxed); }
};

/// Fibers on each thread: range(0).
template <class Meeting>
void fibers(benchmark::State& state, std::size_t thread_count) {
    const auto count = static_cast<std::size_t>(state.range(0));
    for ([[maybe_unused]] auto _ : state) {
        Meeting meeting;
        std::vector<tally> tallies(thread_count * count);
        std::barrier start(static_cast<std::ptrdiff_t>(thread_count) + 1);
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i != thread_count; ++i) {
            threads.push_back(pinned_thread(i, [&, i] {
                std::vector<boost::fibers::fiber> mine;
                start.arrive_and_wait();
                for (std::size_t j = i * count; j != (i + 1) * count; ++j) {
                    mine.emplace_back(
                        [&, j] { meeting.run(static_cast<std::int64_t>(j), tallies[j]); });
                }
                for (auto& each : mine) {
                    each.join();
                }
            }));
        }
        start.arrive_and_wait();
        const auto begin = steady::now();
        std::this_thread::sleep_for(sample_time);
        const auto elapsed = steady::now() - begin;
        meeting.close();
        threads.clear();
        report(state, tallies, elapsed);
        state.counters["fairness"] = fairness(tallies);
    }
}

template <class Meeting>
void one_thread(benchmark::State& state) {
    fibers<Meeting>(state, 1);
}
BENCHMARK(one_thread<one_exchanger>)
    ->ArgName("fibers")
    ->Arg(2)
    ->Arg(16)
    ->Arg(1'000)
    ->UseManualTime()
    ->Iterations(1);
BENCHMARK(one_thread<two_channels>)
    ->ArgName("fibers")
    ->Arg(2)
    ->Arg(16)
    ->Arg(1'000)
    ->UseManualTime()
    ->Iterations(1);

template <class Meeting>
void two_threads(benchmark::State& state) {
    fibers<Meeting>(state, 2);
}
BENCHMARK(two_threads<one_exchanger>)
    ->ArgName("fibers")
    ->Arg(1)
    ->Arg(16)
    ->Arg(1'000)
    ->UseManualTime()
    ->Iterations(1);
BENCHMARK(two_threads<two_channels>)
    ->ArgName("fibers")
    ->Arg(1)
    ->Arg(16)
    ->Arg(1'000)
    ->UseManualTime()
    ->Iterations(1);

} // namespace
} // namespace tryst::bench
