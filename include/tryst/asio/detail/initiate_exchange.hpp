// SPDX-License-Identifier: MIT
/// @file
/// Starts an exchange, a send or a receive as an Asio operation, and calls its handler at the end.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/operation_state.hpp>
#include <tryst/result.hpp>

#include <optional>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The second argument of a handler: the item that the party holds at the end.
 *
 *   exchange_result<T, T>     T                          a T in either case
 *   exchange_result<T, void>  std::optional<T>           an item after a success only
 *   exchange_result<void, T>  std::optional<T>           an item after a failure only
 *   exchange_result<T, Own>   exchange_result<T, Own>    the result tells which of the two
 *
 * Items need not be default constructible, so a missing item cannot be a default T.
 *
 * Rejected: an `exchange_result` in every case. It would report the error twice, and a sender that
 * ignores the outcome would have to discard it explicitly. */
template <class T>
T item_in_the_end(exchange_result<T, T>&& result) noexcept {
    return result ? *std::move(result) : std::move(result).returned();
}
template <class T>
std::optional<T> item_in_the_end(exchange_result<T, void>&& result) noexcept {
    return result ? std::optional<T>(*std::move(result)) : std::nullopt;
}
template <class T>
std::optional<T> item_in_the_end(exchange_result<void, T>&& result) noexcept {
    return result ? std::nullopt : std::optional<T>(std::move(result).returned());
}
template <class T, class Own>
exchange_result<T, Own> item_in_the_end(exchange_result<T, Own>&& result) noexcept {
    return std::move(result);
}

struct tell_outcome {
    template <class Handler, class Result>
    void operator()(Handler&& handler, Result&& result) const {
        const error_code error(result.error());
        std::forward<Handler>(handler)(error, item_in_the_end(std::forward<Result>(result)));
    }
};

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
        operation_state<std::decay_t<Handler>, IoExecutor, std::invoke_result_t<Make&>,
                        tell_outcome>::initiate(own, this->io, make);
    }
};

template <class Make>
using completion_of =
    decltype(item_in_the_end(std::declval<result_of<std::invoke_result_t<Make&>>>()));

} // namespace detail
TRYST_ASIO_END
