// SPDX-License-Identifier: MIT
/// @file
/// How a fiber waits: it lets its scheduler turn once, then suspends.
/// Boost.Fiber. Never allocates or throws by itself.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/operations.hpp>

#include <mutex>

namespace tryst::fiber::detail {

/* The sleeper of a fiber (tryst/detail/meet/blocking_wait.hpp says what is asked of it)
 * A token under a mutex, and Boost's condition variable. The mutex is held for the whole of a wake-up, and
 * the sleeper takes it before it leaves. So the waker can let go of nothing that is gone: neither of this
 * object, nor of the fiber's scheduler, which Boost 1.81 notifies after it has queued the fiber there, and
 * which may be destroyed as soon as the fiber has ended.
 *
 * The mutex is the thread's, not Boost.Fiber's. A post runs in the midst of the partner's own exchange, and
 * must suspend nobody: the partner may be a loop, a plain thread, or a fiber that would be resumed elsewhere.
 * Nobody suspends while it is held, so a thread waits for it as long as one wake-up takes.
 *
 * A fiber may be resumed by another thread than the one that it was suspended on, but g++ and clang take the
 * address of a thread-local to stay what it is within a function. So each suspension, and each step that may
 * look at a thread-local, has a function of its own that is not inlined; also for the sake of the spin lock in
 * Boost's condition variable, which has a thread-local of its own.
 *
 * Rejected: boost::fibers::waker without a lock. It saves what two uncontended locks cost in the rare wait
 * that comes to a sleep, and cannot make the waker's last step harmless. */
class wait_strategy {
public:
    wait_strategy() = default;
    wait_strategy(const wait_strategy&) = delete;
    wait_strategy& operator=(const wait_strategy&) = delete;

    executor_ref executor() noexcept {
        static constexpr executor_vtable vtable{.post = [](void* context, executor_node*) noexcept {
            static_cast<wait_strategy*>(context)->wake();
        }};
        return {this, &vtable};
    }

    /// One turn of the scheduler. Further ones are for a partner that has begun to serve us on another
    /// thread, which may need this core for it.
    template <class Done, class Late>
    void await_partner(Done, Late) noexcept {
        if (++turns_ > patience) {
            tryst::detail::yield_thread();
        }
        boost::this_fiber::yield();
    }

    void sleep() noexcept {
        while (!nap()) {
        }
    }

    bool sleep_until(tryst::detail::clock::time_point deadline) noexcept {
        while (!nap_until(deadline)) {
            if (tryst::detail::clock::now() >= deadline) {
                return false;
            }
        }
        return true;
    }

    template <class Step>
    [[gnu::noinline]] auto step(Step step) noexcept {
        return step();
    }

private:
    /// One look-out in a slot above slot 0, and one in slot 0.
    static constexpr int patience = 2;

    /// Sleeps once. @returns whether the token is there.
    [[gnu::noinline]] bool nap() noexcept {
        std::unique_lock lock(mutex_);
        if (!posted_) {
            changed_.wait(lock);
        }
        return posted_;
    }

    [[gnu::noinline]] bool nap_until(tryst::detail::clock::time_point deadline) noexcept {
        std::unique_lock lock(mutex_);
        if (!posted_) {
            static_cast<void>(changed_.wait_until(lock, deadline));
        }
        return posted_;
    }

    void wake() noexcept {
        const std::scoped_lock lock(mutex_);
        posted_ = true;
        changed_.notify_one();
    }

    std::mutex mutex_;
    boost::fibers::condition_variable_any changed_;
    bool posted_ = false;
    int turns_ = 0;
};

} // namespace tryst::fiber::detail
