// SPDX-License-Identifier: MIT
#include "sim/storm.hpp"

#include "sim/memory.hpp"
#include "sim/scheduler.hpp"
#include "sim/stop_token.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/task.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <type_traits>

namespace tryst::sim {

namespace {

using namespace std::chrono_literals;

/// How all waits are ended.
enum class ending : std::uint8_t { stop, deadline, close, destruction_of_loops };

constexpr std::array names{"one stop", "one deadline", "closes", "destruction of the loops"};

constexpr std::size_t loop_count = 4;

/// One exchanger for each, because only one waits in it.
struct each_alone {
    static constexpr const char* name = "apart";
    std::deque<exchanger<int>> all;

    auto next() {
        return [&at = all.emplace_back(std::size_t{0})](auto... limit) {
            return at.exchange(0, limit...);
        };
    }
    void close() {
        for (exchanger<int>& each : all) {
            each.close();
        }
    }
};

/// One for all, who are red.
template <order Order>
struct all_together {
    static constexpr const char* name = Order == order::fifo ? "fifo" : "lifo";
    red_blue_exchanger<int, int, Order> all;

    auto next() {
        return [this](auto... limit) { return all.red(0, limit...); };
    }
    void close() { all.close(); }
};

template <class Meetings>
struct crowd {
    Meetings meetings;
    std::array<std::optional<run_loop>, loop_count> loops;
    std::optional<stop_source> stop{std::in_place};
    detail::clock::time_point deadline{2h};
    std::size_t returned = 0;
    std::size_t nodes = 0;
};

/// @param wait  makes the operation, with these limits.
template <class Meetings, class Wait>
task<> wait_at(crowd<Meetings>& all, Wait wait, ending how) {
    if (how == ending::stop) {
        static_cast<void>(co_await wait(stop_token(*all.stop)));
    } else if (how == ending::deadline) {
        static_cast<void>(co_await wait(all.deadline));
    } else {
        static_cast<void>(co_await wait());
    }
    ++all.returned;
}

template <class Meetings>
void run_loops(crowd<Meetings>& all) {
    for (auto& loop : all.loops) {
        all.nodes += loop->run_until_idle();
    }
}

template <class Meetings>
void let_wait(crowd<Meetings>& all, std::size_t count, ending how) {
    for (auto& loop : all.loops) {
        loop.emplace();
    }
    for (std::size_t i = 0; i != count; ++i) {
        all.loops.at(i % loop_count)->spawn(wait_at(all, all.meetings.next(), how));
    }
    run_loops(all);
}

template <class Meetings>
void end_all(crowd<Meetings>& all, ending how) {
    switch (how) {
    case ending::stop:
        all.stop->request_stop();
        break;
    case ending::deadline:
        while (now() < all.deadline.time_since_epoch()) {
            sleep(&all, all.deadline.time_since_epoch());
        }
        break;
    case ending::close:
        all.meetings.close();
        break;
    case ending::destruction_of_loops:
        for (auto& loop : all.loops) {
            loop.reset();
        }
        return;
    }
    run_loops(all);
}

constexpr int storms = 4;

/// However many storms there have been, an exchanger has no more memory than two of them take at
/// once: a queue is swept when it has grown by its own length.
template <class Meetings>
void storm_again(crowd<Meetings>& all, std::size_t count, ending how) {
    const auto reset_loops = [&] {
        for (auto& loop : all.loops) {
            loop.reset();
        }
    };
    reset_loops();
    const std::size_t first = memory::in_use();
    for (int i = 1; i != storms; ++i) {
        all.stop.emplace();
        all.deadline += 2h;
        let_wait(all, count, how);
        end_all(all, how);
        reset_loops();
    }
    if (memory::in_use() > first * 5 / 2) {
        fail("storms have left " + std::to_string(memory::in_use()) + " bytes, and the first " +
             std::to_string(first));
    }
}

struct cost {
    std::uint64_t accesses = 0;
    std::uint64_t nodes = 0;
};

template <class Meetings>
cost measure(std::size_t count, ending how) {
    pace alone;
    alone.mean_turn = 1'000'000;
    std::size_t nodes = 0;
    const bool again = !std::is_same_v<Meetings, each_alone> && how != ending::close;
    const auto begin = std::chrono::steady_clock::now();
    const verdict ended = run(
        random(1), alone,
        [&] {
            crowd<Meetings> all;
            let_wait(all, count, how);
            end_all(all, how);
            const std::size_t expected = how == ending::destruction_of_loops ? 0 : count;
            if (all.returned != expected) {
                fail("not all have returned");
            }
            nodes = all.nodes;
            if (again) {
                storm_again(all, count, how);
            }
        },
        std::uint64_t{1} << 40U);
    if (!ended.failure.empty()) {
        std::printf("sim: storm: %s\n", ended.failure.c_str());
        return {};
    }
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    const auto each = static_cast<double>(again ? storms * count : count);
    std::printf(
        "%8zu waits, %-5s, ended by %-24s %6.2f accesses and %.2f nodes each; %7.1f ms in all\n",
        count, Meetings::name, names.at(static_cast<std::size_t>(how)),
        static_cast<double>(ended.steps) / each,
        static_cast<double>(nodes) / static_cast<double>(count), wall.count());
    return {ended.steps, nodes};
}

template <class Meetings>
bool is_linear() {
    constexpr std::size_t small = 10'000;
    constexpr std::size_t large = 10 * small;
    bool linear = true;
    for (std::size_t i = 0; i != names.size(); ++i) {
        const auto how = static_cast<ending>(i);
        const cost of_small = measure<Meetings>(small, how);
        const cost of_large = measure<Meetings>(large, how);
        // A logarithm would already show: log(large) / log(small) is 1.25.
        linear = linear && of_small.accesses != 0 && of_large.accesses != 0 &&
                 of_large.accesses * 10 <= of_small.accesses * 101 &&
                 of_large.nodes * 10 <= of_small.nodes * 101;
    }
    return linear;
}

} // namespace

bool run_storms() {
    const bool apart = is_linear<each_alone>();
    const bool in_queue = is_linear<all_together<order::fifo>>();
    const bool on_stack = is_linear<all_together<order::lifo>>();
    const bool linear = apart && in_queue && on_stack;
    std::printf(linear ? "linear\n" : "sim: a storm costs more than linear\n");
    return linear;
}

} // namespace tryst::sim
