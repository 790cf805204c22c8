// SPDX-License-Identifier: MIT
/// @file
/// The steps that all protocols share: swap, park, withdraw, cancel, close.
/// Standard library only. Allocates in its constructor; only the constructor throws.
#pragma once

#include <tryst/detail/meet/case_registry.hpp>
#include <tryst/detail/meet/claimed_case.hpp>
#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/slot.hpp>
#include <tryst/detail/meet/standing_word.hpp>
#include <tryst/detail/meet/wait_list.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/trace.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace tryst::detail {

/* The steps
 * They are the same for each wait list, and do not search for a partner.
 *
 *   swap     swaps items with a claimed waiter, and completes it
 *   park     tells the completer that it must post the waiter. If a stop came first, withdraws it
 *   cancel   withdraws the waiter for a stop or a deadline, and completes it
 *   close    closes the wait list, claims all waiters, and completes them
 *
 * Access. A waiter belongs to the party whose CAS or exchange took it from its place. This party
 * writes the outcome, sets `done`, and posts the waiter if it found `parked`. After that it does
 * not touch the waiter. There are two shortcuts:
 *   1. The completer of an unstoppable waiter in the wait list does not use the signal, because
 *      nothing can cancel it.
 *   2. If both parties run on one serial executor and no limit is in force, the signal needs no
 *      read-modify-write ([W7], docs/adr/0002).
 *
 * I6. A party that has released its partner touches the exchanger only while a slot that it leaves
 *     is `moving` (slot.hpp) or while it holds a pin (I5, signal.hpp). The partner may return and
 *     destroy the exchanger, if it knows that no other party will arrive. A post may run any code
 *     inline. So a party ends `moving` before it posts. A closer unpins before it posts the last
 *     waiter if that waiter resumes inline.
 *
 * @tparam Arena  where waiters wait: a `basic_arena` or a `future_state`. In the members, `W` is
 *   the type of one side's waiter, with its item. */
template <class Arena, class Observer>
class steps {
public:
    /// @param shared  the observer's counters, if it does not have its own.
    template <class... Counters>
    explicit steps(std::size_t capacity, const Counters&... shared)
        : arena_(capacity), observer_(shared...) {}
    steps(const steps&) = delete;
    steps& operator=(const steps&) = delete;

    /// Whether several threads may use it.
    static constexpr bool is_shared = !requires { requires !Arena::list_type::is_shared; };
    /// Whether cases of sets may be here.
    static constexpr bool keeps_cases = !requires { requires !Arena::list_type::keeps_cases; };

    /// Whether a `W` that waits may hold up others, so that they have room when it leaves.
    template <class W>
    static constexpr bool leave_admits =
        requires { requires Arena::list_type::template leave_admits<W>; };

    bool is_closed() const noexcept { return arena_.list().is_closed(); }

    const char* name() const noexcept { return name_; }
    void set_name(const char* name) noexcept { name_ = name; }
    statistics stats() const noexcept { return observer_.stats(); }

    /// The cases of sets that are here.
    object_cases& cases() noexcept
        requires(keeps_cases)
    {
        return cases_;
    }

    /// Takes the waiter of a set's case out of the wait list, if it has not been claimed.
    /// Precondition: `pin_case`. Ends that pin.
    template <class W>
    bool withdraw_case(W& w) noexcept {
        return withdraw_pinned(w, outcome::not_selected);
    }
    void pin_case() noexcept { arena_.pin(); }

    /// Begins the wait of a case that is in the wait list, and whose selection is held.
    template <class W>
    void begin_case(W& w) noexcept {
        start_wait(w);
    }

    /// Ends the operation of `w`, which belongs to the caller and is in no slot, without an
    /// exchange.
    template <class W>
    void complete_own(W& w, outcome how) noexcept {
        observer_.ended(w, how);
        set_own_outcome(w, how);
    }

    /// Suspends `w`, which is `waiting` and `stoppable`.
    /// @returns whether it is suspended, and so must not be touched; otherwise it is completed.
    template <class W>
    bool park(W& w) noexcept {
        observer_.park(w);
        signal::view seen = w.state.park();
        if (seen.is_clear()) {
            return true;
        }
        if (!seen.is_done()) {
            // The owner acts on a stop that came before it was parked.
            seen = w.state.begin_withdraw();
        }
        if (seen.is_done()) {
            return false;
        }
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        const outcome why = reason(seen.is_expired());
        if (withdraw_from_list(w, why)) {
            TRYST_TRACE(own_stop, this, std::addressof(w));
            w.result = why;
            return false;
        }
        return fail_withdraw(w, true) == arrival::claimed;
    }

