// SPDX-License-Identifier: MIT
/// @file
/// Waits for an operation in a fiber of Boost.Fiber (target `tryst::fiber`).
/// Boost.Fiber.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/operations.hpp>

/// @namespace tryst::fiber
/// The adapter for Boost.Fiber.
namespace tryst::fiber {

namespace detail {

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

/// An operation that a fiber's wait strategy can wait for.
template <class Operation>
concept waitable =
    requires(Operation& operation) { tryst::detail::operation_access::of(operation); };

struct nothing {};

/// What a fiber and the task for which it waits share. The closer may still use it after the fiber
/// has gone on.
template <class T>
struct task_end {
    exchanger<nothing> closed_at_the_end{0};
    std::optional<tryst::detail::object_t<T>> result;
    std::exception_ptr problem;
};

/// A coroutine that begins at once and destroys itself.
struct detached {
    struct promise_type {
        detached get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

template <class T>
detached run(task<T> work, std::shared_ptr<task_end<T>> end) {
    try {
        if constexpr (std::is_void_v<T>) {
            co_await std::move(work);
        } else {
            auto got = co_await std::move(work);
            end->result.emplace(std::move(got));
        }
    } catch (...) {
        end->problem = std::current_exception();
    }
    end->closed_at_the_end.close();
}

} // namespace detail

/// Waits in the calling fiber for an exchange: `wait(ex.exchange(item, 5ms, stop))`. The fiber is
/// suspended while its thread runs other fibers. Works under any scheduling algorithm and on any
/// thread. A plain thread waits as its own main fiber. Precondition: the thread is not running a
/// tryst loop, whose work it would block.
///
/// @param where the call, for debuggers.
/// @returns     the result that `co_await` would return: `exchange_result<T>` with the partner's
///              item, or with an error and the caller's own item.
/// @throws      nothing.
/// @progress    lock-free until the fiber is suspended. A partner that wakes the fiber takes a
///              mutex of this wait. That mutex is never held across a suspension.
/// @resumes     the calling fiber, where its scheduling algorithm runs it. Under `shared_work` and
///              `work_stealing` that may be another thread. If there is a match at once, the fiber
///              does not suspend, but after 64 such matches on its thread it yields once. Otherwise
///              it yields once in the wait list, and before that once in the arena if it makes an
///              offer there. It suspends if no partner has come by then.
/// @cancellation total, as for `co_await`. The stop and the deadline take effect after these
///              yields. The fiber's scheduler serves the deadline: never early. Each ready fiber
///              may run twice between the deadline and this fiber.
/// @sync        everything before the partner's exchange happens-before this function returns, and
///              vice versa. Everything before the stop or the close that ended the wait does so,
///              too.
/// @allocation  none by the library. Boost.Fiber allocates a scheduler for each thread that waits
///              here or wakes a suspended fiber for the first time, even a plain thread or a loop.
template <class Operation>
    requires detail::waitable<Operation>
[[gnu::noinline]] auto
wait(Operation&& operation,
     tryst::detail::location where = tryst::detail::location::current()) noexcept {
    detail::wait_strategy mine;
    auto& core = tryst::detail::operation_access::of(operation);
    core.set_location(where);
    return tryst::detail::blocking_wait(core, mine);
}

/// Runs a task in the calling fiber, for example an operation of a remote exchanger, and waits for
/// its end. The task has no executor: its coroutines resume inline in the party that completes what
/// they wait for, or on the timer thread.
/// @param where the call, for debuggers.
/// @returns     the task's result.
/// @throws      what the task throws, and std::bad_alloc.
/// @resumes     as above. The fiber is suspended until the task has ended.
/// @allocation  a coroutine frame, and what the fiber shares with it.
template <class T>
[[gnu::noinline]] T wait(task<T> work,
                         tryst::detail::location where = tryst::detail::location::current()) {
    const auto end = std::make_shared<detail::task_end<T>>();
    detail::run(std::move(work), end);
    std::ignore = fiber::wait(end->closed_at_the_end.exchange({}), where);
    if (end->problem) {
        std::rethrow_exception(end->problem);
    }
    if constexpr (!std::is_void_v<T>) {
        return *std::move(end->result);
    }
}

} // namespace tryst::fiber
