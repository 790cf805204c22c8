// SPDX-License-Identifier: MIT
// oneTBB's bounded queue. Of capacity 0 it blocks for ever: who pushes first is not told of who pops. With 1 it is
// not a hand-off but a buffer of one, whose senders do not wait for their receivers.
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
