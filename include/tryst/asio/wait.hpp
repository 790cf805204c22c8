// SPDX-License-Identifier: MIT
/// @file
/// Awaits an operation of tryst in an Asio coroutine.
/// Asio.
#pragma once

#include <tryst/asio/detail/driver.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/slot_stop.hpp>

#include <concepts>
#include <coroutine>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class Operation>
concept awaitable_operation = requires(Operation& operation) {
    { operation.await_ready() } -> std::convertible_to<bool>;
    operation.await_resume();
    { operation.finish() } noexcept;
    { operation.abandon() } noexcept;
};

/// The outcome of waiting for an operation, which stores its result itself.
class end_outcome {
public:
    static constexpr bool stoppable = false;
    static constexpr bool runs_tasks = false;

    void return_void() noexcept {}
    /// Out of the initiation: an exception can only come before the wait.
    [[noreturn]] void unhandled_exception() const { throw; }

    template <class Handler>
    void tell(Handler&& handler) && {
        std::forward<Handler>(handler)();
    }
};

/// Awaits the end of an operation that was not ready. Asio may destroy the driver before the
/// operation's frame. So the destructor makes the operation forget the driver.
template <class Operation>
class end_of {
public:
    explicit end_of(Operation& operation) noexcept : operation_(&operation) {}
    end_of(const end_of&) = delete;
    end_of& operator=(const end_of&) = delete;
    ~end_of() {
        if (operation_ != nullptr) {
            operation_->abandon();
        }
    }

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> handle) noexcept {
        return operation_->await_suspend(handle);
    }
    void await_resume() noexcept { std::exchange(operation_, nullptr)->finish(); }

private:
    Operation* operation_;
};

template <class Handler, class Operation>
auto drive_to_end(initiation<Handler, no_io_executor>& /*from*/, Operation& operation) ->
    typename driver<Handler, no_io_executor, end_outcome>::coroutine {
    co_await end_of<Operation>(operation);
}

struct initiate_wait {
    template <class Handler, class Operation>
    void operator()(Handler&& handler, Operation* operation) const {
        std::decay_t<Handler> own(std::forward<Handler>(handler));
        initiation<std::decay_t<Handler>, no_io_executor> from{own, {}};
        drive_to_end(from, *operation).promise.start();
    }
};

template <class Executor, class Operation>
auto wait_for_end(Operation& operation) {
    constexpr net::use_awaitable_t<Executor> token;
    return net::async_initiate<const net::use_awaitable_t<Executor>, void()>(initiate_wait(), token,
                                                                             &operation);
}

template <class Executor, class Operation>
net::awaitable<result_of<Operation>, Executor> wait(Operation& operation) {
    if (!operation.await_ready()) {
        co_await wait_for_end<Executor>(operation);
    }
    co_return operation.await_resume();
}

template <class Executor, class Start>
net::awaitable<result_of<started_by<Start>>, Executor> wait_stoppably(Start start) {
    const auto cancellation = co_await net::this_coro::cancellation_state;
    slot_stop stop(cancellation.slot());
    auto operation = start(stop.get_token());
    stop.listen();
    try {
        if (!operation.await_ready()) {
            co_await wait_for_end<Executor>(operation);
        }
    } catch (...) {
        stop.clear();
        throw;
    }
    stop.clear();
    co_return operation.await_resume();
}

} // namespace detail

/// Awaits an operation of tryst in an Asio coroutine: `auto got = co_await wait(ex.exchange(x));`.
/// Await the result in the same expression.
///
/// @tparam Executor  the executor type of the `net::awaitable`.
/// @returns     the operation's result. An exchange that fails thus hands the item back.
/// @throws      whatever the operation throws. If there is no memory to begin the wait,
///              `std::terminate` is called, because Asio's awaitables initiate where nothing may be
///              thrown.
/// @resumes     on the coroutine's executor, through its queue. If there is a match at once, the
///              coroutine does not suspend.
/// @cancellation by the operation's own stop token and deadline, not by Asio; see the other
///               overload.
/// @allocation  frames, from Asio's recycled memory.
template <class Executor = net::any_io_executor, detail::awaitable_operation Operation>
    requires(!std::is_lvalue_reference_v<Operation>)
[[nodiscard]] auto wait(Operation&& operation) {
    return detail::wait<Executor>(operation);
}

/// Awaits the operation that `start(stop)` returns:
/// `wait([&](auto stop) { return ex.exchange(x, stop); })`.
///
/// @cancellation by the coroutine's cancellation state, too, which `stop` follows. That stop token
///              has a type of its own.
template <class Executor = net::any_io_executor, class Start>
    requires detail::awaitable_operation<detail::started_by<Start>>
[[nodiscard]] auto wait(Start start) {
    return detail::wait_stoppably<Executor>(std::move(start));
}

TRYST_ASIO_END
