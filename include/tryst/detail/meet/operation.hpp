// SPDX-License-Identifier: MIT
/// @file
/// One exchange in progress: its item, its waiter and its limits, for any kind of client.
/// Standard library only. Never allocates or throws.
///
/// This header is long because its steps share the lifetime of the item, the stop and the timer.
#pragma once

#include <tryst/detail/meet/patience.hpp>
#include <tryst/detail/meet/pending.hpp>
#include <tryst/detail/meet/side.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <utility>

namespace tryst::detail {

/// An operation without its limits, before it begins.
template <class Side>
struct exchange_proposal {
    typename Side::protocol* with;
    typename Side::own item;
};

/* The operation
 * It knows the protocol, stops and deadlines, but not its client. The clients are the coroutine
 * awaiter (awaitable_operation.hpp), the blocking wait of threads and fibers (blocking_wait.hpp),
 * and any other code that provides a completion function.
 *
 *   created --try_match--> complete           a partner was waiting, or a stop was requested
 *   created --start------> complete           a partner was waiting, or the deadline had passed
 *                          offered            for a turn of the executor, in which only a
 *                                             partner or a close can end the wait
 *   offered --(turn)-----> complete           a partner came
 *                          stoppable,         in the wait list, with a stop
 *                          timed_by_...       or a deadline in force
 *           --request_cancel--> offered_cancelled   is cancelled at the end of the turn
 *   any     --finish-----> finished           no stop callback or timer refers to it any more
 *
 * Without an executor there is no such turn. In the wait list, only an operation with a stop or a
 * deadline has one. A pending operation stays `offered` if it has neither a stop nor a deadline
 * and is not cancellable.
 *
 * `try_match` returns whether the operation is complete, `start` whether it is pending. If it is
 * pending, the completion function is called later, once, on the executor. A stop or a deadline
 * calls `cancel`, which withdraws the waiter.
 *
 * A blocking wait uses the steps below `start` one by one, because it spins or yields instead of
 * waiting for a turn. */
template <class Side, class Limits>
class operation : private Side::waiter, public pending<operation<Side, Limits>, Limits> {
    using base = pending<operation, Limits>;
    friend base;
    friend wait_limits<operation, Limits>;

public:
    using result = typename Side::result;
    using protocol = typename Side::protocol;
    using limits_type = Limits;
    static constexpr bool needs_timers = Limits::timed;
    template <class Other>
    using with_limits = operation<Side, Other>;

    using proposal = exchange_proposal<Side>;

    /// @param limits  the deadline or the duration, if the wait is timed, and the stop token.
    template <class... Given>
    explicit operation(protocol& with, typename Side::own&& item, Given&&... limits) noexcept
        : Side::waiter(std::move(item)), base(std::forward<Given>(limits)...), protocol_(&with) {}
    template <class... Given>
    explicit operation(proposal&& made, Given&&... limits) noexcept
        : operation(*made.with, std::move(made.item), std::forward<Given>(limits)...) {}
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    ~operation() {
        if (this->at != stage::finished) {
            base::release();
        }
    }

    /// The client of the operation whose completion function was given `node`.
    static void* client_of(executor_node* node) noexcept { return from(node).owner; }

    /// Swaps with a waiting partner, if there is one.
    /// @returns whether the operation is complete.
    bool try_match() noexcept { return has_been_stopped() || protocol_->try_match(mine()); }

    /// As above, for a client to which `start` costs little: leaves the match to `start` if that
    /// takes fewer steps.
    template <class Party = coroutine_party>
    bool prepare_start() noexcept {
        return has_been_stopped() || protocol_->template begin<Party>(mine());
    }

    /// Detaches the operation from its stop and its timer. Precondition: it is complete, not
    /// started, or being abandoned.
    void finish() noexcept {
        if (this->at != stage::finished) {
            const bool has_waited = this->at != stage::created;
            base::end_limits();
            if (has_waited) {
                end_wait(Side::waiter::result);
            }
        }
    }

    /// Ends the wait for a stop or the deadline, unless a partner was faster. Call from any thread,
    /// between the start and `finish`.
    void cancel(bool by_deadline) noexcept { protocol_->cancel(mine(), by_deadline); }

    /// The exchanger, and the item, which is moved out. Precondition for `take_item`: not awaited.
    protocol& where() const noexcept { return *protocol_; }
    typename Side::own&& take_item() noexcept {
        assert(this->at == stage::created &&
               "tryst: an operation that has been awaited cannot be passed on");
        return std::move(mine().own());
    }
    proposal take_proposal() noexcept { return {protocol_, take_item()}; }

    /// Whether a stop ended the wait. Precondition: complete.
    bool was_cancelled() const noexcept { return Side::waiter::result == outcome::cancelled; }

    /// Moves the result out. Precondition: complete.
    result take_result() noexcept {
        finish();
        return Side::result_of(mine());
    }

    // ---- The steps of a blocking wait (blocking_wait.hpp).

    /// Swaps with a waiting partner, or makes the offer.
    /// @tparam Party  `coroutine_party`, or `thread_party` (swap.hpp).
    /// @param spent   whether the budget is spent.
    template <class Party>
    arrival begin(executor_ref on, bool spent) noexcept {
        if ((spent && base::ends_overdue({})) || prepare_start<Party>() || base::ends_at_once({})) {
            return arrival::completed;
        }
        this->executor = on;
        return protocol_->template arrive<Party>(mine(), true);
    }

