// SPDX-License-Identifier: MIT
/// @file
/// Awaiting one of tryst's operations in a coroutine of Asio.
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

/// The outcome of an operation that is somebody else's: it keeps its result.
class end_outcome {
public:
    static constexpr bool stoppable = false;
    static constexpr bool runs_tasks = false;

    void return_void() noexcept {}
    [[noreturn]] void unhandled_exception() const {
        throw;
    } // before it waits, out of the initiation

    template <class Handler>
    void tell(Handler&& handler) && {
        std::forward<Handler>(handler)();
    }
};

/// Awaits the end of an operation that was not ready. Asio may destroy the operation's frame after the driver,
/// so that the operation must not know the driver any more when this is destroyed.
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

/// Awaits one of tryst's operations in a coroutine of Asio: `auto got = co_await wait(ex.exchange(x));`.
/// The result is to be awaited in the same expression.
///
/// @tparam Executor  that of the `net::awaitable`.
/// @returns     what the operation returns; an exchange that fails thus hands the item back.
/// @throws      what the operation throws. Without memory to begin to wait it is a `std::terminate`: Asio's
///              awaitables initiate where nothing may be thrown.
/// @resumes     on the coroutine's executor, by way of its queue; a match found at once does not suspend.
/// @cancellation none by Asio: the operation's own stop token and deadline. See below.
/// @allocation  frames, from Asio's recycled memory.
template <class Executor = net::any_io_executor, detail::awaitable_operation Operation>
    requires(!std::is_lvalue_reference_v<Operation>)
[[nodiscard]] auto wait(Operation&& operation) {
    return detail::wait<Executor>(operation);
}

/// As above for the operation that `start(stop)` makes, where `stop` is a stop token of a type of its own
/// that follows the coroutine's cancellation: `wait([&](auto stop) { return ex.exchange(x, stop); })`.
template <class Executor = net::any_io_executor, class Start>
    requires detail::awaitable_operation<detail::started_by<Start>>
[[nodiscard]] auto wait(Start start) {
    return detail::wait_stoppably<Executor>(std::move(start));
}

TRYST_ASIO_END
