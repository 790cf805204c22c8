// SPDX-License-Identifier: MIT
/// @file
/// One selection in progress: its cases, the word that decides between them, and its limits.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/poll_order.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/spin.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// A selection without its limits, before it begins.
template <class Cases>
struct selection_proposal {
    bool is_biased;
    Cases cases;
};

/* The selection
 * Waits for several exchanges, of which exactly one takes place. It has the interface of an
 * `operation`, so it has the same clients.
 *
 *   try_match   polls all cases, without an offer
 *   start       registers a waiter for each case in the wait list of its exchanger, in ascending
 *               order of the exchangers' addresses (I42). If a partner is there, it ends. Else it
 *               waits, for a turn of the executor before its limits come into force
 *   finish      withdraws the waiters of all other cases, or waits until they are handed back
 *
 * The algorithm is that of two-phase locking with a try at each lock: a party holds its own word,
 * then takes a partner out of a list, then decides for it with one CAS on the partner's word. A
 * waiter whose selection has been decided elsewhere is withdrawn by its owner or by the owner's
 * partner, unless another party claims it first and hands it back (I41). docs/adr/0010 compares
 * the designs of Go, Kotlin, crossbeam and Parallel CML.
 *
 * A selection never offers in an arena, because an offer there is bounded.
 *
 * One waiter stands for the selection: the node of `first()` is posted for its check and by its
 * cancellers. A completer posts the node of the case that it decides. */
template <class Cases, class Limits>
class selection : private commitment, private wait_limits<selection<Cases, Limits>, Limits> {
    using base = wait_limits<selection, Limits>;
    friend base;

public:
    using result = typename Cases::result;
    using completion = void (*)(executor_node*) noexcept;
    using limits_type = Limits;
    template <class Other>
    using with_limits = selection<Cases, Other>;

    using proposal = selection_proposal<Cases>;

    /// @param biased  whether polls begin with the first case.
    /// @param limits  as in `operation`.
    template <class Given, class... Limit>
    explicit selection(bool biased, Given&& cases, Limit&&... limits) noexcept
        : base(std::forward<Limit>(limits)...), cases_(std::forward<Given>(cases)), order_(biased) {
        cases_.for_each([this](waiter& each) { each.owner = static_cast<commitment*>(this); });
        if constexpr (Cases::is_small) {
            leave_parked = [](commitment& self) noexcept {
                static_cast<selection&>(self).leave_lists();
            };
        }
    }
    template <class... Limit>
    explicit selection(proposal&& made, Limit&&... limits) noexcept
        : selection(made.is_biased, std::move(made.cases), std::forward<Limit>(limits)...) {}
    selection(const selection&) = delete;
    selection& operator=(const selection&) = delete;

    ~selection() {
        if (at_ == stage::created) {
            finish();
        } else if (at_ != stage::finished) {
            abandon();
        }
    }

    /// The client of the selection whose completion function was given `node`.
    static void* client_of(executor_node* node) noexcept { return from(node).client_; }

    /// Polls all cases.
    /// @returns whether the selection is complete.
    bool try_match() noexcept {
        assert(at_ == stage::created &&
               "tryst: a selection can be awaited only once, and not after its end");
        if (base::stop_was_requested()) {
            decide_none(outcome::cancelled);
            return true;
        }
        return poll([](auto& each) { return each.try_match(); });
    }

    /// As `operation::prepare_start`.
    bool prepare_start() noexcept { return try_match(); }

    /// Polls all cases thoroughly.
    /// @param otherwise  why no case takes place, if no partner waits.
    void try_once(outcome otherwise) noexcept {
        if (!poll([](auto& each) { return each.try_match_all(); })) {
            decide_none(otherwise);
        }
    }

    /// As `operation::start`.
    template <completion Done>
    bool start(executor_ref on, void* client, bool cancellable = false) noexcept {
        client_ = client;
        cases_.for_each([&](waiter& each) {
            each.executor = on;
            each.run = Done;
        });
        if (turn_budget::is_spent()) {
            return start_spent<Done>(cancellable);
        }
        if (offer<Done>(cancellable)) {
            return true;
        }
        turn_budget::spend();
        return false;
    }

