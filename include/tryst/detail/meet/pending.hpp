// SPDX-License-Identifier: MIT
/// @file
/// What the wait for one exchange and that for a selection have in common: how they start, end at
/// once, are cancelled by their client, and are destroyed.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/location.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/executor.hpp>

#include <type_traits>
#include <utility>

namespace tryst::detail {

/// Called on the executor when the wait is over.
using completion = void (*)(executor_node*) noexcept;

/// @tparam Derived  an `operation` or a `selection`. It has
///   - `begin_on<Done>(executor, client)`, `offer<Done>(cancellable)`, `end_turn<Done>()`,
///     `after_turn<Done>`, the function of its node, `try_match()`, `finish()`, `abandon_wait()`;
///   - `try_once(outcome)`, which polls all partners, and ends the wait if there is none;
///     `complete_own(outcome)`, which ends it; and `sees_close()`;
///   - `wait_node()`, the waiter that is posted for it; `locate(location)`, which stores that in
///     its waiters; and what `wait_limits` needs.
template <class Derived, class Limits>
class pending : public wait_limits<Derived, Limits> {
    using base = wait_limits<Derived, Limits>;

public:
    /// Makes the offer.
    /// @tparam Done        the completion function; null with `run_node`.
    /// @param cancellable  whether the client may call `request_cancel`. Needs an executor.
    /// @returns whether it is pending. If so, `Done` is called on the executor; without an
    ///   executor, inline by the completer. `client_of` then returns `client`.
    ///
    /// A coroutine must call this in a function that is not inlined, because its frame must not be
    /// touched once the waiter is published. If this is inlined into the coroutine, its variables
    /// may be kept in the frame (LLVM before 17 does so).
    template <completion Done>
    bool start(executor_ref on, void* client, bool cancellable = false) noexcept {
        base::derived().template begin_on<Done>(on, client);
        if (turn_budget::is_spent()) {
            return start_spent<Done>(cancellable);
        }
        if (base::derived().template offer<Done>(cancellable)) {
            return true;
        }
        turn_budget::spend();
        return false;
    }

    /// Records where the party waits. Call before the start.
    void set_location(location where) noexcept { base::derived().locate(where); }

    /// Takes the offer back if the wait is pending. The completion function is then never called.
    /// Call on its executor.
    void abandon() noexcept {
        stage& at = base::derived().wait_stage();
        if (at == stage::created || at == stage::finished) {
            return;
        }
        if (at == stage::resuming) {
            base::derived().wait_executor().retract(&base::derived().wait_node());
            at = stage::finished;
            return;
        }
        base::derived().abandon_wait();
    }

    /// As `cancel(false)`, for a client that has started the wait as cancellable. Call on the
    /// executor, after the start. Does nothing if the wait is finished.
    void request_cancel() noexcept {
        stage& at = base::derived().wait_stage();
        if (is_limited(at)) {
            base::derived().cancel(false);
        } else if (at == stage::offered) {
            at = stage::offered_cancelled; // `start_limits` cancels at the end of the turn
        }
    }

    /// For an executor that serves only this wait, without a completion function: runs the node
    /// that was posted there.
    /// @returns true if the wait is `finished`. If false, the caller must not use it any more.
    bool run_node() noexcept {
        if (base::derived().wait_node().run == Derived::template after_turn<nullptr> &&
            base::derived().template end_turn<nullptr>()) {
            return false;
        }
        base::derived().finish();
        return true;
    }

protected:
    template <class... Given>
    explicit pending(Given&&... limits) noexcept : base(std::forward<Given>(limits)...) {}
    ~pending() = default;

    /// For the destructor, if the wait is not finished: most are, and pay for no call.
    void release() noexcept {
        if (base::derived().wait_stage() == stage::created) {
            base::derived().finish();
        } else {
            abandon();
        }
    }

    /// Whether the deadline has passed. If so, swaps with a waiting partner, or times out.
    bool ends_at_once(executor_ref on) noexcept {
        if (!base::has_no_time(on)) {
            return false;
        }
        base::derived().try_once(outcome::timed_out);
        return true;
    }

    /// Whether nothing can keep the deadline. If so, swaps with a waiting partner, or fails.
    bool ends_untimed(executor_ref on) noexcept {
        if (base::can_be_timed(on)) {
            return false;
        }
        base::derived().try_once(outcome::out_of_memory);
        return true;
    }

    /// As `ends_at_once`, with a spent budget: times out even if a partner is waiting.
    bool ends_overdue(executor_ref on) noexcept {
        if (!base::is_overdue(on) || base::derived().sees_close()) {
            return false;
        }
        base::derived().complete_own(outcome::timed_out);
        return true;
    }

private:
    /// As `start`, if the budget is spent. Not inlined, because this is rare.
    template <completion Done>
    [[gnu::noinline, gnu::cold]] bool start_spent(bool cancellable) noexcept {
        const executor_ref on = base::derived().wait_executor();
        if (!ends_overdue(on) && !base::derived().try_match() &&
            base::derived().template offer<Done>(cancellable)) {
            return true;
        }
        turn_budget::renew();
        if constexpr (!is_null<Done>) {
            if (on) {
                base::derived().finish();
                base::derived().wait_stage() = stage::resuming;
                base::derived().wait_node().run = resume_later<Done>;
                on.post(&base::derived().wait_node());
                return true;
            }
        }
        return false;
    }

    /// `Done != nullptr` is no constant expression to g++ with -fsanitize=undefined.
    template <completion Done>
    static constexpr bool is_null = std::is_same_v<std::integral_constant<completion, Done>,
                                                   std::integral_constant<completion, nullptr>>;

    template <completion Done>
    static void resume_later(executor_node* node) noexcept {
        Derived::from(node).wait_stage() = stage::finished;
        Done(node);
    }
};

} // namespace tryst::detail
