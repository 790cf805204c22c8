// SPDX-License-Identifier: MIT
/// @file
/// Awaits an operation of tryst in an Asio coroutine.
/// Asio.
#pragma once

#include <tryst/asio/detail/exchange_executor.hpp>
#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/exchange_operation.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class Operation>
concept awaitable_operation =
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

/// The suspended part of `wait`, in the frame of its coroutine: no allocation. The completion takes
/// the frame off the stack of the awaitable, as Asio's own operations do, instead of resuming it.
template <class Executor, class Operation>
class suspended_wait final : exchange_executor<suspended_wait<Executor, Operation>> {
    using base = exchange_executor<suspended_wait>;
    friend base;
    using result = result_of<Operation>;

public:
    using handler_type =
        typename net::async_result<net::use_awaitable_t<Executor>, void(result)>::handler_type;

    explicit suspended_wait(Operation& operation) noexcept
        : core_(tryst::detail::operation_access::of(operation)) {}
    ~suspended_wait() {} // `complete` or `dispose` has destroyed the handler

    /// What Asio calls when the coroutine is suspended, as for its own `use_awaitable`, since 1.14.
    template <class Frame>
    handler_type* operator()(Frame* frame) {
        std::construct_at(&handler_, frame->detach_thread());
        base::start(handler_.get_cancellation_slot());
        return nullptr;
    }

private:
    auto& core() noexcept { return core_; }

    /// The awaitable's own work keeps the context from running out of work.
    auto queue() const { return work_queue<Executor, false>(handler_.get_executor()); }

    handler_type take_handler() noexcept {
        handler_type handler = std::move(handler_);
        std::destroy_at(&handler_);
        return handler;
    }

    void complete() {
        handler_type handler = take_handler();
        handler(core_.take_result());
    }

    /// Asio destroys the frames later, so the exchange must be abandoned here.
    void dispose() noexcept {
        core_.abandon();
        take_handler();
    }

    union {
        handler_type handler_; ///< Not before `begin`.
    };
    std::remove_reference_t<decltype(tryst::detail::operation_access::of(
        std::declval<Operation&>()))>& core_;
};

template <class Executor, class Operation>
net::awaitable<result_of<Operation>, Executor> wait(Operation& operation) {
    if (operation.await_ready()) {
        co_return operation.await_resume();
    }
    suspended_wait<Executor, Operation> here(operation);
    co_await std::ref(here);
    std::terminate(); // never reached: `complete` removes this frame
}

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
///              coroutine does not suspend.
/// @cancellation by the coroutine's cancellation state, as for every operation of Asio, and by the
///              operation's own stop token and deadline. In each case the result has the item.
/// @allocation  one frame, from Asio's recycled memory.
template <class Executor = net::any_io_executor, detail::awaitable_operation Operation>
    requires(!std::is_lvalue_reference_v<Operation>)
[[nodiscard]] auto wait(Operation&& operation) {
    return detail::wait<Executor>(operation);
}

TRYST_ASIO_END
