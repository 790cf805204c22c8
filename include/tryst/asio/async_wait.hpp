// SPDX-License-Identifier: MIT
/// @file
/// Exchanges, selections and tasks as Asio operations.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/operation_state.hpp>
#include <tryst/asio/detail/suspended_exchange.hpp>
#include <tryst/asio/detail/task_driver.hpp>
#include <tryst/detail/meet/taken_operation.hpp>
#include <tryst/task.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// Always false. The compiler quotes the template arguments in its error.
template <class Token, class Signature>
constexpr bool not_a_token_for = false;

/// Calls `net::async_initiate`. Checks its constraint first, because Asio's own error is long.
template <class Signature, class Token, class Initiation, class Argument>
decltype(auto) initiate(Initiation initiation, Token& token, Argument&& argument) {
    if constexpr (requires {
                      net::async_initiate<Token, Signature>(initiation, token,
                                                            std::forward<Argument>(argument));
                  }) {
        return net::async_initiate<Token, Signature>(initiation, token,
                                                     std::forward<Argument>(argument));
    } else {
        static_assert(not_a_token_for<Token, Signature>,
                      "tryst: the last argument must be a completion token for this signature, or "
                      "a handler that can be called with its parameters");
    }
}

/// The outcome of a task. `tell` passes it to a handler for `void(std::exception_ptr, T)`.
template <class T>
class task_outcome {
public:
    using signature = void(std::exception_ptr, T);

    template <class Value>
    void return_value(Value&& value) {
        value_.emplace(std::forward<Value>(value));
    }
    void unhandled_exception() noexcept { exception_ = std::current_exception(); }

    template <class Handler>
    void tell(Handler&& handler) && {
        std::forward<Handler>(handler)(exception_, value_ ? *std::move(value_) : T());
    }

private:
    std::optional<T> value_;
    std::exception_ptr exception_;
};

template <>
class task_outcome<void> {
public:
    using signature = void(std::exception_ptr);

    void return_void() noexcept {}
    void unhandled_exception() noexcept { exception_ = std::current_exception(); }

    template <class Handler>
    void tell(Handler&& handler) && {
        std::forward<Handler>(handler)(exception_);
    }

private:
    std::exception_ptr exception_;
};

template <class Work>
concept stoppable_work = std::invocable<Work&, std::stop_token> && requires {
    typename std::invoke_result_t<Work&, std::stop_token>::promise_type;
};

template <class T>
task<T> task_of(task<T>& work, const std::stop_token& /*stop*/) {
    return std::move(work);
}
template <stoppable_work Work>
auto task_of(Work& work, std::stop_token stop) {
    return work(std::move(stop));
}

/// What `async_wait` runs: a task, which may be a base class, or a function that returns one.
template <class Work>
concept runnable_work = requires(Work& work) { detail::task_of(work, std::stop_token()); };

template <runnable_work Work>
using outcome_of = task_outcome<typename decltype(detail::task_of(std::declval<Work&>(),
                                                                  std::stop_token()))::value_type>;

template <class Handler, class Work>
auto drive_task(task_initiation<Handler>& /*from*/, Work work, std::stop_token stop,
                tryst::detail::location where) ->
    typename task_driver<Handler, outcome_of<Work>>::coroutine {
    // A parameter would outlive the promise, which is the task's executor.
    auto own = detail::task_of(work, std::move(stop));
    co_await own.when_ready(where);
    co_return own.take();
}

/// Starts the driver. The stop token of `Work` follows the handler's cancellation slot.
struct initiate_task {
    tryst::detail::location where; ///< The call of `async_wait`, or of what calls it.

    template <class Handler, class Work>
    void operator()(Handler&& handler, Work work) const {
        std::decay_t<Handler> own(std::forward<Handler>(handler));
        task_initiation<std::decay_t<Handler>> from{own};
        if constexpr (stoppable_work<Work>) {
            if (net::get_associated_cancellation_slot(own).is_connected()) {
                from.stop = std::stop_source();
            }
        }
        detail::drive_task(from, std::move(work), from.stop.get_token(), where)
            .promise.start_later();
    }
};

} // namespace detail

