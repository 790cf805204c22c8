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
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

namespace detail {

/// The clock of a loop that exists only for a single operation, like the loop of `sync_wait`:
/// coroutines without an executor of their own must not wait there.
struct temporary_clock : clock {};

} // namespace detail

/// Options of a `run_loop`.
struct run_loop_options {
    /// The maximum number of times that an idle loop polls its mailbox before it sleeps. The loop
    /// polls less often while polling has not helped, unless it expects an answer of a partner that
    /// runs on another thread. With 0 it sleeps at once, as it always does on a single processor.
    /// The default takes about as long as a wake-up across cores (some 40 us). So at worst polling
    /// doubles that cost (Karlin, Manasse, McGeoch and Owicki, "Competitive randomized algorithms
    /// for nonuniform problems", 1994, section 2).
    unsigned max_spins = 2'000;
};

/// A single-threaded executor: a queue of ready coroutines, a mailbox for other threads, and
/// timers.
///
/// Work is run first in, first out. `spawn`, `post`, `stop` and `executor` may be called from any
/// thread. One thread at a time may call `run` or `run_until_idle`; on that thread the loop resumes
/// everything that waits on it.
///
/// The destructor destroys the frames of all spawned tasks that have not finished. None of them may
/// be running on another loop at that moment. Nothing else that waits on the loop may outlive it.
///
/// A loop that is stopped, and neither run again nor destroyed, leaves the offers of its coroutines
/// in place. Arrivals may then overlook an offer that is not in slot 0 of its exchanger.
///
/// @tparam Clock  a type whose `now()` returns a `steady_clock::time_point`. The deadlines of
///   operations that are awaited on the loop are measured on it. A test may pass a clock that
///   advances only when the test says so.
template <class Clock>
class basic_run_loop : public detail::event_loop<basic_run_loop<Clock>,
                                                 std::is_same_v<Clock, detail::temporary_clock>> {
    using base = detail::event_loop<basic_run_loop, std::is_same_v<Clock, detail::temporary_clock>>;
    friend base;

public:
    using clock = Clock; ///< The clock of its deadlines.

    /// Makes a loop, which does not run yet.
    /// @param options  how often an idle loop polls.
    /// @param time     the clock.
    explicit basic_run_loop(run_loop_options options = {}, Clock time = Clock())
        : base(options.max_spins), clock_(std::move(time)) {}

    /// Destroys the frames of the tasks that have not finished; their operations are withdrawn.
    /// Precondition: the loop is not running, and no other thread posts to it, except partners that
    /// complete operations which wait on the loop.
    ~basic_run_loop() { this->dispose(); }

    /// Runs until stopped; sleeps while there is nothing to do.
    /// @returns the number of nodes that it ran: resumptions, calls of `stop`, and the library's
    ///   own checks of waiting operations.
    std::size_t run() noexcept { return this->run_until_stopped(); }
    using base::run; ///< `run(work)`: runs until `work` has finished, and returns its result.

    /// Runs everything that is ready, including due timers, and everything that this makes ready.
    /// Returns without sleeping. A `stop` among this work takes effect in the next `run`.
    /// @returns the number of nodes that it ran.
    std::size_t run_until_idle() noexcept { return this->run_ready(); }

private:
    void deliver(executor_node* node) noexcept { mail_.post(node); }
    executor_node* take_mail() noexcept { return mail_.take(); }
    bool has_events() const noexcept { return mail_.has_mail(); }
    void fetch_events() noexcept {}
    void claim() const noexcept {}
    void run_to(const bool& ended) noexcept { this->run_until(ended); }
    void sleep() noexcept { mail_.sleep(); }
    void sleep_until(detail::clock::time_point deadline) noexcept { mail_.sleep_until(deadline); }
    auto now() const noexcept { return clock_.now(); }

    [[no_unique_address]] Clock clock_;
    detail::mailbox mail_;
};

/// A loop on the steady clock.
using run_loop = basic_run_loop<detail::clock>;

/// @}
} // namespace tryst