    /// Ends the wait of `w` for a stop or its deadline, unless a partner was faster. Call from any
    /// thread during the operation's life. Precondition: `w` is, or was, `waiting`.
    template <class W>
    void cancel(W& w, bool by_deadline) noexcept {
        const signal::view seen = w.state.request_stop(by_deadline);
        if (seen.is_done() || seen.is_stopped() || !seen.is_parked()) {
            return; // too late, or left to another canceller or to the owner
        }
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        if (withdraw_from_list(w, reason(by_deadline))) {
            TRYST_TRACE(stop, this, std::addressof(w));
            w.result = reason(by_deadline);
            detail::post(w);
        } else {
            TRYST_TRACE(late_stop, this, std::addressof(w));
            fail_withdraw(w);
        }
    }

    // ---- See protocol.hpp. Where there is an arena, offers.hpp hides these.

    template <class Party = coroutine_party, class W>
    static arrival expire(W& w) noexcept {
        return w.state.is_done() ? arrival::completed : arrival::waiting;
    }

    template <class W>
    static bool is_in_arena(const W& /*w*/) noexcept {
        return false;
    }

    template <class W>
    void withdraw(W& w, outcome why) noexcept {
        if constexpr (is_shared) {
            withdraw_by(w, [&] { return withdraw_from_list(w, why); });
        } else {
            withdraw_from_list(w, why); // if it is not there, it is complete
        }
    }

    template <class W>
    bool abandon(W& w, bool limited, bool queued) noexcept {
        const auto take = [&] { return withdraw_from_list(w, outcome::cancelled); };
        const bool unstoppable = w.kind == waiter::kind_type::unstoppable;
        if (!unstoppable && !limited) {
            withdraw_by(w, take); // its check was queued, and no other party posts the waiter
            return true;
        }
        return queued || (unstoppable ? take() : try_withdraw(w, take) == arrival::waiting);
    }

protected:
    ~steps() = default;

    /// Call before each attempt to offer `w`: its wait begins, unless it has begun. The wait of a
    /// selection's case begins later (`begin_case`).
    template <class W>
    [[gnu::always_inline]] void begin_wait(W& w) noexcept {
        if (w.at != stage::created) {
            return;
        }
        if constexpr (requires { W::begins_later; }) {
            w.at = stage::registered;
        } else {
            start_wait(w);
        }
    }

    /// Applies `found`, the result of a step of `w` in the wait list. `moving`, if not null, is the
    /// slot that `w` is leaving. If the partner is stale (I41), changes the result to `collided`.
    /// @returns whether `w` is completed.
    template <class W>
    [[gnu::always_inline]] bool apply_match(W& w, match_result& found,
                                            slot* moving = nullptr) noexcept {
        switch (found.kind) {
        case match_result::partner:
            if (!swap_in_list(w, found.claimed, moving)) {
                found.kind = match_result::collided;
                return false;
            }
            return true;
        case match_result::closed:
            complete_own(w, outcome::closed);
            break;
        case match_result::out_of_memory:
            complete_own(w, outcome::out_of_memory);
            break;
        default:
            return false;
        }
        end_move(moving);
        return true;
    }

    /// Swaps the items of `w`, which belongs to the caller, and of a waiter that the caller has
    /// claimed in the arena. Completes both.
    template <class W>
    void swap_in_arena(W& w, waiter* claimed, slot* moving = nullptr) noexcept {
        TRYST_TRACE(claim_in_arena, this, claimed);
        auto& q = static_cast<typename W::partner&>(*claimed);
        swap_items(w, q);
        const bool suspended = complete_in_arena(q, outcome::exchanged);
        set_own_outcome(w, outcome::exchanged);
        end_swap(suspended, q, moving);
    }

    /// Completes `q`, which has been claimed in the arena.
    /// @returns whether the caller must post `q`; if not, the caller must not touch it any more.
    bool complete_in_arena(waiter& q, outcome how) noexcept {
        TRYST_TRACE(completing, this, &q);
        q.result = how;
        return complete_by_signal(q);
    }

