// SPDX-License-Identifier: MIT
// Rivals for threads from the standard library: std::atomic::wait and semaphores.
#include "atomic_exchanger.hpp"
#include "threads.hpp"
#include "workloads.hpp"

#include <semaphore>

namespace tryst::bench {
namespace {

/// Hands over one item at a time. A sender returns after its item was received.
class semaphore_channel {
public:
    bool send(item it) {
        free_.acquire();
        item_ = it;
        full_.release();
        taken_.acquire();
        free_.release();
        return true;
    }
    item receive() {
        full_.acquire();
        const item got = item_;
        taken_.release();
        return got;
    }

private:
    std::binary_semaphore free_{1};
    std::binary_semaphore full_{0};
    std::binary_semaphore taken_{0};
    item item_ = 0;
};

// No timed swaps: C++20 has no timed wait on an atomic.
const enrolment waits("std::atomic::wait",
                      {
                          {"swap-threads", swaps<threads, atomic_exchanger<item>>},
                          {"latency-threads", latency<threads, one_way<atomic_exchanger<item>>>},
                      });

// libstdc++ implements semaphores with std::atomic::wait.
const enrolment semaphores("std::binary_semaphore",
                           {{"handoff-threads", hand_over<threads, semaphore_channel>},
                            {"latency-threads", latency<threads, semaphore_channel>}});

} // namespace
} // namespace tryst::bench
