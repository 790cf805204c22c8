// SPDX-License-Identifier: MIT
/// @file
/// Deadlines for coroutines that wait where no executor can serve them: one thread, started on demand.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/executor.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tryst::detail {

/// A thread that fires timers. A plain mutex guards it: it serves only bare coroutines and executors
/// without timers, and nothing here is on the path of an exchange without a deadline. A bare coroutine
/// whose deadline passes goes on in this thread, and delays the others' deadlines if it lingers there. A
/// system that cannot give us the thread is a `std::terminate`: the first waiter is offered already.
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

    /// After this the node is no longer referred to: waits for its `fire` to return, unless called
    /// from there.
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
                due->fire(due); // may end its life
                lock.lock();
                firing_ = nullptr;
                changed_.notify_all();
            } else {
                changed_.wait_until(lock, heap_.earliest());
            }
        }
    }

    std::mutex mutex_;
    std::condition_variable changed_; // the heap's earliest, `firing_` or `stopping_`
    timer_heap heap_;
    timer_node* firing_ = nullptr;
    bool stopping_ = false;
    std::thread thread_; // last: it uses all of the above
};

/// The timer thread as an executor that has timers and nothing else.
inline executor_ref timer_thread_executor() noexcept {
    static constexpr executor_vtable vtable{
        .now = [](const void*) noexcept { return clock::now(); },
        .arm = [](void*, timer_node* node) noexcept { timer_thread::instance().arm(node); },
        .disarm = [](void*, timer_node* node) noexcept { timer_thread::instance().disarm(node); }};
    return {nullptr, &vtable};
}

} // namespace tryst::detail
