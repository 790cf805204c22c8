// SPDX-License-Identifier: MIT
/// @file
/// Asio's channels between awaitables, with and without a lock.
#pragma once

#include "io_contexts.hpp"
#include "ledger.hpp"

#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/basic_channel.hpp>
#include <asio/experimental/basic_concurrent_channel.hpp>
#include <asio/experimental/channel_error.hpp>
#include <asio/experimental/channel_traits.hpp>
#include <asio/use_awaitable.hpp>

#include <cstddef>
#include <optional>
#include <system_error>
#include <tuple>

namespace tryst::bench {

template <class Executor>
using unlocked = net::experimental::basic_channel<Executor, net::experimental::channel_traits<>,
                                                  void(std::error_code, item)>;
template <class Executor>
using locked =
    net::experimental::basic_concurrent_channel<Executor, net::experimental::channel_traits<>,
                                                void(std::error_code, item)>;

template <class Channel>
class asio_channel {
public:
    template <class Place>
    explicit asio_channel(const Place& place) : channel_(place.get_executor()) {}

    auto send(item it) { return channel_.async_send(std::error_code(), it, token); }
    auto receive() { return channel_.async_receive(token); }

    auto wait(std::size_t /*id*/) { return channel_.async_receive(with_error); }
    void cancel() { channel_.cancel(); }
    static bool was_cancelled(const std::tuple<std::error_code, item>& got) {
        return std::get<0>(got) == net::experimental::error::channel_cancelled;
    }

protected:
    using use_awaitable = net::use_awaitable_t<typename Channel::executor_type>;
    static constexpr use_awaitable token{};
    static constexpr net::experimental::as_tuple_t<use_awaitable> with_error{use_awaitable()};

    Channel channel_;
};

/// As an experienced user would write it: `try_` first serves a waiting partner without a turn of
/// the context.
template <class Base>
class trying : public Base {
public:
    using Base::Base;

    bool send_at_once(item it) { return this->channel_.try_send(std::error_code(), it); }
    std::optional<item> receive_at_once() {
        std::optional<item> got;
        this->channel_.try_receive([&](std::error_code /*error*/, item it) { got = it; });
        return got;
    }
};

} // namespace tryst::bench
