// SPDX-License-Identifier: MIT
/// @file
/// Queues functions on Asio executors, with the current interface or that of the Networking TS.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>

#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

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

/// The queue of an Asio executor.
template <class Executor, bool Counts>
class work_queue {
public:
    explicit work_queue(const Executor& executor) : executor_(prepared<Counts>(executor)) {}

    /// Queues a function as the continuation of the running handler. If this thread runs the
    /// context, the function goes to its private queue. The thread runs it next, unless others are
    /// ready as well; only then is another thread woken.
    template <class Function>
    void push(Function function) {
        const auto memory = net::execution::allocator(function.get_allocator());
        constexpr auto continuation = net::execution::relationship.continuation;
        // The copy with this allocator need not count as work, because a queued function does.
        if constexpr (net::can_require<prepared_executor, decltype(memory)>::value) {
            net::execution::execute(net::prefer(executor_, continuation,
                                                net::execution::outstanding_work.untracked, memory),
                                    std::move(function));
        } else {
            net::execution::execute(net::prefer(executor_, continuation, memory),
                                    std::move(function));
        }
    }

    /// The registry of the executor's context. @throws std::bad_alloc.
    registry& context() const { return registry::of(executor_); }

private:
    using prepared_executor = decltype(prepared<Counts>(std::declval<const Executor&>()));
    prepared_executor executor_;
};

template <class Executor, bool Counts>
    requires(!net::execution::is_executor<Executor>::value)
class work_queue<Executor, Counts> {
public:
    explicit work_queue(const Executor& executor) : executor_(executor) {}

    template <class Function>
    void push(Function function) {
        const auto memory = function.get_allocator();
        queue().defer(std::move(function), memory);
    }

    registry& context() const { return registry::of(queue()); }

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
