// SPDX-License-Identifier: MIT
/// @file
/// Deadlines for coroutines whose executor has no timers: one thread, started on demand.
/// Standard library only.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/process.hpp>
#include <tryst/detail/run/shared_timers.hpp>
#include <tryst/executor.hpp>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace tryst::detail {

/// The end of the program or the shared library that contains this code. Its destructor runs after
/// those of all static objects that are defined after this header was included.
struct module_end {
    constexpr module_end() noexcept = default;
    module_end(module_end&&) = delete;
    inline ~module_end();
};

#ifndef _WIN32
[[gnu::visibility("hidden")]] // each module has its own
#endif
inline const module_end end_of_module;

/* The life of the thread
 *   absent     --arm--> running      the party that arms a timer starts it
 *   running    --end--> ending       the end of its module makes it return, and waits for that
 *   ending     -------> absent       it has returned; timers that are armed stay armed
 *   ending     --arm--> restarting   by another thread: the end of the module will start another
 *   restarting -------> running      likewise
 *   running    --exit-> absent       the thread itself has called exit(3), so it will not return
 *   any        --fork-> absent       in the child; but running if the thread itself called fork(2)
 *
 * The state is never destroyed, and an arm may start the thread again after the end. So every
 * static destructor may wait with a deadline. The module that ends the thread is that whose code
 * it runs. So no thread runs code that dlclose(3) has removed. */

/// A thread that fires timers. It serves only the deadlines of coroutines without an executor, or
/// on an executor without timers. A coroutine without an executor whose deadline passes continues
/// on this thread, and delays other deadlines while it runs there. All signals are blocked there,
/// except those of faults. Call `prepare` before a waiter is offered: if the system cannot start
/// the thread after that, `std::terminate` is called.
///
/// A child process does not inherit timers, as with timers of POSIX: those that its parent had
/// armed never fire there, but may be disarmed.
class timer_thread : shared_timers {
public:
    static timer_thread& instance() noexcept {
        alignas(timer_thread) static std::byte memory[sizeof(timer_thread)];
        static timer_thread& only = *::new (memory) timer_thread;
        return only;
    }

    /// Starts the thread, unless it runs. @returns false if the system cannot start it.
    bool prepare() noexcept {
        const std::scoped_lock lock(mutex_);
        return phase_ != phase::absent || try_start();
    }

    void arm(timer_node* node) noexcept {
        const std::scoped_lock lock(mutex_);
        heap_.insert(node);
        switch (phase_) {
        case phase::absent:
            start();
            break;
        case phase::running:
            if (heap_.earliest() == node->deadline) {
                changed_.notify_all();
            }
            break;
        case phase::ending:
            if (!thread_.is_here()) {
                phase_ = phase::restarting;
            }
            break;
        case phase::restarting:
            break;
        }
    }

    void disarm(timer_node* node) noexcept {
        std::unique_lock lock(mutex_);
        remove(lock, node);
    }

private:
    enum class phase : std::uint8_t { absent, running, ending, restarting };

    timer_thread() = default;

    void start() noexcept {
        if (!try_start()) {
            std::terminate();
        }
    }

    /// Not inlined, so that the module is that of `run`.
    [[gnu::noinline]] bool try_start() noexcept {
        has_handlers_ = has_handlers_ || (at_fork(before_fork, after_fork, after_fork_in_child) &&
                                          std::atexit(exit) == 0);
        if (!has_handlers_ || !thread_.start<&timer_thread::run>(*this)) {
            return false;
        }
        module_ = &end_of_module;
        phase_ = phase::running;
        return true;
    }

    void run() noexcept {
        std::unique_lock lock(mutex_);
        while (phase_ == phase::running) {
            if (fire_next(lock)) {
                continue;
            }
            if (heap_.empty()) {
                changed_.wait(lock);
            } else {
                changed_.wait_until(lock, heap_.earliest());
            }
        }
    }

    friend module_end;
    void end(const module_end& module) noexcept {
        std::unique_lock lock(mutex_);
        if (phase_ != phase::running || module_ != &module) {
            return;
        }
        phase_ = phase::ending;
        changed_.notify_all();
        lock.unlock();
        thread_.join();
        lock.lock();
        thread_.forget();
        if (std::exchange(phase_, phase::absent) == phase::restarting) {
            start();
        }
    }

    static void exit() noexcept {
        timer_thread& self = instance();
        const std::scoped_lock lock(self.mutex_);
        if (self.thread_.is_here()) {
            self.thread_.detach();
            self.thread_.forget();
            self.phase_ = phase::absent;
            self.firing_ = nullptr;
        }
    }

    static void before_fork() noexcept { instance().mutex_.lock(); }
    static void after_fork() noexcept { instance().mutex_.unlock(); }
    static void after_fork_in_child() noexcept { instance().begin_child(); }

    /// The child has one thread: that which called fork(2), and holds the mutex.
    void begin_child() noexcept {
        std::construct_at(&changed_); // the parent's counts sleepers
        if (thread_.is_here()) {
            phase_ = phase::running;
        } else {
            thread_.forget();
            phase_ = phase::absent;
            firing_ = nullptr;
        }
        while (heap_.pop_due((timer_node::time_point::max)()) != nullptr) {
        }
        mutex_.unlock();
    }

    phase phase_ = phase::absent;
    bool has_handlers_ = false;
    const module_end* module_ = nullptr; ///< Whose code the thread runs.
    library_thread thread_;
};

inline module_end::~module_end() {
    timer_thread::instance().end(*this);
}

/// The timer thread as an executor that has only timers.
inline executor_ref timer_thread_executor() noexcept {
    static constexpr executor_vtable vtable{
        .now = [](const void*) noexcept { return clock::now(); },
        .arm = [](void*, timer_node* node) noexcept { timer_thread::instance().arm(node); },
        .disarm = [](void*, timer_node* node) noexcept { timer_thread::instance().disarm(node); }};
    return {nullptr, &vtable};
}

} // namespace tryst::detail
