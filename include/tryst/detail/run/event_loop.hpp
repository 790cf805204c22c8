// SPDX-License-Identifier: MIT
/// @file
/// The common part of the library's loops: everything except how they sleep, and which events other
/// than mail and timers they wait for.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/awaitable.hpp>
#include <tryst/detail/run/serial_executor_base.hpp>
#include <tryst/detail/run/spin_policy.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/detail/run/turn_budget.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <cassert>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/// Runs `work` to its end, and leaves its result in it.
template <class T>
task<> finish(task<T>& work, bool& ended) {
    co_await work.when_ready();
    ended = true;
}

/// A single-threaded executor with timers, from which `Loop` derives. `Temporary` is as in
/// `executor_vtable`. `Loop` has
/// - `void deliver(executor_node*)`, called by other threads: puts a node where `take_mail` finds
///   it, and wakes the loop if it sleeps;
/// - `executor_node* take_mail()`, which returns a list in the order of delivery;
/// - `bool has_events()`, called while the loop spins: whether there is mail or anything else to
///   fetch;
/// - `void fetch_events()`, which may make nodes ready;
/// - `void claim()`, called before `run(work)` queues its work; throws if the loop cannot run here;
/// - `void run_to(const bool& ended)`, which calls `run_until(ended)`;
/// - `void sleep()` and `void sleep_until(deadline)`, until there are events;
/// - `time_point now()`, the clock of its timers.
template <class Loop, bool Temporary = false>
class event_loop : public serial_executor_base<event_loop<Loop, Temporary>, Temporary> {
    using base = serial_executor_base<event_loop, Temporary>;
    friend base;

public:
    using time_point = timer_node::time_point; ///< A time on the `steady_clock`.

    /// Runs the loop on this thread until `work`, a task or another awaitable, has finished. Other
    /// tasks run meanwhile; those that have not finished stay on the loop, for the next run. If
    /// `work` moves to another loop, this returns only if that loop runs. A `stop` does not end
    /// this call, but the next `run()`. Precondition: the loop is not running.
    /// @param where  the call, for debuggers.
    /// @returns the result of `work`.  @throws what `work` throws, std::bad_alloc, and what `run()`
    ///   throws; then `work` has not started.
    /// @cancellation none of its own: give a stop token to the operations that `work` awaits.
    /// @sync everything that `work` did happens-before the return.  @allocation two coroutine
    ///   frames, and a third if `work` is not a task.
    template <awaitable Work>
    awaited<Work> run(Work&& work, location where = location::current()) {
        self().claim();
        task<awaited<Work>> own = detail::as_local_task(std::forward<Work>(work));
        bool ended = false;
        this->spawn(detail::finish(own, ended), where);
        self().run_to(ended);
        return own.take();
    }

    /// Makes `run()` return once it has run everything that was queued before this call. If the
    /// loop is not in `run`, the next call of `run` does so. Work that becomes ready later stays
    /// queued. Call from any thread. The loop may be destroyed as soon as `run` has returned.
    /// @sync everything before this call happens-before that return.
    void stop() noexcept {
        // [L2] acquire and release, pairs with [L1].
        if (!stop_posted_.exchange(true, std::memory_order_acq_rel)) {
            this->post(&stop_);
        }
    }

    /// @cond
protected:
    ~event_loop() = default;

    /// The destructor of `Loop` calls this first. Destroys the frames of unfinished tasks.
    void dispose() noexcept {
        assert(!running_ && "tryst: a loop was destroyed while it was running");
        base::dispose([] {});
    }

    /// Runs until stopped; sleeps while there is nothing to do. @returns the number of nodes that
    /// it ran.
    std::size_t run_until_stopped() noexcept {
        const std::size_t count = run_until(stopped_);
        stopped_ = false;
        return count;
    }

