// SPDX-License-Identifier: MIT
/// @file
/// The one thing tryst asks of the world: somewhere to resume, and optionally something to wake up by.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>

#include <cassert>
#include <concepts>
#include <coroutine>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

/// A piece of work in an executor's queue. It lives in whatever waits (a coroutine frame, as a rule),
/// so queueing it allocates nothing and cannot fail.
struct executor_node {
    executor_node* next = nullptr; ///< Owned by the executor from `post` to `run`.
    void (*run)(executor_node*) noexcept = nullptr; ///< What to do; may end the node's life.
};

/// An entry in an executor's timer queue.
struct timer_node {
    using time_point = detail::clock::time_point; ///< Of the `steady_clock`.

    time_point deadline{}; ///< When it is due.
    void (*fire)(timer_node*) noexcept = nullptr; ///< Called once, when `deadline` has passed.
    timer_node* child = nullptr; ///< The three links belong to the executor.
    timer_node* sibling = nullptr; ///< The executor's.
    timer_node* previous = nullptr; ///< The executor's.
};

/// The operations of an executor. `post` is mandatory and must order everything before it before the
/// run of the node; the others may be null.
struct executor_vtable {
    /// Queues `node`, never runs it before returning. Callable from any thread.
    void (*post)(void* context, executor_node* node) noexcept = nullptr;

    /// Whether it runs one node at a time, as a loop or a strand does, in an `executor_scope` of its own.
    bool serial = false;

    /// Whether it ends with a single operation, so that coroutines without an executor of their own that
    /// happen to run on it must not wait on it.
    bool temporary = false;

    /// Whether the calling thread is running this executor's work now. Null: never.
    bool (*running_here)(const void* context) noexcept = nullptr;

    /// Takes a queued node back out, so that its frame may be destroyed; false if it is not queued
    /// (yet). Called on the executor only. Null: frames must not be destroyed while they wait.
    bool (*retract)(void* context, executor_node* node) noexcept = nullptr;

    /// Timers, all three or none; called on the executor only. Deadlines are `now`'s. After `disarm`
    /// the node is no longer referred to. Null: a timer thread serves the deadlines instead.
    timer_node::time_point (*now)(const void* context) noexcept = nullptr;
    /// Enters a timer, to be fired on the executor.
    void (*arm)(void* context, timer_node* node) noexcept = nullptr;
    /// Takes a timer out, whether it has fired or not.
    void (*disarm)(void* context, timer_node* node) noexcept = nullptr;
};

/// A reference to an executor, or to none. Two words, copied freely; the executor must outlive it.
class executor_ref {
public:
    /// No executor.
    constexpr executor_ref() noexcept = default;
    /// @param context  what the functions of the table are given.
    /// @param vtable   must outlive all use, as a rule a constant.
    constexpr executor_ref(void* context, const executor_vtable* vtable) noexcept
        : context_(context), vtable_(vtable) {}

    /// Whether it refers to any.
    explicit operator bool() const noexcept { return vtable_ != nullptr; }
    /// Whether both refer to the same, or to none.
    bool operator==(const executor_ref& other) const noexcept = default;

    /// Queues `node`, to be run there later. From any thread.
    /// @throws nothing.  @allocation what the executor's own `post` says; none in those of the library's core.
    /// @sync everything before it happens-before the run.
    void post(executor_node* node) const noexcept { vtable_->post(context_, node); }

    /// Whether the calling thread is running its work now; false if it cannot tell.
    bool running_here() const noexcept {
        return vtable_ != nullptr && vtable_->running_here != nullptr &&
               vtable_->running_here(context_);
    }

    /// `executor_vtable::temporary`
    bool is_temporary() const noexcept { return vtable_ != nullptr && vtable_->temporary; }

    /// Whether nothing else of this executor's can run before the caller returns to it.
    bool alone_here() const noexcept;

    /// Takes a queued node back out; false if it is not queued. On the executor.
    /// Precondition: the executor can.
    bool retract(executor_node* node) const noexcept {
        assert(vtable_ != nullptr && vtable_->retract != nullptr &&
               "tryst: a frame was destroyed while it waited on an executor that cannot retract");
        return vtable_->retract(context_, node);
    }

    /// Whether timers may be armed here and now.
    bool has_timers() const noexcept {
        return vtable_ != nullptr && vtable_->arm != nullptr && running_here();
    }
    /// The time of its timers. This and the next two: on the executor. Precondition: `has_timers()`.
    timer_node::time_point now() const noexcept { return vtable_->now(context_); }
    /// Fires `node` once, when its deadline has passed.
    void arm(timer_node* node) const noexcept { vtable_->arm(context_, node); }
    /// Forgets `node`, whether it has fired or not.
    void disarm(timer_node* node) const noexcept { vtable_->disarm(context_, node); }

    /// `co_await executor.schedule()`: goes on there, by way of its queue.
    [[nodiscard]] auto schedule() const noexcept;

private:
    void* context_ = nullptr;
    const executor_vtable* vtable_ = nullptr;
};

namespace detail {

/// What tryst keeps for each thread.
struct [[gnu::visibility("default")]] thread_state {
    executor_ref executor; ///< The executor whose work this thread is running.
    bool hides_executor = false; ///< An `inline_scope` hides another executor that it also runs.
    std::uint32_t probe = 0; ///< Where this thread looks in an arena; 0: not chosen yet.
    int spins = max_spins / 2; ///< How long it looks out for a partner before it yields.
};

} // namespace detail

