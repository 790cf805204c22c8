// SPDX-License-Identifier: MIT
/// @file
/// An exchange that an `asio::awaitable` awaits, in the frame of that awaitable.
/// Asio.
#pragma once

#include <tryst/asio/detail/exchange_executor.hpp>
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

/// What an exchanger's or a channel's member functions return, and `select`.
template <class Operation>
concept awaitable_operation =
    !std::is_const_v<std::remove_reference_t<Operation>> &&
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

template <class Operation>
using core_of = std::remove_reference_t<decltype(tryst::detail::operation_access::of(
    std::declval<Operation&>()))>;

/// Always false. The compiler quotes the template arguments in its error.
template <class Argument>
constexpr bool not_an_operation = false;

/// The suspended part of `await_operation`, in the frame of its coroutine: no allocation. The
/// completion takes the frame off the stack of the awaitable, as Asio's own operations do, instead
/// of resuming it.
/// @tparam Value  what the awaitable returns: the operation's result, or a tuple of it.
template <class Executor, class Value, class Core>
class suspended_exchange final
    : exchange_executor<suspended_exchange<Executor, Value, Core>, true> {
    using base = exchange_executor<suspended_exchange, true>;
    friend base;
    using handler_type =
        typename net::async_result<net::use_awaitable_t<Executor>, void(Value)>::handler_type;

public:
    explicit suspended_exchange(Core& core) noexcept : core_(core) {}
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
    Core& core() noexcept { return core_; }

    /// Does not count as outstanding work, because Asio's awaitable already does.
    auto queue() const { return work_queue<Executor, false>(stored_handler.get_executor()); }

    handler_type take_handler() noexcept {
        handler_type handler = std::move(stored_handler);
        std::destroy_at(&stored_handler);
        return handler;
    }

    void complete() {
        handler_type handler = take_handler();
        handler(Value(core_.take_result()));
    }

    /// Abandons the exchange at once, because the handler's destructor only posts the destruction
    /// of the frames.
    void on_shutdown() noexcept final {
        core_.abandon();
        take_handler();
    }

    union {
        handler_type stored_handler; ///< Exists from `operator()` until `take_handler`.
    };
    Core& core_;
};

/// Swaps with a waiting partner, if there is one, and counts that in the budget of the thread.
template <class Core>
bool match_in_awaitable(Core& core) noexcept {
    const registry::awaitable_scope in_awaitable;
    return tryst::detail::turn_budget::poll([&] { return core.try_match(); });
}

/// Refers to an operation that outlives the wait.
template <class Core>
struct referred_operation {
    using core = Core;
    Core& make() const noexcept { return operation; }
    Core& operation;
};

/// Awaits an operation. If a partner is waiting, the coroutine is not suspended.
/// @param operation  makes the operation in this frame, or refers to one: a `taken_operation` or
///   a `referred_operation`.
template <class Value, class Executor, class Operation>
net::awaitable<Value, Executor> await_operation(Operation operation) {
    decltype(auto) core = operation.make();
    if (detail::match_in_awaitable(core)) {
        co_return Value(core.take_result());
    }
    suspended_exchange<Executor, Value, typename Operation::core> here(core);
    co_await std::ref(here);
    std::terminate(); // never reached: `complete` removes this frame
}

/// The completion tokens for which `async_wait` returns an awaitable of its own. Such an awaitable
/// needs no other allocation, and is not suspended if a partner is waiting.
template <class Token>
struct awaitable_token {
    static constexpr bool makes_awaitable = false;
};
template <class Executor>
struct awaitable_token<net::use_awaitable_t<Executor>> {
    static constexpr bool makes_awaitable = true;
    using executor = Executor;
    template <class Result>
    using value = Result;
};
template <class Executor>
struct awaitable_token<as_tuple_t<net::use_awaitable_t<Executor>>>
    : awaitable_token<net::use_awaitable_t<Executor>> {
    template <class Result>
    using value = std::tuple<Result>;
};

} // namespace detail
TRYST_ASIO_END
