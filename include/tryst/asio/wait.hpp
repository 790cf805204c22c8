// SPDX-License-Identifier: MIT
/// @file
/// Awaits an operation of tryst in an Asio coroutine.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/operation_state.hpp>
#include <tryst/asio/detail/slot_stop.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/exchange_operation.hpp>

#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class Operation>
concept awaitable_operation =
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

/// An exchange that belongs to an awaitable and has found no partner yet. Asio may destroy the
/// awaitable's frame after the operation state. So the destructor of the state must abandon the
/// exchange.
template <class Operation>
class borrowed_exchange {
public:
    static constexpr bool stoppable = false;

    borrowed_exchange(Operation* operation, slot_stop::token /*none*/) noexcept
        : core_(&tryst::detail::operation_access::of(*operation)) {}
    borrowed_exchange(const borrowed_exchange&) = delete;
    borrowed_exchange& operator=(const borrowed_exchange&) = delete;
    ~borrowed_exchange() {
        if (core_ != nullptr) {
            core_->abandon();
        }
    }

    auto& core() noexcept { return *core_; }
    bool try_match() const noexcept { return false; }
    tryst::detail::nothing take() noexcept {
        core_ = nullptr; // complete: there is nothing to take back
        return {};
    }

    template <class Handler>
    static void tell(Handler&& handler, tryst::detail::nothing /*outcome*/) {
        std::forward<Handler>(handler)();
    }

private:
    std::remove_reference_t<decltype(tryst::detail::operation_access::of(
        std::declval<Operation&>()))>* core_;
};

struct initiate_wait {
    template <class Handler, class Operation>
    void operator()(Handler&& handler, Operation* operation) const {
        using handler_type = std::decay_t<Handler>;
        handler_type own(std::forward<Handler>(handler));
        operation_state<handler_type, no_io_executor, borrowed_exchange<Operation>>::initiate(
            own, no_io_executor(), operation);
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
///              `std::terminate` is called, because Asio's awaitables initiate operations in a
///              place where exceptions are not allowed.
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
/// @cancellation also by the coroutine's cancellation state, which `stop` follows. The type of this
///              stop token is not `std::stop_token`.
template <class Executor = net::any_io_executor, class Start>
    requires detail::awaitable_operation<detail::started_by<Start>>
[[nodiscard]] auto wait(Start start) {
    return detail::wait_stoppably<Executor>(std::move(start));
}

TRYST_ASIO_END
