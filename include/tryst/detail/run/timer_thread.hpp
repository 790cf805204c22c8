// SPDX-License-Identifier: MIT
/// @file
/// Deadlines for coroutines whose executor has no timers: one thread, started on demand.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/shared_timers.hpp>
#include <tryst/executor.hpp>

#include <mutex>
#include <thread>

namespace tryst::detail {

/// A thread that fires timers. It serves only the deadlines of coroutines without an executor, or
/// on an executor without timers. A coroutine without an executor whose deadline passes continues
/// on this thread, and delays other deadlines while it runs there. If the system cannot start the
/// thread, `std::terminate` is called, because by then a waiter has been offered. `changed_` also
/// tells the thread of an earlier timer, and of the end.
class timer_thread : shared_timers {
public:
    static timer_thread& instance() {
        static timer_thread only;
        return only;
    }

    void arm(timer_node* node) noexcept {
        const std::scoped_lock lock(mutex_);
        heap_.insert(node);
        if (heap_.earliest() == node->deadline) {
            changed_.notify_all();
        }
    }

    void disarm(timer_node* node) noexcept {
        std::unique_lock lock(mutex_);
        remove(lock, node);
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
            fire_due(lock);
            if (stopping_) {
                return;
            }
            if (heap_.empty()) {
                changed_.wait(lock);
            } else {
                changed_.wait_until(lock, heap_.earliest());
            }
        }
    }

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
