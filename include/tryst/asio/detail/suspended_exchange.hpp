// SPDX-License-Identifier: MIT
/// @file
/// An exchange that an `asio::awaitable` awaits, in the frame of that awaitable.
/// Asio.
#pragma once

#include <tryst/asio/detail/exchange_executor.hpp>
#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/item_in_the_end.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/exchange_operation.hpp>

#include <exception>
#include <functional>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

// Four forms of what an awaitable of an exchange or a selection returns. Each has the `value`, the
// `signature` of the handler, how to call the handler, and how to return if there was no need to
// suspend.

/// The result of the exchange.
struct as_result {
    template <class Result>
    using value = Result;
    template <class Result>
    using signature = void(Result);
    template <class Handler, class Result>
    static void call(Handler& handler, Result&& result) {
        handler(std::forward<Result>(result));
    }
    template <class Result>
    static Result returned(Result&& result) {
        return std::forward<Result>(result);
    }
};

/// The result in a tuple, as by `as_tuple(use_awaitable)` for a selection.
struct as_tuple_of_result {
    template <class Result>
    using value = std::tuple<Result>;
    template <class Result>
    using signature = void(value<Result>);
    template <class Handler, class Result>
    static void call(Handler& handler, Result&& result) {
        handler(returned(std::forward<Result>(result)));
    }
    template <class Result>
    static value<Result> returned(Result&& result) {
        return value<Result>(std::forward<Result>(result));
    }
};

/// The item; an error is thrown, as by a plain `use_awaitable`.
struct as_item {
    template <class Result>
    using value = decltype(detail::item_in_the_end(std::declval<Result>()));
    template <class Result>
    using signature = void(error_code, value<Result>);
    template <class Handler, class Result>
    static void call(Handler& handler, Result&& result) {
        detail::tell(handler, std::forward<Result>(result));
    }
    template <class Result>
    static value<Result> returned(Result&& result) {
        if (const error_code error(result.error()); error) {
            throw system_error(error);
        }
        return detail::item_in_the_end(std::forward<Result>(result));
    }
};

/// The error and the item, as by `as_tuple(use_awaitable)`.
struct as_pair {
    template <class Result>
    using value = std::tuple<error_code, as_item::value<Result>>;
    template <class Result>
    using signature = void(value<Result>);
    template <class Handler, class Result>
    static void call(Handler& handler, Result&& result) {
        handler(returned(std::forward<Result>(result)));
    }
    template <class Result>
    static value<Result> returned(Result&& result) {
        const error_code error(result.error());
        return {error, detail::item_in_the_end(std::forward<Result>(result))};
    }
};

/// The suspended part of `await_exchange`, in the frame of its coroutine: no allocation. The
/// completion takes the frame off the stack of the awaitable, as Asio's own operations do, instead
/// of resuming it.
template <class Executor, class Form, class Operation>
class suspended_exchange final : exchange_executor<suspended_exchange<Executor, Form, Operation>> {
    using base = exchange_executor<suspended_exchange>;
    friend base;
    using signature = typename Form::template signature<result_of<Operation>>;
    using handler_type =
        typename net::async_result<net::use_awaitable_t<Executor>, signature>::handler_type;

public:
    explicit suspended_exchange(Operation& operation) noexcept
        : core_(tryst::detail::operation_access::of(operation)) {}
    ~suspended_exchange() {} // `complete` or `dispose` has destroyed the handler

    /// Asio calls this function after it has suspended the coroutine. Its own `use_awaitable` is
    /// called in the same way, since Asio 1.14. Without memory it terminates, because some versions
    /// allow no exception here.
    template <class Frame>
    handler_type* operator()(Frame* frame) noexcept {
        const registry::awaitable_scope in_awaitable;
        std::construct_at(&stored_handler, frame->detach_thread());
        base::start(stored_handler.get_cancellation_slot());
        return nullptr;
    }

private:
    static constexpr bool continues = true;

    auto& core() noexcept { return core_; }

    /// Does not count as outstanding work, because Asio's awaitable already does.
    auto queue() const { return work_queue<Executor, false>(stored_handler.get_executor()); }

    handler_type take_handler() noexcept {
        handler_type handler = std::move(stored_handler);
        std::destroy_at(&stored_handler);
        return handler;
    }

    void complete() {
        handler_type handler = take_handler();
        Form::call(handler, core_.take_result());
    }

    /// Abandons the exchange at once, because the handler's destructor only posts the destruction
    /// of the frames.
    void dispose() noexcept {
        core_.abandon();
        take_handler();
    }

    union {
        handler_type stored_handler; ///< Exists from `operator()` until `take_handler`.
    };
    std::remove_reference_t<decltype(tryst::detail::operation_access::of(
        std::declval<Operation&>()))>& core_;
};

template <class Form, class Operation>
using awaited = typename Form::template value<result_of<Operation>>;

template <class Operation>
bool match_in_awaitable(Operation& operation) noexcept {
    const registry::awaitable_scope in_awaitable;
    auto& core = tryst::detail::operation_access::of(operation);
    return tryst::detail::turn_budget::poll([&] { return core.try_match(); });
}

/// Awaits an exchange. If a partner is waiting, the coroutine is not suspended.
template <class Executor, class Form, class Operation>
net::awaitable<awaited<Form, Operation>, Executor> await_exchange(Operation& operation) {
    if (detail::match_in_awaitable(operation)) {
        co_return Form::returned(operation.await_resume());
    }
    suspended_exchange<Executor, Form, Operation> here(operation);
    co_await std::ref(here);
    std::terminate(); // never reached: `complete` removes this frame
}

/// Awaits the exchange that `make()` returns.
template <class Executor, class Form, class IoExecutor, class Make,
          class Operation = std::invoke_result_t<Make&>>
net::awaitable<awaited<Form, Operation>, Executor> await_made(IoExecutor io, Make make) {
    [[maybe_unused]] const io_work<IoExecutor> work(io);
    Operation operation = make();
    if (detail::match_in_awaitable(operation)) {
        co_return Form::returned(operation.await_resume());
    }
    suspended_exchange<Executor, Form, Operation> here(operation);
    co_await std::ref(here);
    std::terminate(); // never reached: `complete` removes this frame
}

/// The completion tokens for which an initiating function returns an awaitable of its own. Such an
/// awaitable needs no other allocation, and is not suspended if a partner is waiting. `form` is for
/// an exchange, `selected` for a selection.
template <class Token>
struct awaitable_token {
    static constexpr bool makes_awaitable = false;
};
template <class Executor>
struct awaitable_token<net::use_awaitable_t<Executor>> {
    static constexpr bool makes_awaitable = true;
    using executor = Executor;
    using form = as_item;
    using selected = as_result;
};
template <class Executor>
struct awaitable_token<as_tuple_t<net::use_awaitable_t<Executor>>>
    : awaitable_token<net::use_awaitable_t<Executor>> {
    using form = as_pair;
    using selected = as_tuple_of_result;
};

} // namespace detail
TRYST_ASIO_END