/// Declares, for a scope, that the calling thread runs an executor's work, or none's: it is `current_executor`.
/// For who writes an executor, around the runs of its nodes. Scopes nest.
class executor_scope {
public:
    /// The executor until the end of the scope.
    explicit executor_scope(executor_ref executor) noexcept
        : outer_(detail::per_thread<detail::thread_state>().executor) {
        detail::per_thread<detail::thread_state>().executor = executor;
    }
    executor_scope(const executor_scope&) = delete;
    executor_scope& operator=(const executor_scope&) = delete;
    ~executor_scope() { detail::per_thread<detail::thread_state>().executor = outer_; }

private:
    executor_ref outer_;
};

/// The executor whose work the calling thread is running; none on a plain thread.
inline executor_ref current_executor() noexcept {
    return detail::per_thread<detail::thread_state>().executor;
}

namespace detail {

/// For a coroutine without an executor that is resumed inline, during another party's call. Hides
/// the executor whose work the thread is running, so that the coroutine's next wait does not adopt
/// it.
class inline_scope {
public:
    inline_scope() noexcept : outer_(per_thread<thread_state>()) {
        auto& here = per_thread<thread_state>();
        here.hides_executor = here.hides_executor || here.executor;
        here.executor = {};
    }
    inline_scope(const inline_scope&) = delete;
    inline_scope& operator=(const inline_scope&) = delete;
    ~inline_scope() {
        auto& here = per_thread<thread_state>();
        here.executor = outer_.executor;
        here.hides_executor = outer_.hides_executor;
    }

private:
    thread_state outer_;
};

/// Whether the calling thread may block, because it runs no executor's work.
inline bool may_block() noexcept {
    const thread_state& here = per_thread<thread_state>();
    return !here.executor && !here.hides_executor;
}

} // namespace detail

inline bool executor_ref::alone_here() const noexcept {
    return vtable_ != nullptr && vtable_->serial && *this == current_executor();
}

/// A promise that names the executor of its coroutine.
template <class Promise>
concept has_executor = requires(const Promise& promise) {
    { promise.executor() } noexcept -> std::convertible_to<executor_ref>;
};

namespace detail {

/// A promise that means to name an executor, whether or not in the right way: it may name a loop, whose
/// executor is meant.
template <class Promise>
concept names_executor = requires(Promise& promise) {
    { promise.executor() } -> std::convertible_to<executor_ref>;
} || requires(Promise& promise) {
    { promise.executor().executor() } -> std::convertible_to<executor_ref>;
} || requires(Promise& promise) {
    { promise.executor()->executor() } -> std::convertible_to<executor_ref>;
};

} // namespace detail

/// Where a coroutine that suspends now is to be resumed: its promise's executor if it names one, else
/// the executor running on this thread, else none (whoever completes the wait resumes it inline).
template <class Promise>
executor_ref executor_of(std::coroutine_handle<Promise> coroutine) noexcept {
    static_assert(has_executor<Promise> || !detail::names_executor<Promise>,
                  "tryst: promise_type::executor() must be const and noexcept, and return an "
                  "executor_ref");
    if constexpr (has_executor<Promise>) {
        if (const executor_ref executor = std::as_const(coroutine.promise()).executor()) {
            return executor;
        }
    }
    const executor_ref here = current_executor();
    return here.is_temporary() ? executor_ref() : here;
}

/// The awaitable of `executor_ref::schedule`. Its coroutine may be destroyed, on the executor,
/// while it is queued. If the coroutine's promise has `set_executor(executor_ref)`, as a task's
/// has, this tells it the new executor, so that the coroutine stays there.
/// @resumes on the executor.  @throws nothing.  @sync everything before it happens-before the rest.
/// @cancellation none.  @allocation none, but for what the executor's `post` says.
class [[nodiscard]] schedule_operation : private executor_node {
public:
    /// Precondition: there is an executor.
    explicit schedule_operation(executor_ref executor) noexcept : executor_(executor) {
        assert(executor && "tryst: schedule() needs an executor");
    }
    schedule_operation(const schedule_operation&) = delete;
    schedule_operation& operator=(const schedule_operation&) = delete;
    ~schedule_operation() {
        if (coroutine_) {
            executor_.retract(this);
        }
    }

    /// For `co_await`: always suspends.
    bool await_ready() const noexcept { return false; }

    /// For `co_await`: posts the coroutine.
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        coroutine_ = coroutine;
        if constexpr (has_executor<Promise> &&
                      requires { coroutine.promise().set_executor(executor_); }) {
            coroutine.promise().set_executor(executor_);
        }
        run = [](executor_node* node) noexcept {
            static_cast<schedule_operation*>(node)->coroutine_.resume();
        };
        executor_.post(this);
    }

    /// For `co_await`.
    void await_resume() noexcept { coroutine_ = nullptr; }

private:
    executor_ref executor_;
    std::coroutine_handle<> coroutine_;
};

inline auto executor_ref::schedule() const noexcept {
    return schedule_operation(*this);
}

/// @}
} // namespace tryst
