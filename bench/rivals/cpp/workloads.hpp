// SPDX-License-Identifier: MIT
/// @file
/// The workloads. Each takes a `Family` of tasks (such as run_loops.hpp) and a meeting place that
/// has the members it needs: `exchange` and `close`; `send` and `receive`; `wait` and `cancel`.
#pragma once

#include "../../pinned_thread.hpp"
#include "bodies.hpp"
#include "ledger.hpp"
#include "registry.hpp"

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <fstream>
#include <functional>
#include <latch>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace tryst::bench {

/// A bad combination of parameters.
struct usage_error : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// Makes a meeting place, with the family (for its executor) and the patience as arguments if it
/// takes them.
template <class Meeting, class Family>
Meeting make(Family& family, const parameters& p = {}) {
    if constexpr (requires { Meeting(family, p.patience); }) {
        return Meeting(family, p.patience);
    } else if constexpr (requires { Meeting(family); }) {
        return Meeting(family);
    } else {
        return Meeting();
    }
}

/// Runs each loop in a thread, first for the warm-up and then for the counted time. `close` ends
/// tasks that do not end by themselves.
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
    std::this_thread::sleep_for(p.warmup);
    all.begin();
    std::this_thread::sleep_for(p.seconds);
    all.end();
    close();
    family.stop();
    threads.clear();
    family.settle();
}

/// The number of participants, and of their loops or threads.
struct cast {
    unsigned loops;
    unsigned each;

    cast(unsigned of_loops, unsigned of_each) : loops(of_loops), each(of_each) {
        if (size() % 2 != 0) {
            throw usage_error("an odd number cannot form pairs");
        }
    }
    std::size_t size() const noexcept { return std::size_t{loops} * each; }
    unsigned loop_of(std::size_t id) const noexcept { return static_cast<unsigned>(id / each); }
};

template <class Family>
cast cast_of(const parameters& p) {
    if (is_alone<Family> && p.loops != 1) {
        throw usage_error("this implementation has one loop");
    }
    return Family::of_threads ? cast(p.threads, 1) : cast(p.loops, p.tasks);
}

template <class Family, class Meeting>
measurement swaps(const parameters& p) {
    const cast who = cast_of<Family>(p);
    ledger all(who.size());
    Family family(who.loops);
    auto at = make<Meeting>(family);
    for (std::size_t id = 0; id != who.size(); ++id) {
        family.spawn(who.loop_of(id),
                     [&all, &at, id] { return Family::bodies::swap(at, all, id); });
    }
    perform(family, all, p, [&] {
        if constexpr (!is_alone<Family>) {
            at.close();
        }
    });
    return all.swaps();
}

/// For implementations that have only channels: one for each direction.
template <class Family, class Channel, auto Result = &ledger::swaps>
measurement swap_in_two(const parameters& p) {
    const cast who = cast_of<Family>(p);
    ledger all(who.size());
    Family family(who.loops);
    both_ways<Channel> at{make<Channel>(family, p), make<Channel>(family, p)};
    for (std::size_t id = 0; id != who.size(); ++id) {
        family.spawn(who.loop_of(id),
                     [&all, &at, id] { return Family::bodies::swap_in_two(at, all, id); });
    }
    perform(family, all, p, [] {});
    return (all.*Result)();
}

template <class Family, class Channel>
constexpr workload timed_swap_in_two = swap_in_two<Family, Channel, &ledger::timed_swaps>;

template <class Family, class Meeting>
measurement swap_for(const parameters& p) {
    const cast who = cast_of<Family>(p);
    ledger all(who.size());
    Family family(who.loops);
    auto at = make<Meeting>(family);
    for (std::size_t id = 0; id != who.size(); ++id) {
        family.spawn(who.loop_of(id),
                     [&, id] { return Family::bodies::swap_for(at, all, id, p.patience); });
    }
    perform(family, all, p, [&] {
        if constexpr (!is_alone<Family>) {
            at.close();
        }
    });
    return all.timed_swaps();
}

/// Exchanges with the workload's patience.
template <class Meeting>
class impatient {
public:
    template <class Family>
    impatient(const Family& /*family*/, std::chrono::microseconds patience) : patience_(patience) {}

    auto exchange(item it) { return at_.exchange(it, patience_); }

private:
    std::chrono::microseconds patience_;
    Meeting at_;
};

