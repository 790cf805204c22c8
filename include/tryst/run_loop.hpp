// SPDX-License-Identifier: MIT
/// @file
/// A single-threaded executor with timers: the loop that comes with the library.
/// Standard library only.
#pragma once

#include <tryst/detail/atomic.hpp>
#include <tryst/detail/cpu.hpp>
#include <tryst/detail/mailbox.hpp>
#include <tryst/detail/serial_queue.hpp>
#include <tryst/detail/time.hpp>
#include <tryst/detail/timer_heap.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace tryst {

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
/// that waits on it. The destructor destroys the frames of all spawned tasks that have not finished;
/// whatever else waits on the loop must not outlive it.
///
/// @tparam Clock  a type whose `now()` returns a `steady_clock::time_point`; a test's own may stand
///   still. Deadlines of operations awaited on the loop are read on this clock.
template <class Clock>
class basic_run_loop {
public:
    using clock = Clock;
    using time_point = timer_node::time_point;

    explicit basic_run_loop(run_loop_options options = {}, Clock time = Clock())
        : max_spins_(detail::processor_count() > 1 ? options.max_spins : 0), spins_(max_spins_),
          clock_(std::move(time)) {
        stop_.run = [](executor_node* node) noexcept {
            auto& self = *static_cast<stop_request*>(node)->loop;
            self.stopped_ = true;
            // [L1] release, pairs with [L2]: the node is out of the queue before it is posted again.
            // Acquire, pairs with [L2]: all before a stop that found this one pending happens-before the
            // return of `run`; a plain store could not see it.
            self.stop_posted_.exchange(false, std::memory_order_acq_rel);
        };
    }
    basic_run_loop(const basic_run_loop&) = delete;
    basic_run_loop& operator=(const basic_run_loop&) = delete;

    /// Destroys the frames of the tasks that have not finished; their operations are withdrawn.
    /// Precondition: not running, and no other thread posts any more, except that partners may still come
    /// to operations that wait on the loop.
    ~basic_run_loop() {
        assert(!running_ && "tryst: a run_loop was destroyed while it was running");
        const detail::executor_scope here(executor());
        queue_.append(mail_.take());
        queue_.dispose();
    }

    /// Starts `work` on the loop, which owns it until it finishes. Other than by `co_await`, nobody is
    /// told when it does; see `when_all` for joining. An exception that leaves `work` is a
    /// `std::terminate`, as for a thread.
    /// @throws std::bad_alloc: one coroutine frame; `work` is then destroyed unstarted.
    void spawn(task<> work) { post(queue_.spawn(executor(), std::move(work))); }

    /// Runs until stopped; sleeps while there is nothing to do.
    /// @returns how many nodes (resumed coroutines, checks, stops) it has run.
    std::size_t run() noexcept {
        return run_here([this] {
            std::size_t count = 0;
            while (!std::exchange(stopped_, false)) {
                if (!poll()) {
                    wait();
                    continue;
                }
                count += queue_.run_some(turns_between_polls, [this] { return stopped_; });
            }
            return count;
        });
    }

    /// Runs all that is ready, due timers included, and whatever that makes ready, and returns without
    /// sleeping. A `stop` met on the way is kept for `run`.
    /// @returns how many nodes it has run.
    std::size_t run_until_idle() noexcept {
        return run_here([this] {
            std::size_t count = 0;
            while (poll()) {
                count += queue_.run_some(turns_between_polls, [] { return false; });
            }
            return count;
        });
    }

    /// Makes `run` return once it has run what was queued before; if nobody is in `run`, the next call
    /// returns. What is ready then stays ready. From any thread; the loop may be destroyed as soon as
    /// `run` has returned. @sync everything before it happens-before that return.
    void stop() noexcept {
        // [L2] acquire and release, pairs with [L1].
        if (!stop_posted_.exchange(true, std::memory_order_acq_rel)) {
            post(&stop_);
        }
    }

    /// Queues `node`. From any thread. @allocation none.
    void post(executor_node* node) noexcept {
        if (running_here()) {
            queue_.push(node);
        } else {
            mail_.post(node);
        }
    }

