// SPDX-License-Identifier: MIT
/// @file
/// The deadlines of the operations that wait in an execution context.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/shared_timers.hpp>
#include <tryst/detail/run/timer_thread.hpp>
#include <tryst/executor.hpp>

#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// Runs functions inline. Its `query` names the context to which timers and strands belong. Asio
/// uses it only on threads that run the context.
struct inline_context_executor {
    net::execution_context& query(net::execution::context_t /*which*/) const noexcept {
        return *context;
    }
    template <class Function>
    void execute(Function&& function) const {
        std::forward<Function>(function)();
    }
    bool operator==(const inline_context_executor&) const noexcept = default;

    net::execution_context* context;
};

/* The context itself serves these timers, through one `basic_waitable_timer`, the alarm. An Asio
 * timer for each operation would cost two more passes through the context's queue, and an
 * allocation. The alarm is constructed before the first offer with a deadline (`prepare`), or, for
 * tasks, when the first timer is armed. It brings Asio's reactor into the context, which makes each
 * pass through the queue more expensive.
 *
 * While an alarm is set, the context has outstanding work. So the alarm must be cancelled when
 * there are no timers. A party may wait with a deadline again and again, and be served in time. To
 * spare it a new alarm for each wait, the alarm is cancelled only after there was no timer in each
 * of `idle_passes` successive passes through the queue.
 *
 * If there is no memory or file descriptor for the alarm, the timer thread serves the timers until
 * none is armed; then the next one tries the alarm again. So the timers that are armed are all in
 * one place, except that one may be in its `fire` when the others move to the thread. */
class context_timers : tryst::detail::shared_timers {
public:
    explicit context_timers(net::execution_context& context) noexcept : context_{&context} {}

    /// Makes the alarm, which may take file descriptors and memory. @returns whether it is there.
    bool prepare() noexcept {
        const std::scoped_lock lock(mutex_);
        try {
            make_alarm();
        } catch (...) {
            return false;
        }
        return true;
    }

    void arm(timer_node* node) noexcept {
        const std::scoped_lock lock(mutex_);
        if (armed_++ == 0) {
            by_thread_ = false;
        }
        if (by_thread_) {
            timer_thread::instance().arm(node);
            return;
        }
        heap_.insert(node);
        if (node->deadline < alarm_at_) {
            set_alarm();
        }
    }

    /// @param queue  of an executor of the context, a `work_queue`.
    template <class Queue>
    void disarm(timer_node* node, Queue queue) noexcept {
        if (remove_timer(node)) {
            queue_idle_entry(std::move(queue));
        }
    }

    /// From now on the alarm rings no more. A timer that the timer thread has may still fire there.
    void shutdown() noexcept {
        const std::scoped_lock lock(mutex_);
        ended_ = true;
        alarm_at_ = never;
        alarm_.reset();
    }

private:
    using clock = tryst::detail::clock;
    using alarm =
        net::basic_waitable_timer<clock, net::wait_traits<clock>, inline_context_executor>;

    using timer_thread = tryst::detail::timer_thread;

    static constexpr auto never = (clock::time_point::max)();
    static constexpr int idle_passes = 4;

    /// @returns whether the caller must begin to look for an idle alarm, pass by pass.
    bool remove_timer(timer_node* node) noexcept {
        std::unique_lock lock(mutex_);
        if (by_thread_) {
            await_fire(lock, node);
            lock.unlock(); // the thread may be in the timer's `fire`, for which this waits
            timer_thread::instance().disarm(node);
            lock.lock();
        } else {
            remove(lock, node);
        }
        --armed_;
        if (!heap_.empty() || alarm_at_ == never || passes_left_ != 0) {
            return false;
        }
        passes_left_ = idle_passes;
        return true;
    }

    /// Cancels the alarm if it has idled for long enough. @returns whether to check again.
    // NOLINTNEXTLINE(bugprone-exception-escape) cancelling a timer never fails
    bool cancel_if_idle() noexcept {
        const std::scoped_lock lock(mutex_);
        if (!heap_.empty() || alarm_at_ == never) {
            passes_left_ = 0;
        } else if (--passes_left_ == 0) {
            alarm_at_ = never;
            alarm_->cancel();
        }
        return passes_left_ != 0;
    }

    /// Queues an entry that looks for an idle alarm, and queues the next one if necessary.
    template <class Queue>
    void queue_idle_entry(Queue queue) noexcept {
        try {
            Queue to = queue;
            to.push(
                [this, queue = std::move(queue)]() mutable {
                    if (cancel_if_idle()) {
                        queue_idle_entry(std::move(queue));
                    }
                },
                false);
        } catch (...) { // no memory
            while (cancel_if_idle()) {
            }
        }
    }

    void make_alarm() {
        if (!alarm_ && !ended_) {
            alarm_.emplace(context_);
        }
    }

    /// Sets the alarm for the earliest timer, or hands all timers to the timer thread.
    /// Precondition: there is one.
    void set_alarm() noexcept {
        if (ended_) {
            return;
        }
        try {
            make_alarm();
            alarm_->expires_at(heap_.earliest());
            alarm_->async_wait([this](const error_code& error) {
                if (!error) {
                    ring();
                }
            });
            alarm_at_ = heap_.earliest();
        } catch (...) { // no memory or no file descriptor
            by_thread_ = true;
            alarm_at_ = never;
            while (timer_node* const node = heap_.pop_due(never)) {
                timer_thread::instance().arm(node);
            }
        }
    }

    void ring() noexcept {
        std::unique_lock lock(mutex_);
        if (clock::now() < alarm_at_) {
            return; // a cancelled alarm, whose handler was already queued
        }
        alarm_at_ = never;
        if (firing_ != nullptr) {
            return; // another thread fires timers, and sets the next alarm
        }
        while (fire_next(lock)) {
        }
        if (!heap_.empty() && heap_.earliest() < alarm_at_) {
            set_alarm();
        }
    }

    inline_context_executor context_;
    std::optional<alarm> alarm_; ///< Guarded by the mutex, like the next members.
    std::size_t armed_ = 0; ///< The timers for which `disarm` has not been called.
    bool by_thread_ = false; ///< Whether the timer thread has them.
    clock::time_point alarm_at_ = never;
    int passes_left_ = 0;
    bool ended_ = false;
};

} // namespace detail
TRYST_ASIO_END
