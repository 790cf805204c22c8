// SPDX-License-Identifier: MIT
/// @file
/// The executor and the allocator of a completion handler.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>

#include <type_traits>

TRYST_ASIO_BEGIN
namespace detail {

/// The executor on which a handler is to run. If it has none, this is the system executor.
template <class Handler>
using completion_executor = net::associated_executor_t<Handler, net::system_executor>;

template <class Handler>
completion_executor<Handler> executor_for(const Handler& handler) noexcept {
    return net::get_associated_executor(handler, net::system_executor());
}

/// The memory of an operation comes from the handler's associated allocator. If the handler has
/// none, it is Asio's recycled memory.
template <class Handler>
auto allocator_for(const Handler& handler) noexcept {
    return net::get_associated_allocator(handler, net::recycling_allocator<void>());
}

#if TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS
/// Whether the handler names an executor on which it may run within the initiating function, as
/// handlers in `bind_immediate_executor` do (since Asio 1.28).
template <class Handler, class Executor>
concept has_immediate_executor =
    !std::is_same_v<net::associated_immediate_executor_t<Handler, Executor>,
                    net::associated_immediate_executor_t<void (*)(), Executor>>;
#endif

} // namespace detail
TRYST_ASIO_END
