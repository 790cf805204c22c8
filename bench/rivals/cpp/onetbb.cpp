// SPDX-License-Identifier: MIT
// oneTBB's bounded queue. With capacity 0 it blocks for ever, because push does not notice pop.
// With capacity 1 it is a buffer, not a hand-off: senders do not wait for their receivers.
#include "threads.hpp"
#include "workloads.hpp"

#include <oneapi/tbb/concurrent_queue.h>

namespace tryst::bench {
namespace {

class queue {
public:
    queue() { queue_.set_capacity(1); }

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

const enrolment buffered("tbb::concurrent_bounded_queue, capacity 1 (buffered)",
                         {{"handoff-threads", hand_over<threads, queue>},
                          {"latency-threads", latency<threads, queue>}});

} // namespace
} // namespace tryst::bench
