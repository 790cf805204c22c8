// SPDX-License-Identifier: MIT
/// @file
/// How to queue a function on an Asio executor, of the present kind or of the Networking TS.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>

#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// Makes an executor ready for posting, and to count as outstanding work while it lives if `Counts`.
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

    template <class Function>
    void post(Function function) {
        execute(std::move(function));
    }

    /// As the continuation of what runs now: it stays on this thread, and out of locks, if that can be.
    template <class Function>
    void defer(Function function) {
        execute(std::move(function), net::execution::relationship.continuation);
    }

    /// The registry of its context. @throws std::bad_alloc.
    registry& context() const { return registry::of(executor_); }

private:
    template <class Function, class... Properties>
    void execute(Function function, const Properties&... properties) {
        const auto memory = net::execution::allocator(function.get_allocator());
        // A copy of its own for this memory counts no work: what is queued does.
        if constexpr (net::can_require<prepared_executor, decltype(memory)>::value) {
            net::execution::execute(net::prefer(executor_, properties...,
                                                net::execution::outstanding_work.untracked, memory),
                                    std::move(function));
        } else {
            net::execution::execute(net::prefer(executor_, properties..., memory),
                                    std::move(function));
        }
    }

    using prepared_executor = decltype(prepared<Counts>(std::declval<const Executor&>()));
    prepared_executor executor_;
};

template <class Executor, bool Counts>
    requires(!net::execution::is_executor<Executor>::value)
class work_queue<Executor, Counts> {
public:
    explicit work_queue(const Executor& executor) : executor_(executor) {}

    template <class Function>
    void post(Function function) {
        const auto memory = function.get_allocator();
        queue().post(std::move(function), memory);
    }

    template <class Function>
    void defer(Function function) {
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
