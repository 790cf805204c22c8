// SPDX-License-Identifier: MIT
/// @file
/// The wait of a fiber for its partner: it yields once or twice, then suspends.
/// Boost.Fiber. Never allocates or throws by itself.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/executor.hpp>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/operations.hpp>

#include <mutex>

namespace tryst::fiber::detail {

/* The wait strategy of a fiber (tryst/detail/meet/blocking_wait.hpp documents the interface)
 * It consists of a flag under a mutex, and Boost's condition variable.
 *
 * I26. A waker of a fiber uses no destroyed object: neither the fiber's wait strategy nor its
 *     scheduler.
 *      1. Boost 1.81 notifies the scheduler after it has queued the fiber there.
 *      2. The scheduler may be destroyed as soon as the fiber has ended.
 *      3. The waker holds the mutex for the whole wake-up, and the fiber takes it before it
 *         returns.
 *      4. So the fiber returns, and can end, only after the waker's last step.
 * I27. Waking never suspends the waker.
 *      1. A wake-up runs inside the partner's own exchange. The partner may be a loop, a plain
 *         thread, or a fiber that would be resumed elsewhere.
 *      2. Hence the mutex is std::mutex, not Boost.Fiber's.
 *      3. No fiber suspends while it holds the mutex. So a thread waits for the mutex only as long
 *         as one wake-up takes.
 * I28. No function uses the address of a thread-local before and after a suspension.
 *      1. A fiber may be resumed on another thread, but g++ and clang assume that the address of a
 *         thread-local does not change within a function.
 *      2. So each suspension, and each step that may use a thread-local, has a function of its own
 *         that is not inlined. The spin lock in Boost's condition variable uses a thread-local,
 *         too.
 *
 * Rejected: boost::fibers::waker without a lock. It would save two uncontended locks in a wait that
 * suspends, but it cannot provide I26. */
class wait_strategy {
public:
    static constexpr bool owns_thread = false;

    wait_strategy() = default;
    wait_strategy(wait_strategy&&) = delete;

    executor_ref executor() noexcept {
        static constexpr executor_vtable vtable{.post = [](void* context, executor_node*) noexcept {
            static_cast<wait_strategy*>(context)->wake();
        }};
        return {this, &vtable};
    }

    /// Yields to the scheduler once. From the third call on, also yields the thread, because a
    /// partner that has begun to match on another thread may need this core.
    template <class Done, class Late>
    void await_partner(Done, Late) noexcept {
        if (++turns_ > patience) {
            tryst::detail::yield_thread();
        }
        boost::this_fiber::yield();
    }

    void give_way() const noexcept { boost::this_fiber::yield(); }

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
    /// The number of `await_partner` calls without a thread yield: one in the arena, one in the
    /// wait list.
    static constexpr int patience = 2;

    /// Suspends once. @returns whether the fiber was woken.
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
