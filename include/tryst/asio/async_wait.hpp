// SPDX-License-Identifier: MIT
/// @file
/// Runs a task as an Asio operation.
/// Asio.
#pragma once

#include <tryst/asio/detail/initiate.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/task_driver.hpp>
#include <tryst/task.hpp>

#include <concepts>
#include <exception>
#include <optional>
#include <stop_token>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

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

template <class Handler, class T>
auto drive_task(task_initiation<Handler>& /*from*/, task<T> work) ->
    typename task_driver<Handler, task_outcome<T>>::coroutine {
    task<T> own = std::move(work); // a parameter would outlive the promise, which is its executor
    co_await own.when_ready();
    co_return own.take();
}

/// Drives the task that `work` returns when it is called with a stop token. The token follows the
/// handler's cancellation slot.
template <class Handler, class Work>
auto drive_task(task_initiation<Handler>& /*from*/, Work work) -> typename task_driver<
    Handler,
    task_outcome<typename std::invoke_result_t<Work&, std::stop_token>::value_type>>::coroutine {
    const slot_stop::token slot = co_await own_stop_token();
    std::stop_source source(std::nostopstate);
    if (slot.stop_possible()) {
        source = std::stop_source();
    }
    const auto pass_on = [&source]() noexcept { source.request_stop(); };
    const slot_stop::callback link(slot, pass_on);
    auto own = work(source.get_token());
    co_await own.when_ready();
    co_return own.take();
}

struct initiate_task {
    template <class Handler, class Work>
    void operator()(Handler&& handler, Work work) const {
        std::decay_t<Handler> own(std::forward<Handler>(handler));
        task_initiation<std::decay_t<Handler>> from{own};
        detail::drive_task(from, std::move(work)).promise.start_later();
    }
};

template <class Work>
concept stoppable_work = std::invocable<Work&, std::stop_token> && requires {
    typename std::invoke_result_t<Work&, std::stop_token>::promise_type;
};

template <class T>
void accept_task(const task<T>&);

/// What `async_wait` runs: a task, which may be a base class, or a function that returns one.
template <class Work>
concept runnable_work =
    stoppable_work<Work> || requires(const Work& work) { detail::accept_task(work); };

/// Always false. The compiler quotes the template arguments in its error.
template <class Work>
constexpr bool not_a_task = false;

} // namespace detail

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
auto async_wait(task<T> work, Token&& token) {
    static_assert(
        std::is_void_v<T> || std::is_default_constructible_v<T>,
        "tryst::asio::async_wait: T must be default constructible, as for asio::co_spawn");
    return detail::initiate<typename detail::task_outcome<T>::signature, Token>(
        detail::initiate_task(), token, std::move(work));
}

/// Runs the task that `work(stop)` returns, as the overload for a task does.
///
/// @cancellation by the handler's cancellation slot. A signal of any type requests a stop on the
///              `std::stop_token` that `work` received, on the handler's executor.
/// @allocation  as for a task, and a stop state if the cancellation slot is connected.
template <detail::stoppable_work Work, class Token>
auto async_wait(Work work, Token&& token) {
    using task_type = std::invoke_result_t<Work&, std::stop_token>;
    return detail::initiate<
        typename detail::task_outcome<typename task_type::value_type>::signature, Token>(
        detail::initiate_task(), token, std::move(work));
}

/// @cond
// For readable errors. The result is that of a task, so that no error about it follows.
template <class Work, class Token>
    requires(!detail::runnable_work<std::decay_t<Work>>)
auto async_wait(Work&&, Token&& token) {
    static_assert(detail::not_a_task<Work>,
                  "tryst: async_wait takes a task, or a function of a std::stop_token that returns "
                  "a task; for an exchange, use wait");
    return tryst::asio::async_wait(task<>(), std::forward<Token>(token));
}
/// @endcond

TRYST_ASIO_END
