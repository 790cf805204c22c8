// SPDX-License-Identifier: MIT
/// @file
/// Timers that any thread arms and one thread at a time fires.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/timer_heap.hpp>
#include <tryst/executor.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace tryst::detail {

/// A base class for timers that a mutex guards. The derived class decides how to wait for the
/// earliest deadline.
class shared_timers {
public:
    shared_timers(shared_timers&&) = delete;

protected:
    shared_timers() = default;
    ~shared_timers() = default;

    /// Removes a timer, whether it has fired or not. If another thread is in its `fire`, waits
    /// until that returns. After that, the node is no longer used.
    void remove(std::unique_lock<std::mutex>& lock, timer_node* node) noexcept {
        if (!heap_.remove(node)) {
            await_fire(lock, node);
        }
    }

    /// Waits until no other thread is in the `fire` of a timer.
    void await_fire(std::unique_lock<std::mutex>& lock, timer_node* node) noexcept {
        if (firing_ == node && std::this_thread::get_id() != firing_thread_) {
            changed_.wait(lock, [&] { return firing_ != node; });
        }
    }

    /// Fires the earliest timer if it is due. Precondition: no other thread is in this function.
    /// @returns whether it was.
    bool fire_next(std::unique_lock<std::mutex>& lock) noexcept {
        timer_node* const due = heap_.pop_due(clock::now());
        if (due == nullptr) {
            return false;
        }
        firing_thread_ = std::this_thread::get_id();
        firing_ = due;
        lock.unlock();
        due->fire(due); // may end the node's lifetime
        lock.lock();
        firing_ = nullptr;
        changed_.notify_all();
        return true;
    }

    std::mutex mutex_;
    std::condition_variable changed_; // a `fire` has returned; derived classes add other events
    timer_heap heap_;
    timer_node* firing_ = nullptr;
    std::thread::id firing_thread_;
};

} // namespace tryst::detail