    /// After `begin` and a bounded wait: checks for completion, and ends a bounded offer
    /// (`protocol::expire`).
    template <class Party>
    arrival look_again() noexcept {
        return protocol_->template expire<Party>(mine());
    }

    bool is_complete() const noexcept {
        // It soon begins another exchange at the same address.
        detail::prefetch_for_write(&this->state);
        return this->state.is_done();
    }

    /// Registers the stop callback and parks the waiter.
    /// @returns whether it is suspended.
    bool park() noexcept {
        base::start_stop();
        return protocol_->park(mine());
    }

private:
    typename Side::waiter& mine() noexcept { return *this; }
    waiter& wait_node() noexcept { return *this; }
    void locate(location where) noexcept { this->waits_at.set(where); }
    void show_deadline(clock::time_point when) noexcept {
        Side::observer::show_deadline(mine(), when);
    }
    stage& wait_stage() noexcept { return this->at; }
    executor_ref wait_executor() noexcept { return this->executor; }
    static operation& from(executor_node* node) noexcept { return *static_cast<operation*>(node); }

    template <completion /*Done*/>
    void begin_on(executor_ref on, void* client) noexcept {
        this->executor = on;
        this->owner = client;
    }

    /// As `start`, if there is a budget.
    template <completion Done>
    [[gnu::always_inline]] inline bool offer(bool cancellable) noexcept {
        if (base::ends_at_once(this->executor) || base::ends_untimed(this->executor)) {
            return false;
        }
        const bool limits_begin_later = this->executor && base::can_be_limited();
        const bool no_limits = !base::can_be_limited() && !cancellable;
        this->kind = no_limits ? waiter::kind_type::unstoppable : waiter::kind_type::stoppable;
        this->run = Done;
        const arrival where = protocol_->arrive(mine(), static_cast<bool>(this->executor));
        if (where == arrival::waiting && limits_begin_later) {
            return wait_a_turn<Done>();
        }
        return stay<Done>(where, no_limits);
    }

    /// Continues from the result of a step of the protocol. `no_limits` says whether the waiter is
    /// unstoppable: such a waiter must not be read once it is in the wait list.
    /// @returns whether the operation is pending.
    template <completion Done>
    bool stay(arrival where, bool no_limits) noexcept {
        switch (where) {
        case arrival::completed:
            return false;
        case arrival::waiting:
            if (no_limits) {
                return true;
            }
            base::start_limits();
            return protocol_->park(mine());
        case arrival::offered:
            patience::begin(this);
            return wait_a_turn<Done>();
        case arrival::claimed:
            return wait_a_turn<Done>();
        }
        return false;
    }

    /// Waits for a turn of the executor: the patience of an offer in the arena, unless the party is
    /// alone there, which takes several turns (patience.hpp). In the wait list, the stop and the
    /// deadline come into force after that turn. With many partners, few waits last that long, and
    /// the shorter ones need neither a timer nor a callback (docs/adr/0003).
    template <completion Done>
    bool wait_a_turn() noexcept {
        this->run = after_turn<Done>;
        this->executor.post(this);
        return true;
    }

    template <completion Done>
    static void after_turn(executor_node* node) noexcept {
        operation& self = from(node);
        if (self.is_complete() || !self.template end_turn<Done>()) {
            Done(node);
        }
    }

    /// Not inlined, because most partners come within the turn.
    /// @returns whether the operation is pending.
    template <completion Done>
    [[gnu::noinline]] bool end_turn() noexcept {
        if (this->at == stage::offered && protocol_->is_in_arena(mine()) && patience::lasts(this)) {
            TRYST_TRACE(another_turn, protocol_, &mine());
            this->executor.post(this);
            return true;
        }
        const bool no_limits = this->kind == waiter::kind_type::unstoppable;
        this->run = Done;
        return stay<Done>(protocol_->expire(mine()), no_limits);
    }

    void end_wait(outcome how) noexcept {
        TRYST_TRACE(wait_end, &mine(), static_cast<int>(how));
        Side::observer::end_wait(mine(), how);
    }

    /// Whether a stop was requested before the start; then the operation is complete.
    bool has_been_stopped() noexcept {
        assert(this->at == stage::created &&
               "tryst: an exchange can be awaited only once, and not after its end");
        if (base::stop_was_requested()) {
            complete_own(outcome::cancelled);
            return true;
        }
        return false;
    }

    void try_once(outcome otherwise) noexcept {
        if (!protocol_->try_match_all(mine())) {
            complete_own(otherwise);
        }
    }

    bool sees_close() const noexcept { return protocol_->is_closed(); }
    void complete_own(outcome how) noexcept { protocol_->complete_own(mine(), how); }

    /// For `abandon`, of an offer.
    void abandon_wait() noexcept {
        const bool limited = detail::is_limited(this->at);
        base::end_limits();
        const executor_ref on = this->executor;
        const bool queued = on && on.retract(this);
        if (!protocol_->abandon(mine(), limited, queued)) {
            assert(on && "tryst: a coroutine without an executor was destroyed while it was being "
                         "resumed");
            detail::yield_until([&] { return on.retract(this); });
        }
        end_wait(Side::waiter::result == outcome::pending ? outcome::cancelled
                                                          : Side::waiter::result);
    }

    protocol* protocol_;
};

} // namespace tryst::detail
