// SPDX-License-Identifier: MIT
/// @file
/// The awaitable that the members of exchangers and channels return: one exchange.
/// Standard library only. Allocates nothing itself.
#pragma once

#include <tryst/detail/meet/awaitable_operation.hpp>
#include <tryst/detail/meet/operation.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/wait_limit.hpp>

#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

namespace detail {

template <class Side>
struct factory;

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
class [[nodiscard]] exchange_operation
    : public detail::awaitable_operation<detail::operation<Side, Limits>> {
    using base = detail::awaitable_operation<detail::operation<Side, Limits>>;
    friend struct detail::factory<Side>;

    template <class... Arguments>
    explicit exchange_operation(Arguments&&... arguments) noexcept
        : base(std::forward<Arguments>(arguments)...) {}
};

namespace detail {

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
