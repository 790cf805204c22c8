// SPDX-License-Identifier: MIT
/// @file
/// Exchanges as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiate_exchange.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/io_executor.hpp>
#include <tryst/exchanger.hpp>

#include <chrono>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

inline constexpr auto exchange = [](auto& at, auto&&... rest) noexcept {
    return at.exchange(std::move(rest)...);
};
inline constexpr auto exchange_for = [](auto& at, auto&&... rest) noexcept {
    return at.exchange_for(std::move(rest)...);
};
inline constexpr auto exchange_until = [](auto& at, auto&&... rest) noexcept {
    return at.exchange_until(std::move(rest)...);
};

} // namespace detail

/// Offers `item`; completes when a partner swaps, or when the exchanger is closed.
///
/// @tparam Token  any completion token for `void(error_code, T)`: a callback, `use_awaitable`, `use_future`,
///   `deferred`, `as_tuple(...)`.
/// @returns     what the token makes of it. Without error `T` is the partner's item; with an error, one of
///              `exchange_errc`, it is the own item back. (A token that turns errors into exceptions, as a
///              plain `use_awaitable` does, drops the item then: `as_tuple` keeps it.)
/// @throws      what making the handler throws, and std::bad_alloc; then nothing was offered, and `item` is
///              destroyed.
/// @progress    lock-free until suspension.
/// @resumes     the handler on its associated executor, by way of its queue, never within this call. A handler
///              without one runs on the system executor, as in `asio::post`.
/// @cancellation by the handler's cancellation slot; terminal, partial and total mean the same, because a
///              failure means that nothing was exchanged; a match wins over a later cancellation. If the
///              executor's context is destroyed first, the offer is withdrawn and the handler destroyed.
/// @sync        everything before the partner's exchange happens-before the handler, and vice versa.
/// @allocation  one frame, by the handler's associated allocator, freed before the handler is called; and what
///              a polymorphic executor (`any_io_executor`) takes to queue it. Where that fails, it is a
///              `std::terminate`: the offer is made already.
template <class T, class Token>
auto async_exchange(exchanger<T>& ex, std::type_identity_t<T> item, Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::exchange, ex, std::move(item));
}

/// As above, for at most `patience`: then `timed_out`, never early. Deadlines are kept by a thread of the
/// library, not by the executor's context.
template <class T, class Rep, class Period, class Token>
auto async_exchange_for(exchanger<T>& ex, std::type_identity_t<T> item,
                        std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::exchange_for, ex, std::move(item), patience);
}

/// As above, until `deadline` (steady_clock).
template <class T, class Duration, class Token>
auto async_exchange_until(exchanger<T>& ex, std::type_identity_t<T> item,
                          std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                          Token&& token) {
    return detail::async_call(detail::no_io_executor(), std::forward<Token>(token),
                              detail::exchange_until, ex, std::move(item), deadline);
}

/// The same with an I/O executor, as if `ex` were an I/O object of it: a handler without an executor of its
/// own runs there, and its context has outstanding work until the exchange has completed. If the handler's is
/// another, both contexts must outlive the operation.
template <io_executor Io, class T, class Token>
auto async_exchange(const Io& io, exchanger<T>& ex, std::type_identity_t<T> item, Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::exchange, ex,
                              std::move(item));
}
/// As above, for at most `patience`.
template <io_executor Io, class T, class Rep, class Period, class Token>
auto async_exchange_for(const Io& io, exchanger<T>& ex, std::type_identity_t<T> item,
                        std::chrono::duration<Rep, Period> patience, Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::exchange_for, ex,
                              std::move(item), patience);
}
/// As above, until `deadline` (steady_clock).
template <io_executor Io, class T, class Duration, class Token>
auto async_exchange_until(const Io& io, exchanger<T>& ex, std::type_identity_t<T> item,
                          std::chrono::time_point<std::chrono::steady_clock, Duration> deadline,
                          Token&& token) {
    return detail::async_call(io, std::forward<Token>(token), detail::exchange_until, ex,
                              std::move(item), deadline);
}

TRYST_ASIO_END
