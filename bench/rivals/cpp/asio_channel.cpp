// SPDX-License-Identifier: MIT
// Asio's channels between awaitables: the one without a lock on one context, the one with a lock on
// two.
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

    auto wait(std::size_t /*id*/) {
        return channel_.async_receive(
            net::experimental::as_tuple_t<net::use_awaitable_t<executor>>(token));
    }
    void cancel() { channel_.cancel(); }
    static bool was_cancelled(const std::tuple<std::error_code, item>& got) {
        return std::get<0>(got) == net::experimental::error::channel_cancelled;
    }

protected:
    static constexpr net::use_awaitable_t<executor> token{};

    Basic<executor, net::experimental::channel_traits<>, void(std::error_code, item)> channel_;
};

/// As an experienced user would write it: `try_` first serves a waiting partner without a turn of
/// the context.
template <template <class, class, class...> class Basic>
struct trying : asio_channel<Basic> {
    using asio_channel<Basic>::asio_channel;

    bool send_at_once(item it) { return this->channel_.try_send(std::error_code(), it); }
    std::optional<item> receive_at_once() {
        std::optional<item> got;
        this->channel_.try_receive([&](std::error_code /*error*/, item it) { got = it; });
        return got;
    }
};

template <class Executor, class Traits, class... Signatures>
using unlocked = net::experimental::basic_channel<Executor, Traits, Signatures...>;
template <class Executor, class Traits, class... Signatures>
using locked = net::experimental::basic_concurrent_channel<Executor, Traits, Signatures...>;

template <template <template <class, class, class...> class> class Channel>
measurement swap_in_either(const parameters& p) {
    return p.loops == 1 ? swap_in_two<lonely_io_context, Channel<unlocked>>(p)
                        : swap_in_two<io_contexts, Channel<locked>>(p);
}

template <template <template <class, class, class...> class> class Channel>
measurement hand_over_in_either(const parameters& p) {
    return p.loops == 1 ? hand_over<lonely_io_context, Channel<unlocked>>(p)
                        : hand_over<io_contexts, Channel<locked>>(p);
}

const enrolment one("asio::experimental::channel",
                    {
                        {"handoff-tasks", hand_over_in_either<asio_channel>},
                        {"cancel-tasks", cancel<lonely_io_context, asio_channel<unlocked>>},
                        {"latency-tasks", latency<io_contexts, asio_channel<locked>>},
                        {"memory-tasks", memory<lonely_io_context, asio_channel<unlocked>>},
                    });

const enrolment two("asio::experimental::channel, two of them",
                    {{"swap-tasks", swap_in_either<asio_channel>}});

const enrolment one_tried("asio::experimental::channel, try_ first",
                          {{"handoff-tasks", hand_over_in_either<trying>},
                           {"latency-tasks", latency<io_contexts, trying<locked>>}});

const enrolment two_tried("asio::experimental::channel, two of them, try_ first",
                          {{"swap-tasks", swap_in_either<trying>}});

} // namespace
} // namespace tryst::bench
