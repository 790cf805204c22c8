// SPDX-License-Identifier: MIT
// Coroutines that exchange for ever, on one loop or on two loops, each pinned to a processor.
#include "loops.hpp"
#include "support.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <memory>

namespace tryst::bench {
namespace {

using meeting = exchanger<std::int64_t>;

task<> exchange_for_ever(meeting& ex, std::int64_t id, tally& mine) {
    while (auto got = co_await ex.exchange(id)) {
        mine.success(id, *got);
    }
}

task<> exchange_with_deadline(meeting& ex, std::int64_t id, tally& mine) {
    while (auto got = co_await ex.exchange_for(id, std::chrono::seconds(10))) {
        mine.success(id, *got);
    }
}

task<> exchange_with_stop(meeting& ex, std::int64_t id, tally& mine, std::stop_token stop) {
    while (auto got = co_await ex.exchange(id, stop)) {
        mine.success(id, *got);
    }
}

void one_loop(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        meeting ex;
        meet_on_loops(state, 1, static_cast<std::size_t>(state.range(0)), ex, {},
                      [&](run_loop& loop, std::int64_t id, tally& mine) {
                          loop.spawn(exchange_for_ever(ex, id, mine));
                      });
    }
}
BENCHMARK(one_loop)
    ->ArgName("coroutines")
    ->Arg(2)
    ->Arg(16)
    ->Arg(1'000)
    ->Arg(100'000)
    ->UseManualTime()
    ->Iterations(1);

void one_loop_with_deadline(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        meeting ex;
        meet_on_loops(state, 1, static_cast<std::size_t>(state.range(0)), ex, {},
                      [&](run_loop& loop, std::int64_t id, tally& mine) {
                          loop.spawn(exchange_with_deadline(ex, id, mine));
                      });
    }
}
BENCHMARK(one_loop_with_deadline)->ArgName("coroutines")->Arg(16)->UseManualTime()->Iterations(1);

void one_loop_with_stop_token(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        meeting ex;
        const std::stop_source source;
        meet_on_loops(state, 1, static_cast<std::size_t>(state.range(0)), ex, {},
                      [&](run_loop& loop, std::int64_t id, tally& mine) {
                          loop.spawn(exchange_with_stop(ex, id, mine, source.get_token()));
                      });
    }
}
BENCHMARK(one_loop_with_stop_token)->ArgName("coroutines")->Arg(16)->UseManualTime()->Iterations(1);

/// range(0): coroutines on each loop; range(1): slots beside slot 0.
void two_loops(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        meeting ex(static_cast<std::size_t>(state.range(1)));
        meet_on_loops(state, 2, static_cast<std::size_t>(state.range(0)), ex, {},
                      [&](run_loop& loop, std::int64_t id, tally& mine) {
                          loop.spawn(exchange_for_ever(ex, id, mine));
                      });
    }
}
BENCHMARK(two_loops)
    ->ArgNames({"coroutines", "capacity"})
    ->ArgsProduct({{1, 16, 1'000, 100'000}, {0, detail::processor_count()}})
    ->UseManualTime()
    ->Iterations(1);

/// Two loops that sleep at once when they are idle: each exchange wakes one of them.
void two_sleeping_loops(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        meeting ex;
        meet_on_loops(state, 2, 1, ex, {.max_spins = 0},
                      [&](run_loop& loop, std::int64_t id, tally& mine) {
                          loop.spawn(exchange_for_ever(ex, id, mine));
                      });
    }
}
BENCHMARK(two_sleeping_loops)->UseManualTime()->Iterations(1);

/// The yardstick of the above: two threads that wake each other through eventfds, half a round each.
void eventfd_wake(benchmark::State& state) {
    for ([[maybe_unused]] auto _ : state) {
        const int ends[] = {::eventfd(0, 0), ::eventfd(0, 0)};
        std::vector<tally> tallies(2);
        std::atomic<bool> over{false};
        const auto play = [&](int mine) {
            eventfd_t token = 0;
            while (::eventfd_read(ends[mine], &token) == 0 && token == 1) {
                ++tallies[static_cast<std::size_t>(mine)].exchanges;
                ::eventfd_write(ends[1 - mine], over.load(std::memory_order_relaxed) ? 2 : 1);
            }
            ::eventfd_write(ends[1 - mine], 2);
        };
        const auto begin = steady::now();
        {
            const auto first = pinned_thread(0, [&] { play(0); });
            const auto second = pinned_thread(1, [&] { play(1); });
            ::eventfd_write(ends[0], 1);
            std::this_thread::sleep_for(sample_time);
            over.store(true, std::memory_order_relaxed);
        }
        const auto elapsed = steady::now() - begin;
        const auto wakes = tallies[0].exchanges + tallies[1].exchanges;
        state.SetIterationTime(std::chrono::duration<double>(elapsed).count() /
                               static_cast<double>(wakes));
        ::close(ends[0]);
        ::close(ends[1]);
    }
}
BENCHMARK(eventfd_wake)->UseManualTime()->Iterations(1);

task<> wait_to_be_cancelled(meeting& ex, std::stop_token stop, std::int64_t& cancelled) {
    const auto got = co_await ex.exchange(1, std::move(stop));
    cancelled += got.error() == exchange_errc::cancelled ? 1 : 0;
}

/// Stopping range(0) parked operations, each in an exchanger of its own, by one request; the time is
/// that of one of them.
void cancel_storm(benchmark::State& state) {
    const auto count = static_cast<std::size_t>(state.range(0));
    for ([[maybe_unused]] auto _ : state) {
        std::vector<std::unique_ptr<meeting>> rooms;
        run_loop loop;
        std::stop_source source;
        std::int64_t cancelled = 0;
        for (std::size_t i = 0; i != count; ++i) {
            rooms.push_back(std::make_unique<meeting>(0));
            loop.spawn(wait_to_be_cancelled(*rooms.back(), source.get_token(), cancelled));
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
                               static_cast<double>(count));
    }
}
BENCHMARK(cancel_storm)
    ->ArgName("parked")
    ->Arg(1'000)
    ->Arg(100'000)
    ->UseManualTime()
    ->Iterations(1);

} // namespace
} // namespace tryst::bench
