// SPDX-License-Identifier: MIT
// One-way hand-offs: senders and receivers that go on for ever, on one loop, on two, and in threads; and what
// those cost who give up.
#include "loops.hpp"
#include "mutex_channel.hpp"
#include "support.hpp"

#include <barrier>
#include <cstdint>
#include <fstream>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

namespace tryst::bench {
namespace {

using fifo = synchronous_channel<std::int64_t>;
using lifo = synchronous_channel<std::int64_t, order::lifo>;
using locked = mutex_channel<std::int64_t>;

template <class Channel>
task<> send_for_ever(Channel& to, std::int64_t id, tally& mine) {
    while (auto sent = co_await to.send(id)) {
        mine.success(id, 0);
    }
}

template <class Channel>
task<> receive_for_ever(Channel& from, tally& mine) {
    while (auto got = co_await from.receive()) {
        mine.success(0, *got);
    }
}

/// Half of the coroutines of each loop send, the others receive.
template <class Channel>
void hand_over_on_loops(benchmark::State& state, std::size_t loops) {
    for ([[maybe_unused]] auto _ : state) {
        Channel channel;
        meet_on_loops(state, loops, static_cast<std::size_t>(state.range(0)), channel, {},
                      [&](run_loop& loop, std::int64_t id, tally& mine) {
                          if (id % 2 == 0) {
                              loop.spawn(send_for_ever(channel, id, mine));
                          } else {
                              loop.spawn(receive_for_ever(channel, mine));
                          }
                      });
    }
}

template <class Channel>
void channel_on_one_loop(benchmark::State& state) {
    hand_over_on_loops<Channel>(state, 1);
}
template <class Channel>
void channel_on_two_loops(benchmark::State& state) {
    hand_over_on_loops<Channel>(state, 2);
}
void coroutines(benchmark::internal::Benchmark* bench) {
    bench->ArgName("coroutines")->UseManualTime()->Iterations(1);
    for (const int count : {2, 16, 1'000, 100'000}) {
        bench->Arg(count);
    }
}
BENCHMARK(channel_on_one_loop<fifo>)->Apply(coroutines);
BENCHMARK(channel_on_one_loop<lifo>)->Apply(coroutines);
BENCHMARK(channel_on_one_loop<locked>)->Apply(coroutines);
BENCHMARK(channel_on_two_loops<fifo>)->Apply(coroutines);
BENCHMARK(channel_on_two_loops<lifo>)->Apply(coroutines);
BENCHMARK(channel_on_two_loops<locked>)->Apply(coroutines);

// ---- Threads.

template <class Channel>
struct for_threads {
    Channel channel;
    bool send(std::int64_t item) { return sync_wait(channel.send(item)).has_value(); }
    std::optional<std::int64_t> receive() {
        auto got = sync_wait(channel.receive());
        return got ? std::optional(*got) : std::nullopt;
    }
    void close() { channel.close(); }
};
using conditions = condition_channel<std::int64_t>;

/// Half of range(0) threads send, the others receive.
template <class Channel>
void channel_of_threads(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    for ([[maybe_unused]] auto _ : state) {
        Channel channel;
        std::vector<tally> tallies(count);
        std::barrier start(static_cast<std::ptrdiff_t>(count) + 1);
        std::vector<std::jthread> all;
        for (std::size_t i = 0; i != count; ++i) {
            all.emplace_back([&, i] {
                tally mine;
                const auto id = static_cast<std::int64_t>(i);
                start.arrive_and_wait();
                if (i % 2 == 0) {
                    while (channel.send(id)) {
                        mine.success(id, 0);
                    }
                } else {
                    while (const auto got = channel.receive()) {
                        mine.success(0, *got);
                    }
                }
                tallies[i] = mine;
            });
        }
        start.arrive_and_wait();
        const auto begin = steady::now();
        std::this_thread::sleep_for(sample_time);
        const auto elapsed = steady::now() - begin;
        channel.close();
        all.clear();
        report(state, tallies, elapsed);
    }
}
void threads(benchmark::internal::Benchmark* bench) {
    bench->ArgName("threads")->UseManualTime()->Iterations(1);
    for (const int count : {2, 10, 32}) {
        bench->Arg(count);
    }
}
BENCHMARK(channel_of_threads<for_threads<fifo>>)->Name("channel_of_threads<fifo>")->Apply(threads);
BENCHMARK(channel_of_threads<for_threads<lifo>>)->Name("channel_of_threads<lifo>")->Apply(threads);
BENCHMARK(channel_of_threads<conditions>)->Apply(threads);

// ---- Giving up.

template <class Channel>
task<> wait_to_be_cancelled(Channel& from, std::stop_token stop, std::int64_t& cancelled) {
    const auto got = co_await from.receive(std::move(stop));
    cancelled += got.error() == exchange_errc::cancelled ? 1 : 0;
}

/// Stopping range(0) receivers of one channel by one request; the time is that of one of them.
template <class Channel>
void channel_cancel_storm(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        Channel channel;
        run_loop loop;
        std::stop_source source;
        std::int64_t cancelled = 0;
        for (std::int64_t i = 0; i != state.range(0); ++i) {
            loop.spawn(wait_to_be_cancelled(channel, source.get_token(), cancelled));
        }
        loop.run_until_idle();
        const auto begin = steady::now();
        source.request_stop();
        loop.run_until_idle();
        const auto elapsed = steady::now() - begin;
        if (cancelled != state.range(0)) {
            state.SkipWithError("not all were cancelled");
        }
        state.SetIterationTime(std::chrono::duration<double>(elapsed).count() /
                               static_cast<double>(state.range(0)));
    }
}
void parked(benchmark::internal::Benchmark* bench) {
    bench->ArgName("parked")->Arg(1'000)->Arg(100'000)->UseManualTime()->Iterations(1);
}
BENCHMARK(channel_cancel_storm<fifo>)->Apply(parked);
BENCHMARK(channel_cancel_storm<lifo>)->Apply(parked);

/// Resident memory, in KiB.
double resident() {
    std::ifstream statm("/proc/self/statm");
    double pages = 0;
    statm >> pages >> pages;
    return pages * 4;
}

template <class Channel>
task<> time_out(Channel& from, std::int64_t times, std::int64_t& timed_out) {
    for (std::int64_t i = 0; i != times; ++i) {
        const auto got = co_await from.receive_for(std::chrono::microseconds(1));
        timed_out += got.error() == exchange_errc::timed_out ? 1 : 0;
    }
}

/// range(0) receives that time out, 1,000 at a time, while one waits for ever before them all; the time is that of
/// one, and `KiB` what memory has grown by, after the first tenth.
template <class Channel>
void channel_timeouts(benchmark::State& state) {
    constexpr std::int64_t at_a_time = 1'000;
    for ([[maybe_unused]] auto _ : state) {
        Channel channel;
        run_loop loop;
        std::int64_t timed_out = 0;
        tally first;
        loop.spawn(receive_for_ever(channel, first));
        const auto run = [&](std::int64_t count) {
            const std::int64_t target = timed_out + count;
            for (std::int64_t i = 0; i != at_a_time; ++i) {
                loop.spawn(time_out(channel, count / at_a_time, timed_out));
            }
            while (timed_out != target) { // NOLINT(bugprone-infinite-loop): the loop counts
                loop.run_until_idle();
            }
        };
        run(state.range(0) / 10);
        const double before = resident();
        const auto begin = steady::now();
        run(state.range(0) - state.range(0) / 10);
        const auto elapsed = steady::now() - begin;
        state.counters["KiB"] = resident() - before;
        channel.close();
        loop.run_until_idle();
        state.SetIterationTime(std::chrono::duration<double>(elapsed).count() /
                               (0.9 * static_cast<double>(state.range(0))));
    }
}
void timeouts(benchmark::internal::Benchmark* bench) {
    bench->ArgName("timeouts")->Arg(10'000'000)->UseManualTime()->Iterations(1)->Repetitions(1);
}
BENCHMARK(channel_timeouts<fifo>)->Apply(timeouts);
BENCHMARK(channel_timeouts<lifo>)->Apply(timeouts);

} // namespace
} // namespace tryst::bench
