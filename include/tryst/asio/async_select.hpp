// SPDX-License-Identifier: MIT
/// @file
/// Selections as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/initiate.hpp>
#include <tryst/asio/detail/initiate_exchange.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/suspended_exchange.hpp>
#include <tryst/asio/io_executor.hpp>
#include <tryst/select.hpp>

#include <concepts>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class>
inline constexpr bool is_selection = false;
template <class Cases, class Limits>
inline constexpr bool is_selection<select_operation<Cases, Limits>> = true;

/// A function that returns a selection.
template <class Make>
concept makes_selection =
    std::invocable<std::decay_t<Make>&> && is_selection<std::invoke_result_t<std::decay_t<Make>&>>;

/// Always false. The compiler quotes the template arguments in its error.
template <class Argument>
constexpr bool makes_no_selection = false;

/// Initiates the selection that `make()` returns.
template <class IoExecutor, class Make, class Token>
auto select_on(const IoExecutor& io, Make&& make, Token&& token) {
    using form = awaitable_token<std::decay_t<Token>>;
    using function = std::decay_t<Make>;
    if constexpr (!makes_selection<Make>) {
        static_assert(makes_no_selection<Make>,
                      "tryst: async_select takes a function that returns a selection: "
                      "async_select([&] { return select(a.receive(), b.receive()); }, token)");
        return net::awaitable<void>(); // so that no error about the result follows
    } else if constexpr (form::makes_awaitable) {
        return detail::await_made<typename form::executor, typename form::selected>(
            io, function(std::forward<Make>(make)));
    } else {
        return detail::initiate<void(result_of<std::invoke_result_t<function&>>), Token>(
            initiate_exchange<IoExecutor>{{io}}, token, function(std::forward<Make>(make)));
    }
}

} // namespace detail

/// Begins a selection: `async_select([&] { return select(a.receive(), b.receive()); }, token)`.
/// Completes when one of its cases takes place.
///
/// @param make   a function that returns a selection, which `select`, `select_biased`,
///   `select_for`, `select_until` or `select_from` makes. It is called once, within this call; with
///   a lazy token, such as `deferred` or `use_awaitable`, when the operation is initiated. Items
///   that are to be offered may be captured by value. With g++ 12, name such a function and move it
///   into a call whose result is awaited.
/// @param token  any completion token for `void(R)`, where `R` is the result of the selection: a
///   `select_result` or a `select_from_result`. There is no error code, because a token such as
///   `use_awaitable` or `use_future` would turn it into an exception, and drop the items of the
///   result. `as_tuple` makes a tuple of one element. No `yield_context` before Asio 1.24, which
///   needs a result that is default constructible.
///
/// @returns     the token's return value.
/// @throws      whatever `make` and the construction of the handler throw, and std::bad_alloc. Then
///              nothing was offered, and the items that `make` owns are destroyed. With
///              `use_awaitable`, `make` throws in the awaiting coroutine. With a token that wraps
///              `use_awaitable`, except `as_tuple`, it must not throw (see `wait`).
/// @progress    as `select_operation`. An operation that has to wait takes a lock of its context's
///              registry for a few instructions. Queueing the handler takes the locks of its
///              executor.
/// @resumes     as `async_exchange`: the handler on its associated executor, through its queue.
/// @cancellation as `async_exchange`: by the handler's cancellation slot, with any type of
///              cancellation. All cases then have the error `cancelled`, and each has its own item.
///              A case that takes place wins over a later cancellation. The stop token and the
///              deadline of the selection end it as well.
/// @sync        as `async_exchange`, for the case that took place.
/// @allocation  as `async_exchange`; `select_from` needs two blocks more. Setting the timer of a
///              deadline may allocate, as for `async_exchange_for`.
template <class Make, class Token>
auto async_select(Make&& make, Token&& token) {
    return detail::select_on(detail::no_io_executor(), std::forward<Make>(make),
                             std::forward<Token>(token));
}

/// As above, with an I/O executor, on which a handler without an executor of its own runs. Its
/// context has outstanding work until the selection is complete.
template <io_executor Io, class Make, class Token>
auto async_select(const Io& io, Make&& make, Token&& token) {
    return detail::select_on(io, std::forward<Make>(make), std::forward<Token>(token));
}

/// @cond
// For a readable error.
template <class Io, class Make, class Token>
    requires(!io_executor<Io>)
auto async_select(const Io&, Make&& make, Token&& token) {
    static_assert(detail::makes_no_selection<Io>,
                  "tryst: the first of three arguments of async_select is an I/O executor: "
                  "async_select(io.get_executor(), function, token)");
    return tryst::asio::async_select(std::forward<Make>(make), std::forward<Token>(token));
}
/// @endcond

TRYST_ASIO_END
