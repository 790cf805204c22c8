// SPDX-License-Identifier: MIT
// tryst alone: tasks on its own loops, and threads.
#include "run_loops.hpp"
#include "selecting_tryst.hpp"
#include "selects.hpp"
#include "threads.hpp"
#include "workloads.hpp"

#include <tryst/tryst.hpp>

#include <memory>
#include <stop_token>
#include <vector>

namespace tryst::bench {
namespace {

using meeting = exchanger<item>;
using fifo = synchronous_channel<item>;
using lifo = synchronous_channel<item, order::lifo>;

/// An exchanger for each task, because two tasks in one exchanger would pair.
class lonely {
public:
    auto wait(std::size_t id) {
        while (rooms_.size() <= id) {
            rooms_.push_back(std::make_unique<meeting>(0));
        }
        return rooms_[id]->exchange(id, source_.get_token());
    }
    void cancel() { source_.request_stop(); }
    static bool was_cancelled(const exchange_result<item>& got) {
        return got.error() == exchange_errc::cancelled;
    }

private:
    std::vector<std::unique_ptr<meeting>> rooms_;
    std::stop_source source_;
};

/// All tasks receive from one channel.
template <class Channel>
class without_sender {
public:
    auto wait(std::size_t /*id*/) { return channel_.receive(source_.get_token()); }
    void cancel() { source_.request_stop(); }
    static bool was_cancelled(const exchange_result<item, void>& got) {
        return got.error() == exchange_errc::cancelled;
    }

private:
    Channel channel_;
    std::stop_source source_;
};

const enrolment exchanges("tryst", {
                                       {"swap-tasks", swaps<run_loops, meeting>},
                                       {"swap-threads", swaps<threads, meeting>},
                                       {"timed-threads", swap_for<threads, meeting>},
                                       {"timed-tasks", swap_for<run_loops, meeting>},
                                       {"timeout-tasks", time_outs<run_loops, impatient<meeting>>},
                                       {"cancel-tasks", cancel<run_loops, lonely>},
                                       {"latency-tasks", latency<run_loops, one_way<meeting>>},
                                       {"latency-threads", latency<threads, one_way<meeting>>},
                                   });

const enrolment queued("tryst fifo", {
                                         {"handoff-tasks", hand_over<run_loops, fifo>},
                                         {"handoff-threads", hand_over<threads, fifo>},
                                         {"cancel-tasks", cancel<run_loops, without_sender<fifo>>},
                                         {"memory-tasks", memory<run_loops, fifo>},
                                         {"select-tasks", selects<run_loops, select_fifo>},
                                         {"select-threads", selects<threads, select_fifo>},
                                     });

const enrolment stacked("tryst lifo", {
                                          {"handoff-tasks", hand_over<run_loops, lifo>},
                                          {"handoff-threads", hand_over<threads, lifo>},
                                          {"cancel-tasks", cancel<run_loops, without_sender<lifo>>},
                                          {"memory-tasks", memory<run_loops, lifo>},
                                          {"select-tasks", selects<run_loops, select_lifo>},
                                          {"select-threads", selects<threads, select_lifo>},
                                      });

} // namespace
} // namespace tryst::bench
