// SPDX-License-Identifier: MIT
/// @file
/// One exchange in progress: its item, its waiter and its limits, for any kind of client.
/// Standard library only. Never allocates or throws.
///
/// This header is long because its steps share the lifetime of the item, the stop and the timer.
#pragma once

#include <tryst/detail/meet/patience.hpp>
#include <tryst/detail/meet/side.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <type_traits>
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
 * awaiter (exchange_operation.hpp), the blocking wait of threads and fibers (blocking_wait.hpp),
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
 * Without an executor there is no such turn. In the wait list there is none either if only the
 * client can cancel. A pending operation stays `offered` if it has neither a stop nor a deadline
 * and is not cancellable.
 *
 * `try_match` returns whether the operation is complete, `start` whether it is pending. If it is
 * pending, the completion function is called later, once, on the executor. A stop or a deadline
 * calls `cancel`, which withdraws the waiter.
 *
 * A blocking wait uses the steps below `start` one by one, because it spins or yields instead of
 * waiting for a turn. */
template <class Side, class Limits>
class operation : private Side::waiter, private wait_limits<operation<Side, Limits>, Limits> {
    using base = wait_limits<operation, Limits>;
    friend base;

public:
    using result = typename Side::result;
    using protocol = typename Side::protocol;
    using limits_type = Limits;
    template <class Other>
    using with_limits = operation<Side, Other>;

    using proposal = exchange_proposal<Side>;

    /// The completion function, which is called on the executor. See `client_of`.
    using completion = void (*)(executor_node*) noexcept;

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
        if (this->at == stage::created) {
            finish();
        } else if (this->at != stage::finished) {
            abandon();
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
        if constexpr (protocol::begins_with_match) {
            return has_been_stopped() || protocol_->template try_match<Party>(mine());
        } else {
            return has_been_stopped();
        }
    }

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
        this->executor = on;
        this->owner = client;
        if (turn_budget::is_spent()) {
            return start_spent<Done>(cancellable);
        }
        if (offer<Done>(cancellable)) {
            return true;
        }
        turn_budget::spend();
        return false;
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

    /// Takes the offer back if the operation is pending. The completion function is then never
    /// called. Call on its executor.
    void abandon() noexcept {
        if (this->at == stage::created || this->at == stage::finished) {
            return;
        }
        if (this->at == stage::resuming) {
            this->executor.retract(this);
            this->at = stage::finished;
            return;
        }
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

    /// Ends the wait for a stop or the deadline, unless a partner was faster. Call from any thread,
    /// between the start and `finish`.
    void cancel(bool by_deadline) noexcept { protocol_->cancel(mine(), by_deadline); }

    /// As `cancel(false)`, for a client that has started the operation as cancellable. Call on the
    /// executor, after the start. Does nothing if the operation is finished.
    void request_cancel() noexcept {
        if (detail::is_limited(this->at)) {
            cancel(false);
        } else if (this->at == stage::offered) {
            this->at = stage::offered_cancelled; // `start_limits` cancels at the end of the turn
        }
    }

    /// For an executor that serves only this operation, and an operation without a completion
    /// function: runs the node that was posted there.
    /// @returns true if the operation is `finished`. If false, the caller must not use it any more.
    bool run_node() noexcept {
        if (this->run == after_turn<nullptr> && end_turn<nullptr>()) {
            return false;
        }
        finish();
        return true;
    }

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
        if ((spent && ends_overdue({})) || prepare_start<Party>() || ends_at_once({})) {
            return arrival::completed;
        }
        this->at = stage::offered;
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

    using base::is_timed;
    using base::take_token;
    using base::time_given;
    using base::time_limit;

private:
    typename Side::waiter& mine() noexcept { return *this; }
    stage& wait_stage() noexcept { return this->at; }
    executor_ref wait_executor() noexcept { return this->executor; }
    static operation& from(executor_node* node) noexcept { return *static_cast<operation*>(node); }

    /// As `start`, if there is a budget.
    template <completion Done>
    [[gnu::always_inline]] inline bool offer(bool cancellable) noexcept {
        if (ends_at_once(this->executor) || ends_untimed()) {
            return false;
        }
        const bool limits_begin_later = this->executor && base::can_be_limited();
        const bool no_limits = !base::can_be_limited() && !cancellable;
        this->kind = no_limits ? waiter::kind_type::unstoppable : waiter::kind_type::stoppable;
        this->run = Done;
        this->at = stage::offered;
        const arrival where = protocol_->arrive(mine(), static_cast<bool>(this->executor));
        if (where == arrival::waiting && limits_begin_later) {
            return wait_a_turn<Done>();
        }
        return stay<Done>(where, no_limits);
    }

    /// As `start`, if the budget is spent. Not inlined, because this is rare.
    template <completion Done>
    [[gnu::noinline, gnu::cold]] bool start_spent(bool cancellable) noexcept {
        if (!ends_overdue(this->executor) && !try_match() && offer<Done>(cancellable)) {
            return true;
        }
        turn_budget::renew();
        if constexpr (!is_null<Done>) {
            if (this->executor) {
                finish();
                this->at = stage::resuming;
                this->run = resume_later<Done>;
                this->executor.post(this);
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
        from(node).at = stage::finished;
        Done(node);
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
        Side::observer::end_span(mine(), how);
    }

    /// Whether a stop was requested before the start; then the operation is complete.
    bool has_been_stopped() noexcept {
        assert(this->at == stage::created &&
               "tryst: an exchange can be awaited only once, and not after its end");
        if (base::stop_was_requested()) {
            protocol_->complete_own(mine(), outcome::cancelled);
            return true;
        }
        return false;
    }

    /// Whether the deadline has passed. If so, swaps with a waiting partner, or times out.
    bool ends_at_once(executor_ref on) noexcept {
        if (!base::has_no_time(on)) {
            return false;
        }
        try_once(outcome::timed_out);
        return true;
    }

    /// Whether nothing can keep the deadline. If so, swaps with a waiting partner, or fails.
    bool ends_untimed() noexcept {
        if (base::can_be_timed(this->executor)) {
            return false;
        }
        try_once(outcome::out_of_memory);
        return true;
    }

    void try_once(outcome otherwise) noexcept {
        if (!protocol_->try_match_all(mine())) {
            protocol_->complete_own(mine(), otherwise);
        }
    }

    /// As `ends_at_once`, with a spent budget: times out even if a partner is waiting.
    bool ends_overdue(executor_ref on) noexcept {
        if (!base::is_overdue(on) || protocol_->is_closed()) {
            return false;
        }
        protocol_->complete_own(mine(), outcome::timed_out);
        return true;
    }

    protocol* protocol_;
};

} // namespace tryst::detail
