// SPDX-License-Identifier: MIT
// What else the C++ user has: a mutex, with which threads wait on condition variables, and
// coroutines in lists; oneTBB's bounded queue; and, because the paper measures itself against it,
// Java's Exchanger, as a program of its own.
#include "families.hpp"
#include "mutex_rivals.hpp"
#include "workloads.hpp"

#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <optional>

#include <oneapi/tbb/concurrent_queue.h>

namespace tryst::bench {
namespace {

/// java.util.concurrent.Exchanger in the style of Java SE 5. A condition variable of its own for
/// each waiter corrects that version's fault, which could wake the wrong thread.
class mutex_exchanger {
public:
    /// @returns the partner's item; nullopt after `patience` or `close`.
    std::optional<item> exchange(item mine, std::chrono::microseconds patience = forever) {
        std::unique_lock lock(mutex_);
        if (closed_) {
            return std::nullopt;
        }
        if (offer* const partner = std::exchange(waiting_, nullptr)) {
            std::swap(mine, partner->it);
            partner->done = true;
            partner->changed.notify_one();
            return mine;
        }
        offer ours{.it = mine};
        waiting_ = &ours;
        const auto over = [&] { return ours.done || closed_; };
        if (patience == forever) {
            ours.changed.wait(lock, over);
        } else {
            ours.changed.wait_for(lock, patience, over);
        }
        if (ours.done) {
            return ours.it;
        }
        waiting_ = nullptr;
        return std::nullopt;
    }
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        if (waiting_ != nullptr) {
            waiting_->changed.notify_one();
        }
    }

private:
    static constexpr auto forever = std::chrono::microseconds::max();
    struct offer {
        item it;
        bool done = false;
        std::condition_variable changed{};
    };

    std::mutex mutex_;
    offer* waiting_ = nullptr;
    bool closed_ = false;
};

/// Hands items from thread to thread, one at a time. A sender returns after its item was received.
class condition_channel {
public:
    bool send(item it) {
        std::unique_lock lock(mutex_);
        free_.wait(lock, [&] { return !full_; });
        full_ = true;
        item_ = it;
        const std::uint64_t mine = ++sent_;
        arrived_.notify_one();
        taken_.wait(lock, [&] { return received_ >= mine; });
        return true;
    }
    item receive() {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return full_; });
        full_ = false;
        ++received_;
        taken_.notify_all();
        free_.notify_one();
        return item_;
    }

private:
    std::mutex mutex_;
    std::condition_variable free_;
    std::condition_variable arrived_;
    std::condition_variable taken_;
    item item_ = 0;
    bool full_ = false;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

/// With capacity 0 it blocks for ever, because push does not notice pop. With capacity 1 it is a
/// buffer: senders do not wait for their receivers.
class tbb_queue {
public:
    tbb_queue() { queue_.set_capacity(1); }

    bool send(item it) {
        queue_.push(it);
        return true;
    }
    item receive() {
        item got = 0;
        queue_.pop(got);
        return got;
    }

private:
    tbb::concurrent_bounded_queue<item> queue_;
};

/// Exchanger.java prints a sample: nanoseconds, the share of attempts that succeeded, and the 99th
/// percentile. It prints nothing if items were not conserved.
measurement java([[maybe_unused]] const parameters& p, [[maybe_unused]] const std::string& what) {
    measurement made{0, {}, false};
#ifdef TRYST_JAVA
    const std::string command = TRYST_JAVA " " + what + ' ' + std::to_string(p.loops) + ' ' +
                                std::to_string(p.pause.count());
    std::FILE* const output = ::popen(command.c_str(), "r"); // NOLINT(cert-env33-c)
    double ns = 0;
    double success = 0;
    double p99 = 0;
    if (output != nullptr && std::fscanf(output, "%lf %lf %lf", &ns, &success, &p99) == 3) {
        made = {1, {}, true, {{"success", success}}, ns};
        if (p99 > 0) {
            made.more = {{"p99", p99}};
        }
    }
    made.conserved = output != nullptr && ::pclose(output) == 0 && made.conserved;
#endif
    return made;
}

[[maybe_unused]] const bool added = [] {
    using lists = mutex_meeting<item>;
    const std::string mutex = "mutex and condition variable";
    add_threads("swap, threads/" + mutex, swaps<threads, mutex_exchanger>);
    add_threads("swap, threads, patience of 100 us/" + mutex, swap_for<threads, mutex_exchanger>,
                {.pause = std::chrono::microseconds(100)});
    add_threads("one way, threads/" + mutex, hand_over<threads, condition_channel>);
    add_pauses("latency, threads/" + mutex, latency<threads, one_way<mutex_exchanger>>);

    add_on_loops("swap", "mutex and one waiter", swaps<run_loops, lists>, swaps<run_loops, lists>);
    add_on_loops("one way", "mutex and two lists", hand_over<run_loops, lists>,
                 hand_over<run_loops, lists>);
    add_loops("one way, senders on one loop, receivers on another/mutex and two lists",
              hand_over<run_loops, lists>, 2, {16, 1'000}, {.apart = true});

    add_buffered("mutex and ring of 64", hand_over<run_loops, mutex_ring<item, 64>>,
                 hand_over<run_loops, mutex_ring<item, 64>>);
    add_buffered("mutex and ring of 1,024", hand_over<run_loops, mutex_ring<item, 1'024>>,
                 hand_over<run_loops, mutex_ring<item, 1'024>>);

    const std::string tbb = "tbb::concurrent_bounded_queue, capacity 1 (buffered)";
    add_threads("one way, threads/" + tbb, hand_over<threads, tbb_queue>);
    add_pauses("latency, threads/" + tbb, latency<threads, tbb_queue>);
#ifdef TRYST_JAVA
    add_threads("swap, threads/Java Exchanger",
                [](const parameters& p) { return java(p, "swap"); });
    add_threads("swap, threads, patience of 100 us/Java Exchanger",
                [](const parameters& p) { return java(p, "timed"); },
                {.pause = std::chrono::microseconds(100)});
    add_pauses("latency, threads/Java Exchanger",
               [](const parameters& p) { return java(p, "latency"); });
#endif
    return true;
}();

} // namespace
} // namespace tryst::bench
