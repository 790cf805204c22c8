// SPDX-License-Identifier: MIT
// Rivals under a mutex: threads wait on condition variables, coroutines in lists.
#include "mutex_exchanger.hpp"
#include "mutex_meeting.hpp"
#include "run_loops.hpp"
#include "threads.hpp"
#include "workloads.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace tryst::bench {
namespace {

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

using locked = mutex_exchanger<item>;
using meeting = mutex_meeting<item>;

const enrolment conditions("mutex and condition variable",
                           {
                               {"swap-threads", swaps<threads, locked>},
                               {"timed-threads", swap_for<threads, locked>},
                               {"handoff-threads", hand_over<threads, condition_channel>},
                               {"latency-threads", latency<threads, one_way<locked>>},
                           });

const enrolment one("mutex and one waiter", {{"swap-tasks", swaps<run_loops, meeting>}});

const enrolment lists("mutex and two lists", {{"handoff-tasks", hand_over<run_loops, meeting>}});

} // namespace
} // namespace tryst::bench