    /// Whether the calling thread is running this loop.
    bool running_here() const noexcept { return current_executor() == executor(); }

    /// The loop as an executor; the loop must outlive its use.
    executor_ref executor() const noexcept { return {const_cast<basic_run_loop*>(this), &vtable}; }

    /// `co_await loop.schedule()`: goes on on this loop.
    [[nodiscard]] auto schedule() const noexcept { return executor().schedule(); }

private:
    struct stop_request : executor_node {
        basic_run_loop* loop;
    };

    static basic_run_loop& loop(void* self) noexcept { return *static_cast<basic_run_loop*>(self); }
    static const basic_run_loop& loop(const void* self) noexcept {
        return *static_cast<const basic_run_loop*>(self);
    }

    // clang-format off
    static constexpr executor_vtable vtable{
        .post         = [](void* self, executor_node* node) noexcept { loop(self).post(node); },
        .serial       = true,
        .running_here = [](const void* self) noexcept { return loop(self).running_here(); },
        .retract      = [](void* self, executor_node* node) noexcept { return loop(self).retract(node); },
        .now          = [](const void* self) noexcept { return time_point(loop(self).clock_.now()); },
        .arm          = [](void* self, timer_node* node) noexcept { loop(self).timers_.insert(node); },
        .disarm       = [](void* self, timer_node* node) noexcept { loop(self).timers_.remove(node); },
    };
    // clang-format on

    template <class Body>
    std::size_t run_here(Body body) noexcept {
        assert(!running_ &&
               "tryst: a run_loop runs on one thread at a time, and not within itself");
        running_ = true;
        const detail::executor_scope here(executor());
        const std::size_t count = body();
        running_ = false;
        return count;
    }

    /// Fetches what has become ready. @returns whether there is anything to run.
    bool poll() noexcept {
        queue_.append(mail_.take());
        if (!timers_.empty()) {
            const time_point now = clock_.now();
            while (timer_node* const due = timers_.pop_due(now)) {
                due->fire(due);
            }
        }
        return !queue_.empty();
    }

    /// Waits for mail or the next deadline, spinning for a while before it sleeps.
    void wait() noexcept {
        for (unsigned i = 0; i != spins_; ++i) {
            if (mail_.has_mail()) {
                // It came after i looks: let the next wait have room for twice as many.
                spins_ = std::max(spins_, std::min(2 * i + min_spins, max_spins_));
                return;
            }
            if (!timers_.empty() && i % spins_between_clock_reads == 0 &&
                timers_.earliest() <= clock_.now()) {
                return;
            }
            detail::spin_pause();
        }
        // In vain: half as long next time.
        spins_ = std::min(max_spins_, std::max(spins_ / 2, min_spins));
        if (timers_.empty()) {
            mail_.sleep();
        } else {
            // The platform's clock counts the sleep, whatever the loop's clock shows. It is read first: what
            // passes between the two looks must not make the sleep longer.
            const auto start = detail::clock::now();
            mail_.sleep_until(
                detail::after(start, detail::saturated(timers_.earliest() - clock_.now())));
        }
    }

    bool retract(executor_node* node) noexcept {
        queue_.append(mail_.take());
        return queue_.retract(node);
    }

    // Mail and timers wait for at most this many nodes while the loop is busy: enough to make looking
    // cheap beside running, few enough to be prompt.
    static constexpr std::size_t turns_between_polls = 64;
    static constexpr unsigned spins_between_clock_reads = 16;
    static constexpr unsigned min_spins = 16;

    detail::serial_queue queue_;
    detail::timer_heap timers_;
    unsigned max_spins_;
    unsigned spins_;
    bool running_ = false;
    bool stopped_ = false;
    [[no_unique_address]] Clock clock_;
    stop_request stop_{{}, this};

    detail::mailbox mail_;
    detail::atomic<bool> stop_posted_{false};
};

using run_loop = basic_run_loop<detail::clock>;

} // namespace tryst
