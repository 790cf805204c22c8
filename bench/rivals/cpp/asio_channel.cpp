// SPDX-License-Identifier: MIT
// Asio's channels between awaitables: the one without a lock on one context, the one with a lock on
// two.
#include "asio_channels.hpp"
#include "workloads.hpp"

namespace tryst::bench {
namespace {

using executor = net::io_context::executor_type;
using plain = asio_channel<unlocked<executor>>;
using concurrent = asio_channel<locked<executor>>;
using any = trying<asio_channel<unlocked<net::any_io_executor>>>;

const enrolment
    one("asio::experimental::channel",
        {
            {"handoff-tasks",
             on_either<hand_over<lonely_io_context, plain>, hand_over<io_contexts, concurrent>>},
            {"cancel-tasks", cancel<lonely_io_context, plain>},
            {"latency-tasks", latency<io_contexts, concurrent>},
            {"memory-tasks", memory<lonely_io_context, plain>},
        });

const enrolment
    two("asio::experimental::channel, two of them",
        {{"swap-tasks",
          on_either<swap_in_two<lonely_io_context, plain>, swap_in_two<io_contexts, concurrent>>}});

const enrolment one_tried("asio::experimental::channel, try_ first",
                          {{"handoff-tasks", on_either<hand_over<lonely_io_context, trying<plain>>,
                                                       hand_over<io_contexts, trying<concurrent>>>},
                           {"latency-tasks", latency<io_contexts, trying<concurrent>>}});

const enrolment
    two_tried("asio::experimental::channel, two of them, try_ first",
              {{"swap-tasks", on_either<swap_in_two<lonely_io_context, trying<plain>>,
                                        swap_in_two<io_contexts, trying<concurrent>>>}});

const enrolment one_any("asio::experimental::channel, try_ first, any_io_executor",
                        {{"handoff-tasks", hand_over<any_io_context, any>}});

const enrolment two_any("asio::experimental::channel, two of them, try_ first, any_io_executor",
                        {{"swap-tasks", swap_in_two<any_io_context, any>}});

const enrolment one_locked("asio::experimental::concurrent_channel, try_ first, locking context",
                           {{"handoff-tasks", hand_over<io_contexts, trying<concurrent>>}});

const enrolment
    two_locked("asio::experimental::concurrent_channel, two of them, try_ first, locking context",
               {{"swap-tasks", swap_in_two<io_contexts, trying<concurrent>>}});

} // namespace
} // namespace tryst::bench
