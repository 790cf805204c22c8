// SPDX-License-Identifier: MIT
/// @file
/// Makes an executor of tryst of any event loop.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/detail/run/turn_executor.hpp>
#include <tryst/executor.hpp>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

/// What a loop calls back: the part of a `loop_executor` that its `Wake` knows. Call both functions
/// on the loop's thread. One call more than necessary does no harm.
class loop_turns {
public:
    /// Runs ready work, at most 64 pieces of it. Call this after `wake`.
    virtual void run_turn() noexcept = 0;
    /// Runs what is due, and ready work. Call this when the time of `set_timer` has passed.
    virtual void timer_expired() noexcept = 0;

protected:
    ~loop_turns() = default;
};

/// How to wake a loop. An object of this type is constructed from a `loop_turns&` and the arguments
/// of the `loop_executor`. Its destructor ends all calls of `loop_turns`.
/// - `void wake() noexcept`, called from any thread, makes the loop call `run_turn` soon on its own
///   thread. It must not call `run_turn` itself.
///
/// The other functions are optional. They are called on the loop's thread.
/// - `void set_timer(std::chrono::nanoseconds after) noexcept` makes the loop call `timer_expired`
///   once, after that time, which is a day at most. It replaces the time that was set before. If
///   the loop's clock is coarse, round up: an early call does no harm, but is a turn in vain.
/// - `void cancel_timer() noexcept`. Present if `set_timer` is.
/// - `void keep_alive(bool) noexcept`, for loops that return when they have nothing to wait for:
///   says whether there are unfinished tasks. At first the loop is not kept alive.
template <class Wake>
concept loop_wake = std::destructible<Wake> && requires(Wake& loop) {
    { loop.wake() } noexcept;
};

namespace detail {

template <class Wake>
concept wakes_at_times = requires(Wake& loop, clock::duration after) {
    { loop.set_timer(after) } noexcept;
    { loop.cancel_timer() } noexcept;
};

template <class Wake>
concept wakes_while_kept_alive = requires(Wake& loop) {
    { loop.keep_alive(true) } noexcept;
};

} // namespace detail