/// Begins an operation of tryst: `async_wait(ex.exchange(x, 5ms, stop), token)`. Completes when
/// the operation does.
///
/// @param operation  what `exchange`, `red`, `blue`, `send`, `receive`, `select`, `select_biased`
///   or `select_from` returns, with its limits. It is taken over: its items and its limits move
///   into the asynchronous operation. With a lazy token, such as `deferred` or `use_awaitable`, it
///   begins when that token initiates it.
/// @param where  the call, for debuggers.
/// @param token  any completion token for `void(R)`, where `R` is what the operation returns in a
///   coroutine, such as an `exchange_result` or a `select_result`. There is no error code, because
///   tokens such as `use_awaitable` and `use_future` would throw it, and drop the item that a
///   failed operation hands back. `as_tuple` makes a tuple of one element. No `yield_context`
///   before Asio 1.24, which needs a result that is default constructible.
///
/// @returns     the token's return value.
/// @throws      whatever the construction of the handler throws, and std::bad_alloc. Then nothing
///              was offered, and the items are destroyed. With `use_awaitable`, see `wait`.
/// @progress    that of the operation, such as `exchange_operation`. An operation that has to wait
///              takes a lock of its context's registry for a few instructions. Queueing the handler
///              takes the locks of its executor.
/// @resumes     the handler on its associated executor, through that executor's queue, and not
///              within this call. To set the executor, use `bind_executor`. Its context has
///              outstanding work until the operation has completed. A handler without an executor
///              runs on the system executor, as in `asio::post`. If a partner is waiting, there are
///              two exceptions: an awaitable (`use_awaitable`) is not suspended, and a handler in
///              `bind_immediate_executor` is dispatched on that executor, which may call it within
///              this call.
/// @cancellation by the handler's cancellation slot, and by the operation's own stop token and time
///              limit. Terminal, partial and total cancellation mean the same, because a failed
///              operation has no effect. In each case the result has the items. A match wins over
///              a later cancellation. If the executor's context is destroyed first, the offer is
///              withdrawn and the handler is destroyed.
/// @sync        everything before the partner's exchange happens-before the call of the handler,
///              and vice versa.
/// @allocation  one block, from the handler's associated allocator, freed before the handler is
///              called; with `use_awaitable` and `as_tuple(use_awaitable)` only the frame of the
///              awaitable. Two-colour exchangers, channels and `select_from` allocate as described
///              there. A strand, or a polymorphic executor that holds no executor of an
///              `io_context`, may allocate in order to queue the handler. If that fails,
///              `std::terminate` is called, because the offer has been made already.
///              A timer of the executor's context serves a time limit. While there is no memory or
///              file descriptor for that timer, the library's timer thread does. If that thread
///              cannot be started either, the operation completes with `out_of_memory`; after the
///              offer, `std::terminate` is called.
template <detail::awaitable_operation Operation, class Token>
    requires(!std::is_lvalue_reference_v<Operation>)
decltype(auto) async_wait(Operation&& operation, Token&& token,
                          tryst::detail::location where = tryst::detail::location::current()) {
    using core = detail::core_of<Operation>;
    tryst::detail::taken_operation<core> taken(tryst::detail::operation_access::of(operation),
                                               where);
    constexpr std::type_identity<std::decay_t<Token>> type;
    if constexpr (requires { detail::await_for(type, std::move(taken)); }) {
        return detail::await_for(type, std::move(taken));
    } else {
        return detail::initiate<void(typename core::result), Token>(detail::initiate_operation(),
                                                                    token, std::move(taken));
    }
}

/// Runs a task on the executor associated with the handler, one node at a time. The task is resumed
/// there after each operation that it awaits. Then the handler is called with the task's result or
/// exception.
///
/// @tparam Token  any completion token for `void(std::exception_ptr, T)`, or
///   `void(std::exception_ptr)` for a `task<>`. After an exception, T is default-constructed.
/// @returns     the token's return value.
/// @throws      std::bad_alloc, and whatever the construction of the handler throws. Then `work` is
///              destroyed unstarted.
/// @resumes     the handler on its associated executor. If that executor's context is destroyed
///              first, the frames of the task and the handler are destroyed. The task must not be
///              on another executor at that time.
/// @cancellation none; see the overload with a stop token.
/// @sync        everything that the task did happens-before the call of the handler.
/// @allocation  one frame, from the handler's associated allocator, freed before the handler is
///              called.
template <class T, class Token>
decltype(auto) async_wait(task<T> work, Token&& token,
                          tryst::detail::location where = tryst::detail::location::current()) {
    static_assert(
        std::is_void_v<T> || std::is_default_constructible_v<T>,
        "tryst::asio::async_wait: T must be default constructible, as for asio::co_spawn");
    return detail::initiate<typename detail::outcome_of<task<T>>::signature, Token>(
        detail::initiate_task{where}, token, std::move(work));
}

/// Runs the task that `work(stop)` returns, as the overload for a task does.
///
/// @cancellation by the handler's cancellation slot. A signal of any type requests a stop on the
///              `std::stop_token` that `work` received, on the handler's executor.
/// @allocation  as for a task, and a stop state if the cancellation slot is connected.
template <detail::stoppable_work Work, class Token>
decltype(auto) async_wait(Work work, Token&& token,
                          tryst::detail::location where = tryst::detail::location::current()) {
    return detail::initiate<typename detail::outcome_of<Work>::signature, Token>(
        detail::initiate_task{where}, token, std::move(work));
}

/// @cond
// For readable errors. The result is that of a right call, so that no error about it follows.
template <class Work, class Token>
    requires(detail::awaitable_operation<Work> ? std::is_lvalue_reference_v<Work>
                                               : !detail::runnable_work<std::decay_t<Work>>)
auto async_wait(Work&& work, Token&& token) {
    if constexpr (detail::awaitable_operation<Work>) {
        static_assert(detail::not_an_operation<Work>,
                      "tryst: async_wait takes an rvalue: async_wait(ex.exchange(x), token), or "
                      "async_wait(std::move(operation), token)");
        return tryst::asio::async_wait(static_cast<std::remove_reference_t<Work>&&>(work),
                                       std::forward<Token>(token));
    } else {
        static_assert(detail::not_an_operation<Work>,
                      "tryst: async_wait takes an operation, a task, or a function of a "
                      "std::stop_token that returns a task: async_wait(ex.exchange(x), token)");
        return tryst::asio::async_wait(task<>(), std::forward<Token>(token));
    }
}
/// @endcond

TRYST_ASIO_END
