// SPDX-License-Identifier: MIT
// Measures how loops wait: the time of an exchange between loops that have slept, and the processor
// time of a loop that gets a message now and then. The exit status is 1 if items or messages were
// lost or made up.
#include "pinned_thread.hpp"

#include <tryst/tryst.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using json = nlohmann::ordered_json;
using steady = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;
using exchanger = tryst::exchanger<std::uint64_t>;
using channel = tryst::synchronous_channel<std::uint64_t>;
using namespace std::chrono_literals;

// Before its first operations, each party pauses for a while. So each loop has slept, and was
// woken, before the measurement.
constexpr int pauses = 12;
constexpr auto pause = 1ms;

/// What one party has given and got.
struct party {
    std::atomic<std::uint64_t> count{0};
    std::uint64_t balance = 0;

    bool add(std::uint64_t given, const auto& got) {
        if (got) {
            balance += given;
            if constexpr (requires { *got + 1; }) {
                balance -= *got;
            }
            // Relaxed: a statistic, which only this party writes.
            count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        }
        return static_cast<bool>(got);
    }
    std::uint64_t next() const { return 3 * count.load(std::memory_order_relaxed) + 1; }
};

tryst::task<> take_part(party& me, bool gives, auto operation) {
    std::uint64_t item = 0;
    for (int i = 0;; ++i) {
        if (i < pauses) {
            co_await tryst::sleep_for(pause);
        }
        item = gives ? me.next() : 0;
        auto got = co_await operation(item);
        if (!me.add(item, got)) {
            co_return;
        }
    }
}

/// A loop on a thread, with the share of a processor that it used.
struct loop_thread {
    void start(int processor) { // negative: any
        auto body = [this] {
            const auto begin = steady::now();
            loop.run();
            timespec used{};
            ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            const auto time = std::chrono::seconds(used.tv_sec) + 1ns * used.tv_nsec;
            cores = seconds(time) / seconds(steady::now() - begin);
        };
        thread = processor < 0
                     ? std::jthread(body)
                     : tryst::bench::pinned_thread(static_cast<unsigned>(processor), body);
    }
    void stop() {
        loop.stop();
        thread.join();
        loop.run_until_idle();
    }

    tryst::run_loop loop;
    std::jthread thread;
    double cores = 0;
};

/// Loops in pairs; or one loop and a thread.
struct meeting {
    const char* name;
    int loops;
    int tasks = 1; ///< On each loop.
    bool by_channel = false;
};

