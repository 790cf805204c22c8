// SPDX-License-Identifier: MIT
#include "sim/contention.hpp"

#include "sim/memory.hpp"
#include "sim/scheduler.hpp"

#include <tryst/channel.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/statistics.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>
#include <tryst/when_all.hpp>

#include <algorithm>
#include <bitset>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unordered_map>

namespace tryst::sim {

namespace {

constexpr std::size_t line_size = 64;
constexpr std::size_t coroutines = 16; ///< On each loop.
constexpr std::size_t buffer_limit = 64;
constexpr std::size_t rounds = 60; ///< Exchanges for each party, with those before the count.

class line_counter final : public access_counter {
public:
    void count(const void* at, use how) noexcept final {
        const memory::outside real_heap;
        line& here = lines_[reinterpret_cast<std::uintptr_t>(at) / line_size];
        const thread_id me = current_thread();
        const bool writes = how != use::reads; // a compare-exchange that fails takes the line, too
        const bool is_here = here.holders.test(me) && (!writes || here.holders.count() == 1);
        here.moves += is_here ? 0 : 1;
        failed_ += how == use::fails ? 1 : 0;
        if (writes) {
            here.holders.reset();
        }
        here.holders.set(me);
    }

    /// Begins to count, with the lines where they are.
    void restart() noexcept {
        failed_ = 0;
        for (auto& [address, each] : lines_) {
            each.moves = 0;
        }
    }

    void report(contention& to, std::size_t exchanges) const {
        std::uint64_t all = 0;
        std::uint64_t most = 0;
        for (const auto& [address, each] : lines_) {
            all += each.moves;
            most = std::max(most, each.moves);
        }
        const auto of_each = [&](std::uint64_t number) {
            return static_cast<double>(number) / static_cast<double>(exchanges);
        };
        to.hottest = of_each(most);
        to.all = of_each(all);
        to.failed = of_each(failed_);
    }

private:
    struct line {
        std::bitset<max_threads> holders; ///< Several have it to read, or one to write.
        std::uint64_t moves = 0;
    };

    std::unordered_map<std::uintptr_t, line> lines_;
    std::uint64_t failed_ = 0;
};

/// Counts the parties that have met. Half of them come before the count.
struct progress {
    line_counter& lines;
    std::size_t left; ///< Parties.
    std::size_t counted;

    /// @returns whether the party was the last one.
    bool met() {
        --left;
        if (left == counted) {
            lines.restart();
        }
        return left == 0;
    }
};

// ---- Designs. Parties meet until somebody closes it; half of them are red, if it has colours.

template <class Exchanger>
struct one_colour {
    Exchanger at;

    template <bool Red>
    auto meet() {
        return at.exchange(0);
    }
    void close() { at.close(); }
};

struct one_slot : one_colour<exchanger<int>> {
    one_slot() : one_colour{exchanger<int>(0)} {}
};

template <order Order>
struct two_colours {
    red_blue_exchanger<int, int, Order> at;

    template <bool Red>
    auto meet() {
        if constexpr (Red) {
            return at.red(0);
        } else {
            return at.blue(0);
        }
    }
    void close() { at.close(); }
};

/// Its items wait in a buffer.
struct buffered {
    channel<int> at{buffer_limit};

    template <bool Red>
    auto meet() {
        if constexpr (Red) {
            return at.send(0);
        } else {
            return at.receive();
        }
    }
    void close() { static_cast<void>(at.close_and_take()); } // what is left is not counted
};

struct selection {
    exchanger<int> one;
    exchanger<int> other;

    template <bool Red>
    auto meet() {
        return select(one.exchange(0), other.exchange(0));
    }
    void close() {
        one.close();
        other.close();
    }
};

/// A mutex that each party locks once, as on futexes (Drepper, "Futexes are tricky", 2011, mutex2).
/// Pairs nobody.
struct mutex {
    detail::sleep_word word; ///< 0 free, 1 locked, 2 locked and somebody may sleep.
    alignas(line_size) detail::atomic<int> guarded{0};

    void pass() {
        auto& state = word.value;
        if (state.exchange(1, std::memory_order_acquire) != 0) {
            while (state.exchange(2, std::memory_order_acquire) != 0) {
                word.sleep(2);
            }
        }
        guarded.store(0, std::memory_order_relaxed);
        if (state.exchange(0, std::memory_order_release) == 2) {
            wake(&state);
        }
    }
};

/// A counter that all parties increment. Pairs nobody.
struct ticket {
    detail::atomic<int> next{0};

