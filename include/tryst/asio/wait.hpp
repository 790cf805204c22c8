// SPDX-License-Identifier: MIT
/// @file
/// Awaits an operation of tryst in an Asio coroutine.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/suspended_exchange.hpp>
#include <tryst/exchange_operation.hpp>

#include <stop_token>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class Operation>
concept awaitable_operation =
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

/// Always false. The compiler quotes the template arguments in its error.
template <class Argument>
constexpr bool not_an_operation = false;

} // namespace detail

/// Awaits an operation of tryst in an Asio coroutine: `auto got = co_await wait(ex.exchange(x));`.
/// Await the result in the same expression.
///
/// @tparam Executor  the executor type of the `net::awaitable`.
/// @returns     the operation's result. An exchange that fails thus hands the item back.
/// @throws      whatever the operation throws. If there is no memory to begin the wait,
///              `std::terminate` is called, because Asio's awaitables initiate operations in a
///              place where exceptions are not allowed.
/// @resumes     on the coroutine's executor, through its queue. If there is a match at once, the
///              coroutine does not suspend, except after 64 such matches on its thread. A coroutine
///              that completes a partner of its own context must not block its thread until that
///              partner has run.
/// @cancellation by the coroutine's cancellation state, as for every operation of Asio, and by the
///              operation's own stop token and deadline. In each case the result has the item.
/// @allocation  one frame, from Asio's recycled memory.
template <class Executor = net::any_io_executor, detail::awaitable_operation Operation>
    requires(!std::is_lvalue_reference_v<Operation>)
[[nodiscard]] auto wait(Operation&& operation) {
    return detail::await_exchange<Executor, detail::as_result>(operation);
}

/// @cond
// For readable errors. The result has the type of the right call, so that no error about it
// follows.
template <class Executor = net::any_io_executor, class Argument>
    requires(!detail::awaitable_operation<Argument> || std::is_lvalue_reference_v<Argument>)
auto wait(Argument&&) {
    using wrong = std::remove_reference_t<Argument>;
    if constexpr (detail::awaitable_operation<wrong>) {
        static_assert(detail::not_an_operation<Argument>,
                      "tryst: wait takes an rvalue: co_await wait(ex.exchange(x)), or "
                      "wait(std::move(operation))");
        return net::awaitable<detail::result_of<wrong>, Executor>();
    } else if constexpr (requires {
                             typename wrong::promise_type;
                             typename wrong::value_type;
                         }) {
        static_assert(detail::not_an_operation<Argument>,
                      "tryst: wait takes no task: co_await async_wait(task, asio::use_awaitable)");
        return net::awaitable<typename wrong::value_type, Executor>();
    } else if constexpr (requires(wrong& start, std::stop_token stop) {
                             start(stop).await_resume();
                         }) {
        static_assert(detail::not_an_operation<Argument>,
                      "tryst: wait takes no function: co_await wait(ex.exchange(x)) follows the "
                      "coroutine's cancellation state without one");
        return net::awaitable<detail::result_of<std::invoke_result_t<wrong&, std::stop_token>>,
                              Executor>();
    } else {
        static_assert(detail::not_an_operation<Argument>,
                      "tryst: wait takes an operation: co_await wait(ex.exchange(x))");
        return net::awaitable<void, Executor>();
    }
}
/// @endcond

TRYST_ASIO_END