constexpr meeting meetings[] = {
    {"pair", 2},         {"hand-off", 2, 1, true}, {"four loops", 4},     {"eight loops", 8},
    {"16 tasks", 2, 16}, {"1000 tasks", 2, 1'000}, {"loop and thread", 1}};

json measure(const meeting& what, bool pinned, seconds time) {
    std::deque<exchanger> exchangers;
    std::deque<channel> channels;
    std::deque<party> parties;
    std::deque<loop_thread> loops;
    for (int i = 0; i != what.loops; ++i) {
        loop_thread& on = loops.emplace_back();
        if (i % 2 == 0) {
            exchangers.emplace_back();
            channels.emplace_back();
        }
        for (int j = 0; j != what.tasks; ++j) {
            party& me = parties.emplace_back();
            if (!what.by_channel) {
                on.loop.spawn(take_part(me, true, [&at = exchangers.back()](std::uint64_t item) {
                    return at.exchange(item);
                }));
            } else if (i % 2 == 0) {
                on.loop.spawn(take_part(me, true, [&at = channels.back()](std::uint64_t item) {
                    return at.send(item);
                }));
            } else {
                on.loop.spawn(take_part(
                    me, false, [&at = channels.back()](std::uint64_t) { return at.receive(); }));
            }
        }
    }
    const auto exchanges = [&] {
        std::uint64_t sum = 0;
        for (const party& each : parties) {
            sum += each.count.load(std::memory_order_relaxed); // relaxed: a statistic
        }
        return sum / 2;
    };
    std::jthread thread;
    if (what.loops == 1) {
        auto body = [&at = exchangers.back(), &me = parties.emplace_back()] {
            std::uint64_t item = 0;
            do {
                item = me.next();
            } while (me.add(item, tryst::sync_wait(at.exchange(item))));
        };
        thread = pinned ? tryst::bench::pinned_thread(1, body) : std::jthread(body);
    }
    for (int i = 0; i != what.loops; ++i) {
        loops[static_cast<std::size_t>(i)].start(pinned ? i : -1);
    }
    std::this_thread::sleep_for(3 * pauses * pause);
    const auto start = steady::now();
    const auto before = exchanges();
    std::this_thread::sleep_for(time);
    const auto count = static_cast<double>(exchanges() - before);
    const std::chrono::duration<double, std::nano> took = steady::now() - start;

    for (auto i = exchangers.size(); i-- != 0;) {
        exchangers[i].close();
        channels[i].close();
    }
    double cores = 0;
    for (loop_thread& each : loops) {
        each.stop();
        cores += each.cores;
    }
    if (thread.joinable()) {
        thread.join();
    }
    std::uint64_t balance = 0;
    for (const party& each : parties) {
        balance += each.balance;
    }
    if (balance != 0 || count == 0) {
        throw std::runtime_error(fmt::format("{}: items were not conserved", what.name));
    }
    return {{"row", fmt::format("{}, {}", what.name, pinned ? "pinned" : "free")},
            {"ns", took.count() / count},
            {"cores", cores}};
}

/// A message at this interval; 0: none.
struct stream {
    const char* name;
    std::chrono::microseconds interval;
};

constexpr stream streams[] = {{"idle", 0us},
                              {"a message each 10 ms", 10ms},
                              {"a message each 1 ms", 1ms},
                              {"a message each 200 us", 200us},
                              {"a message each 30 us", 30us}};

struct message : tryst::executor_node {
    message() {
        latencies.reserve(1U << 20U);
        run = [](executor_node* node) noexcept {
            auto& self = *static_cast<message*>(node);
            self.latencies.push_back(steady::now() - self.sent);
            self.is_free.store(true, std::memory_order_release); // pairs with the sender's load
        };
    }

    std::vector<std::chrono::duration<double, std::nano>> latencies;
    steady::time_point sent;
    std::atomic<bool> is_free{true};
};

json measure(const stream& what, seconds time) {
    message mail;
    loop_thread receiver;
    receiver.start(1);
    std::uint64_t sent = 0;
    tryst::bench::pinned_thread(0, [&] {
        const auto end = steady::now() + time;
        for (auto next = steady::now(); next < end && what.interval != 0us;
             next = std::max(next + what.interval, steady::now())) {
            while (what.interval < 100us && steady::now() < next) { // too short for a sleep
            }
            std::this_thread::sleep_until(next);
            if (mail.is_free.load(std::memory_order_acquire)) { // pairs with the message's store
                mail.is_free.store(false, std::memory_order_relaxed); // relaxed: the post releases
                mail.sent = steady::now();
                receiver.loop.post(&mail);
                ++sent;
            }
        }
        std::this_thread::sleep_until(end);
    }).join();
    receiver.stop();
    if (sent != mail.latencies.size()) {
        throw std::runtime_error(fmt::format("{}: messages were not conserved", what.name));
    }
    const auto middle = mail.latencies.begin() + static_cast<std::ptrdiff_t>(sent / 2);
    std::nth_element(mail.latencies.begin(), middle, mail.latencies.end());
    return {{"row", what.name}, {"ns", sent == 0 ? 0 : middle->count()}, {"cores", receiver.cores}};
}

} // namespace

int main(int argc, char** argv) {
    CLI::App app("Measures how loops wait: exchanges between loops, and messages to a loop");
    double time = 0.5;
    bool as_json = false;
    std::string only;
    app.add_option("--seconds", time, "The time of each row")->capture_default_str();
    app.add_option("--only", only, "Only rows whose name begins with this");
    app.add_flag("--json", as_json, "Print a JSON object for each row");
    CLI11_PARSE(app, argc, argv);
    const auto print = [&](const json& row) {
        fmt::print("{}\n", as_json
                               ? row.dump()
                               : fmt::format("{:24} {:10.0f} ns {:8.4f} cores",
                                             row["row"].get<std::string>(), row["ns"].get<double>(),
                                             row["cores"].get<double>()));
    };
    try {
        for (const meeting& each : meetings) {
            for (const bool pinned : {true, false}) {
                if (std::string(each.name).starts_with(only)) {
                    print(measure(each, pinned, seconds(time)));
                }
            }
        }
        for (const stream& each : streams) {
            if (std::string(each.name).starts_with(only)) {
                print(measure(each, seconds(time)));
            }
        }
    } catch (const std::exception& problem) {
        fmt::print(stderr, "wakeups_bench: {}\n", problem.what());
        return 1;
    }
}
