// SPDX-License-Identifier: MIT
/// @file
/// What the loops of the library have in common: all but how they sleep and what else they wait for.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/time.hpp>
#include <tryst/detail/run/serial_queue.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <utility>

namespace tryst::detail {

/// A single-threaded executor with timers, of which `Loop` derives; `Temporary` as in `executor_vtable`. `Loop` has
///   - `void deliver(executor_node*)`, for other threads: puts a node where `take_mail` finds it, and wakes
///     the loop if it sleeps;
///   - `executor_node* take_mail()`, a list in the order of delivery;
///   - `bool has_events()`, whether there is mail or anything else to fetch, asked while the loop spins;
///   - `void fetch_events()`, which may make nodes ready;
///   - `void sleep()` and `void sleep_until(deadline)`, until there are events;
///   - `time_point now()`, the clock of its timers.
template <class Loop, bool Temporary = false>
class [[gnu::visibility("default")]] event_loop {
public:
    using time_point = timer_node::time_point; ///< Of the `steady_clock`.

    /// Starts `work` on the loop, which owns it until it finishes. Other than by `co_await`, nobody is
    /// told when it does; see `when_all` for joining. An exception that leaves `work` is a
    /// `std::terminate`, as for a thread.
    /// @throws std::bad_alloc: one coroutine frame; `work` is then destroyed unstarted.
    void spawn(task<> work) { post(queue_.spawn(executor(), std::move(work))); }

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
            self().deliver(node);
        }
    }

    /// Whether the calling thread is running this loop.
    bool running_here() const noexcept { return current_executor() == executor(); }

    /// The loop as an executor; the loop must outlive its use.
    executor_ref executor() const noexcept { return {const_cast<event_loop*>(this), &vtable}; }

    /// `co_await loop.schedule()`: goes on on this loop.
    [[nodiscard]] auto schedule() const noexcept { return executor().schedule(); }

    /// @cond
protected:
    ~event_loop() = default;

    /// What the destructor of `Loop` begins with: destroys the frames of the tasks that have not finished.
    void dispose() noexcept {
        assert(!running_ && "tryst: a loop was destroyed while it was running");
        const executor_scope here(executor());
        queue_.append(self().take_mail());
        queue_.dispose();
    }

    /// Runs until stopped; sleeps while there is nothing to do. @returns how many nodes it has run.
    std::size_t run_until_stopped() noexcept {
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

    /// Runs all that is ready and whatever that makes ready. @returns how many nodes it has run.
    std::size_t run_ready() noexcept {
        return run_here([this] {
            std::size_t count = 0;
            while (poll()) {
                count += queue_.run_some(turns_between_polls, [] { return false; });
            }
            return count;
        });
    }

    serial_queue& queue() noexcept { return queue_; }
    timer_heap& timers() noexcept { return timers_; }

private:
    friend Loop; // and nobody else makes one; its members cannot be copied

    explicit event_loop(unsigned spin_limit) noexcept
        : max_spins_(processor_count() > 1 ? spin_limit : 0), spins_(max_spins_) {
        stop_.run = [](executor_node* node) noexcept {
            event_loop& loop = *static_cast<stop_request*>(node)->loop;
            loop.stopped_ = true;
            // [L1] release, pairs with [L2]: the node is out of the queue before it is posted again.
            // Acquire, pairs with [L2]: all before a stop that found this one pending happens-before the
            // return of `run`; a plain store could not see it.
            loop.stop_posted_.exchange(false, std::memory_order_acq_rel);
        };
    }

    struct stop_request : executor_node {
        event_loop* loop;
    };

    Loop& self() noexcept { return static_cast<Loop&>(*this); }
    static event_loop& loop(void* context) noexcept { return *static_cast<event_loop*>(context); }

    // clang-format off
    static constexpr executor_vtable vtable{
        .post         = [](void* context, executor_node* node) noexcept { loop(context).post(node); },
        .serial       = true,
        .temporary    = Temporary,
        .running_here = [](const void* context) noexcept {
            return static_cast<const event_loop*>(context)->running_here();
        },
        .retract      = [](void* context, executor_node* node) noexcept { return loop(context).retract(node); },
        .now          = [](const void* context) noexcept {
            return time_point(static_cast<const Loop*>(static_cast<const event_loop*>(context))->now());
        },
        .arm          = [](void* context, timer_node* node) noexcept { loop(context).timers_.insert(node); },
        .disarm       = [](void* context, timer_node* node) noexcept { loop(context).timers_.remove(node); },
    };
    // clang-format on

    template <class Body>
    std::size_t run_here(Body body) noexcept {
        assert(!running_ && "tryst: a loop runs on one thread at a time, and not within itself");
        running_ = true;
        const executor_scope here(executor());
        const std::size_t count = body();
        running_ = false;
        return count;
    }

    /// Fetches what has become ready. @returns whether there is anything to run.
    bool poll() noexcept {
        queue_.append(self().take_mail());
        if (!timers_.empty()) {
            const time_point now = self().now();
            while (timer_node* const due = timers_.pop_due(now)) {
                due->fire(due);
            }
        }
        self().fetch_events();
        return !queue_.empty();
    }

    /// Waits for events or the next deadline, spinning for a while before it sleeps.
    void wait() noexcept {
        for (unsigned i = 0; i != spins_; ++i) {
            if (self().has_events()) {
                // It came after i looks: let the next wait have room for twice as many.
                spins_ = std::max(spins_, std::min(2 * i + min_spins, max_spins_));
                return;
            }
            if (!timers_.empty() && i % spins_between_clock_reads == 0 &&
                timers_.earliest() <= self().now()) {
                return;
            }
            spin_pause();
        }
        // In vain: half as long next time.
        spins_ = std::min(max_spins_, std::max(spins_ / 2, min_spins));
        if (timers_.empty()) {
            self().sleep();
        } else {
            // The platform's clock counts the sleep, whatever the loop's clock shows. It is read first: what
            // passes between the two looks must not make the sleep longer.
            const auto start = clock::now();
            self().sleep_until(after(start, saturated(timers_.earliest() - self().now())));
        }
    }

    bool retract(executor_node* node) noexcept {
        queue_.append(self().take_mail());
        return queue_.retract(node);
    }

    // Mail and timers wait for at most this many nodes while the loop is busy: enough to make looking
    // cheap beside running, few enough to be prompt.
    static constexpr std::size_t turns_between_polls = 64;
    static constexpr unsigned spins_between_clock_reads = 16;
    static constexpr unsigned min_spins = 16;

    serial_queue queue_;
    timer_heap timers_;
    unsigned max_spins_;
    unsigned spins_;
    bool running_ = false;
    bool stopped_ = false;
    stop_request stop_{{}, this};
    atomic<bool> stop_posted_{false};
    /// @endcond
};

} // namespace tryst::detail