    /// As `complete_in_arena`, for a waiter that has been claimed in the wait list.
    bool complete_in_list(waiter& q, outcome how) noexcept {
        TRYST_TRACE(completing, this, &q);
        q.result = how;
        return q.kind == waiter::kind_type::unstoppable || complete_limited(q);
    }

    static void end_move(slot* moving) noexcept {
        if (moving != nullptr) {
            moving->end_move();
        }
    }

    /// Takes `w` out of the wait list, if it has not been claimed.
    template <class W>
    bool withdraw_from_list(W& w, outcome why) noexcept {
        if constexpr (Arena::list_type::withdraws_in_one_step && !Observer::counts) {
            return arena_.list().withdraw(w, W::side);
        } else {
            // Once `w` is out, its party no longer waits for this withdrawal, so the destructor
            // must wait for it (I6).
            arena_.pin();
            return withdraw_pinned(w, why);
        }
    }

    /// As above. Ends a pin of the caller, before a party that is admitted resumes inline.
    template <class W>
    bool withdraw_pinned(W& w, outcome why) noexcept {
        const bool out = arena_.list().withdraw(w, W::side);
        if (out) {
            observer_.ended(w, why);
        }
        if constexpr (leave_admits<W>) {
            static_cast<protocol<typename Arena::list_type, Observer>&>(*this).admit();
        } else {
            arena_.unpin();
        }
        return out;
    }

    /// Withdraws `w` permanently. `take` removes it from its place, and returns false if it has
    /// been claimed.
    /// @returns `waiting` if it was still there, `completed` if it is completed, and `claimed` if
    ///   its partner is about to complete it.
    template <class W, class Take>
    arrival try_withdraw(W& w, Take take) noexcept {
        const signal::view seen = w.state.begin_withdraw();
        if (seen.is_done()) {
            return arrival::completed;
        }
        if (seen.has_failed_to_withdraw()) {
            return arrival::claimed;
        }
        TRYST_TRACE(withdrawing, this, std::addressof(w));
        return take() ? arrival::waiting : fail_withdraw(w);
    }

    /// As above. If `w` has been claimed, waits until the claimer does not refer to it any more.
    template <class W, class Take>
    void withdraw_by(W& w, Take take) noexcept {
        detail::spin_until([&] { return try_withdraw(w, take) != arrival::claimed; });
    }

    /// Ends the announced withdrawal of `w`, which came too late (I5).
    /// @returns `claimed` if the completer has not set `done` yet, otherwise `completed`.
    arrival fail_withdraw(waiter& w, bool also_parked = false) noexcept {
        if (!w.state.fail_withdraw(also_parked).is_done()) {
            return arrival::claimed;
        }
        arena_.unpin();
        return arrival::completed;
    }

    /// Closes permanently, and completes all waiters with `closed`.
    /// @param close_others  completes those outside the wait list.
    template <class Others>
    void close(Others close_others) noexcept {
        arena_.pin();
        const auto take = [this](waiter& q) { return take_closed(q); };
        const auto complete_and_post = [this](waiter& q) {
            if (complete_closed(q)) {
                post(q);
            }
        };
        waiter* const last = arena_.list().close(take, complete_and_post);
        close_others();
        const bool suspended = last != nullptr && complete_closed(*last);
        const bool is_inline = suspended && !last->executor;
        if (suspended && !is_inline) {
            post(*last);
        }
        arena_.unpin();
        if (is_inline) { // the party may destroy the exchanger (I6)
            post(*last);
        }
    }

    /// Writes the outcome of `w`, which belongs to the caller. This may decide a set, for which the
    /// exchanger's destructor then no longer waits (I64). So first complete a partner that may use
    /// the exchanger, or hold a pin.
    template <class W>
    static void set_own_outcome(W& w, outcome how) noexcept {
        w.result = how;
        if constexpr (requires { w.decide(); }) {
            w.decide(); // before its partner is posted (I42.5)
        }
    }

