// SPDX-License-Identifier: MIT
/// @file
/// The executors and allocators of handlers, and the queues of these executors.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>

#include <type_traits>
#include <typeinfo>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// The executor on which a handler is to run. If it has none, this is the system executor.
template <class Handler>
using completion_executor = net::associated_executor_t<Handler, net::system_executor>;

template <class Handler>
completion_executor<Handler> executor_for(const Handler& handler) noexcept {
    return net::get_associated_executor(handler, net::system_executor());
}

/// The memory of an operation comes from the handler's associated allocator. If the handler has
/// none, it is Asio's recycled memory.
template <class Handler>
auto allocator_for(const Handler& handler) noexcept {
    return net::get_associated_allocator(handler, net::recycling_allocator<void>());
}

#if TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS
/// Whether the handler names an executor on which it may run within the initiating function, as
/// handlers in `bind_immediate_executor` do (since Asio 1.28).
template <class Handler, class Executor>
concept has_immediate_executor =
    !std::is_same_v<net::associated_immediate_executor_t<Handler, Executor>,
                    net::associated_immediate_executor_t<void (*)(), Executor>>;
#endif

/// An executor for posting. With `Counts`, it counts as outstanding work of its context during its
/// lifetime.
template <bool Counts, class Executor>
auto prepared(const Executor& executor) {
    if constexpr (Counts) {
        return net::require(net::prefer(executor, net::execution::outstanding_work.tracked),
                            net::execution::blocking.never);
    } else {
        return net::require(executor, net::execution::blocking.never);
    }
}

/// Calls `executor.execute(function)`, which is private before Asio 1.24.
template <class Executor, class Function>
void execute_on(const Executor& executor, Function&& function) {
#if !defined(TRYST_BOOST_ASIO) && ASIO_VERSION < 102400
    net::execution::execute(executor, std::forward<Function>(function));
#else
    executor.execute(std::forward<Function>(function));
#endif
}

/// The queue of an Asio executor, with the current interface or that of the Networking TS.
template <class Executor, bool Counts>
class work_queue {
public:
    explicit work_queue(const Executor& executor) : executor_(detail::prepared<Counts>(executor)) {}

    /// Queues a function, with memory from its associated allocator. With `continues`, queues it as
    /// the continuation of the running handler. On a thread of the context, it first goes into the
    /// thread's private queue, and moves to the shared queue when the handler returns. No other
    /// thread is woken for it alone.
    template <class Function>
    void push(Function function, bool continues) {
        // An `any_io_executor` usually holds an `io_context` executor. Used directly, that one
        // needs no virtual call and no allocation.
        using known = decltype(detail::prepared<Counts>(
            std::declval<const net::io_context::executor_type&>()));
        if constexpr (requires { executor_.target_type() == typeid(known); }) {
            if (executor_.target_type() == typeid(known)) {
                push_to(*executor_.template target<known>(), std::move(function), continues);
                return;
            }
        }
        push_to(executor_, std::move(function), continues);
    }

    /// The registry of the executor's context. @throws std::bad_alloc.
    registry& find_registry() const { return registry::of(executor_); }

    bool is_direct() const noexcept { return registry::is_direct(executor_); }

private:
    template <class Prepared, class Function>
    static void push_to(const Prepared& executor, Function&& function, bool continues) {
        if (continues) {
            push_as(net::execution::relationship.continuation, executor,
                    std::forward<Function>(function));
        } else {
            push_as(net::execution::relationship.fork, executor, std::forward<Function>(function));
        }
    }
    template <class Relationship, class Prepared, class Function>
    static void push_as(Relationship relationship, const Prepared& executor, Function&& function) {
        const auto memory = net::execution::allocator(detail::allocator_for(function));
        // The copy with this allocator need not count as work, because a queued function does.
        if constexpr (net::can_require<Prepared, decltype(memory)>::value) {
            detail::execute_on(net::prefer(executor, relationship,
                                           net::execution::outstanding_work.untracked, memory),
                               std::forward<Function>(function));
        } else {
            detail::execute_on(net::prefer(executor, relationship, memory),
                               std::forward<Function>(function));
        }
    }

    using prepared_executor = decltype(detail::prepared<Counts>(std::declval<const Executor&>()));
    prepared_executor executor_;
};

template <class Executor, bool Counts>
    requires(!net::execution::is_executor<Executor>::value)
class work_queue<Executor, Counts> {
public:
    explicit work_queue(const Executor& executor) : executor_(executor) {}

    template <class Function>
    void push(Function function, bool continues) {
        const auto memory = detail::allocator_for(function);
        if (continues) {
            queue().defer(std::move(function), memory);
        } else {
            queue().post(std::move(function), memory);
        }
    }

    registry& find_registry() const { return registry::of(queue()); }

    bool is_direct() const noexcept { return registry::is_direct(queue()); }

private:
    Executor queue() const noexcept {
        if constexpr (Counts) {
            return executor_.get_executor();
        } else {
            return executor_;
        }
    }

    std::conditional_t<Counts, net::executor_work_guard<Executor>, Executor> executor_;
};

} // namespace detail
TRYST_ASIO_END
