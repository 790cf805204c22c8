// SPDX-License-Identifier: MIT
/// @file
/// An exchange that an `asio::awaitable` awaits, in the frame of that awaitable.
/// Asio.
#pragma once

#include <tryst/asio/detail/exchange_executor.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/detail/meet/taken_operation.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/exchange_operation.hpp>

#include <cassert>
#include <coroutine>
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

/* The frame of a wait (docs/adr/0020)
 * Asio's awaitables are a stack of coroutine frames, and an `awaitable` is a pointer to one. This
 * is a frame that is no coroutine's, and lies in the expression that awaits it. So a wait needs no
 * allocation. Compilers call a frame through two pointers at its begin, for `resume` and `destroy`,
 * and the promise follows them. */
template <class Derived, class Value, class Executor>
class wait_frame {
#if defined(__clang__) && defined(__i386__)
    static_assert(!sizeof(Value),
                  "tryst: clang passes frames in another register on 32-bit x86; use "
                  "g++, or async_wait with a callback");
#endif
    using promise_type =
        typename std::coroutine_traits<net::awaitable<Value, Executor>>::promise_type;

public:
    wait_frame(wait_frame&&) = delete;

protected:
    wait_frame() noexcept {
        assert(std::coroutine_handle<promise_type>::from_promise(promise_).address() == this);
    }
    ~wait_frame() = default;

    promise_type& promise() noexcept { return promise_; }

    /// Whether the awaitable that refers to this frame has ended.
    bool has_ended() const noexcept { return functions_.resume == nullptr; }

private:
    static wait_frame& from(void* frame) noexcept { return *static_cast<wait_frame*>(frame); }

    struct {
        void (*resume)(void*) = [](void* self) { static_cast<Derived&>(from(self)).resume(); };
        void (*destroy)(void*) = [](void* self) { from(self).functions_.resume = nullptr; };
    } functions_;
    promise_type promise_;
};

/// An operation that an awaitable awaits. A completion takes the frame off the stack of the
/// awaitable, as Asio's own operations do, instead of resuming it.
/// @tparam Value  what the awaitable returns: the operation's result, or a tuple of it.
template <class Executor, class Value, class Core>
class suspended_exchange final
    : wait_frame<suspended_exchange<Executor, Value, Core>, Value, Executor>,
      exchange_executor<suspended_exchange<Executor, Value, Core>, true>,
      public net::awaitable<Value, Executor> {
    using frame = wait_frame<suspended_exchange, Value, Executor>;
    using base = exchange_executor<suspended_exchange, true>;
    friend frame;
    friend base;
    using handler_type =
        typename net::async_result<net::use_awaitable_t<Executor>, void(Value)>::handler_type;

public:
    explicit suspended_exchange(Core& core) noexcept
        : net::awaitable<Value, Executor>(frame::promise().get_return_object()), core_(core) {}
    /// `complete` or `on_shutdown` has destroyed the handler.
    ~suspended_exchange() {
        assert((this->valid() || frame::has_ended()) &&
               "tryst: await the result of wait() in the same expression. To store or return it, "
               "write async_wait(operation, use_awaitable)");
    }

private:
    Core& core() noexcept { return core_; }

    /// Swaps with a waiting partner, if there is one, and counts that in the budget of the thread.
    /// Otherwise begins the wait. Without memory it terminates, because some versions of Asio allow
    /// no exception here.
    void resume() noexcept {
        const registry::awaitable_scope in_awaitable;
        if (tryst::detail::turn_budget::poll([&] { return core_.try_match(); })) {
            frame::promise().return_value(Value(core_.take_result()));
            frame::promise().pop_frame();
            return;
        }
        std::construct_at(&stored_handler, frame::promise().detach_thread());
        base::start(stored_handler.get_cancellation_slot());
    }

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
        handler_type stored_handler; ///< Exists from `resume` until `take_handler`.
    };
    Core& core_;
};

/// Awaits an operation that this frame owns.
template <class Value, class Executor, class Core>
net::awaitable<Value, Executor> await_operation(tryst::detail::taken_operation<Core> operation) {
    Core core = operation.make();
    core.set_location(operation.taken_at);
    co_return co_await suspended_exchange<Executor, Value, Core>(core);
}

/// The same for the completion tokens for which `async_wait` returns an awaitable of its own. Such
/// an awaitable needs no other allocation, and is not suspended if a partner is waiting.
template <class Executor, class Core>
auto await_for(std::type_identity<net::use_awaitable_t<Executor>> /*token*/,
               tryst::detail::taken_operation<Core>&& operation) {
    return detail::await_operation<typename Core::result, Executor>(std::move(operation));
}
template <class Executor, class Core>
auto await_for(std::type_identity<as_tuple_t<net::use_awaitable_t<Executor>>> /*token*/,
               tryst::detail::taken_operation<Core>&& operation) {
    return detail::await_operation<std::tuple<typename Core::result>, Executor>(
        std::move(operation));
}

} // namespace detail
TRYST_ASIO_END
