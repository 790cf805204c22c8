// SPDX-License-Identifier: MIT
// tryst in fibers of Boost.Fiber.
#include "fibers.hpp"
#include "workloads.hpp"

#include <tryst/tryst.hpp>

namespace tryst::bench {
namespace {

using meeting = exchanger<item>;
using fifo = synchronous_channel<item>;

const enrolment all("tryst on Boost.Fiber",
                    {
                        {"swap-tasks", swaps<fibers, meeting>},
                        {"handoff-tasks", hand_over<fibers, fifo>},
                        {"latency-tasks", latency<fibers, one_way<meeting>>},
                        {"memory-tasks", memory<fibers_here, fifo>},
                    });

} // namespace
} // namespace tryst::bench
