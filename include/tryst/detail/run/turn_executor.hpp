// SPDX-License-Identifier: MIT
/// @file
/// The common part of executors that run on a loop of another library, in turns.
/// Standard library only. Never blocks or throws.
#pragma once

#include <tryst/detail/run/inbox.hpp>
#include <tryst/detail/run/serial_executor_base.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/executor.hpp>

#include <cstddef>
#include <utility>

namespace tryst::detail {

/* The turns of an executor
 *   asleep  --post-->    queued     the posting thread makes the loop call for a turn
 *   queued  --run_turn-> running    the loop runs the turn
 *   running -----------> queued     the turn ran its share; the loop does other work first
 *   running -----------> asleep     nothing is ready
 *   running -----------> finished   as `Derived` decides
 *
 * While the executor is asleep, its inbox is prepared for a wait. So exactly one poster learns that
 * it must wake the executor (I13).
 *
 * `Derived` has
 * - `void wake()`, called by that poster, and `void queue_turn()`, called by a turn: make the loop
 *   run a turn later;
 * - `void before_sleep()`, called before the executor falls asleep;
 * - optionally its own versions of `poll`, `fall_asleep` and `is_finished`, and the timers of
 *   `serial_executor_base`. */

/// The part of such an executor that has the turns.
template <class Derived, bool Temporary>
class turn_executor : public serial_executor_base<Derived, Temporary> {
    using base = serial_executor_base<Derived, Temporary>;
    friend base;

    /// @cond
protected:
    turn_executor() = default;
    ~turn_executor() = default;

    /// Runs ready nodes until none is ready or the turn is over.
    /// @returns whether the executor has finished. If not, the caller must not use it any more.
    bool run_nodes() noexcept {
        const executor_scope here(this->executor());
        executor_scope::next_batch();
        std::size_t left = turn_length;
        while (!derived().is_finished()) {
            derived().poll();
            if (this->queue().empty()) {
                if (derived().fall_asleep()) {
                    return false;
                }
            } else if (left == 0 || turn_budget::is_spent()) {
                derived().queue_turn();
                return false;
            } else {
                left -= this->queue().run_some(
                    left, [this] { return derived().is_finished() || turn_budget::is_spent(); });
            }
        }
        return true;
    }

    /// Makes nodes ready.
    void poll() noexcept { this->queue().append(inbox_.take()); }

    bool is_finished() const noexcept { return false; }

    /// @returns false if there is mail in the inbox. If true, the caller must not use the executor
    ///   any more.
    bool fall_asleep() noexcept {
        derived().before_sleep();
        asleep_ = true;
        if (inbox_.prepare_wait()) {
            return true;
        }
        asleep_ = false;
        return false;
    }

    /// Ends the sleep. @returns false if a poster has called `wake`, or is about to.
    [[nodiscard]] bool stay_awake() noexcept {
        const bool was_asleep = std::exchange(asleep_, false);
        return !was_asleep || inbox_.cancel_wait();
    }

    /// For a turn that `wake` has called for.
    void wake_up() noexcept { asleep_ = false; }

    // Required by `serial_executor_base`.
    /// The executor may be asleep in an `executor_scope` of its own, between turns.
    bool in_turn() const noexcept { return this->running_here() && !asleep_; }
    void deliver(executor_node* node) noexcept {
        if (inbox_.post(node)) {
            derived().wake();
        }
    }

private:
    Derived& derived() noexcept { return static_cast<Derived&>(*this); }

    executor_node* take_mail() noexcept { return inbox_.take(); }

    // As `event_loop::nodes_between_polls`, for the same reason.
    static constexpr std::size_t turn_length = 64;

    inbox inbox_;
    bool asleep_ = false;
    /// @endcond
};

} // namespace tryst::detail