/// An executor that runs on the thread of another library's event loop. Its nodes run in turns of
/// at most 64, first in, first out; between turns the loop does its other work. However many nodes
/// other threads post, they call `Wake::wake` only once after each time that it has fallen asleep.
///
/// `spawn`, `post`, `executor` and `schedule` may be called from any thread. All else happens on
/// the loop's thread, including the destruction; or while the loop does not run. The destructor
/// destroys the frames of all spawned tasks that have not finished, and withdraws their operations.
/// Meanwhile no other thread may use this executor, except partners that complete operations which
/// wait on it. A task must not destroy the executor that runs it, and must not run the loop.
///
/// Deadlines are served by the loop if `Wake` has timers, otherwise by the timer thread.
///
/// If `Wake` has `keep_alive`, the loop returns only when all tasks have finished. This holds for
/// tasks that any thread spawns before the first run, or while the loop runs. After a run, spawn
/// the first task of the next run on the thread of the last one.
///
/// A coroutine of another library that waits on the loop's thread, outside a task, resumes inline
/// in the party that completes its wait, because tryst does not know its executor. To resume all
/// coroutines of the loop's thread there, put this into the function that runs the loop:
///
/// @code
/// const tryst::executor_scope here(executor.executor());
/// @endcode
///
/// @resumes  only in `run_turn` and `timer_expired`, so on the thread on which the loop calls them.
/// @throws   what the constructor of `Wake` throws.
/// @sync     everything before a post happens-before the run of the node.
/// @allocation  none, apart from what `Wake` allocates.
template <loop_wake Wake>
class loop_executor final : private loop_turns,
                            public detail::turn_executor<loop_executor<Wake>, false> {
    using base = detail::turn_executor<loop_executor, false>;
    friend base;
    friend detail::serial_executor_base<loop_executor, false>;

public:
    /// @param loop  the arguments of `Wake`'s constructor, after the `loop_turns&`.
    template <class... Loop>
        requires std::constructible_from<Wake, loop_turns&, Loop...>
    explicit loop_executor(Loop&&... loop)
        : wake_(static_cast<loop_turns&>(*this), std::forward<Loop>(loop)...) {
        if constexpr (keeps_alive) {
            queue_turn(); // the first run waits for what is spawned before it
        } else {
            base::fall_asleep();
        }
    }
    loop_executor(loop_executor&&) = delete;

    /// Destroys the frames of the tasks that have not finished.
    ~loop_executor() {
        assert(!in_turn_ && "tryst: a task must not destroy the executor that runs it");
        end_sleep();
        // [K2] acquire, pairs with [K1].
        detail::yield_until(
            [this] { return wakes_ended_.load(std::memory_order_acquire) == wakes_; });
        in_turn_ = true; // so that the loop's timer is not set any more
        base::dispose([] {});
    }

    /// @cond
private:
    static_assert(
        detail::wakes_at_times<Wake> || !requires(Wake& loop, detail::clock::duration t) {
            loop.set_timer(t);
        }, "tryst: set_timer and cancel_timer must both be there, and noexcept");
    static_assert(
        detail::wakes_while_kept_alive<Wake> || !requires(Wake& loop) { loop.keep_alive(true); },
        "tryst: keep_alive must be noexcept");
    static constexpr bool has_timers = detail::wakes_at_times<Wake>;
    static constexpr bool keeps_alive = detail::wakes_while_kept_alive<Wake>;
    static constexpr auto never = (timer_node::time_point::max)();

    void run_turn() noexcept override {
        if (in_turn_) {
            return; // the loop runs within a task: the turn goes on when that returns
        }
        in_turn_ = true;
        end_sleep();
        if constexpr (keeps_alive) {
            // Relaxed: only compared.
            home_.store(this_thread(), std::memory_order_relaxed);
        }
        base::run_nodes();
    }

    void timer_expired() noexcept override {
        alarm_ = never;
        run_turn();
    }

    /// Ends the sleep. If a poster has woken the loop, or is about to, counts this wake-up (I48).
    void end_sleep() noexcept {
        if (!base::stay_awake()) {
            ++wakes_;
        }
    }

    // Required by `turn_executor` and `serial_executor_base`.
    bool in_turn() const noexcept { return this->running_here() && in_turn_; }

    /* I48. Before a loop_executor is destroyed, no poster is in `wake`. Each sleep that a poster
     *     ended makes `wakes_` one larger, and after its last access that poster makes
     *     `wakes_ended_` one larger. The destructor waits until they are equal. */
    void wake() noexcept {
        wake_.wake();
        // [K1] release, pairs with [K2]: the wake-up is over. The last access.
        wakes_ended_.fetch_add(1, std::memory_order_release);
    }

    void deliver(executor_node* node) noexcept {
        if constexpr (keeps_alive) {
            // Relaxed: only compared.
            if (home_.load(std::memory_order_relaxed) == this_thread()) {
                set_alive(true);
            }
        }
        base::deliver(node);
    }

    void queue_turn() noexcept {
        in_turn_ = false;
        set_alive(true);
        wake_.wake();
    }

    void poll() noexcept {
        base::poll();
        if constexpr (has_timers) {
            timers_.fire_due(now);
        }
    }

    bool fall_asleep() noexcept {
        in_turn_ = false;
        if (base::fall_asleep()) {
            return true;
        }
        in_turn_ = true;
        return false;
    }

    void before_sleep() noexcept {
        set_alive(this->queue().has_tasks());
        if constexpr (has_timers) {
            set_alarm();
        }
    }

    static timer_node::time_point now() noexcept
        requires has_timers
    {
        return detail::clock::now();
    }
    void arm(timer_node* node) noexcept
        requires has_timers
    {
        timers_.insert(node);
        set_alarm_between_turns();
    }
    void disarm(timer_node* node) noexcept
        requires has_timers
    {
        timers_.remove(node);
        set_alarm_between_turns();
    }

    /// A turn sets the alarm in the end. Between turns, coroutines that are not tasks begin to wait
    /// in the scope of this executor, and frames are destroyed.
    void set_alarm_between_turns() noexcept {
        if (!in_turn_) {
            set_alarm();
        }
    }

    /// Sets the loop's timer for the earliest of ours. Leaves it if it expires before that, because
    /// an unnecessary expiry costs less than setting it for each wait.
    void set_alarm() noexcept {
        const auto earliest = timers_.empty() ? never : timers_.earliest();
        if (earliest == never && alarm_ != never) {
            wake_.cancel_timer();
            alarm_ = never;
        } else if (earliest < alarm_) {
            constexpr detail::clock::duration longest = std::chrono::hours(24);
            wake_.set_timer((std::min)(detail::until(now(), earliest), longest));
            alarm_ = earliest;
        }
    }

    void set_alive([[maybe_unused]] bool alive) noexcept {
        if constexpr (keeps_alive) {
            if (alive_ != alive) {
                wake_.keep_alive(alive);
                alive_ = alive;
            }
        }
    }

    static std::uintptr_t this_thread() noexcept {
        return reinterpret_cast<std::uintptr_t>(detail::this_thread_address());
    }

    // All but `home_` and `wakes_ended_` are for the loop's thread.
    detail::timer_heap timers_;
    timer_node::time_point alarm_ = never; ///< When the loop's timer expires.
    bool in_turn_ = false;
    bool alive_ = false;
    std::uint32_t wakes_ = 0; ///< The sleeps that a poster ended.
    detail::atomic<std::uint32_t> wakes_ended_{0};
    /// The thread that ran the last turn. There a task may be spawned while the loop does not run,
    /// and must keep it alive from then on.
    detail::atomic<std::uintptr_t> home_{0};
    Wake wake_;
    /// @endcond
};

/// @}
} // namespace tryst
