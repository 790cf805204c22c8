// SPDX-License-Identifier: MIT
/// @file
/// A coroutine that runs when it is awaited.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/continuation.hpp>
#include <tryst/detail/run/wrong_coroutine.hpp>
#include <tryst/executor.hpp>

#include <cassert>
#include <concepts>
#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>
#include <variant>

namespace tryst {
/// @addtogroup waiting
/// @{

template <class T = void>
class task;

namespace detail {

/* How a task completes
 * The awaiter starts the task by resuming it on the awaiter's own stack. A task that completes
 * without suspending returns there, and the awaiter continues without having suspended. So a loop
 * of such awaits does not make the stack grow, even if the compiler does not turn symmetric
 * transfers into tail calls. Other work that a coroutine awaits completes in the same way.
 *
 * Rejected: symmetric transfer to the task. Below -O2, g++ makes no tail call of it, so each await
 *     would use stack. */
class awaited_work {
public:
    /// Starts the work, which `begin` runs up to its first suspension.
    /// @returns as `handshake::suspend`, which is called here.
    template <class Begin>
    bool start_for(continuation& awaiter, Begin begin) noexcept {
        awaiter_ = &awaiter;
        begin();
        return handshake_.suspend();
    }

    /// @param self  the coroutine that has done the work, if one has.
    /// @returns the coroutine to resume next. After this the work must not be touched.
    std::coroutine_handle<> complete(std::coroutine_handle<> self = {}) noexcept {
        continuation& awaiter = *awaiter_;
        if (handshake_.leave(handshake::state::finished) == handshake::state::running) {
            return std::noop_coroutine(); // the awaiter is still starting the work
        }
        return awaiter.resume(self);
    }

    const continuation* awaiter() const noexcept { return awaiter_; }

private:
    continuation* awaiter_ = nullptr;
    handshake handshake_;
};

class task_promise_base : awaited_work, public task_promise_tag {
public:
    std::suspend_always initial_suspend() noexcept { return {}; }

    struct completion {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
            return self.promise().complete(self);
        }
        void await_resume() const noexcept {}
    };
    completion final_suspend() noexcept { return {}; }

    /// What awaits the task, with the place where it does; null if the task has not started.
    const continuation* awaiter() const noexcept { return awaited_work::awaiter(); }

    /// The executor of the task, on which the operations that it awaits resume it. It is the
    /// awaiter's executor until the task is scheduled elsewhere.
    executor_ref executor() const noexcept { return executor_; }
    void set_executor(executor_ref executor) noexcept { executor_ = executor; }

    /// Runs `self` up to its first suspension. Not inlined (see `handshake::suspend`).
    /// @returns whether the awaiter is suspended.
    [[gnu::noinline]] bool start(std::coroutine_handle<> self, continuation& awaiter) noexcept {
        executor_ = awaiter.executor();
        return start_for(awaiter, [self] { running_task::resume(self, true); });
    }

private:
    executor_ref executor_;
};

template <class T>
class task_promise : public task_promise_base {
public:
    task<T> get_return_object() noexcept;

    template <class U = T>
        requires std::convertible_to<U&&, T>
    void return_value(U&& value) {
        result_.template emplace<1>(std::forward<U>(value));
    }
    // NOLINTNEXTLINE(bugprone-exception-escape): moving an exception_ptr does not throw.
    void unhandled_exception() noexcept { result_.template emplace<2>(std::current_exception()); }

    T take() {
        if (result_.index() == 2) {
            std::rethrow_exception(std::get<2>(result_));
        }
        return std::move(std::get<1>(result_));
    }

private:
    std::variant<std::monostate, T, std::exception_ptr> result_;
};

template <>
class task_promise<void> : public task_promise_base {
public:
    task<void> get_return_object() noexcept;
    void return_void() noexcept {}
    void unhandled_exception() noexcept { exception_ = std::current_exception(); }

    void take() const {
        if (exception_) {
            std::rethrow_exception(exception_);
        }
    }

private:
    std::exception_ptr exception_;
};

/// The awaiter of a task that is not an rvalue.
template <class T>
struct named_task {
    bool await_ready() const noexcept {
        static_assert(!std::same_as<T, T>,
                      "tryst: to await or pass a task that has a name, write std::move(task)");
        return false;
    }
    void await_suspend(std::coroutine_handle<> /*awaiting*/) const noexcept {}
    T await_resume() const noexcept;
};

} // namespace detail

