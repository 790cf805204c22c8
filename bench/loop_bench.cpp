// SPDX-License-Identifier: MIT
// What the forms of tryst cost on its own loops: an arena or one slot, stop tokens and deadlines,
// the orders of a channel, sleeping loops, timeouts.
#include "rivals/cpp/mutex_meeting.hpp"
#include "rivals/cpp/run_loops.hpp"
#include "rivals/cpp/workloads.hpp"
#include "support.hpp"

#include <tryst/tryst.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

namespace tryst::bench {
namespace {

using meeting = exchanger<item>;
using counted_meeting = exchanger<item, counted>;
using fifo = synchronous_channel<item>;
using counted_fifo = synchronous_channel<item, order::fifo, counted>;
using lifo = synchronous_channel<item, order::lifo>;
using lists = mutex_meeting<item>;

class one_slot {
public:
    auto exchange(item mine) { return ex_.exchange(mine); }
    void close() { ex_.close(); }

private:
    meeting ex_{0};
};

class with_deadline {
public:
    auto exchange(item mine) { return ex_.exchange(mine, std::chrono::seconds(10)); }
    void close() { ex_.close(); }

private:
    meeting ex_;
};

class with_stop_token {
public:
    auto exchange(item mine) { return ex_.exchange(mine, source_.get_token()); }
    void close() { ex_.close(); }

private:
    meeting ex_;
    std::stop_source source_;
};

/// Awaits the selection that `make` makes. Its result is the item of the case that took place.
template <class Make>
class item_of_selection {
public:
    explicit item_of_selection(Make make) : selection_(make()) {}

    bool await_ready() noexcept { return selection_.await_ready(); }
    template <class Promise>
    bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        return selection_.await_suspend(coroutine);
    }
    std::optional<item> await_resume() noexcept {
        return selection_.await_resume().visit(
            [](auto&& got) { return got ? std::optional<item>(*got) : std::nullopt; });
    }

private:
    decltype(std::declval<Make&>()()) selection_;
};

/// Selections over `N` exchangers, of which each brings the same item to all.
template <std::size_t N>
class select_of {
public:
    auto exchange(item mine) {
        return item_of_selection([this, mine] {
            return std::apply([mine](auto&... each) { return select(each.exchange(mine)...); },
                              exchangers_);
        });
    }
    void close() { std::ranges::for_each(exchangers_, &meeting::close); }

private:
    std::array<meeting, N> exchangers_;
};

/// Loops that sleep as soon as they are idle, so that each swap between two of them wakes one.
class sleeping_loops : public run_loops {
public:
    explicit sleeping_loops(unsigned count) : run_loops(count, true, {.max_spins = 0}) {}
};

template <class Channel>
void add_channel(const std::string& name) {
    add("channel_on_one_loop<" + name + ">", hand_over<run_loops, Channel>, 1,
        {2, 16, 1'000, 100'000});
    add("channel_on_two_loops<" + name + ">", hand_over<run_loops, Channel>, 2,
        {2, 16, 1'000, 100'000});
}

[[maybe_unused]] const bool added = [] {
    add("one_loop", swaps<run_loops, meeting>, 1, {2, 16, 1'000, 100'000});
    add("one_loop_with_deadline", swaps<run_loops, with_deadline>, 1, {16});
    add("one_loop_with_stop_token", swaps<run_loops, with_stop_token>, 1, {16});
    add("one_loop_counted", swaps<run_loops, counted_meeting>, 1, {2, 16, 1'000});
    add("two_loops_counted", swaps<run_loops, counted_meeting>, 2, {1, 16, 1'000});
    add("two_loops", swaps<run_loops, meeting>, 2, {1, 16, 1'000, 100'000});
    add("two_loops_one_slot", swaps<run_loops, one_slot>, 2, {1, 16, 1'000, 100'000});
    add("two_sleeping_loops", swaps<sleeping_loops, meeting>, 2, {1});
    add("select_of_2_on_one_loop", swaps<run_loops, select_of<2>>, 1, {2, 16});
    add("select_of_4_on_one_loop", swaps<run_loops, select_of<4>>, 1, {16});
    add("select_of_16_on_one_loop", swaps<run_loops, select_of<16>>, 1, {16});
    add("select_of_2_on_two_loops", swaps<run_loops, select_of<2>>, 2, {1, 16, 1'000});
    add_channel<fifo>("fifo");
    add("channel_on_one_loop<counted fifo>", hand_over<run_loops, counted_fifo>, 1, {2, 16, 1'000});
    add_channel<lifo>("lifo");
    add_channel<lists>("locked");
    return true;
}();

template <class Channel>
task<> time_out(Channel& from, std::int64_t times, std::int64_t& timed_out) {
    for (std::int64_t i = 0; i != times; ++i) {
        const auto got = co_await from.receive(std::chrono::microseconds(1));
        timed_out += got.error() == exchange_errc::timed_out ? 1 : 0;
    }
}

template <class Channel>
task<> receive_to_the_end(Channel& from) {
    while (true) {
        const auto got = co_await from.receive();
        if (!got) {
            break;
        }
    }
}

/// `range(0)` receives time out, 1,000 of them pending at a time, behind one receiver that waits
/// without a limit. Reports the time of one timeout. `KiB` is the growth of memory after the first
/// tenth.
template <class Channel>
void channel_timeouts(benchmark::State& state) {
    constexpr std::int64_t at_a_time = 1'000;
    const std::int64_t first = state.range(0) / 10;
    const std::int64_t counted = state.range(0) - first;
    for ([[maybe_unused]] auto _ : state) {
        Channel channel;
        run_loop loop;
        std::int64_t timed_out = 0;
        loop.spawn(receive_to_the_end(channel));
        const auto run = [&](std::int64_t count) {
            const std::int64_t target = timed_out + count;
            for (std::int64_t i = 0; i != at_a_time; ++i) {
                loop.spawn(time_out(channel, count / at_a_time, timed_out));
            }
            while (timed_out != target) { // NOLINT(bugprone-infinite-loop): the loop counts
                loop.run_until_idle();
            }
        };
        run(first);
        const double before = resident();
        const auto begin = steady::now();
        run(counted);
        report(state, steady::now() - begin, static_cast<std::uint64_t>(counted));
        state.counters["KiB"] = (resident() - before) / 1024;
        channel.close();
        loop.run_until_idle();
    }
}
void timeouts(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgName("timeouts")->Arg(10'000'000)->Apply(one_sample);
    benchmark->Repetitions(1);
}
BENCHMARK(channel_timeouts<fifo>)->Apply(timeouts);
BENCHMARK(channel_timeouts<lifo>)->Apply(timeouts);

} // namespace
} // namespace tryst::bench
