// SPDX-License-Identifier: MIT
/// @file
/// The awaitable that the members of exchangers and channels return: one exchange.
/// Standard library only. Allocates nothing itself.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/detail/meet/operation.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/thread_wait_strategy.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/executor.hpp>
#include <tryst/wait_limit.hpp>

#include <concepts>
#include <coroutine>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

template <class Side>
struct factory;
struct operation_access;
struct selection_factory;

} // namespace detail

/// One exchange, lazily started: it begins when it is awaited, by `co_await` or, on a plain thread,
/// by `sync_wait`. Await it at most once.
///
/// @returns     `exchange_result`: the partner's item, or an error with your own item handed back.
/// @throws      nothing.
/// @progress    lock-free until suspension.
/// @resumes     on the executor that it was awaited on (`executor_of`); without an executor, inline
///   in the party that completes it. If a partner is waiting, the coroutine is not suspended. But
///   on each thread, after 64 such operations, the next coroutine resumes by way of its executor's
///   queue, so that other work runs.
/// @cancellation total: a failed operation has exchanged nothing. A match wins over a later stop or
///   deadline. The coroutine may be destroyed while it waits, on its executor; this withdraws the
///   offer. Without an executor, it may be destroyed only when no other thread can be resuming it.
///   No waiting coroutine may be destroyed while another thread destroys its exchanger.
/// @sync        everything before the partner's exchange happens-before our return, and vice versa.
///   Everything before the stop or the close that ended a wait happens-before our return, too.
/// @allocation  none, except in two-colour exchangers and channels (see `red_blue_exchanger`).
///
/// @tparam Side    the items of both parties, and the place where they wait.
/// @tparam Limits  what can end the wait besides a partner and a close.
template <class Side, class Limits>
class [[nodiscard]] exchange_operation : private detail::operation<Side, Limits>,
                                         public detail::exchange_not_in_asio {
    using core = detail::operation<Side, Limits>;

public:
    /// For `co_await`: swaps with a waiting partner, if there is one.
    bool await_ready() noexcept {
        return detail::turn_budget::poll([this] { return core::prepare_start(); });
    }

    /// For `co_await`: makes the offer. Not inlined (see `operation::start`).
    template <class Promise>
    [[gnu::noinline]] bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        return core::template start<resume<detail::running_task::tracks<Promise>>>(
            tryst::executor_of(coroutine), coroutine.address());
    }

    /// For `co_await`: returns the result. Precondition: the operation is complete.
    typename Side::result await_resume() noexcept { return core::take_result(); }

    /// Blocks the calling thread: spins for a moment, then sleeps. `sync_wait` calls this.
    typename Side::result wait() noexcept {
        detail::thread_wait_strategy strategy;
        return detail::blocking_wait(static_cast<core&>(*this), strategy);
    }

private:
    friend struct detail::factory<Side>;
    friend struct detail::operation_access;

    template <class... Arguments>
    explicit exchange_operation(Arguments&&... arguments) noexcept
        : core(std::forward<Arguments>(arguments)...) {}

    template <bool IsTask>
    static void resume(executor_node* node) noexcept {
        detail::running_task::resume(std::coroutine_handle<>::from_address(core::client_of(node)),
                                     IsTask);
    }
};

namespace detail {

/// Gives other clients access to the operation or selection that is the awaiter's base class.
struct operation_access {
    template <std::derived_from<exchange_not_in_asio> Awaiter>
    static typename Awaiter::core& of(Awaiter& awaiter) noexcept {
        return awaiter;
    }
};

/// Makes the operations of one side.
template <class Side>
struct factory {
    using protocol = typename Side::protocol;
    using own = typename Side::own;

    /// After a mistake, the operation has no limits, so that no other error follows.
    template <class... Limit>
    static auto make_exchange(protocol& with, own&& item, Limit... limit) noexcept {
        if constexpr (detail::check_limits<Limit...>()) {
            return detail::with_limits(
                [&](auto&&... given) {
                    return exchange_operation<Side, limits_of<Limit...>>(
                        with, std::move(item), std::forward<decltype(given)>(given)...);
                },
                limit...);
        } else {
            return exchange_operation<Side, limits<false>>(with, std::move(item));
        }
    }
    static typename Side::result try_exchange(protocol& with, own&& item) noexcept {
        typename Side::waiter w(std::move(item));
        if (!with.try_match_all(w)) {
            with.complete_own(w, outcome::no_partner);
        }
        return Side::result_of(w);
    }
};

} // namespace detail

/// @}
} // namespace tryst
