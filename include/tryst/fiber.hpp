// SPDX-License-Identifier: MIT
/// @file
/// Waits for an operation in a fiber of Boost.Fiber (target `tryst::fiber`).
/// Boost.Fiber.
#pragma once

#include <tryst/detail/meet/blocking_wait.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/fiber/detail/wait_strategy.hpp>
#include <tryst/task.hpp>

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

/// @namespace tryst::fiber
/// The adapter for Boost.Fiber.
namespace tryst::fiber {

namespace detail {

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
