// SPDX-License-Identifier: MIT
// tryst on its own loops and on threads; and what its forms cost: an arena or one slot, stop tokens
// and deadlines, orders, counters, selections.
#include "buffered.hpp"
#include "families.hpp"
#include "selects.hpp"
#include "workloads.hpp"

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <type_traits>

namespace tryst::bench {
namespace {

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

/// Awaits a selection. Its result is the item of the case that took place.
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

/// An exchanger for each task, because two tasks in one exchanger would pair.
template <class Source>
class lonely {
public:
    auto wait(std::size_t id) {
        while (rooms_.size() <= id) {
            rooms_.push_back(std::make_unique<meeting>(0));
        }
        return rooms_[id]->exchange(id, source_.get_token());
    }
    void cancel() { source_.request_stop(); }
    static bool was_cancelled(const exchange_result<item>& got) {
        return got.error() == exchange_errc::cancelled;
    }

private:
    std::vector<std::unique_ptr<meeting>> rooms_;
    Source source_;
};

/// Loops that sleep as soon as they are idle, so that each swap between two of them wakes one.
class sleeping_loops : public run_loops {
public:
    explicit sleeping_loops(unsigned count) : run_loops(count, true, {.max_spins = 0}) {}
};

/// Half a round trip of a cache line between two processors.
void line_hop(benchmark::State& state) {
    alignas(128) std::atomic<std::uint64_t> ball{0};
    alignas(128) std::atomic<bool> over{false};
    const auto play = [&](std::uint64_t next) {
        for (;; next += 2) {
            while (ball.load(std::memory_order_acquire) != next) {
                if (over.load(std::memory_order_relaxed)) {
                    return;
                }
            }
            ball.store(next + 1, std::memory_order_release);
        }
    };
    const auto first = pinned_thread(0, [&] { play(0); });
    const auto second = pinned_thread(1, [&] { play(1); });
    const std::uint64_t before = ball;
    const auto begin = steady::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    const std::uint64_t hops = ball - before;
    const seconds elapsed = steady::now() - begin;
    over = true;
    report(state, {hops, elapsed, true});
}

// One task serves many channels. Another sends to them in a pseudo-random order, and lets it wait
// each time.

class channel_numbers {
public:
    explicit channel_numbers(std::size_t channels) : channels_(channels) {}
    std::size_t next() { return (state_ = state_ * 1664525U + 1013904223U) / 256 % channels_; }

private:
    std::size_t channels_;
    std::uint32_t state_ = 1;
};

template <class Channel>
task<> serve_known(std::deque<Channel>& from, std::size_t rounds, item& sum) {
    channel_numbers numbers(from.size());
    while (rounds-- != 0) {
        const auto got = co_await from[numbers.next()].receive();
        sum += got ? *got : 0;
    }
}
template <class Channel>
task<> serve_anew(std::deque<Channel>& from, std::size_t rounds, item& sum) {
    while (rounds-- != 0) {
        auto got = co_await tryst::select_from(from, [](Channel& each) { return each.receive(); });
        const auto one = got.get();
        sum += one ? *one : 0;
    }
}
template <class Channel>
task<> serve_set(std::deque<Channel>& from, std::size_t rounds, item& sum) {
    case_set<std::size_t, receive_case<Channel>> set;
    for (std::size_t i = 0; i != from.size(); ++i) {
        set.add(from[i].receive(), i);
    }
    static_cast<void>(set.try_next()); // registers them, which is not measured
    while (rounds-- != 0) {
        auto got = co_await set.next();
        sum += got && got.get() ? *got.get() : 0;
    }
}

template <class Channel>
void rounds(benchmark::State& state, task<> (*serve)(std::deque<Channel>&, std::size_t, item&),
            std::size_t channels, std::size_t count) {
    std::deque<Channel> at;
    for (std::size_t i = 0; i != channels; ++i) {
        if constexpr (std::is_default_constructible_v<Channel>) {
            at.emplace_back();
        } else {
            at.emplace_back(0);
        }
    }
    run_loop loop;
    item sum = 0;
    loop.spawn(serve(at, count, sum));
    loop.run_until_idle();
    loop.spawn([](auto& to, std::size_t left, run_loop& on) -> task<> {
        channel_numbers numbers(to.size());
        while (left-- != 0) {
            const auto sent = co_await to[numbers.next()].send(1);
            static_cast<void>(sent);
            co_await on.executor().schedule();
        }
    }(at, count, loop));
    const auto begin = steady::now();
    loop.run_until_idle();
    const seconds elapsed = steady::now() - begin;
    report(state, {count, elapsed, sum == count});
}

template <class Channel>
void add_rounds(const std::string& name) {
    const auto one = [&](const char* how, auto serve, std::size_t channels, std::size_t count) {
        add("variant: serve many channels, one loop/tryst " + name + ", " + how + "/" +
                std::to_string(channels),
            [=](benchmark::State& state) { rounds<Channel>(state, serve, channels, count); });
    };
    for (const std::size_t channels : {std::size_t{16}, std::size_t{10'000}}) {
        one("the right one", serve_known<Channel>, channels, 500'000);
        one("case_set", serve_set<Channel>, channels, 500'000);
        one("select_from", serve_anew<Channel>, channels, 5'000'000 / (channels * 5));
    }
}

template <class Channel>
void add_channel(const std::string& name) {
    add_on_loops("one way", name, hand_over<run_loops, Channel>, hand_over<run_loops, Channel>);
    add_loops("one way, senders on one loop, receivers on another/" + name,
              hand_over<run_loops, Channel>, 2, {16, 1'000}, {.apart = true});
    add_threads("one way, threads/" + name, hand_over<threads, Channel>);
    add_loops("memory/" + name, memory<run_loops, Channel>, 1, {100'000});
    add_selects(2, name, selects<run_loops, select_from<Channel, 2>>,
                selects<run_loops, select_from<Channel, 2>>);
    add_selects(4, name, selects<run_loops, select_from<Channel, 4>>,
                selects<run_loops, select_from<Channel, 4>>);
}

[[maybe_unused]] const bool added = [] {
    using counted_meeting = exchanger<item, counted>;
    using counted_fifo = synchronous_channel<item, order::fifo, counted>;

    add("line hop/machine/2", line_hop);
    add_on_loops("swap", "tryst", swaps<run_loops, meeting>, swaps<run_loops, meeting>);
    add_threads("swap, threads/tryst", swaps<threads, meeting>);
    add_threads("swap, threads, patience of 100 us/tryst", swap_for<threads, meeting>,
                {.pause = std::chrono::microseconds(100)});
    add_loops("swap with a deadline, one loop/tryst", swap_for<run_loops, meeting>, 1,
              {2, 16, 1'000}, {.pause = std::chrono::seconds(1)});
    add_loops("timeout/tryst", time_outs<run_loops, impatient>, 1, {1'000},
              {.pause = std::chrono::microseconds(100)});
    using inplace = inplace_stop_source;
    add_loops("cancel/tryst", cancel<run_loops, lonely<std::stop_source>>, 1, {1'000, 100'000});
    add_loops("cancel/tryst, inplace_stop_source", cancel<run_loops, lonely<inplace>>, 1,
              {1'000, 100'000});
    add_loops("cancel/tryst fifo", cancel<run_loops, without_sender<std::stop_source>>, 1,
              {1'000, 100'000});
    add_loops("cancel/tryst fifo, inplace_stop_source", cancel<run_loops, without_sender<inplace>>,
              1, {1'000, 100'000});
    add_pauses("latency, two loops/tryst", latency<run_loops, one_way<meeting>>);
    add_pauses("latency, threads/tryst", latency<threads, one_way<meeting>>);
    add_channel<fifo>("tryst fifo");
    add_channel<lifo>("tryst lifo");

    using on_one_thread = buffered<0, single_threaded>;
    const std::string on_one = "tryst channel of 0, single_threaded";
    add_selects(2, on_one, selects<run_loops, select_from<on_one_thread, 2>>);
    add_selects(4, on_one, selects<run_loops, select_from<on_one_thread, 4>>);

    using alone = buffered<64, single_threaded>;
    add_buffered("tryst channel of 64", hand_over<run_loops, buffered<64>>,
                 hand_over<run_loops, buffered<64>>);
    add_buffered("tryst channel of 1,024", hand_over<run_loops, buffered<1'024>>,
                 hand_over<run_loops, buffered<1'024>>);
    add_buffered("tryst channel of 64, batches of 64", hand_over_batches<run_loops, buffered<64>>,
                 hand_over_batches<run_loops, buffered<64>>);
    add_buffered("tryst channel of 64, single_threaded", hand_over<run_loops, alone>, nullptr);
    add_buffered("tryst fifo, no buffer", hand_over<run_loops, fifo>, hand_over<run_loops, fifo>);

    add_rounds<fifo>("fifo");
    add_rounds<channel<item>>("channel of 0");
    add_rounds<channel<item, single_threaded>>("channel of 0, single_threaded");
    add_loops("variant: deadline, one loop/tryst", swaps<run_loops, with_deadline>, 1, {16});
    add_loops("variant: stop token, one loop/tryst", swaps<run_loops, with_stop_token>, 1, {16});
    add_loops("variant: counted, one loop/tryst", swaps<run_loops, counted_meeting>, 1,
              {2, 16, 1'000});
    add_loops("variant: counted, one loop/tryst fifo", hand_over<run_loops, counted_fifo>, 1,
              {2, 16, 1'000});
    add_loops("variant: counted, two loops/tryst", swaps<run_loops, counted_meeting>, 2,
              {1, 16, 1'000});
    add_loops("variant: one slot, two loops/tryst", swaps<run_loops, one_slot>, 2,
              {1, 16, 1'000, 100'000});
    add_loops("variant: sleeping, two loops/tryst", swaps<sleeping_loops, meeting>, 2, {1});
    add_loops("variant: select of 2, one loop/tryst", swaps<run_loops, select_of<2>>, 1, {2, 16});
    add_loops("variant: select of 4, one loop/tryst", swaps<run_loops, select_of<4>>, 1, {16});
    add_loops("variant: select of 16, one loop/tryst", swaps<run_loops, select_of<16>>, 1, {16});
    add_loops("variant: select of 2, two loops/tryst", swaps<run_loops, select_of<2>>, 2,
              {1, 16, 1'000});
    return true;
}();

} // namespace
} // namespace tryst::bench
