// SPDX-License-Identifier: MIT
#include "sim/storm.hpp"

#include "sim/memory.hpp"
#include "sim/scheduler.hpp"
#include "sim/stop_token.hpp"

#include <tryst/exchanger.hpp>
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

namespace tryst::sim {

namespace {

using namespace std::chrono_literals;

/// How all waits are ended.
enum class ending : std::uint8_t { stop, deadline, close, destruction_of_loops };

constexpr std::array endings{ending::stop, ending::deadline, ending::close,
                             ending::destruction_of_loops};

const char* name_of(ending how) {
    switch (how) {
    case ending::stop:
        return "one stop";
    case ending::deadline:
        return "one deadline";
    case ending::close:
        return "closes";
    case ending::destruction_of_loops:
        return "destruction of the loops";
    }
    return "";
}

constexpr std::size_t loop_count = 4;
constexpr auto deadline = detail::clock::time_point(2h);

struct crowd {
    std::deque<exchanger<int>> meetings; // one for each, because only one waits in an exchanger
    std::array<std::optional<run_loop>, loop_count> loops;
    stop_source stop;
    std::size_t returned = 0;
    std::size_t nodes = 0;
};

task<> wait_at(crowd& all, exchanger<int>& where, ending how) {
    if (how == ending::stop) {
        static_cast<void>(co_await where.exchange(0, all.stop.get_token()));
    } else if (how == ending::deadline) {
        static_cast<void>(co_await where.exchange_until(0, deadline));
    } else {
        static_cast<void>(co_await where.exchange(0));
    }
    ++all.returned;
}

void run_loops(crowd& all) {
    for (auto& loop : all.loops) {
        all.nodes += loop->run_until_idle();
    }
}

void let_wait(crowd& all, std::size_t count, ending how) {
    for (auto& loop : all.loops) {
        loop.emplace();
    }
    for (std::size_t i = 0; i != count; ++i) {
        exchanger<int>& where = all.meetings.emplace_back(std::size_t{0});
        all.loops.at(i % loop_count)->spawn(wait_at(all, where, how));
    }
    run_loops(all);
}

void end_all(crowd& all, ending how) {
    switch (how) {
    case ending::stop:
        all.stop.request_stop();
        break;
    case ending::deadline:
        while (now() < deadline.time_since_epoch()) {
            sleep(&all, deadline.time_since_epoch());
        }
        break;
    case ending::close:
        for (exchanger<int>& each : all.meetings) {
            each.close();
        }
        break;
    case ending::destruction_of_loops:
        for (auto& loop : all.loops) {
            loop.reset();
        }
        return;
    }
    run_loops(all);
}

struct cost {
    std::uint64_t accesses = 0;
    std::uint64_t nodes = 0;
};

cost measure(std::size_t count, ending how) {
    pace alone;
    alone.mean_turn = 1'000'000;
    std::size_t nodes = 0;
    const auto begin = std::chrono::steady_clock::now();
    const verdict ended = run(
        1, alone,
        [&] {
            crowd all;
            let_wait(all, count, how);
            end_all(all, how);
            const std::size_t expected = how == ending::destruction_of_loops ? 0 : count;
            if (all.returned != expected) {
                fail("not all have returned");
            }
            nodes = all.nodes;
        },
        std::uint64_t{1} << 40U);
    if (!ended.failure.empty()) {
        std::printf("sim: storm: %s\n", ended.failure.c_str());
        return {};
    }
    const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
    const auto each = static_cast<double>(count);
    std::printf("%8zu waits ended by %-24s %6.2f accesses and %.2f nodes each; %7.1f ms in all\n",
                count, name_of(how), static_cast<double>(ended.steps) / each,
                static_cast<double>(nodes) / each, wall.count());
    return {ended.steps, nodes};
}

} // namespace

bool run_storms() {
    constexpr std::size_t small = 10'000;
    constexpr std::size_t large = 10 * small;
    bool linear = true;
    for (const ending how : endings) {
        const cost of_small = measure(small, how);
        const cost of_large = measure(large, how);
        // A logarithm would already show: log(large) / log(small) is 1.25.
        linear = linear && of_small.accesses != 0 && of_large.accesses != 0 &&
                 of_large.accesses * 10 <= of_small.accesses * 101 &&
                 of_large.nodes * 10 <= of_small.nodes * 101;
    }
    std::printf(linear ? "linear\n" : "sim: a storm costs more than linear\n");
    return linear;
}

} // namespace tryst::sim