    void pass() { next.fetch_add(1, std::memory_order_relaxed); }
};

template <class Result>
bool succeeded(const Result& got) {
    if constexpr (requires { got.has_value(); }) {
        return got.has_value();
    } else {
        return got.visit([](const auto& each) { return each.has_value(); });
    }
}

template <bool Red, class Design>
task<> take_part(Design& design, progress& all) {
    while (true) {
        auto got = co_await design.template meet<Red>();
        if (!succeeded(got)) {
            break;
        }
        if (all.met()) {
            design.close();
        }
    }
}

template <bool Red, class Design>
void take_part_in_thread(Design& design, progress& all) {
    while (succeeded(sync_wait(design.template meet<Red>()))) {
        if (all.met()) {
            design.close();
        }
    }
}

/// The body of a thread.
template <class Design>
void run_parties(bool on_loops, std::size_t number, Design& design, progress& all) {
    if constexpr (requires { design.pass(); }) {
        while (all.left != 0) {
            design.pass();
            if (all.left != 0) {
                all.met();
            }
        }
    } else if (on_loops) {
        run_loop loop;
        std::vector<task<>> tasks;
        for (std::size_t i = 0; i != coroutines / 2; ++i) {
            tasks.push_back(take_part<true>(design, all));
            tasks.push_back(take_part<false>(design, all));
        }
        loop.run(when_all(std::move(tasks)));
    } else {
        number % 2 == 0 ? take_part_in_thread<true>(design, all)
                        : take_part_in_thread<false>(design, all);
    }
}

template <class Design>
contention count(std::string_view kind, std::string_view name, std::size_t parties) {
    contention made{.kind = kind, .design = name, .parties = parties};
    const bool on_loops = kind == "loops";
    const std::size_t met = parties * rounds * (on_loops ? coroutines : 1);
    line_counter lines;
    pace how;
    how.mean_turn = 1; // as on processors that make their accesses at the same time
    how.tick = instant(20);
    how.processors = static_cast<unsigned>(parties);
    const verdict ended = run(
        random(1), how,
        [&] {
            Design design;
            progress all{lines, met, met / 2};
            for (std::size_t i = 0; i != parties; ++i) {
                start(std::to_string(i), [&, i] { run_parties(on_loops, i, design, all); });
            }
            counter = &lines;
            until_quiet();
            counter = nullptr; // the end of the design is not counted
        },
        50'000'000);
    counter = nullptr; // if it has failed
    if (!ended.failure.empty()) {
        throw std::runtime_error(std::string(name) + ": " + ended.failure);
    }
    lines.report(made, met / 4);
    return made;
}

/// Exchanges the simulation's constants for those of detail/platform/atomic.hpp, or back.
void swap_constants() {
    static int pauses = 128;
    static int rounds_of_spins = 16;
    static std::uint8_t completions = 64;
    static std::chrono::nanoseconds patience{3'000};
    static int lock_looks = 16;
    static int first_lock_pauses = 32;
    static int most_lock_pauses = 256;
    std::swap(detail::spin_pauses, pauses);
    std::swap(detail::lock_looks, lock_looks);
    std::swap(detail::first_lock_pauses, first_lock_pauses);
    std::swap(detail::most_lock_pauses, most_lock_pauses);
    std::swap(detail::spin_rounds, rounds_of_spins);
    std::swap(detail::most_completions, completions);
    std::swap(detail::lone_patience, patience);
}

} // namespace

std::vector<contention> count_contention(std::size_t most) {
    swap_constants();
    std::vector<contention> all;
    for (const std::string_view kind : {"loops", "threads"}) {
        for (std::size_t parties = 2; parties <= most; parties *= 2) {
            all.push_back(count<one_colour<exchanger<int>>>(kind, "arena", parties));
            all.push_back(count<one_colour<exchanger<int, counted>>>(kind, "counted", parties));
            all.push_back(count<one_slot>(kind, "one slot", parties));
            all.push_back(count<two_colours<order::fifo>>(kind, "fifo", parties));
            all.push_back(count<two_colours<order::lifo>>(kind, "lifo", parties));
            all.push_back(count<selection>(kind, "select", parties));
            all.push_back(count<buffered>(kind, "buffered", parties));
            all.push_back(count<mutex>(kind, "a mutex", parties));
            all.push_back(count<ticket>(kind, "a fetch-and-add", parties));
        }
    }
    swap_constants();
    return all;
}

void print_contention() {
    std::puts("kind,design,parties,hottest line,all lines,failed");
    for (const contention& each : count_contention(128)) {
        std::printf("%s,%s,%zu,%.2f,%.1f,%.2f\n", each.kind.data(), each.design.data(),
                    each.parties, each.hottest, each.all, each.failed);
    }
}

} // namespace tryst::sim
