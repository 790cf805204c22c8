// SPDX-License-Identifier: MIT
// tryst and Asio's channels with a lock, where two threads serve one executor.
#include "asio_pools.hpp"

#include "asio_channels.hpp"
#include "trying_tryst.hpp"
#include "workloads.hpp"

namespace tryst::bench {
namespace {

using meeting = exchanger<item>;

template <class Place>
using channel = trying<asio_channel<locked<typename Place::executor>>>;

/// Half of the tasks on each of two task executors.
measurement swaps_on_two_executors(const parameters& p) {
    parameters each = p;
    each.loops = 2;
    each.tasks = cast(1, p.tasks).each / 2; // refuses an odd number
    return swaps<task_executors<thread_pool>, meeting>(each);
}

const enrolment pool("tryst on Asio, thread_pool",
                     {{"swap-pool", swaps<awaitables<thread_pool>, meeting>},
                      {"latency-pool", latency<timed_awaitables<thread_pool>, one_way<meeting>>}});

const enrolment tried("tryst on Asio, try_ first, thread_pool",
                      {{"swap-pool", swaps<awaitables<thread_pool>, trying_exchange>}});

const enrolment
    in_strands("tryst on Asio, strands of a thread_pool",
               {{"latency-pool", latency<timed_awaitables<strands>, one_way<meeting>>}});

const enrolment
    context("tryst on Asio, io_context of two threads",
            {{"swap-pool", swaps<awaitables<shared_context>, meeting>},
             {"latency-pool", latency<timed_awaitables<shared_context>, one_way<meeting>>}});

const enrolment tasks("tryst tasks on Asio, two executors of a thread_pool",
                      {{"swap-pool", swaps_on_two_executors},
                       {"latency-pool", latency<timed_tasks<thread_pool>, one_way<meeting>>}});

const enrolment
    one_channel("asio::experimental::concurrent_channel, try_ first, thread_pool",
                {{"latency-pool", latency<timed_awaitables<thread_pool>, channel<thread_pool>>}});

const enrolment
    channels("asio::experimental::concurrent_channel, two of them, try_ first, thread_pool",
             {{"swap-pool", swap_in_two<awaitables<thread_pool>, channel<thread_pool>>}});

} // namespace
} // namespace tryst::bench
