// SPDX-License-Identifier: MIT
// tryst in awaitables of Asio, and its own tasks on an io_context.
#include "selecting_tryst.hpp"
#include "selects.hpp"
#include "task_executors.hpp"
#include "trying_tryst.hpp"
#include "workloads.hpp"

#include <tryst/tryst.hpp>

#include <asio/use_awaitable.hpp>

#include <optional>
#include <stop_token>

namespace tryst::bench {
namespace {

using meeting = exchanger<item>;
using fifo = synchronous_channel<item>;

class without_sender {
public:
    auto wait(std::size_t /*id*/) { return channel_.receive(source_.get_token()); }
    void cancel() { source_.request_stop(); }
    static bool was_cancelled(const exchange_result<item, void>& got) {
        return got.error() == exchange_errc::cancelled;
    }

private:
    fifo channel_;
    std::stop_source source_;
};

/// The general operation, for any completion token.
class by_token {
    using use_awaitable = net::use_awaitable_t<net::io_context::executor_type>;

public:
    auto exchange(item mine) { return asio::async_wait(ex_.exchange(mine), use_awaitable()); }
    void close() { ex_.close(); }

private:
    meeting ex_;
};

template <class Meeting>
constexpr workload swap_on_either =
    on_either<swaps<lonely_io_context, Meeting>, swaps<io_contexts, Meeting>>;
template <class Channel>
constexpr workload hand_over_on_either =
    on_either<hand_over<lonely_io_context, Channel>, hand_over<io_contexts, Channel>>;

const enrolment plain(
    "tryst on Asio",
    {
        {"swap-tasks", swap_on_either<meeting>},
        {"handoff-tasks", hand_over_on_either<fifo>},
        {"cancel-tasks", cancel<lonely_io_context, without_sender>},
        {"latency-tasks", latency<io_contexts, one_way<meeting>>},
        {"memory-tasks", memory<lonely_io_context, fifo>},
        {"timed-tasks", swap_for<lonely_io_context, meeting>},
        {"timeout-tasks", time_outs<lonely_io_context, impatient<meeting>>},
        {"select-tasks",
         on_either<selects<lonely_io_context, select_fifo>, selects<io_contexts, select_fifo>>},
    });

const enrolment tried("tryst on Asio, try_ first",
                      {{"swap-tasks", swap_on_either<trying_exchange>},
                       {"handoff-tasks", hand_over_on_either<trying_channel>}});

const enrolment any("tryst on Asio, any_io_executor",
                    {{"swap-tasks", swaps<any_io_context, meeting>},
                     {"handoff-tasks", hand_over<any_io_context, fifo>}});

const enrolment any_tried("tryst on Asio, try_ first, any_io_executor",
                          {{"swap-tasks", swaps<any_io_context, trying_exchange>},
                           {"handoff-tasks", hand_over<any_io_context, trying_channel>}});

const enrolment locked_tried("tryst on Asio, try_ first, locking context",
                             {{"swap-tasks", swaps<io_contexts, trying_exchange>},
                              {"handoff-tasks", hand_over<io_contexts, trying_channel>}});

const enrolment tokens("tryst on Asio, async_exchange", {{"swap-tasks", swap_on_either<by_token>}});

const enrolment
    tasks("tryst tasks on Asio",
          {
              {"swap-tasks", on_either<swaps<task_executors<lonely_context>, meeting>,
                                       swaps<task_executors<locking_contexts>, meeting>>},
              {"timed-tasks", swap_for<task_executors<lonely_context>, meeting>},
              {"timeout-tasks", time_outs<task_executors<lonely_context>, impatient<meeting>>},
          });

} // namespace
} // namespace tryst::bench