    /// Ends the use of the limits and of the exchangers. Precondition: complete, not started, or
    /// being abandoned.
    void finish() noexcept {
        if (at_ != stage::finished) {
            const bool has_waited = at_ != stage::created;
            base::end_limits();
            leave_lists();
            if (has_waited) {
                end_wait(decided() != nullptr ? outcome::not_selected : reason());
            }
        }
    }

    /// As `operation::abandon`.
    void abandon() noexcept {
        if (at_ == stage::created || at_ == stage::finished) {
            return;
        }
        if (at_ == stage::resuming) {
            wait_executor().retract(&cases_.first());
            at_ = stage::finished;
            return;
        }
        base::end_limits();
        const executor_ref on = cases_.first().executor;
        const bool queued = on && on.retract(&cases_.first());
        if (!try_decide_none() && decided() != nullptr) {
            waiter& won = *decided();
            if (!has_been_parked()) {
                await_settled();
            } else if (!queued && !(on && on.retract(&won))) {
                assert(on && "tryst: a coroutine without an executor was destroyed while it was "
                             "being resumed");
                detail::yield_until([&] { return on.retract(&won); });
            }
        }
        leave_lists();
        end_wait(outcome::cancelled);
    }

    /// As `operation::cancel`.
    void cancel(bool by_deadline) noexcept {
        if (request_stop(by_deadline)) {
            TRYST_TRACE(stop, nullptr, &cases_.first());
            detail::post(cases_.first());
        }
    }

    /// As `operation::request_cancel`.
    void request_cancel() noexcept {
        if (is_limited(at_)) {
            cancel(false);
        } else if (at_ == stage::offered) {
            at_ = stage::offered_cancelled; // `start_limits` cancels at the end of the turn
        }
    }

    /// As `operation::run_node`.
    bool run_node() noexcept {
        if (cases_.first().run == after_turn<nullptr> && end_turn<nullptr>()) {
            return false;
        }
        finish();
        return true;
    }

    /// The cases, which are moved out. Precondition: not awaited.
    proposal take_proposal() noexcept {
        assert(at_ == stage::created &&
               "tryst: an operation that has been awaited cannot be passed on");
        return {order_.is_biased(), std::move(cases_)};
    }

    /// As `operation::was_cancelled`.
    bool was_cancelled() const noexcept {
        return decided() == nullptr && reason() == outcome::cancelled;
    }

    /// Moves the result out. Precondition: complete.
    result take_result() noexcept {
        finish();
        waiter* const won = decided();
        return cases_.take_result(won, won != nullptr ? outcome::not_selected : reason());
    }

    // ---- The steps of a blocking wait (blocking_wait.hpp).

    template <class /*Party*/>
    arrival begin(executor_ref on, bool spent) noexcept {
        if ((spent && ends_overdue({})) || try_match() || ends_at_once({})) {
            return arrival::completed;
        }
        cases_.for_each([&](waiter& each) { each.executor = on; });
        if (register_cases()) {
            return arrival::completed;
        }
        open_or_park(false);
        return arrival::waiting;
    }

    template <class /*Party*/>
    arrival look_again() noexcept {
        return is_settled() ? arrival::completed : arrival::waiting;
    }

    bool is_complete() const noexcept { return is_settled(); }

    bool park() noexcept {
        base::start_stop();
        return park_now();
    }

    using base::is_timed;
    using base::take_token;
    using base::time_given;
    using base::time_limit;

private:
    static selection& from(executor_node* node) noexcept {
        return *static_cast<selection*>(
            static_cast<commitment*>(static_cast<waiter*>(node)->owner));
    }

    stage& wait_stage() noexcept { return at_; }
    executor_ref wait_executor() noexcept { return cases_.first().executor; }

    /// As `start`, if there is a budget.
    template <completion Done>
    [[gnu::always_inline]] inline bool offer(bool cancellable) noexcept {
        const executor_ref on = wait_executor();
        if (ends_at_once(on) || ends_untimed(on)) {
            return false;
        }
        const bool limits_begin_later = on && base::can_be_limited();
        const bool no_limits = !base::can_be_limited() && !cancellable;
        if (register_cases()) {
            return false;
        }
        if (limits_begin_later) {
            cases_.first().run = after_turn<Done>;
        }
        open_or_park(no_limits); // if it is parked, it must not be touched
        if (no_limits) {
            return true;
        }
        if (limits_begin_later) {
            on.post(&cases_.first());
            return true;
        }
        base::start_limits();
        return park_now();
    }

