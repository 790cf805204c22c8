// SPDX-License-Identifier: MIT
// A mutex: with condition variables for threads, with executors for coroutines.
#include "../../mutex_channel.hpp"
#include "../../mutex_exchanger.hpp"
#include "mutex_meeting.hpp"
#include "run_loops.hpp"
#include "threads.hpp"
#include "workloads.hpp"

namespace tryst::bench {
namespace {

class locked {
public:
    auto exchange(item mine) { return ex_.exchange(mine); }
    auto exchange_for(item mine, std::chrono::microseconds patience) {
        return ex_.exchange(mine, patience);
    }
    void close() { ex_.close(); }

private:
    mutex_exchanger<item> ex_;
};

const enrolment conditions("mutex and condition variable",
                           {
                               {"swap-threads", swaps<threads, locked>},
                               {"timed-threads", swap_for<threads, locked>},
                               {"handoff-threads", hand_over<threads, condition_channel<item>>},
                               {"latency-threads", latency<threads, one_way<locked>>},
                           });

const enrolment one("mutex and the one who waits",
                    {{"swap-tasks", swaps<run_loops, mutex_meeting<item>>}});

const enrolment lists("mutex and two lists",
                      {{"handoff-tasks", hand_over<run_loops, mutex_channel<item>>}});

} // namespace
} // namespace tryst::bench