    // The rest uses the end of the arena's last cache line.
    [[no_unique_address]] Arena arena_;
    const char* name_ = "";
    [[no_unique_address]] std::conditional_t<keeps_cases, object_cases, nothing> cases_;
    [[no_unique_address]] Observer observer_;

private:
    template <class W>
    [[gnu::always_inline]] void start_wait(W& w) noexcept {
        w.at = stage::offered;
        TRYST_TRACE(wait_start, name_, std::addressof(w), this);
        observer_.arrive(w, name_);
    }

    static outcome reason(bool by_deadline) noexcept {
        return by_deadline ? outcome::timed_out : outcome::cancelled;
    }

    /// As `swap_in_arena`, for a waiter that has been claimed in the wait list.
    /// @returns false if it is stale (I41).
    template <class W>
    bool swap_in_list(W& w, waiter* claimed, slot* moving) noexcept {
        TRYST_TRACE(claim_in_wait_list, this, claimed);
        auto& q = static_cast<typename W::partner&>(*claimed);
        if (detail::needs_decision(q)) {
            return swap_with_case(w, q, moving);
        }
        swap_items(w, q);
        const bool suspended = complete_in_list(q, outcome::exchanged);
        set_own_outcome(w, outcome::exchanged);
        end_swap(suspended, q, moving);
        return true;
    }

    /// As above, for one of several cases. Not inlined, because it is rarer.
    template <class W>
    [[gnu::noinline]] bool swap_with_case(W& w, typename W::partner& q, slot* moving) noexcept {
        const auto committed = commit(q, &w);
        if (committed == commitment::commit_result::stale) {
            return false;
        }
        swap_items(w, q);
        // First, because the next step may leave other lists, which admits others (I42.5).
        set_own_outcome(w, outcome::exchanged);
        end_swap(detail::complete_case(q, outcome::exchanged, committed), q, moving);
        return true;
    }

    /// All items change hands here.
    template <class W>
    [[gnu::always_inline]] void swap_items(W& w, typename W::partner& q) noexcept {
        observer_.matched(w, q);
        w.swap_items(q);
    }

    /// Ends a swap: first ends the move out of `moving`, if it is not null (I6), then posts `q` if
    /// it is suspended.
    static void end_swap(bool suspended, waiter& q, slot* moving) noexcept {
        end_move(moving);
        if (suspended) {
            post(q);
        }
    }

    /// Not inlined, so that it does not slow down the completion of unstoppable waiters.
    [[gnu::noinline]] bool complete_limited(waiter& q) noexcept { return complete_by_signal(q); }

    bool complete_by_signal(waiter& q) noexcept {
        if (q.executor.alone_here() && !is_limited(q.at)) {
            // No limit is in force for `q`, so it is not parked and cannot be cancelled. This stays
            // so during this call, because the executor of `q` runs nothing else.
            q.state.complete_in_place();
            TRYST_TRACE(completion_in_place, this, &q);
            return false;
        }
        const bool suspended = q.state.complete(arena_).is_parked();
        if (!suspended) {
            saw_partner(false);
        }
        return suspended;
    }

    /// As `decide_for`, but waits while the owner of `q` registers.
    /// @param by  the caller's own waiter, if it has one.
    template <class W = waiter>
    commitment::commit_result commit(waiter& q, [[maybe_unused]] W* by = nullptr) noexcept {
        while (true) {
            const auto result = detail::decide_for(q, arena_, observer_);
            if (result != commitment::commit_result::held) {
                return result;
            }
            if constexpr (requires { by->yield_to(q); }) {
                by->yield_to(q);
            }
            detail::await_registration(q);
        }
    }

    /// Decides for `q`, which a close has claimed in the wait list, if it is one of several cases.
    /// A closer must do so at once (I41): it may resume a party inline before it completes `q`.
    /// @returns whether `complete_closed` must follow; if not, `q` must not be touched any more.
    bool take_closed(waiter& q) noexcept {
        if (!detail::needs_decision(q)) {
            return true;
        }
        const auto committed = commit(q);
        if (committed != commitment::commit_result::stale) {
            observer_.ended(q, outcome::closed);
            return detail::complete_closed_case(q, committed);
        }
        return false;
    }

    /// Completes `q` after `take_closed`. @returns as `complete_in_arena`.
    bool complete_closed(waiter& q) noexcept {
        if (detail::needs_decision(q)) {
            return true;
        }
        observer_.ended(q, outcome::closed);
        return complete_in_list(q, outcome::closed);
    }
};

} // namespace tryst::detail