/// Each task waits in a meeting place of its own.
template <class Family, class Meeting>
measurement time_outs(const parameters& p) {
    ledger all(p.tasks);
    Family family(1);
    std::vector<std::unique_ptr<Meeting>> places;
    std::latch ended(p.tasks);
    for (std::size_t id = 0; id != p.tasks; ++id) {
        places.emplace_back(new Meeting(make<Meeting>(family, p)));
        family.spawn(0, [&, id] { return Family::bodies::time_out(*places[id], all, id, ended); });
    }
    perform(family, all, p, [&] { ended.wait(); });
    return all.time_outs();
}

template <class Family, class Channel>
measurement hand_over(const parameters& p) {
    const cast who = cast_of<Family>(p);
    if (!Family::of_threads && who.each != 1 && who.each % 2 != 0) {
        throw usage_error("half of the tasks of each loop send: their number must be even, or 1");
    }
    ledger all(who.size());
    Family family(who.loops);
    auto at = make<Channel>(family);
    for (std::size_t id = 0; id != who.size(); ++id) {
        if (id % 2 == 0) {
            family.spawn(who.loop_of(id),
                         [&all, &at, id] { return Family::bodies::send(at, all, id); });
        } else {
            family.spawn(who.loop_of(id),
                         [&all, &at, id] { return Family::bodies::receive(at, all, id); });
        }
    }
    perform(family, all, p, [] {});
    return all.hand_offs();
}

/// Uses a swap as a hand-off in one direction.
template <class Meeting>
struct one_way {
    template <class Family>
    explicit one_way(Family& family) : at(make<Meeting>(family)) {}

    auto send(item it) { return at.exchange(it); }
    auto receive() { return at.exchange(0); }

    Meeting at;
};

/// Returns a quantile of the samples, and sorts them as far as needed.
inline double quantile(std::vector<double>& samples, double part) {
    if (samples.empty()) {
        return 0;
    }
    const auto nth = samples.begin() +
                     static_cast<std::ptrdiff_t>(part * static_cast<double>(samples.size() - 1));
    std::nth_element(samples.begin(), nth, samples.end());
    return *nth;
}

/// Returns the family's asynchronous timer if it has one, else the time to block.
template <class Family>
auto pause_of(Family& family, std::chrono::microseconds time) {
    if constexpr (requires { family.pause(time); }) {
        return family.pause(time);
    } else {
        return time;
    }
}

template <class Family, class Channel>
measurement latency(const parameters& p) {
    ledger all(2);
    Family family(2, true);
    auto at = make<Channel>(family);
    std::vector<double> samples;
    family.spawn(0, [&] { return Family::bodies::receive_time(at, all, samples); });
    family.spawn(1, [&] { return Family::bodies::send_time(at, all, pause_of(family, p.pause)); });
    perform(family, all, p, [] {});
    measurement made = all.hand_offs();
    made.more = {{"p50", quantile(samples, 0.5)}, {"p99", quantile(samples, 0.99)}};
    if (!samples.empty()) {
        made.ns = std::accumulate(samples.begin(), samples.end(), 0.0) /
                  static_cast<double>(samples.size());
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
            family.spawn(0, [&, id] { return Family::bodies::wait_in_vain(at, id, cancelled); });
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
    for (const auto end = steady::now() + p.warmup; steady::now() < end;) {
        round();
    }
    made.count = 0;
    made.elapsed = {};
    for (const auto end = steady::now() + p.seconds; steady::now() < end;) {
        round();
    }
    return made;
}

/// Returns the resident memory in bytes.
inline double resident() {
    std::ifstream statm("/proc/self/statm");
    double pages = 0;
    statm >> pages >> pages;
    return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

template <class Family, class Channel>
measurement memory(const parameters& p) {
    Family family(1);
    auto at = make<Channel>(family);
    std::size_t served = 0;
    const auto wait = [&](std::size_t count) {
        for (std::size_t i = 0; i != count; ++i) {
            family.spawn(0, [&] { return Family::bodies::receive_once(at, served); });
        }
        family.settle();
    };
    wait(1); // what only the first costs
    const double before = resident();
    wait(p.tasks);
    const double after = resident();
    const bool all_wait = served == 0;
    const std::size_t all = std::size_t{p.tasks} + 1;
    family.spawn(0, [&] { return Family::bodies::send_last(at, all); });
    for (std::size_t seen = all; seen != served;) { // while there is progress
        seen = served;
        family.settle();
    }
    measurement made{p.tasks, {}, all_wait && served == all};
    made.more = {{"bytes", (after - before) / p.tasks}};
    made.ns = 0;
    return made;
}

} // namespace tryst::bench
