// SPDX-License-Identifier: MIT
/// @file
/// A single-threaded executor with timers: the loop that comes with the library.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/event_loop.hpp>
#include <tryst/detail/run/mailbox.hpp>
#include <tryst/executor.hpp>

#include <cstddef>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

/// How a `run_loop` behaves.
struct run_loop_options {
    /// How often an idle loop looks into its mailbox, at most, before it sleeps. It looks less often
    /// when looking has not helped of late. 0: sleeps at once, as it always does on one processor.
    /// The default is about what a wake-up across cores costs (some 40 us), so that spinning at worst
    /// doubles that cost (Karlin, Manasse, McGeoch and Owicki, "Competitive randomized algorithms for
    /// nonuniform problems", 1994, section 2).
    unsigned max_spins = 2'000;
};

/// An executor of one thread: a queue of ready coroutines, a mailbox for other threads, timers.
///
/// Work is run first in, first out. `spawn`, `post`, `stop` and `executor` may be called from any
/// thread; `run` and `run_until_idle` by one thread at a time, from which the loop resumes everything
/// that waits on it. The destructor destroys the frames of all spawned tasks that have not finished, none of
/// which may be running on another loop at that moment; whatever else waits on the loop must not outlive it.
///
/// A loop that is stopped, and neither run again nor destroyed, does not withdraw what its coroutines have
/// offered: for a bounded offer above an exchanger's first slot this means that a partner may not find it.
///
/// @tparam Clock  a type whose `now()` returns a `steady_clock::time_point`; a test's own may stand
///   still. Deadlines of operations awaited on the loop are read on this clock.
/// @tparam Temporary  whether the loop ends with a single operation, as that of `sync_wait` does, so that
///   coroutines without an executor of their own must not wait on it.
template <class Clock, bool Temporary = false>
class basic_run_loop : public detail::event_loop<basic_run_loop<Clock, Temporary>, Temporary> {
    using base = detail::event_loop<basic_run_loop, Temporary>;
    friend base;

public:
    using clock = Clock; ///< What its deadlines are read on.

    /// A loop that nobody runs yet.
    /// @param time  the clock.
    explicit basic_run_loop(run_loop_options options = {}, Clock time = Clock())
        : base(options.max_spins), clock_(std::move(time)) {}

    /// Destroys the frames of the tasks that have not finished; their operations are withdrawn.
    /// Precondition: not running, and no other thread posts any more, except that partners may still come
    /// to operations that wait on the loop.
    ~basic_run_loop() { this->dispose(); }

    /// Runs until stopped; sleeps while there is nothing to do.
    /// @returns how many nodes (resumed coroutines, checks, stops) it has run.
    std::size_t run() noexcept { return this->run_until_stopped(); }

    /// Runs all that is ready, due timers included, and whatever that makes ready, and returns without
    /// sleeping. A `stop` met on the way is kept for `run`.
    /// @returns how many nodes it has run.
    std::size_t run_until_idle() noexcept { return this->run_ready(); }

private:
    void deliver(executor_node* node) noexcept { mail_.post(node); }
    executor_node* take_mail() noexcept { return mail_.take(); }
    bool has_events() const noexcept { return mail_.has_mail(); }
    void fetch_events() noexcept {}
    void sleep() noexcept { mail_.sleep(); }
    void sleep_until(detail::clock::time_point deadline) noexcept { mail_.sleep_until(deadline); }
    auto now() const noexcept { return clock_.now(); }

    [[no_unique_address]] Clock clock_;
    detail::mailbox mail_;
};

/// The loop on the steady clock.
using run_loop = basic_run_loop<detail::clock>;

/// @}
} // namespace tryst
