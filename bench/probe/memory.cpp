// SPDX-License-Identifier: MIT
#include "probe.hpp"

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/cpu.hpp>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <memory>
#include <numeric>
#include <random>
#include <thread>

namespace tryst::probe {
namespace {

constexpr std::int64_t rounds = 100'000;

struct alignas(detail::line_pair) line {
    std::atomic<std::uint64_t> value{0};
};

/// Two cores write one line in turn; half a round trip.
double hop() {
    line ball;
    const auto play = [&](std::uint64_t turn) {
        for (; turn < rounds; turn += 2) {
            while (ball.value.load(std::memory_order_acquire) != turn) {
            }
            ball.value.store(turn + 1, std::memory_order_release);
        }
    };
    return timed_together(0, 1, rounds, [&] { play(0); }, [&] { play(1); });
}

/// A cycle through lines in an order that no prefetcher predicts. They fit into a core's
/// first-level cache.
class many_lines {
public:
    static constexpr std::uint64_t count = 192;

    many_lines() : lines_(new line[count]) {
        std::vector<std::uint64_t> order(count);
        std::iota(order.begin(), order.end(), 0);
        std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
        for (std::uint64_t i = 0; i != count; ++i) {
            at(order[i]).store(order[(i + 1) % count] << steps, std::memory_order_relaxed);
        }
    }

    /// Each access waits for the previous one, which holds its index.
    void read_all() {
        for (std::uint64_t i = 0, n = 0; n != count; ++n) {
            i = at(i).load(std::memory_order_relaxed) >> steps;
        }
    }
    void add_to_all() {
        for (std::uint64_t i = 0, n = 0; n != count; ++n) {
            i = at(i).fetch_add(1, std::memory_order_relaxed) >> steps;
        }
    }

private:
    static constexpr unsigned steps = 32; // the bits below the index count additions
    std::atomic<std::uint64_t>& at(std::uint64_t i) noexcept { return lines_[i].value; }
    std::unique_ptr<line[]> lines_;
};

/// The time to `visit` a line in the state in which `prepare_here`, then, on another core,
/// `prepare_there`, and then, if not null, `prepare_again` left it.
double visit(void (many_lines::*prepare_here)(), void (many_lines::*prepare_there)(),
             void (many_lines::*prepare_again)(), void (many_lines::*visit)()) {
    constexpr int turns = 300;
    many_lines lines;
    std::barrier turn(2);
    const std::jthread other = pinned_thread(1, [&] {
        for (int i = 0; i != turns; ++i) {
            turn.arrive_and_wait();
            (lines.*prepare_there)();
            turn.arrive_and_wait();
        }
    });
    steady::duration elapsed{};
    pinned_thread(0, [&] {
        for (int i = 0; i != turns; ++i) {
            (lines.*prepare_here)();
            turn.arrive_and_wait();
            turn.arrive_and_wait();
            if (prepare_again != nullptr) {
                (lines.*prepare_again)();
            }
            const auto begin = steady::now();
            (lines.*visit)();
            elapsed += steady::now() - begin;
        }
    }).join();
    return std::chrono::duration<double, std::nano>(elapsed).count() /
           static_cast<double>(turns * many_lines::count);
}

void load(std::atomic<std::uint64_t>& word) {
    static_cast<void>(word.load(std::memory_order_acquire));
    asm volatile("" ::: "memory");
}
void store(std::atomic<std::uint64_t>& word) {
    word.store(1, std::memory_order_release);
    asm volatile("" ::: "memory");
}
void add(std::atomic<std::uint64_t>& word) {
    word.fetch_add(1, std::memory_order_acq_rel);
}
void replace(std::atomic<std::uint64_t>& word) {
    std::uint64_t seen = word.load(std::memory_order_relaxed);
    word.compare_exchange_strong(seen, seen + 1, std::memory_order_acq_rel,
                                 std::memory_order_relaxed);
}
void pause(std::atomic<std::uint64_t>& /*word*/) {
    detail::spin_pause();
}

template <void (*Step)(std::atomic<std::uint64_t>&)>
double alone() {
    line mine;
    return timed(0, rounds, [&] {
        for (std::int64_t i = 0; i != rounds; ++i) {
            Step(mine.value);
        }
    });
}

/// Two cores use one line, each for half of the steps.
template <void (*Step)(std::atomic<std::uint64_t>&)>
double contended() {
    line ours;
    const auto body = [&] {
        for (std::int64_t i = 0; i != rounds; ++i) {
            Step(ours.value);
        }
    };
    return timed_together(0, 1, 2 * rounds, body, body);
}

} // namespace

void add_memory(std::vector<step>& into) {
    unsigned processors = 1;
    const auto add_one = [&](const char* key, const char* what, auto sample) {
        into.emplace_back(processors, key, what, sample);
    };
    add_one("load", "a load of a line that this core has", alone<load>);
    add_one("store", "a store to a line that this core owns", alone<store>);
    add_one("fetch_add", "a fetch-and-add on a line that this core owns", alone<add>);
    add_one("compare_exchange", "a load and a compare-and-exchange on a line that this core owns",
            alone<replace>);
    add_one("pause", "one step of a spin loop", alone<pause>);
    if (std::thread::hardware_concurrency() < 2) {
        return;
    }
    processors = 2;
    using m = many_lines;
    add_one("line_hop", "a line moves from core to core (half a round trip)", hop);
    // Prepared by additions: after a pass of loads, the prefetcher would fetch half of the lines.
    add_one("read_written", "a load of a line that another core wrote",
            [] { return visit(&m::add_to_all, &m::add_to_all, nullptr, &m::read_all); });
    add_one("reread", "a load of a line that this core wrote and another core then read",
            [] { return visit(&m::add_to_all, &m::read_all, nullptr, &m::read_all); });
    add_one("add_written", "a fetch-and-add on a line that another core wrote",
            [] { return visit(&m::read_all, &m::add_to_all, nullptr, &m::add_to_all); });
    add_one("add_shared", "a fetch-and-add on a line that two cores have read",
            [] { return visit(&m::add_to_all, &m::read_all, &m::read_all, &m::add_to_all); });
    add_one("contended_fetch_add", "a fetch-and-add on a line that two cores use", contended<add>);
    add_one("contended_compare_exchange",
            "a load and a compare-and-exchange on a line that two cores use", contended<replace>);
}

} // namespace tryst::probe
