// SPDX-License-Identifier: MIT
/// @file
/// A coroutine that runs when it is awaited.
/// Standard library only.
#pragma once

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

class task_promise_base {
public:
    std::suspend_always initial_suspend() noexcept { return {}; }

    struct resume_awaiter {
        bool await_ready() const noexcept { return false; }
        template <class Promise>
        std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) noexcept {
            return self.promise().continuation_;
        }
        void await_resume() const noexcept {}
    };
    resume_awaiter final_suspend() noexcept { return {}; }

    void continue_with(std::coroutine_handle<> awaiter) noexcept { continuation_ = awaiter; }

private:
    std::coroutine_handle<> continuation_;
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

} // namespace detail

/// The result of calling a coroutine that has not started yet. It starts when it is awaited, once, and
/// gives its awaiter what it returns or throws. Destroying a task destroys its frame, started or not.
///
/// @resumes  the awaiter, by symmetric transfer, where the task finishes; it does not change executors.
/// @allocation  one coroutine frame when it is called; none when it is awaited.
template <class T>
class [[nodiscard]] task {
    static_assert(std::is_void_v<T> || std::is_object_v<T>,
                  "tryst::task<T>: T must be an object type or void");

public:
    using promise_type = detail::task_promise<T>; ///< For the compiler.
    using value_type = T; ///< What it returns.

    /// An empty task, to be assigned to.
    task() noexcept = default;
    /// Takes the other's coroutine, and leaves it empty.
    task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    /// Destroys its own frame, if there is one, and takes the other's.
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

    /// Runs the task. @throws whatever it throws.
    auto operator co_await() && noexcept {
        struct awaiter : ready_awaiter {
            T await_resume() { return this->coroutine.promise().take(); }
        };
        return awaiter{when_ready()};
    }

    /// Runs the task to its end, but leaves what it returned or threw in it, for `take`.
    auto when_ready() noexcept {
        assert(coroutine_ && !coroutine_.done() && "tryst: a task can be awaited only once");
        return ready_awaiter{coroutine_};
    }

    /// What the task returned. Precondition: `when_ready` was awaited. @throws what it threw.
    T take() { return coroutine_.promise().take(); }

private:
    friend promise_type;

    struct ready_awaiter {
        std::coroutine_handle<promise_type> coroutine;

        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
            coroutine.promise().continue_with(awaiting);
            return coroutine;
        }
        void await_resume() const noexcept {}
    };

    explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

    void reset() noexcept {
        if (coroutine_) {
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
