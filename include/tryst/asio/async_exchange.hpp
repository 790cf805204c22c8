// SPDX-License-Identifier: MIT
/// @file
/// Exchanges as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiating_function.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/exchanger.hpp>

#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

struct exchanging {
    template <class T>
    static venue<exchanger<T>, T> at(exchanger<T>&);
    static auto make(auto& at, auto&&... rest) { return at.exchange(std::move(rest)...); }
    static auto make_for(auto& at, auto&&... rest) { return at.exchange(std::move(rest)...); }
    static auto make_until(auto& at, auto&&... rest) {
        return at.exchange(std::move(rest)...);
    }
};

} // namespace detail

/// Offers an item: `async_exchange(ex, item, token)`. Completes when a partner swaps, or when the
/// exchanger is closed.
///
/// The token is any completion token for `void(error_code, T)`: a callback, `use_awaitable`,
/// `use_future`, `deferred`, `as_tuple(...)`. Without an error, T is the partner's item. With an
/// error, one of `exchange_errc`, it is the caller's own item. A token that turns errors into
/// exceptions, such as a plain `use_awaitable`, then drops the item; `as_tuple` keeps it.
///
/// With an I/O executor as the first argument, `async_exchange(io, ex, item, token)`, the exchanger
/// behaves like an I/O object of that executor. A handler without an executor of its own runs
/// there, and its context has outstanding work until the exchange has completed. If the handler has
/// another executor, both contexts must outlive the operation.
///
/// @returns     the token's return value.
/// @throws      whatever the construction of the handler throws, and std::bad_alloc. Then nothing
///              was offered, and the item is destroyed. With `use_awaitable`, see `wait`.
/// @progress    the exchange itself is lock-free. An operation that has to wait takes a lock of its
///              context's registry for a few instructions. Queueing the handler takes the locks of
///              its executor.
/// @resumes     the handler on its associated executor, through that executor's queue, and not
///              within this call. A handler without an executor runs on the system executor, as in
///              `asio::post`. If a partner is waiting, there are two exceptions: an awaitable
///              (`use_awaitable`) is not suspended, and a handler in `bind_immediate_executor` is
///              dispatched on that executor, which may call it within this call.
/// @cancellation by the handler's cancellation slot. Terminal, partial and total cancellation mean
///              the same, because a failed exchange has no effect. A match wins over a later
///              cancellation. If the executor's context is destroyed first, the offer is withdrawn
///              and the handler is destroyed.
/// @sync        everything before the partner's exchange happens-before the call of the handler,
///              and vice versa.
/// @allocation  one block, from the handler's associated allocator, freed before the handler is
///              called; with `use_awaitable` only the frame of the awaitable. A strand, or a
///              polymorphic executor that holds no executor of an `io_context`, may allocate in
///              order to queue the handler. If that fails, `std::terminate` is called, because the
///              offer has been made already.
inline constexpr detail::initiating_function<
    detail::exchanging, detail::limit::none,
    "async_exchange([io_executor,] exchanger<T>&, T item, token)">
    async_exchange{};

/// As `async_exchange`, for at most `patience`: `async_exchange_for(ex, item, patience, token)`.
/// After that time it completes with `timed_out`, never early. The patience is any
/// `std::chrono::duration`. A timer of the executor's context serves the deadline. While there is
/// no memory or file descriptor for that timer, the library's timer thread does. If that thread
/// cannot be started either, the operation completes with `out_of_memory`; after the offer,
/// `std::terminate` is called.
inline constexpr detail::initiating_function<
    detail::exchanging, detail::limit::patience,
    "async_exchange_for([io_executor,] exchanger<T>&, T item, duration, token)">
    async_exchange_for{};

/// As `async_exchange_for`, until a `deadline`, which is any time point of the `steady_clock`:
/// `async_exchange_until(ex, item, deadline, token)`.
inline constexpr detail::initiating_function<
    detail::exchanging, detail::limit::deadline,
    "async_exchange_until([io_executor,] exchanger<T>&, T item, steady_clock time_point, token)">
    async_exchange_until{};

TRYST_ASIO_END
