// SPDX-License-Identifier: MIT
/// @file
/// Starts an exchange, a send or a receive as an Asio operation, and calls its handler at the end.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/item_in_the_end.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/operation_state.hpp>

#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// Makes the I/O executor, if there is one, known to completion tokens.
template <class IoExecutor>
struct initiated_on {
    using executor_type = IoExecutor;
    executor_type get_executor() const noexcept { return io; }
    IoExecutor io;
};
template <>
struct initiated_on<no_io_executor> {
    no_io_executor io;
};

/// Initiates the exchange that `make()` returns.
template <class IoExecutor>
struct initiate_exchange : initiated_on<IoExecutor> {
    template <class Handler, class Make>
    void operator()(Handler&& handler, Make make) const {
        std::decay_t<Handler> own(std::forward<Handler>(handler));
        operation_state<std::decay_t<Handler>, IoExecutor, std::invoke_result_t<Make&>>::initiate(
            own, this->io, make);
    }
};

template <class Make>
using completion_of =
    decltype(detail::item_in_the_end(std::declval<result_of<std::invoke_result_t<Make&>>>()));

} // namespace detail
TRYST_ASIO_END
