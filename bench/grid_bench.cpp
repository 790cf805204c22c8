// SPDX-License-Identifier: MIT
// One way between unequal numbers of tasks: each number of senders with each number of receivers,
// for the orders of a channel and for two lists of waiting tasks under a mutex.
#include "rivals/cpp/mutex_meeting.hpp"
#include "rivals/cpp/run_loops.hpp"
#include "rivals/cpp/workloads.hpp"
#include "support.hpp"

#include <tryst/synchronous_channel.hpp>

#include <atomic>
#include <cstddef>

namespace tryst::bench {
namespace {

/// One channel, as the bodies for several channels use it.
template <class Channel>
class one_of_one {
public:
    static constexpr std::size_t count = 1;

    auto send(std::size_t /*where*/, item it) { return channel_.send(it); }
    auto receive() { return channel_.receive(); }
    void close() { channel_.close(); }
    template <class Result, class Take>
    static bool received(const Result& got, Take take) {
        if (holds(got)) {
            take(held(got));
        }
        return holds(got);
    }

private:
    Channel channel_;
};

/// Reports the time of one item. The senders are on the first loop, and the receivers on the last.
/// `range` is the number of loops, of senders and of receivers.
template <class Channel>
void grid(benchmark::State& state) {
    using bodies = run_loops::bodies;
    const auto loops = static_cast<unsigned>(state.range(0));
    const auto senders = static_cast<std::size_t>(state.range(1));
    const auto receivers = static_cast<std::size_t>(state.range(2));
    parameters p;
    p.seconds = sample_time;
    p.warmup = warm_up_time;
    for ([[maybe_unused]] auto _ : state) {
        ledger all(senders + receivers);
        run_loops family(loops);
        one_of_one<Channel> at;
        std::atomic<std::size_t> sending(senders);
        for (std::size_t id = 0; id != senders; ++id) {
            family.spawn(0, [&, id] { return bodies::send_around(at, all, id, sending); });
        }
        for (std::size_t id = senders; id != senders + receivers; ++id) {
            family.spawn(loops - 1, [&, id] { return bodies::receive_any(at, all, id); });
        }
        perform(family, all, p, [] {});
        const measurement taken = all.hand_offs();
        if (!taken.conserved) {
            fail(state, "items were not conserved");
        }
        report(state, taken.elapsed, taken.count);
    }
}

void on_all(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgNames({"loops", "senders", "receivers"})
        ->ArgsProduct({{1, 2}, {1, 16, 256, 2'000}, {1, 16, 256, 2'000}})
        ->Apply(one_sample);
}
BENCHMARK(grid<synchronous_channel<item>>)->Name("grid<fifo>")->Apply(on_all);
BENCHMARK(grid<synchronous_channel<item, order::lifo>>)->Name("grid<lifo>")->Apply(on_all);
BENCHMARK(grid<mutex_meeting<item>>)->Name("grid<locked>")->Apply(on_all);

} // namespace
} // namespace tryst::bench
