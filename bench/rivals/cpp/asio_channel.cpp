// SPDX-License-Identifier: MIT
// Asio's channel between awaitables: on one context the one without a lock, on two the one with.
#include "io_contexts.hpp"
#include "workloads.hpp"

#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/basic_channel.hpp>
#include <asio/experimental/basic_concurrent_channel.hpp>
#include <asio/experimental/channel_error.hpp>
#include <asio/experimental/channel_traits.hpp>
#include <asio/use_awaitable.hpp>

#include <optional>
#include <system_error>
#include <tuple>

namespace tryst::bench {
namespace {

using executor = contexts::executor;

template <template <class, class, class...> class Basic>
class asio_channel {
public:
    explicit asio_channel(contexts& all) : channel_(all[0].get_executor()) {}

    auto send(item it) { return channel_.async_send(std::error_code(), it, token); }
    auto receive() { return channel_.async_receive(token); }

    /// Half of the time of a hand-off.
    bool send_at_once(item it) { return channel_.try_send(std::error_code(), it); }
    std::optional<item> receive_at_once() {
        std::optional<item> got;
        channel_.try_receive([&](std::error_code /*error*/, item it) { got = it; });
        return got;
    }

    auto wait(std::size_t /*id*/) {
        return channel_.async_receive(
            net::experimental::as_tuple_t<net::use_awaitable_t<executor>>(token));
    }
    void cancel() { channel_.cancel(); }
    static bool was_cancelled(const std::tuple<std::error_code, item>& got) {
        return std::get<0>(got) == net::experimental::error::channel_cancelled;
    }

private:
    static constexpr net::use_awaitable_t<executor> token{};

    Basic<executor, net::experimental::channel_traits<>, void(std::error_code, item)> channel_;
};

using channel = asio_channel<net::experimental::basic_channel>;
using concurrent = asio_channel<net::experimental::basic_concurrent_channel>;

measurement swap_in_either(const parameters& p) {
    return p.loops == 1 ? swap_in_two<lonely_io_context, channel>(p)
                        : swap_in_two<io_contexts, concurrent>(p);
}

measurement hand_over_in_either(const parameters& p) {
    return p.loops == 1 ? hand_over<lonely_io_context, channel>(p)
                        : hand_over<io_contexts, concurrent>(p);
}

const enrolment channels("asio::experimental::channel",
                         {
                             {"handoff-tasks", hand_over_in_either},
                             {"cancel-tasks", cancel<lonely_io_context, channel>},
                             {"latency-tasks", latency<io_contexts, concurrent>},
                             {"memory-tasks", memory<lonely_io_context, channel>},
                         });

const enrolment two_channels("asio::experimental::channel, two of them",
                             {{"swap-tasks", swap_in_either}});

} // namespace
} // namespace tryst::bench
