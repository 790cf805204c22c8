// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include "scale/designs.hpp"
#include "scale/parties.hpp"

#include <tryst/run_loop.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

namespace tryst::probe {
namespace {

constexpr std::chrono::milliseconds sample_time{40};
constexpr std::size_t coroutines = 16; // on each loop

/// Accesses on real processors take their time by themselves.
struct real_memory {
    static void read(const void* /*address*/) noexcept {}
    static void write(const void* /*address*/) noexcept {}
    static void turn() noexcept {}
    static void work() noexcept {}
};

template <class Meeting>
double time_of_a_pair(const std::vector<scale::tally>& tallies, steady::duration elapsed) {
    if (!scale::conserved(tallies, Meeting::pairs)) {
        throw std::runtime_error("items were not conserved");
    }
    std::int64_t exchanges = 0;
    for (const scale::tally& each : tallies) {
        exchanges += each.exchanges;
    }
    return std::chrono::duration<double, std::nano>(elapsed).count() /
           (static_cast<double>(exchanges) / 2);
}

template <class Meeting>
double on_loops(unsigned processors, std::size_t capacity) {
    Meeting at(capacity);
    std::vector<scale::tally> tallies(processors * coroutines);
    std::vector<std::unique_ptr<run_loop>> loops;
    for (unsigned i = 0; i != processors; ++i) {
        loops.push_back(std::make_unique<run_loop>());
        for (std::size_t j = i * coroutines; j != (i + 1) * coroutines; ++j) {
            loops.back()->spawn(j % 2 == 0 ? scale::meet_for_ever<true>(at, j, tallies[j])
                                           : scale::meet_for_ever<false>(at, j, tallies[j]));
        }
    }
    std::barrier start(static_cast<std::ptrdiff_t>(processors) + 1);
    std::vector<std::jthread> threads;
    steady::duration of_first{};
    for (unsigned i = 0; i != processors; ++i) {
        threads.push_back(pinned_thread(i, [&, i] {
            start.arrive_and_wait();
            const auto begin = processor_time();
            loops[i]->run();
            if (i == 0) {
                of_first = processor_time() - begin;
            }
        }));
    }
    start.arrive_and_wait();
    const auto begin = steady::now();
    std::this_thread::sleep_for(sample_time);
    for (auto& loop : loops) {
        loop->stop();
    }
    threads.clear();
    const auto elapsed = steady::now() - begin;
    at.close(); // so that both parties of a swap are served
    for (auto& loop : loops) {
        loop->run_until_idle();
    }
    // One loop never waits, so its processor time counts. It does not matter if it did not have its
    // processor all the time.
    return time_of_a_pair<Meeting>(tallies, processors == 1 ? of_first : elapsed);
}

template <class Meeting>
double on_threads(unsigned processors, std::size_t capacity) {
    Meeting at(capacity);
    std::vector<scale::tally> tallies(processors);
    std::atomic<bool> over{false};
    std::barrier start(static_cast<std::ptrdiff_t>(processors) + 1);
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i != processors; ++i) {
        threads.push_back(pinned_thread(i, [&, i] {
            const auto is_over = [&] { return over.load(std::memory_order_relaxed); };
            start.arrive_and_wait();
            if (i % 2 == 0) {
                scale::meet_until<true>(at, i, tallies[i], is_over);
            } else {
                scale::meet_until<false>(at, i, tallies[i], is_over);
            }
        }));
    }
    start.arrive_and_wait();
    const auto begin = steady::now();
    std::this_thread::sleep_for(sample_time);
    over.store(true, std::memory_order_relaxed);
    const auto elapsed = steady::now() - begin;
    at.close(); // ends the last waits
    threads.clear();
    return time_of_a_pair<Meeting>(tallies, elapsed);
}

template <class Meeting>
void add(const char* design, bool arena, std::vector<exchange>& into) {
    const unsigned most = std::min(2U, detail::processor_count());
    for (unsigned processors = 1; processors <= most; ++processors) {
        // The capacity that an exchanger chooses with this number of processors.
        const std::size_t capacity = arena ? processors : 0;
        const auto add_one = [&](const char* kind, std::function<double()> sample) {
            exchange one;
            one.processors = processors;
            one.sample = std::move(sample);
            one.kind = kind;
            one.design = design;
            into.push_back(std::move(one));
        };
        add_one("loops", [=] { return on_loops<Meeting>(processors, capacity); });
        if (processors > 1 || !Meeting::pairs) {
            add_one("threads", [=] { return on_threads<Meeting>(processors, capacity); });
        }
    }
}

} // namespace

void add_exchanges(std::vector<exchange>& into) {
    using plain = scale::plain_meeting<real_memory>;
    add<plain>("one slot", false, into);
    add<plain>("arena", true, into);
    add<scale::two_coloured_meeting<real_memory, order::fifo>>("fifo", true, into);
    add<scale::two_coloured_meeting<real_memory, order::lifo>>("lifo", true, into);
    add<scale::locked_meeting<real_memory>>("mutex", false, into);
    add<scale::ticket_meeting<real_memory>>("ticket", false, into);
}

} // namespace tryst::probe
