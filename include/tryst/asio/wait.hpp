// SPDX-License-Identifier: MIT
/// @file
/// Awaits an operation of tryst in an Asio coroutine.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/suspended_exchange.hpp>

#include <stop_token>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN

/// Awaits an operation of tryst in an Asio coroutine: `auto got = co_await wait(ex.exchange(x));`.
/// Await the result in the same expression, because it refers to the operation.
/// `async_wait(operation, use_awaitable)` is for an awaitable that is stored or returned: it takes
/// the operation over, and has a frame for it.
///
/// @tparam Executor  the executor type of the `net::awaitable`.
/// @param where the call, for debuggers.
/// @returns     the operation's result. An exchange that fails thus hands the item back.
/// @throws      whatever the operation throws. If there is no memory to begin the wait,
///              `std::terminate` is called, because Asio's awaitables initiate operations in a
///              place where exceptions are not allowed.
/// @resumes     on the coroutine's executor. If an awaitable or a task of the same context has
///              ended the wait, the coroutine usually runs next on that thread. Otherwise it goes
///              through the executor's queue. If there is a match at once, the coroutine does not
///              suspend, except after 64 such matches on its thread. A coroutine that completes a
///              partner of its own context must not block its thread until that partner has run.
/// @cancellation by the coroutine's cancellation state, as for every operation of Asio, and by the
///              operation's own stop token and deadline. In each case the result has the item.
/// @allocation  none. On 64-bit Linux, a wait and its operation take 264 bytes of the awaiting
///              coroutine's frame.
template <class Executor = net::any_io_executor, detail::awaitable_operation Operation>
    requires(!std::is_lvalue_reference_v<Operation>)
[[nodiscard]] auto wait(Operation&& operation,
                        tryst::detail::location where = tryst::detail::location::current()) {
    using core = detail::core_of<Operation>;
    core& inside = tryst::detail::operation_access::of(operation);
    inside.set_location(where);
    return detail::suspended_exchange<Executor, typename core::result, core>(inside);
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
        return net::awaitable<typename detail::core_of<wrong>::result, Executor>();
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
        using operation = std::invoke_result_t<wrong&, std::stop_token>;
        return net::awaitable<decltype(std::declval<operation&>().await_resume()), Executor>();
    } else {
        static_assert(detail::not_an_operation<Argument>,
                      "tryst: wait takes an operation: co_await wait(ex.exchange(x))");
        return net::awaitable<void, Executor>();
    }
}
/// @endcond

TRYST_ASIO_END
