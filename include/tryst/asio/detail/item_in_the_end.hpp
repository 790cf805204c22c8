// SPDX-License-Identifier: MIT
/// @file
/// The item that a party holds at the end of an exchange.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/result.hpp>
#include <tryst/select_result.hpp>

#include <optional>
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

/// Calls a handler with the error and the item.
template <class Handler, class Result>
void tell(Handler&& handler, Result&& result) {
    const error_code error(result.error());
    std::forward<Handler>(handler)(error, detail::item_in_the_end(std::forward<Result>(result)));
}

/// @{
/// Calls a handler with the result of a selection, which has an error for each case.
template <class Handler, class... Results>
void tell(Handler&& handler, select_result<Results...>&& result) {
    std::forward<Handler>(handler)(std::move(result));
}
template <class Handler, class Cases>
void tell(Handler&& handler, select_from_result<Cases>&& result) {
    std::forward<Handler>(handler)(std::move(result));
}
/// @}

} // namespace detail
TRYST_ASIO_END
