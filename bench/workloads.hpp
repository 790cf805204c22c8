// SPDX-License-Identifier: MIT
/// @file
/// The workloads, and their registration as benchmarks. Each takes a `Family` of tasks (such as
/// families.hpp) and a meeting place that has the members it needs: `exchange` and `close`; `send`
/// and `receive`; `wait` and `cancel`.
#pragma once

#include "bodies.hpp"
#include "ledger.hpp"
#include "pinned_thread.hpp"

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <initializer_list>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tryst::bench {

struct parameters {
    unsigned loops = 1;
    unsigned tasks = 2; ///< On each loop.
    bool apart = false; ///< Whether senders are on the first loop, and receivers on the last.
    std::chrono::microseconds pause{20}; ///< Or a patience.
    bench::seconds seconds{0.2};
    bench::seconds warmup{0.02}; ///< Before it, and not counted.
};
using workload = measurement (*)(const parameters&);

/// Marks a sample as failed; the program then ends with status 1.
void fail(benchmark::State& state, const char* why);
/// Reports a sample, and whether it conserved its items.
void report(benchmark::State& state, const measurement& made);
/// Registers a benchmark that takes one sample in each repetition, and measures its own time.
/// @param name  "work/implementation/size": page.py splits it.
void add(const std::string& name, std::function<void(benchmark::State&)> sample);
/// Registers a workload on loops, for each of these numbers of tasks on each loop; of threads; or
/// with each of these pauses, in microseconds.
void add_loops(const std::string& name, workload run, unsigned loops,
               std::initializer_list<unsigned> tasks, parameters more = {});
void add_threads(const std::string& name, workload run, parameters more = {});
/// Registers a workload as "WORK, one loop/NAME", with 2 to 100,000 tasks, and as "WORK, two
/// loops/NAME", with 1 to 100,000 tasks on each.
/// @param on_two  null if the implementation works on one loop only.
void add_on_loops(const std::string& work, const std::string& name, workload on_one,
                  workload on_two = nullptr);
/// The same for selections from this number of channels, with 2 and 16 tasks on each loop.
void add_selects(unsigned channels, const std::string& name, workload on_one,
                 workload on_two = nullptr);
/// Registers a one-way workload through a buffer: on one loop, with 2, 16 and 1,000 tasks, and on
/// two, with 2, 200 and 20,000 tasks together.
/// @param on_two  null if the implementation works on one loop only.
void add_buffered(const std::string& name, workload on_one, workload on_two);
void add_pauses(const std::string& name, workload run);

/// Makes a meeting place, with the family (for its executor) and the patience as arguments if it
/// takes them.
template <class Meeting, class Family>
Meeting make(Family& family, const parameters& p = {}) {
    if constexpr (requires { Meeting(family, p.pause); }) {
        return Meeting(family, p.pause);
    } else if constexpr (requires { Meeting(family); }) {
        return Meeting(family);
    } else {
        return Meeting();
    }
}

/// Runs each loop in a thread: until all tasks have begun, for the warm-up, and for the counted
/// time. `close` ends tasks that do not end by themselves.
template <class Family, class Close>
void perform(Family& family, ledger& all, const parameters& p, Close close) {
    std::barrier start(static_cast<std::ptrdiff_t>(family.size()) + 1);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i != family.size(); ++i) {
        std::function<void()> body = [&, i] {
            start.arrive_and_wait();
            family.run(i);
        };
        threads.push_back(family.pinned() ? pinned_thread(i, std::move(body))
                                          : std::jthread(std::move(body)));
    }
    start.arrive_and_wait();
    while (!all.all_have_begun()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::this_thread::sleep_for(p.warmup);
    all.begin();
    std::this_thread::sleep_for(p.seconds);
    all.end();
    close();
    family.stop();
    threads.clear();
    family.settle();
}

/// Runs participants, of which `body(id)` makes the coroutine.
template <class Family, class Body, class Close>
void cast(Family& family, ledger& all, const parameters& p, Body body, Close close) {
    for (std::size_t id = 0; id != std::size_t{p.loops} * p.tasks; ++id) {
        const std::size_t loop = p.apart ? id % p.loops : id / p.tasks;
        family.spawn(static_cast<unsigned>(loop), [body, id] { return body(id); });
    }
    perform(family, all, p, close);
}

template <class Family, class Meeting>
measurement swaps(const parameters& p) {
    ledger all(std::size_t{p.loops} * p.tasks);
    Family family(p.loops);
    auto at = make<Meeting>(family);
    cast(
        family, all, p, [&](std::size_t id) { return bodies<Family>::swap(at, all, id); },
        [&] {
            if constexpr (!is_alone<Family>) {
                at.close();
            }
        });
    return all.swaps();
}

/// For implementations that have only channels: one for each direction.
template <class Family, class Channel>
measurement swap_in_two(const parameters& p) {
    ledger all(std::size_t{p.loops} * p.tasks);
    Family family(p.loops);
    both_ways<Channel> at{make<Channel>(family, p), make<Channel>(family, p)};
    cast(
        family, all, p, [&](std::size_t id) { return bodies<Family>::swap_in_two(at, all, id); },
        [] {});
    return all.swaps();
}

template <class Family, class Meeting>
measurement swap_for(const parameters& p) {
    ledger all(std::size_t{p.loops} * p.tasks);
    Family family(p.loops);
    auto at = make<Meeting>(family);
    cast(
        family, all, p,
        [&](std::size_t id) { return bodies<Family>::swap_for(at, all, id, p.pause); },
        [&] {
            if constexpr (!is_alone<Family>) {
                at.close();
            }
        });
    return all.swaps();
}

/// Each task waits in a meeting place of its own.
template <class Family, class Meeting>
measurement time_outs(const parameters& p) {
    ledger all(p.tasks);
    Family family(1);
    std::vector<std::unique_ptr<Meeting>> places;
    for (std::size_t id = 0; id != p.tasks; ++id) {
        places.emplace_back(new Meeting(make<Meeting>(family, p)));
    }
    std::latch ended(p.tasks);
    cast(
        family, all, p,
        [&](std::size_t id) { return bodies<Family>::time_out(*places[id], all, id, ended); },
        [&] { ended.wait(); });
    return all.time_outs();
}

template <class Family, class Channel>
measurement hand_over(const parameters& p) {
    ledger all(std::size_t{p.loops} * p.tasks);
    Family family(p.loops);
    auto at = make<Channel>(family);
    cast(
        family, all, p,
        [&](std::size_t id) {
            return id % 2 == 0 ? bodies<Family>::send(at, all, id)
                               : bodies<Family>::receive(at, all, id);
        },
        [] {});
    return all.hand_offs();
}

/// As `hand_over`, in batches.
template <class Family, class Channel>
measurement hand_over_batches(const parameters& p) {
    ledger all(std::size_t{p.loops} * p.tasks);
    Family family(p.loops);
    auto at = make<Channel>(family);
    cast(
        family, all, p,
        [&](std::size_t id) {
            return id % 2 == 0 ? bodies<Family>::send_batches(at, all, id)
                               : bodies<Family>::receive_batches(at, all, id);
        },
        [] {});
    return all.hand_offs();
}

/// Half of the parties send to `Channels::count` channels in rotation. Each of the others receives
/// from any of them. `Channels::received` takes the items out of a result, and returns false if the
/// channels are closed.
template <class Family, class Channels>
measurement selects(const parameters& p) {
    ledger all(std::size_t{p.loops} * p.tasks);
    Family family(p.loops);
    auto at = make<Channels>(family);
    std::atomic<std::size_t> senders = std::size_t{p.loops} * p.tasks / 2;
    cast(
        family, all, p,
        [&](std::size_t id) {
            return id % 2 == 0 ? bodies<Family>::send_around(at, all, id, senders)
                               : bodies<Family>::receive_any(at, all, id);
        },
        [] {});
    return all.hand_offs();
}

/// Uses a swap as a hand-off in one direction.
template <class Meeting>
struct one_way {
    auto send(item it) { return at.exchange(it); }
    auto receive() { return at.exchange(0); }

    Meeting at{};
};

/// The median is the benchmark's time. `cpu` is the number of processors in use.
template <class Family, class Channel>
measurement latency(const parameters& p) {
    ledger all(2);
    Family family(2, true);
    auto at = make<Channel>(family);
    std::vector<double> samples;
    family.spawn(0, [&] { return bodies<Family>::receive_time(at, all, samples); });
    family.spawn(1, [&] { return bodies<Family>::send_time(at, all, p.pause); });
    const std::clock_t begin = std::clock();
    perform(family, all, p, [] {});
    const double cpu = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    measurement made = all.hand_offs();
    if (!samples.empty()) {
        std::ranges::sort(samples);
        made.ns = samples[samples.size() / 2];
        made.more = {{"p99", samples[samples.size() * 99 / 100]},
                     {"cpu", cpu / seconds(p.warmup + p.seconds).count()}};
    }
    return made;
}

template <class Family, class Meeting>
measurement cancel(const parameters& p) {
    Family family(1);
    measurement made{0, {}, true};
    const auto round = [&] {
        auto at = make<Meeting>(family);
        std::size_t cancelled = 0;
        for (std::size_t id = 0; id != p.tasks; ++id) {
            family.spawn(0, [&, id] { return bodies<Family>::wait_in_vain(at, id, cancelled); });
        }
        family.settle();
        made.conserved = made.conserved && cancelled == 0;
        const auto begin = steady::now();
        at.cancel();
        family.settle();
        made.elapsed += steady::now() - begin;
        made.count += cancelled;
        made.conserved = made.conserved && cancelled == p.tasks;
    };
    round(); // the warm-up
    made.count = 0;
    made.elapsed = {};
    for (const auto end = steady::now() + p.seconds; steady::now() < end;) {
        round();
    }
    return made;
}

/// Returns the bytes that are allocated.
inline double allocated() {
    const auto info = mallinfo2();
    return static_cast<double>(info.uordblks + info.hblkhd);
}

/// Reports the bytes of each waiting task, frames and whole stacks included.
template <class Family, class Channel>
measurement memory(const parameters& p) {
    Family family(1);
    auto at = make<Channel>(family);
    std::size_t served = 0;
    const auto wait = [&](std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) {
            family.spawn(0, [&] { return bodies<Family>::receive_once(at, served); });
        }
        family.settle();
    };
    wait(1); // what only the first costs
    const double before = allocated();
    wait(p.tasks);
    const double bytes = (allocated() - before) / p.tasks;
    const bool all_wait = served == 0;
    const std::size_t all = std::size_t{p.tasks} + 1;
    family.spawn(0, [&] { return bodies<Family>::send_last(at, all); });
    for (std::size_t seen = all; seen != served;) { // while there is progress
        seen = served;
        family.settle();
    }
    return {p.tasks, {}, all_wait && served == all, {}, bytes};
}

} // namespace tryst::bench
