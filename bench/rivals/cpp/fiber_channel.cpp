// SPDX-License-Identifier: MIT
// Boost.Fiber's unbuffered channel.
#include "fibers.hpp"
#include "workloads.hpp"

#include <boost/fiber/unbuffered_channel.hpp>

namespace tryst::bench {
namespace {

class channel {
public:
    bool send(item it) { return channel_.push(it) == boost::fibers::channel_op_status::success; }
    item receive() { return channel_.value_pop(); }

private:
    boost::fibers::unbuffered_channel<item> channel_;
};

const enrolment one("boost::fibers::unbuffered_channel",
                    {
                        {"handoff-tasks", hand_over<fibers, channel>},
                        {"latency-tasks", latency<fibers, channel>},
                        {"memory-tasks", memory<fibers_here, channel>},
                    });

const enrolment two("boost::fibers::unbuffered_channel, two of them",
                    {{"swap-tasks", swap_in_two<fibers, channel>}});

} // namespace
} // namespace tryst::bench