    /// Runs until `ended`, which a node sets; sleeps while there is nothing to do. @returns the
    /// number of nodes that it ran.
    std::size_t run_until(const bool& ended) noexcept {
        return run_here([&] {
            std::size_t count = 0;
            while (!ended) {
                if (!poll()) {
                    wait();
                    continue;
                }
                count += this->queue().run_some(nodes_between_polls,
                                                [&] { return ended || turn_budget::is_spent(); });
            }
            return count;
        });
    }

    /// Runs all ready nodes, and those that they make ready. @returns the number of nodes that it
    /// ran.
    std::size_t run_ready() noexcept {
        return run_here([this] {
            std::size_t count = 0;
            while (poll()) {
                count += this->queue().run_some(nodes_between_polls,
                                                [] { return turn_budget::is_spent(); });
            }
            return count;
        });
    }

    timer_heap& timers() noexcept { return timers_; }

private:
    friend Loop; // so that only `Loop` derives from this

    explicit event_loop(unsigned spin_limit) noexcept
        : spins_(processor_count() > 1 ? spin_limit : 0) {
        stop_.run = [](executor_node* node) noexcept {
            event_loop& loop = *static_cast<stop_request*>(node)->loop;
            loop.stopped_ = true;
            // [L1] release, pairs with [L2]: the node is out of the queue before it is posted again
            // (I15). Acquire, pairs with [L2]: everything before a stop that found this one pending
            // happens-before the return of `run`. A plain store could not see such a stop.
            loop.stop_posted_.exchange(false, std::memory_order_acq_rel);
        };
    }

    struct stop_request : executor_node {
        event_loop* loop;
    };

    Loop& self() noexcept { return static_cast<Loop&>(*this); }

    // Required by `serial_executor_base`.
    void deliver(executor_node* node) noexcept { self().deliver(node); }
    executor_node* take_mail() noexcept { return self().take_mail(); }
    time_point now() const noexcept { return time_point(static_cast<const Loop&>(*this).now()); }
    void arm(timer_node* node) noexcept { timers_.insert(node); }
    void disarm(timer_node* node) noexcept { timers_.remove(node); }

    template <class Body>
    std::size_t run_here(Body body) noexcept {
        assert(!running_ && "tryst: a loop runs on one thread at a time, and not within itself");
        running_ = true;
        const executor_scope here(this->executor());
        const std::size_t count = body();
        running_ = false;
        return count;
    }

    /// Fetches ready work. @returns whether there is anything to run.
    bool poll() noexcept {
        executor_scope::next_batch();
        this->queue().append(self().take_mail());
        timers_.fire_due([this] { return now(); });
        self().fetch_events();
        return !this->queue().empty();
    }

    /// Waits for events or the next deadline: spins for a while, then sleeps.
    void wait() noexcept {
        const unsigned bound =
            spins_.begin(std::exchange(per_thread<thread_state>().partners, partners_seen()));
        for (unsigned i = 0; i != bound; ++i) {
            if (self().has_events()) {
                spins_.found(i);
                return;
            }
            if (!timers_.empty() && i % spins_between_clock_reads == 0 &&
                timers_.earliest() <= self().now()) {
                return;
            }
            spin_pause();
        }
        spins_.in_vain();
        if (timers_.empty()) {
            self().sleep();
        } else {
            // The sleep is measured on the platform's clock, even if the loop has another clock.
            // The platform's is read first, so that a delay between the two reads does not prolong
            // the sleep.
            const auto start = clock::now();
            self().sleep_until(
                detail::after(start, detail::until(self().now(), timers_.earliest())));
        }
    }

    // While the loop is busy, it polls for mail and timers after this many nodes: enough to make a
    // poll cheap compared with running them, few enough to be prompt.
    static constexpr std::size_t nodes_between_polls = 64;
    static constexpr unsigned spins_between_clock_reads = 16;

    timer_heap timers_;
    spin_policy spins_;
    bool running_ = false;
    bool stopped_ = false;
    // I15. The node of `stop` is in at most one queue: `stop_posted_` is true from its post until
    // the node has left the queue.
    stop_request stop_{{}, this};
    atomic<bool> stop_posted_{false};
    /// @endcond
};

} // namespace tryst::detail
