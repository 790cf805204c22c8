// SPDX-License-Identifier: MIT
/// @file
/// The awaiter of an operation or a selection, and access to what it awaits.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/detail/platform/location.hpp>
#include <tryst/detail/run/thread_wait_strategy.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/executor.hpp>

#include <concepts>
#include <coroutine>
#include <utility>

namespace tryst::detail {

/// @tparam Core  an `operation` or a `selection`, which is lazily started.
template <class Core>
class [[nodiscard]] awaitable_operation : private Core, public exchange_not_in_asio {
    using core = Core;
    friend struct operation_access;

public:
    awaitable_operation(awaitable_operation&&) = delete;

    /// For `co_await`: swaps with a waiting partner, if there is one.
    bool await_ready() noexcept {
        return turn_budget::poll([this] { return core::prepare_start(); });
    }

    /// For `co_await`: makes the offer. Not inlined (see `pending::start`).
    template <class Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> coroutine,
                                         location where = location::current()) noexcept {
        core::set_location(where);
        return core::template start<resume<running_task::tracks<Promise>>>(
            tryst::executor_of(coroutine), coroutine.address());
    }

    /// For `co_await`: returns the result. Precondition: the operation is complete.
    typename core::result await_resume() noexcept { return core::take_result(); }

    /// Blocks the calling thread: spins for a moment, then sleeps. `sync_wait` calls this.
    typename core::result wait(location where = location::current()) noexcept {
        core::set_location(where);
        thread_wait_strategy strategy;
        return detail::blocking_wait(static_cast<core&>(*this), strategy);
    }

protected:
    template <class... Arguments>
    explicit awaitable_operation(Arguments&&... arguments) noexcept
        : core(std::forward<Arguments>(arguments)...) {}
    ~awaitable_operation() = default;

private:
    template <bool IsTask>
    static void resume(executor_node* node) noexcept {
        running_task::resume(std::coroutine_handle<>::from_address(core::client_of(node)), IsTask);
    }
};

/// Gives other clients access to the operation or selection that is the awaiter's base class.
struct operation_access {
    template <std::derived_from<exchange_not_in_asio> Awaiter>
    static typename Awaiter::core& of(Awaiter& awaiter) noexcept {
        return awaiter;
    }
};

} // namespace tryst::detail
