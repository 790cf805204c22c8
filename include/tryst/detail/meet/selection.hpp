// SPDX-License-Identifier: MIT
/// @file
/// One selection in progress: its cases, the word that decides between them, and its limits.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/meet/commitment.hpp>
#include <tryst/detail/meet/decided_wait.hpp>
#include <tryst/detail/meet/poll_order.hpp>
#include <tryst/detail/meet/steps.hpp>
#include <tryst/detail/meet/wait_limits.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
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
class selection : private commitment, public decided_wait<selection<Cases, Limits>, Limits> {
    using base = decided_wait<selection, Limits>;
    friend base;
    friend pending<selection, Limits>;
    friend wait_limits<selection, Limits>;

public:
    using result = typename Cases::result;
    using limits_type = Limits;
    static constexpr bool needs_timers = Limits::timed || Cases::needs_timers;
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
        if (at_ != stage::finished) {
            base::release();
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

    /// Polls all cases thoroughly.
    /// @param otherwise  why no case takes place, if no partner waits.
    void try_once(outcome otherwise) noexcept {
        if (!poll([](auto& each) { return each.try_match_all(); }) && !takes_event()) {
            decide_none(otherwise);
        }
    }

    using base::park; // not that of `commitment`

    /// Ends the use of the limits and of the exchangers. Precondition: complete, not started, or
    /// being abandoned.
    void finish() noexcept {
        if (at_ != stage::finished) {
            const bool has_waited = at_ != stage::created;
            base::end_limits();
            leave_all();
            if (has_waited) {
                end_wait(decided() != nullptr ? outcome::not_selected : reason());
            }
        }
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

private:
    static selection& from(executor_node* node) noexcept {
        return *static_cast<selection*>(
            static_cast<commitment*>(static_cast<waiter*>(node)->owner));
    }

    waiter& wait_node() noexcept { return cases_.first(); }
    void locate(location where) noexcept {
        where_.set(where);
        cases_.for_each([where](waiter& each) { each.waits_at.set(where); });
    }
    void show_deadline(clock::time_point when) noexcept {
        cases_.for_each([when](auto& each) {
            if constexpr (!std::remove_reference_t<decltype(each)>::is_event) {
                each.show_deadline(when);
            }
        });
    }
    stage& wait_stage() noexcept { return at_; }
    executor_ref wait_executor() noexcept { return cases_.first().executor; }

    commitment& word() noexcept { return *this; }
    waiter* posted() const noexcept { return decided(); }
    static constexpr bool has_events = Cases::has_events;
    static constexpr bool has_timed_events = Cases::needs_timers;

    void set_executor(executor_ref on) noexcept {
        cases_.for_each([on](waiter& each) { each.executor = on; });
    }

    template <completion Done>
    void begin_on(executor_ref on, void* client) noexcept {
        client_ = client;
        cases_.for_each([on](waiter& each) {
            each.executor = on;
            each.run = Done;
        });
    }

    bool sees_close() noexcept {
        bool sees = false;
        cases_.for_each([&](auto& each) { sees = sees || each.is_closed(); });
        return sees;
    }
    void complete_own(outcome how) noexcept { decide_none(how); }

    void abandon_wait() noexcept {
        base::decide_none_or_await();
        leave_all();
        end_wait(outcome::cancelled);
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
        bool has_opened = false;
        auto enlist = [&](auto& each) {
            if (each.where() == latest) {
                return false; // one of them takes part
            }
            if (registered == held_cases) {
                registered = 0;
                if (!std::exchange(has_opened, true)) {
                    begin_waits();
                }
                if (!reopen()) {
                    return true;
                }
            }
            latest = each.where();
            ++registered;
            const bool decided = each.enlist();
            if constexpr (!std::remove_reference_t<decltype(each)>::is_event) {
                if (has_opened && !decided) {
                    each.begin_wait();
                }
            }
            return decided;
        };
        if (!cases_.register_each(order_, enlist)) {
            if (!has_opened) {
                begin_waits();
            }
            return false;
        }
        base::await_settled();
        return true;
    }

    /// Begins the waits of the cases that are in wait lists. Precondition: the selection is held.
    void begin_waits() noexcept {
        cases_.for_each([](auto& each) {
            if constexpr (!std::remove_reference_t<decltype(each)>::is_event) {
                each.begin_wait();
            }
        });
    }

    /// Decides for an event that has come, if there is one.
    bool takes_event() noexcept {
        bool taken = false;
        cases_.for_each([&](auto& each) {
            if constexpr (std::remove_reference_t<decltype(each)>::is_event) {
                taken = taken || each.enlist();
            }
        });
        return taken;
    }

    void start_events() noexcept {
        cases_.for_each([](auto& each) {
            if constexpr (std::remove_reference_t<decltype(each)>::is_event) {
                each.start();
            }
        });
    }

    /// May be called by a partner.
    void leave_lists() noexcept {
        waiter* const won = decided();
        cases_.for_each([&](auto& each) {
            if constexpr (!std::remove_reference_t<decltype(each)>::is_event) {
                if (&each != won) {
                    each.leave();
                }
            }
        });
    }

    /// On the owner's executor, where its timers must be disarmed.
    void leave_all() noexcept {
        leave_lists();
        cases_.for_each([](auto& each) {
            if constexpr (std::remove_reference_t<decltype(each)>::is_event) {
                each.end();
            }
        });
    }

    void end_wait(outcome lost) noexcept {
        cases_.for_each([lost](auto& each) { each.end_wait(lost); });
    }

    Cases cases_;
    void* client_ = nullptr;
    location_slot where_; // directly behind `client_`, for debuggers
    poll_order order_;
    stage at_ = stage::created;
};

} // namespace tryst::detail
