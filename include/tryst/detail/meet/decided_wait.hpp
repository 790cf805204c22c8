// SPDX-License-Identifier: MIT
/// @file
/// The part of waiting that selections and sets share: the wait for a word that decides between
/// cases.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/pending.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>
#include <tryst/executor.hpp>

#include <cassert>

namespace tryst::detail {

/// @tparam Derived  a `selection` or a `case_set_round`. It has what `pending` needs, and
///   - `word()`, a `commitment` or a `standing_word`;
///   - `register_cases()`, which returns whether a case is decided;
///   - `set_executor(on)`; `has_events`, `has_timed_events` and `start_events()` for the cases that
///     are events;
///   - `posted()`, the waiter that the completer of a parked owner posts, if the decision may be
///     for a case.
template <class Derived, class Limits>
class decided_wait : public pending<Derived, Limits> {
    using base = pending<Derived, Limits>;
    friend base;

public:
    /// As `operation::prepare_start`.
    bool prepare_start() noexcept { return self().try_match(); }

    /// As `operation::cancel`.
    void cancel(bool by_deadline) noexcept {
        if (self().word().request_stop(by_deadline)) {
            TRYST_TRACE(stop, nullptr, &self().wait_node());
            detail::post(self().wait_node());
        }
    }

    // ---- The steps of a blocking wait (blocking_wait.hpp).

    template <class /*Party*/>
    arrival begin(executor_ref on, bool spent) noexcept {
        if ((spent && base::ends_overdue({})) || self().try_match() || base::ends_at_once({}) ||
            (Derived::has_timed_events && base::ends_untimed(on))) {
            return arrival::completed;
        }
        self().set_executor(on);
        if (self().register_cases()) {
            return arrival::completed;
        }
        self().word().open_or_park(false);
        return arrival::waiting;
    }

    template <class /*Party*/>
    arrival look_again() noexcept {
        return is_complete() ? arrival::completed : arrival::waiting;
    }

    bool is_complete() noexcept { return self().word().is_settled(); }

    bool park() noexcept {
        self().start_events();
        base::start_stop();
        return park_now();
    }

protected:
    using base::base;
    ~decided_wait() = default;

    /// As `start`, if there is a budget.
    template <completion Done>
    [[gnu::always_inline]] inline bool offer(bool cancellable) noexcept {
        const executor_ref on = self().wait_executor();
        if (base::ends_at_once(on) || base::ends_untimed(on)) {
            return false;
        }
        const bool can_be_limited = base::can_be_limited() || Derived::has_events;
        const bool limits_begin_later = on && can_be_limited;
        const bool no_limits = !can_be_limited && !cancellable;
        if (self().register_cases()) {
            return false;
        }
        if (limits_begin_later) {
            self().wait_node().run = after_turn<Done>;
        }
        self().word().open_or_park(no_limits); // if it is parked, it must not be touched
        if (no_limits) {
            return true;
        }
        if (limits_begin_later) {
            on.post(&self().wait_node());
            return true;
        }
        return start_limits_and_park();
    }

    /// Starts the events and the limits.
    /// @returns as `park_now`.
    bool start_limits_and_park() noexcept {
        self().start_events();
        base::start_limits();
        return park_now();
    }

    void await_settled() noexcept {
        if (!is_complete()) {
            detail::spin_until([this] { return is_complete(); });
        }
    }

    /// For `abandon_wait`: decides for no case. If a completer was faster, waits until it has taken
    /// its last step, and takes back its post.
    void decide_none_or_await() noexcept {
        base::end_limits();
        const executor_ref on = self().wait_executor();
        const bool queued = on && on.retract(&self().wait_node());
        if (self().word().try_decide_none()) {
            return;
        }
        waiter* const posted = self().posted();
        if (posted == nullptr) {
            return;
        }
        if (!self().word().has_been_parked()) {
            await_settled();
        } else if (!queued && !(on && on.retract(posted))) {
            assert(on && "tryst: a coroutine without an executor was destroyed while it was being "
                         "resumed");
            detail::yield_until([&] { return on.retract(posted); });
        }
    }

    template <completion Done>
    static void after_turn(executor_node* node) noexcept {
        if (!Derived::from(node).template end_turn<Done>()) {
            Done(node);
        }
    }

    /// Not inlined, because most partners come within the turn.
    /// @returns whether the wait is pending.
    template <completion Done>
    [[gnu::noinline]] bool end_turn() noexcept {
        if (is_complete()) {
            return false;
        }
        self().wait_node().run = Done;
        return start_limits_and_park();
    }

private:
    Derived& self() noexcept { return base::derived(); }

    /// @returns whether it is suspended; if not, it is complete.
    bool park_now() noexcept {
        if (self().word().park()) {
            return true;
        }
        await_settled();
        return false;
    }
};

} // namespace tryst::detail