/// The return type of a coroutine that starts when it is awaited. Await a task at most once. The
/// awaiter gets the value that the task returns, or the exception that it throws. Destroying a task
/// destroys its coroutine frame, whether or not the task has started.
///
/// A task stays on one executor: its awaiter's, or the loop that it was spawned on. Exchanges and
/// tasks that it awaits resume it there, until it moves by `co_await executor.schedule()`, which
/// moves only the task, not its awaiter. (An awaitable of another library may resume the task
/// elsewhere. The next exchange or task for which it has to wait brings it back to its executor.)
///
/// A task must not be destroyed while it runs, not even by itself. It counts as running until the
/// `await_suspend` that starts or suspends it has returned.
///
/// @resumes  the awaiter on its own executor: at once if the task completes there, otherwise
///   through the executor's queue. An awaiter without an executor resumes where the task completes.
///   A task that completes without suspending does not suspend its awaiter.
/// @throws   what the task throws.
/// @sync     everything that the task did happens-before its awaiter continues.
/// @cancellation  none of its own: give a stop token to the operations that the task awaits.
/// @allocation  one coroutine frame when the coroutine is called; none when it is awaited.
template <class T>
class [[nodiscard]] task : public detail::task_not_in_asio {
    static_assert(std::is_void_v<T> || std::is_object_v<T>,
                  "tryst::task<T>: T must be an object type or void");
    static_assert(detail::fits_frames<T>,
                  "tryst::task<T>: T must not be over-aligned, because compilers do not align "
                  "coroutine frames for it; return a std::unique_ptr<T> instead");

public:
    using promise_type = detail::task_promise<T>; ///< For the compiler.
    using value_type = T; ///< The type of the returned value.

    /// An empty task, to be assigned to.
    task() noexcept = default;
    /// Takes the other task's coroutine, and leaves it empty.
    task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    /// Destroys its own frame, if there is one, and takes the other task's.
    task& operator=(task&& other) noexcept {
        if (this != &other) {
            reset();
            coroutine_ = std::exchange(other.coroutine_, nullptr);
        }
        return *this;
    }
    ~task() { reset(); }

    /// Whether it has a coroutine.
    explicit operator bool() const noexcept { return static_cast<bool>(coroutine_); }

    /// Runs the task. @throws what the task throws.
    auto operator co_await() && noexcept {
        struct awaiter : ready_awaiter {
            using ready_awaiter::ready_awaiter;
            T await_resume() { return this->task_.promise().take(); }
        };
        return awaiter(checked());
    }

    /// An error: a task that has a name is awaited, or passed, as `std::move(task)`.
    auto operator co_await() & noexcept { return detail::named_task<T>(); }

    /// Runs the task to its end, but leaves its value or exception in it, for `take`.
    auto when_ready() noexcept { return ready_awaiter(checked()); }

    /// As above, for a library that awaits the task for a call at `where`.
    auto when_ready(detail::location where) noexcept { return located_awaiter(checked(), where); }

    /// Returns the task's value. Precondition: `when_ready` was awaited. @throws what the task
    /// threw.
    T take() { return coroutine_.promise().take(); }

private:
    friend promise_type;

    class [[nodiscard]] ready_awaiter : public detail::task_not_in_asio {
    public:
        explicit ready_awaiter(std::coroutine_handle<promise_type> work) noexcept : task_(work) {}

        bool await_ready() const noexcept { return false; }
        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> awaiting,
                           detail::location where = detail::location::current()) noexcept {
            awaiter_.set(awaiting, where);
            return task_.promise().start(task_, awaiter_);
        }
        void await_resume() const noexcept {}

    protected:
        std::coroutine_handle<promise_type> task_;

    private:
        detail::continuation awaiter_;
    };

    struct [[nodiscard]] located_awaiter : ready_awaiter {
        located_awaiter(std::coroutine_handle<promise_type> work, detail::location from) noexcept
            : ready_awaiter(work), where(from) {}

        template <class Promise>
        bool await_suspend(std::coroutine_handle<Promise> awaiting) noexcept {
            return ready_awaiter::await_suspend(awaiting, where);
        }

        detail::location where;
    };

    std::coroutine_handle<promise_type> checked() const noexcept {
        assert(coroutine_ && !coroutine_.done() && "tryst: a task can be awaited only once");
        return coroutine_;
    }

    explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

    void reset() noexcept {
        if (coroutine_) {
            detail::running_task::end(coroutine_);
            std::exchange(coroutine_, nullptr).destroy();
        }
    }

    std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {
template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
    return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}
inline task<void> task_promise<void>::get_return_object() noexcept {
    return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}
} // namespace detail

/// @}
} // namespace tryst