    /// As `operation::start_spent`.
    template <completion Done>
    [[gnu::noinline, gnu::cold]] bool start_spent(bool cancellable) noexcept {
        if (!ends_overdue(wait_executor()) && !try_match() && offer<Done>(cancellable)) {
            return true;
        }
        turn_budget::renew();
        if constexpr (!is_null<Done>) {
            if (wait_executor()) {
                finish();
                at_ = stage::resuming;
                cases_.first().run = resume_later<Done>;
                wait_executor().post(&cases_.first());
                return true;
            }
        }
        return false;
    }

    template <completion Done>
    static constexpr bool is_null = std::is_same_v<std::integral_constant<completion, Done>,
                                                   std::integral_constant<completion, nullptr>>;

    template <completion Done>
    static void resume_later(executor_node* node) noexcept {
        from(node).at_ = stage::finished;
        Done(node);
    }

    /// Whether the deadline has passed. If so, the selection is complete.
    bool ends_at_once(executor_ref on) noexcept {
        if (!base::has_no_time(on)) {
            return false;
        }
        try_once(outcome::timed_out);
        return true;
    }

    /// As `operation::ends_untimed`.
    bool ends_untimed(executor_ref on) noexcept {
        if (base::can_be_timed(on)) {
            return false;
        }
        try_once(outcome::out_of_memory);
        return true;
    }

    /// As `operation::ends_overdue`.
    bool ends_overdue(executor_ref on) noexcept {
        bool ends = base::is_overdue(on);
        if (ends) {
            cases_.for_each([&](auto& each) { ends = ends && !each.is_closed(); });
        }
        if (ends) {
            decide_none(outcome::timed_out);
        }
        return ends;
    }

    /// Calls `match` for each case.
    /// @returns whether it returned true, and so the selection is complete.
    template <class Match>
    bool poll(Match match) noexcept {
        return order_.any_of(cases_.size(), cases_.numbers(),
                             [&](std::size_t i) { return cases_.visit(i, match); });
    }

    /// @returns whether the selection is complete.
    bool register_cases() noexcept {
        at_ = stage::offered;
        const void* latest = nullptr;
        std::size_t registered = 0;
        auto enlist = [&](auto& each) {
            if (each.where() == latest) {
                return false; // one of them takes part
            }
            if (registered == held_cases) {
                registered = 0;
                if (!reopen()) {
                    return true;
                }
            }
            latest = each.where();
            ++registered;
            return each.enlist();
        };
        if (!cases_.register_each(order_, enlist)) {
            return false;
        }
        await_settled();
        return true;
    }

    void leave_lists() noexcept {
        waiter* const won = decided();
        cases_.for_each([&](auto& each) {
            if (&each != won) {
                each.leave();
            }
        });
    }

    void end_wait(outcome lost) noexcept {
        cases_.for_each([lost](auto& each) { each.end_wait(lost); });
    }

    void await_settled() noexcept {
        detail::spin_until([this] { return is_settled(); });
    }

    /// @returns whether it is suspended; if not, it is complete.
    bool park_now() noexcept {
        if (commitment::park()) {
            return true;
        }
        await_settled();
        return false;
    }

    template <completion Done>
    static void after_turn(executor_node* node) noexcept {
        if (!from(node).template end_turn<Done>()) {
            Done(node);
        }
    }

    /// Not inlined, because most partners come within the turn.
    /// @returns whether the selection is pending.
    template <completion Done>
    [[gnu::noinline]] bool end_turn() noexcept {
        if (is_settled()) {
            return false;
        }
        cases_.first().run = Done;
        base::start_limits();
        return park_now();
    }

    Cases cases_;
    void* client_ = nullptr;
    poll_order order_;
    stage at_ = stage::created;
};

} // namespace tryst::detail
