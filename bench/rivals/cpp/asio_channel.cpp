// SPDX-License-Identifier: MIT
// Asio's channels between awaitables: the one without a lock on one context, the one with a lock on
// two; and with deadlines.
#include "asio_channels.hpp"
#include "workloads.hpp"

#include <asio/basic_waitable_timer.hpp>
#include <asio/experimental/awaitable_operators.hpp>
#include <asio/wait_traits.hpp>

#include <chrono>
#include <optional>
#include <system_error>
#include <tuple>

namespace tryst::bench {
namespace {

using executor = net::io_context::executor_type;
using plain = asio_channel<unlocked<executor>>;
using concurrent = asio_channel<locked<executor>>;
using any = trying<asio_channel<unlocked<net::any_io_executor>>>;

/// Receives with a deadline, in the usual way: whichever ends first, the wait or the timer. It
/// sends without one, because the sender could not tell whether the item was received.
class timed : public plain {
public:
    template <class Place>
    timed(const Place& place, std::chrono::microseconds patience)
        : plain(place), patience_(patience) {}

    net::awaitable<std::optional<item>, executor> receive() {
        using namespace net::experimental::awaitable_operators;
        net::basic_waitable_timer<steady, net::wait_traits<steady>, executor> timer(
            channel_.get_executor(), patience_);
        const auto first =
            co_await (channel_.async_receive(with_error) || timer.async_wait(with_error));
        std::optional<item> got;
        if (first.index() == 0 && !std::get<0>(std::get<0>(first))) {
            got = std::get<1>(std::get<0>(first));
        }
        co_return got;
    }
    /// Waits as a party of an exchange does.
    auto exchange(item /*unused*/) { return receive(); }

private:
    std::chrono::microseconds patience_;
};

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

const enrolment one_timed("asio::experimental::channel with steady_timer",
                          {{"timeout-tasks", time_outs<lonely_io_context, timed>}});

const enrolment two_timed("asio::experimental::channel with steady_timer, two of them",
                          {{"timed-tasks", timed_swap_in_two<lonely_io_context, timed>}});

const enrolment
    two_timed_tried("asio::experimental::channel with steady_timer, two of them, try_ "
                    "first",
                    {{"timed-tasks", timed_swap_in_two<lonely_io_context, trying<timed>>}});

} // namespace
} // namespace tryst::bench
