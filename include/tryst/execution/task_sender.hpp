// SPDX-License-Identifier: MIT
/// @file
/// Tasks as senders.
/// std::execution or stdexec.
#pragma once

#include <tryst/detail/run/root.hpp>
#include <tryst/execution/detail/start_context.hpp>
#include <tryst/execution/detail/std.hpp>
#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <exception>
#include <type_traits>
#include <utility>

namespace tryst {
namespace execution::detail {

struct nothing_more {};

/// The operation state of a task.
template <class T, class Receiver>
class task_state : start_context<task_state<T, Receiver>, Receiver> {
    using context = start_context<task_state, Receiver>;
    friend context;
    /// Awaits the task, and leaves its result there.
    using runner = tryst::detail::root<task_state, nothing_more>;
    friend runner;

public:
    using operation_state_concept = ex::operation_state_tag;

    /// @throws std::bad_alloc if there is no memory for the coroutine that awaits the task.
    task_state(Receiver&& receiver, task<T>&& work)
        : context(receiver), receiver_(std::move(receiver)), work_(std::move(work)),
          runner_(run(*this)) {}
    task_state(task_state&&) = delete;

    void start() & noexcept {
        on_ = context::executor(receiver_);
        if (on_) {
            runner_.start();
        } else {
            const tryst::detail::inline_scope here; // the task must not adopt what runs here
            runner_.start();
        }
    }

private:
    static runner run(task_state& self) { co_await self.work_.when_ready(); }

    executor_ref executor() const noexcept { return on_; }
    /// Destroys the coroutine, so it is not inlined.
    [[gnu::noinline]] void ended(nothing_more& /*frame*/) noexcept { context::deliver_there(); }

    void deliver() noexcept {
        std::exception_ptr thrown;
        try { // only `take` throws
            if constexpr (std::is_void_v<T>) {
                work_.take();
                return ex::set_value(std::move(receiver_));
            } else {
                return ex::set_value(std::move(receiver_), work_.take());
            }
        } catch (...) {
            thrown = std::current_exception();
        }
        ex::set_error(std::move(receiver_), std::move(thrown));
    }

    Receiver receiver_;
    task<T> work_;
    executor_ref on_;
    runner runner_; // destroyed first, because it awaits the task
};

template <class T>
class [[nodiscard]] task_sender {
    template <class U>
    struct value_signature {
        using type = ex::set_value_t(U);
    };
    template <class U>
        requires std::is_void_v<U>
    struct value_signature<U> {
        using type = ex::set_value_t();
    };

public:
    using sender_concept = ex::sender_tag;

    explicit task_sender(task<T>&& work) noexcept : work_(std::move(work)) {}

    template <class, class...>
    static consteval auto get_completion_signatures() noexcept {
        return ex::completion_signatures<typename value_signature<T>::type,
                                         ex::set_error_t(std::exception_ptr)>();
    }

    template <class Receiver>
    auto connect(Receiver receiver) && {
        return task_state<T, Receiver>(std::move(receiver), std::move(work_));
    }

    start_attributes get_env() const noexcept { return {}; }

private:
    task<T> work_;
};

} // namespace execution::detail

/// A task as a sender, which completes with the task's value, or with its exception as an error.
/// `connect` consumes it.
///
/// @throws      nothing; `connect` throws std::bad_alloc, and what a foreign scheduler throws.
/// @resumes     the task stays on the executor that the sender is started on: that of the
///   `execution::scheduler` in the receiver's environment, or `current_executor()` if there is no
///   scheduler. With another scheduler, the task has no executor: it resumes inline in the parties
///   that complete its waits, and only the sender completes on the scheduler.
/// @cancellation none of its own: give a stop token to the operations that the task awaits.
/// @allocation  one coroutine frame in `connect`, besides the task's own.
template <class T>
auto as_sender(task<T>&& work) noexcept {
    return execution::detail::task_sender<T>(std::move(work));
}

} // namespace tryst
