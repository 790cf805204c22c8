// SPDX-License-Identifier: MIT
/// @file
/// Deadlines for coroutines whose executor has no timers: one thread, started on demand.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/executor.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tryst::detail {

/// A thread that fires timers, which are guarded by a mutex. It serves only the deadlines of
/// coroutines without an executor, or on an executor without timers. A coroutine without an
/// executor whose deadline passes continues on this thread, and delays other deadlines while it
/// runs there. If the system cannot start the thread, `std::terminate` is called, because by then a
/// waiter has been offered.
class timer_thread {
public:
    static timer_thread& instance() {
        static timer_thread only;
        return only;
    }

    timer_thread(const timer_thread&) = delete;
    timer_thread& operator=(const timer_thread&) = delete;

    void arm(timer_node* node) noexcept {
        const std::scoped_lock lock(mutex_);
        heap_.insert(node);
        if (heap_.earliest() == node->deadline) {
            changed_.notify_all();
        }
    }

    /// Waits for a `fire` of this node to return, unless called from within it. After that, the
    /// node is no longer used.
    void disarm(timer_node* node) noexcept {
        std::unique_lock lock(mutex_);
        if (!heap_.remove(node) && std::this_thread::get_id() != thread_.get_id()) {
            changed_.wait(lock, [&] { return firing_ != node; });
        }
    }

private:
    timer_thread() : thread_([this] { run(); }) {}

    ~timer_thread() {
        {
            const std::scoped_lock lock(mutex_);
            stopping_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }

    void run() {
        std::unique_lock lock(mutex_);
        while (!stopping_) {
            if (heap_.empty()) {
                changed_.wait(lock);
            } else if (timer_node* const due = heap_.pop_due(clock::now())) {
                firing_ = due;
                lock.unlock();
                due->fire(due); // may end the node's lifetime
                lock.lock();
                firing_ = nullptr;
                changed_.notify_all();
            } else {
                changed_.wait_until(lock, heap_.earliest());
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_; // signals: earliest timer, end of a `fire`, `stopping_`
    timer_heap heap_;
    timer_node* firing_ = nullptr;
    bool stopping_ = false;
    std::thread thread_; // last, because it uses all of the above
};

/// The timer thread as an executor that has only timers.
inline executor_ref timer_thread_executor() noexcept {
    static constexpr executor_vtable vtable{
        .now = [](const void*) noexcept { return clock::now(); },
        .arm = [](void*, timer_node* node) noexcept { timer_thread::instance().arm(node); },
        .disarm = [](void*, timer_node* node) noexcept { timer_thread::instance().disarm(node); }};
    return {nullptr, &vtable};
}

} // namespace tryst::detail
